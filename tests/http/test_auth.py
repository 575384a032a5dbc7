"""Who comes in: the key of the server, its tokens, and nobody else."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import orjson
import pytest

from shared import api_tokens, projects
from shared.domain import Author
from tests import forked
from tests.http.callers import Era, client, plain, raw_client
from tests.http.conftest import KEY
from tests.http.processes import WAIT_S, Process, serving
from tests.http.updates import watching
from tests.server.processes import environment


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> Iterator[Process]:
    """With a key."""
    with serving(
        tmp_path_factory.mktemp("locked"),
        MEMHUB_DATABASE_URL=module_database_url,
        MEMHUB_API_KEY=KEY,
        MEMHUB_STATS_FLUSH_S="0.1",
        MEMHUB_HTTP_RECHECK_S="0.2",
    ) as process:
        yield process


@pytest.fixture
async def operator(module_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(module_database_url)
    await connection.execute("SET ROLE memhub_operator")
    yield connection
    await connection.close()


async def issue(operator: asyncpg.Connection, tenant: str, **wishes: Any) -> api_tokens.Issued:
    return await api_tokens.create(operator, tenant, name="test", **wishes)


async def test_the_root_tells_everybody_the_paths(locked: Process) -> None:
    # Fails without "/" among the routes, and without it in PUBLIC of auth.py.
    async with plain(locked.url) as http:
        told = await http.get("/")
    assert (told.status_code, told.json()["mcp"]) == (200, "/mcp")


async def test_the_key_opens_every_tenant_by_its_header(locked: Process, era: Era) -> None:
    for tenant in ("one", "two"):
        async with client(locked.url, era, key=KEY, tenant=f"{tenant}-{era}") as raw:
            assert (await raw.use("memory_remember", content="Said."))["outcome"] == "created"
    assert locked.event("http_listening")["auth"] == "key and tokens"


@pytest.mark.parametrize(
    ("authorization", "cause"),
    [
        ([], "asks for a credential"),
        (["Bearer the-wrong-key"], "not known here"),
        (["Bearer mh_" + "a" * 43], "not known here"),
        (["Bearer mh_short"], "not known here"),
        (["Bearer aaaa.bbbb.cccc"], "not known here"),
        ([f"Basic {KEY}"], "as Bearer and one credential"),
        (["Bearer"], "as Bearer and one credential"),
        ([f"Bearer {KEY}", f"Bearer {KEY}"], "as Bearer and one credential"),
        ([f"Bearer {KEY}\x01"], "not known here"),
        ([f"Bearer {KEY} {KEY}"], "not known here"),
    ],
)
async def test_without_a_known_credential_nothing_is_served(
    locked: Process, era: Era, authorization: list[str], cause: str
) -> None:
    headers = [("Authorization", value) for value in authorization]
    # Each from another address: so many unknown ones of one would be answered 429.
    address = f"127.0.1.{1 + len(''.join(authorization))}"
    async with raw_client(locked.url, era, headers=headers, address=address) as raw:
        refused = await raw.open()
    assert (refused.status_code, refused.json()["code"]) == (401, "UNAUTHORIZED")
    assert cause in refused.json()["message"]
    challenge = refused.headers["www-authenticate"]
    assert challenge.startswith("Bearer ")
    assert ("error=" in challenge) is bool(authorization)
    assert KEY not in refused.text


async def test_every_path_but_the_probes_and_the_way_to_them_asks_for_a_credential(locked: Process) -> None:
    async with plain(locked.url) as http:
        for path in ("/", "/livez", "/health", "/readyz"):
            assert (await http.get(path)).status_code == 200
        for path in ("/mcp", "/mcp/", "/anything", "//", "//livez", "/livez/x"):
            # Whole: the client takes what begins with two slashes for a host.
            assert (await http.get(locked.url + path)).status_code == 401


async def test_what_is_told_of_the_whole_process_is_not_for_one_tenant(
    locked: Process, operator: asyncpg.Connection
) -> None:
    """Fails without OPERATORS in server/http/auth.py."""
    secret = (await issue(operator, "bound")).secret
    async with plain(locked.url) as http:
        refused = await http.get("/metrics", headers={"Authorization": f"Bearer {secret}"})
        assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
        assert "memhub_" not in refused.text
        told = await http.get("/metrics", headers={"Authorization": f"Bearer {KEY}"})
    assert (told.status_code, "memhub_tool_calls" in told.text) == (200, True)


async def test_a_token_opens_its_tenant_and_no_header_widens_it(
    locked: Process, operator: asyncpg.Connection, era: Era
) -> None:
    secret = (await issue(operator, f"bound-{era}")).secret
    async with client(locked.url, era, key=secret) as raw:
        stored = await raw.use("memory_remember", content="Said with a token.")
        assert stored["outcome"] == "created"
        for header in ("X-Memory-Tenant", "X-Tenant-Id"):
            for tool, arguments in (("memory_search", {}), ("memory_remember", {"content": "Elsewhere."})):
                refused = await raw.refused(tool, headers=[(header, "elsewhere")], **arguments)
                assert (refused["code"], refused["message"].partition(":")[0]) == ("FORBIDDEN", header)
            read = await raw.read("memory://projects", headers=[(header, "elsewhere")])
            assert read["error"]["data"]["code"] == "FORBIDDEN"
            agreeing = await raw.call("memory_search", headers=[(header, f"bound-{era}")], query="token")
            assert len(agreeing["structuredContent"]["results"]) == 1


async def test_revoked_and_expired_tokens_open_nothing_from_the_next_request_on(
    locked: Process, operator: asyncpg.Connection, era: Era
) -> None:
    revoked = await issue(operator, f"gone-{era}")
    async with client(locked.url, era, key=revoked.secret) as raw:
        await api_tokens.revoke(operator, revoked.token.id)
        refused = await raw.request("tools/list", {})
        assert (refused.status_code, "revoked" in refused.json()["message"]) == (401, True)
    expired = await issue(operator, f"gone-{era}", ttl=timedelta(milliseconds=1))
    async with raw_client(locked.url, era, headers=[("Authorization", f"Bearer {expired.secret}")]) as raw:
        refused = await raw.open()
        assert (refused.status_code, "expired" in refused.json()["message"]) == (401, True)


async def test_an_open_stream_ends_with_its_credential_and_whole(
    tmp_path: Path, module_database_url: str, operator: asyncpg.Connection, era: Era
) -> None:
    """Fails without the end of _Answer in server/http/auth.py: the body was broken, and uvicorn told of an error."""
    issued = await issue(operator, f"streaming-{era}")
    with serving(
        tmp_path, MEMHUB_DATABASE_URL=module_database_url, MEMHUB_API_KEY=KEY, MEMHUB_HTTP_RECHECK_S="0.2"
    ) as process:
        async with client(process.url, era, key=issued.secret) as raw, watching(raw, "memory://projects") as updates:
            await api_tokens.revoke(operator, issued.token.id)
            await asyncio.wait_for(updates.ended(), WAIT_S)
        process.process.terminate()
        log = [orjson.loads(line) for line in process.log().splitlines() if line]
    assert [event["code"] for event in log if event["event"] == "stream_ended"] == ["UNAUTHORIZED"]
    assert [event for event in log if event["level"] == "error"] == []


async def test_a_read_only_token_reads_and_writes_nothing(
    locked: Process, operator: asyncpg.Connection, era: Era
) -> None:
    tenant = f"reading-{era}"
    async with client(locked.url, era, key=KEY, tenant=tenant) as writer:
        memory_id = (await writer.use("memory_remember", content="Cursors paginate."))["memory"]["memory_id"]
    secret = (await issue(operator, tenant, read_only=True)).secret
    async with client(locked.url, era, key=secret) as raw:
        assert len((await raw.use("memory_search", query="cursors"))["results"]) == 1
        assert (await raw.use("memory_history", memory_id=memory_id))["status"] == "ACTIVE"
        assert (await raw.use("project_use", project="default"))["outcome"] == "resolved"
        assert (await raw.use("project_use"))["slug"] == "default"
        assert "result" in await raw.read(f"memory://memories/{memory_id}")
        writes: list[tuple[str, dict[str, Any]]] = [
            ("memory_remember", {"content": "Written."}),
            ("memory_remember", {"content": "password: hunter2secret99"}),
            ("memory_revise", {"memory_id": memory_id, "expected_revision": 1, "content": "Written."}),
            ("memory_forget", {"memory_id": memory_id}),
            ("memory_forget", {"memory_id": memory_id, "restore": True}),
            ("project_use", {"project": "another", "create": True}),
            ("project_use", {"project": "default", "workspace_path": "/srv/app"}),
        ]
        for tool, arguments in writes:
            assert (await raw.refused(tool, **arguments))["code"] == "FORBIDDEN", tool
        assert (await raw.use("memory_history", memory_id=memory_id))["status"] == "ACTIVE"


async def test_project_use_that_names_nothing_tells_of_no_default_that_is_not_there(locked: Process, era: Era) -> None:
    # Fails when what stands in for the default before its first write is told as a project.
    async with client(locked.url, era, key=KEY, tenant=f"fresh-{era}") as raw:
        assert (await raw.refused("project_use"))["code"] == "PROJECT_NOT_FOUND"
        assert (await raw.refused("project_use", create=True))["code"] == "PROJECT_REQUIRED"
        await raw.use("memory_remember", content="Cursors paginate.")
        used = await raw.use("project_use")
        assert (used["outcome"], used["slug"], used["project_id"].strip("0-") != "") == ("resolved", "default", True)


async def test_a_token_of_one_project_knows_of_no_other(
    locked: Process, operator: asyncpg.Connection, era: Era, module_database_url: str
) -> None:
    tenant = f"partial-{era}"
    async with client(locked.url, era, key=KEY, tenant=tenant) as all_projects:
        for slug in ("secret-plan", "shared-work"):
            await all_projects.use("project_use", project=slug, create=True, workspace_path=f"/srv/{slug}")
        hidden = await all_projects.use("memory_remember", content="The plan.", project="secret-plan")
    hidden_id, hidden_project = hidden["memory"]["memory_id"], "secret-plan"
    secret = (await issue(operator, tenant, project="shared-work")).secret
    async with client(locked.url, era, key=secret) as raw:
        stored = await raw.use("memory_remember", content="The work.")
        assert stored["outcome"] == "created"
        assert [hit["content"] for hit in (await raw.use("memory_search"))["results"]] == ["The work."]
        # Fails without the look at `bound_to` in project_use: it told of no project default.
        assert (await raw.use("project_use"))["slug"] == "shared-work"
        answers = [
            await raw.call("memory_search", project=hidden_project),
            await raw.call("memory_search", headers=[("X-Memory-Project", hidden_project)]),
            await raw.call("memory_history", memory_id=hidden_id),
            await raw.call("memory_forget", memory_id=hidden_id),
            await raw.call("project_use", project=hidden_project),
            await raw.call("project_use", project="third", create=True),
            await raw.call("project_use", workspace_path="/srv/secret-plan"),
            await raw.call("project_use", project="shared-work", workspace_path="/srv/secret-plan"),
            await raw.read("memory://projects"),
            await raw.read(f"memory://memories/{hidden_id}"),
            await raw.read(f"memory://memories/{hidden_id}/history"),
        ]
    codes = [orjson.loads(answer["content"][0]["text"]).get("code") for answer in answers[:6]]
    assert codes == ["PROJECT_NOT_FOUND"] * 2 + ["MEMORY_NOT_FOUND"] * 2 + ["PROJECT_NOT_FOUND", "FORBIDDEN"]
    told = "".join(map(str, answers[3:])).replace("there is no project secret-plan", "")
    assert "secret-plan" not in told.replace(hidden_id, "")
    assert "The plan." not in told
    assert "shared-work" in str(answers[8])


async def test_a_session_belongs_to_the_credential_that_opened_it(
    locked: Process, operator: asyncpg.Connection
) -> None:
    own, other = [(await issue(operator, "same-tenant")).secret for _ in range(2)]
    async with client(locked.url, "2025-11-25", key=own) as raw:
        for stranger in (other, KEY):
            raw.headers = [("Authorization", f"Bearer {stranger}")]
            for answer in (
                await raw.request("tools/list", {}),
                await raw.http.get("/mcp", headers=raw.all_headers()),
                await raw.http.delete("/mcp", headers=raw.all_headers()),
            ):
                assert answer.status_code == 404
        raw.headers = [("Authorization", f"Bearer {own}")]
        assert (await raw.request("tools/list", {})).status_code == 200


async def test_a_token_that_calls_too_often_is_told_when_to_come_back_and_others_are_not(
    tmp_path: Path, module_database_url: str, operator: asyncpg.Connection
) -> None:
    # One call in a hundred seconds: no machine is so slow that the second one comes in time.
    busy, calm = [(await issue(operator, "rates")).secret for _ in range(2)]
    slow = {"MEMHUB_DATABASE_URL": module_database_url, "MEMHUB_API_KEY": KEY, "MEMHUB_RATE_LIMIT_PER_S": "0.01"}
    with serving(tmp_path, **slow) as process:
        async with client(process.url, "2026-07-28", key=busy) as raw:
            refused = await raw.request("tools/list", {})
            assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMITED")
            assert int(refused.headers["retry-after"]) >= 1
        async with client(process.url, "2026-07-28", key=calm):
            pass
        async with client(process.url, "2026-07-28", key=KEY, tenant="rates") as raw:
            assert {(await raw.request("tools/list", {})).status_code for _ in range(5)} == {200}


async def test_the_last_use_of_a_token_is_written_behind_the_requests(
    locked: Process, operator: asyncpg.Connection
) -> None:
    issued = await issue(operator, "used")
    async with client(locked.url, "2026-07-28", key=issued.secret):
        deadline = time.monotonic() + WAIT_S
        while (await api_tokens.listed(operator, "used"))[0].last_used_at is None:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)


async def test_a_server_without_a_key_closes_with_the_first_token_and_stays_closed(
    tmp_path: Path, database_url: str, era: Era
) -> None:
    with serving(tmp_path, MEMHUB_DATABASE_URL=database_url) as process:
        assert process.event("http_listening")["auth"] == "none until a token is made"
        async with client(process.url, era, tenant="t") as anyone:
            issued = memhub(tmp_path, database_url, "token", "create", "--tenant", "t", "--json")
            secret, token_id = issued["secret"], UUID(issued["id"])
            deadline = time.monotonic() + WAIT_S
            while (await anyone.request("tools/list", {})).status_code != 401:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.05)
        async with client(process.url, era, key=secret) as raw:
            assert (await raw.use("memory_search", query="x"))["results"] == []
            memhub(tmp_path, database_url, "token", "revoke", str(token_id))
            assert (await raw.request("tools/list", {})).status_code == 401
        async with raw_client(process.url, era) as anyone:
            assert (await anyone.open()).status_code == 401


def test_a_token_is_shown_once_and_its_secret_is_in_no_listing_and_no_row(tmp_path: Path, database_url: str) -> None:
    made = run_memhub(tmp_path, database_url, "token", "create", "--tenant", "acme", "--name", "ci", "--expires", "30d")
    secret = made.stdout.strip()
    assert api_tokens.may_be_token(secret)
    assert "ci" in made.stderr
    assert secret not in made.stderr
    listed = memhub(tmp_path, database_url, "token", "list", "--json")
    assert [(token["name"], token["tenant"], token["read_only"]) for token in listed] == [("ci", "acme", False)]
    table = run_memhub(tmp_path, database_url, "token", "list").stdout
    assert "never" in table
    dumped = asyncio.run(_all_rows(database_url))
    assert secret not in dumped
    assert secret.removeprefix("mh_") not in dumped


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "--tenant", "../x"), "tenant: must be"),
        (("create", "--tenant", "acme", "--project", "none"), "there is no project none"),
        (("create", "--tenant", "acme", "--expires", "yesterday"), "expires: "),
        (("create", "--tenant", "acme", "--expires", "2020-01-01T00:00:00Z"), "expires: is not in the future"),
        (("revoke", "00000000-0000-4000-8000-000000000000"), "there is no token"),
        (("revoke", "mine"), "is not the id of a token"),
    ],
)
def test_a_wish_that_cannot_be_met_is_explained_in_one_line(
    tmp_path: Path, database_url: str, arguments: tuple[str, ...], said: str
) -> None:
    ran = run_memhub(tmp_path, database_url, "token", *arguments)
    assert ran.returncode == (1 if "there is no project" in said else 2)
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1


async def test_a_server_can_neither_make_a_token_nor_bring_one_back(server_connection: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await api_tokens.create(server_connection, "acme", name="own")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await server_connection.execute("UPDATE memhub.api_tokens SET revoked_at = NULL")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await server_connection.execute("UPDATE memhub.api_tokens SET tenant = 'other'")


async def test_a_token_cannot_be_bound_to_a_project_of_another_tenant(connection: asyncpg.Connection) -> None:
    scope = await projects.ensure_default(connection, "theirs", Author(client="test"))
    with pytest.raises(asyncpg.ForeignKeyViolationError):
        await connection.execute(
            "INSERT INTO memhub.api_tokens (id, tenant, project_id, name, hash, read_only, created_at)"
            " VALUES (gen_random_uuid(), 'ours', $1, 'x', sha256('x'), false, clock_timestamp())",
            scope.project_id,
        )


def run_memhub(folder: Path, database_url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = environment(folder, MEMHUB_DATABASE_URL=database_url)
    return forked.run("ops.main", ["memhub", *arguments], env=env, cwd=folder, timeout=WAIT_S)


def memhub(folder: Path, database_url: str, *arguments: str) -> Any:
    ran = run_memhub(folder, database_url, *arguments)
    assert ran.returncode == 0, ran.stderr
    return orjson.loads(ran.stdout) if ran.stdout else None


async def _all_rows(database_url: str) -> str:
    connection = await asyncpg.connect(database_url)
    try:
        rows = await connection.fetch("SELECT * FROM memhub.api_tokens")
        events = await connection.fetch("SELECT * FROM memhub.audit_events")
        return f"{[dict(row) for row in rows]} {[dict(event) for event in events]}"
    finally:
        await connection.close()
