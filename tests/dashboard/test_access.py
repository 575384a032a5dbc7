"""Who may look, for how long, at whose memories; and which forms are ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from starlette.requests import Request

from ops.dashboard.pages import login
from shared import api_tokens, credentials
from tests.dashboard import world as made
from tests.dashboard.conftest import Serve
from tests.dashboard.sites import KEY, Site
from tests.dashboard.world import CONVERSATION, World

STATUS = "SELECT status::text FROM procrastinate_jobs WHERE id = $1"
PAGES = ("/", "/memories", "/projects", "/conflicts", "/tokens")


@pytest.fixture
async def operator(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    await connection.execute("SET ROLE memhub_operator")
    yield connection
    await connection.close()


async def issue(operator: asyncpg.Connection, tenant: str, **wishes: Any) -> api_tokens.Issued:
    return await api_tokens.create(operator, tenant, name="test", **wishes)


@pytest.mark.parametrize("path", [*PAGES, "/memories/00000000-0000-4000-8000-000000000001"])
async def test_nothing_is_shown_without_a_credential(guarded: Site, path: str) -> None:
    answer = await guarded.get(path)

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/ops/login?next=%2Fops%2F")


async def test_the_key_opens_and_the_cookie_is_out_of_reach_of_scripts_and_other_sites(guarded: Site) -> None:
    answer = await guarded.log_in(KEY)

    cookie = answer.headers["set-cookie"].lower()
    assert (answer.status_code, answer.headers["location"]) == (303, "/ops/")
    assert all(flag in cookie for flag in ("httponly", "samesite=strict", "path=/ops"))
    assert KEY not in cookie
    assert "Log out" in await guarded.text("/")


async def test_behind_tls_the_cookie_stays_behind_tls(guarded: Site) -> None:
    headers = {"Origin": guarded.address, "X-Forwarded-Proto": "https"}
    answer = await guarded.client.post("/ops/login", data={"credential": KEY}, headers=headers)

    assert "secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize("credential", ["", "wrong", "mh_" + "A" * 43, "x" * 5_000, "schlüssel"])
async def test_a_wrong_credential_opens_nothing(guarded: Site, credential: str) -> None:
    answer = await guarded.log_in(credential)

    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert (await guarded.get("/")).status_code == 303


async def test_a_revoked_token_ends_its_login(guarded: Site, operator: asyncpg.Connection) -> None:
    # Fails without asking `house.authenticate` at every request in visitor_of.
    issued = await issue(operator, "local")
    await guarded.log_in(issued.secret)
    assert (await guarded.get("/")).status_code == 200
    await api_tokens.revoke(operator, issued.token.id)

    answer = await guarded.get("/")
    assert answer.status_code == 303
    assert "done=ended" in answer.headers["location"]


async def test_a_logout_ends_the_login_on_the_server_too(guarded: Site) -> None:
    await guarded.log_in(KEY)
    cookies = dict(guarded.client.cookies)
    await guarded.act("/logout")
    guarded.client.cookies.update(cookies)

    assert (await guarded.get("/")).status_code == 303


async def test_failed_logins_are_slowed_down(guarded: Site) -> None:
    # Fails without `too_many` in log_in.
    for _ in range(10):
        await guarded.log_in("wrong")

    assert (await guarded.log_in(KEY)).status_code == 429


async def test_logins_that_come_at_once_are_slowed_down_alike(guarded: Site) -> None:
    # Fails with `note` behind the await of log_in: each asks before the first is known to have failed.
    token = "mh_" + "A" * 43
    answers = await asyncio.gather(*(guarded.log_in(token) for _ in range(30)))
    assert sorted(answer.status_code for answer in answers) == [401] * 10 + [429] * 20


async def test_a_login_that_was_let_in_is_no_failure(guarded: Site) -> None:
    # Fails without `forgive`.
    for _ in range(15):
        assert (await guarded.log_in(KEY)).status_code == 303


@pytest.mark.parametrize("wanted", ["https://evil.example/", "/ops/../elsewhere", "/other", ""])
async def test_a_login_leads_to_our_own_pages_only(guarded: Site, wanted: str) -> None:
    # Fails without `_inside` in log_in.
    answer = await guarded.send("/login", {"credential": KEY, "next": wanted})

    assert answer.headers["location"] == "/ops/"


async def test_a_login_leads_back_to_the_page_that_was_wanted_from_a_second_attempt_too(guarded: Site) -> None:
    # Fails without `wanted` in the answers of log_in.
    failed = await guarded.send("/login", {"credential": "wrong", "next": "/ops/conflicts"})
    assert 'name="next" value="/ops/conflicts"' in failed.text
    answer = await guarded.send("/login", {"credential": KEY, "next": "/ops/memories?q=a+b"})

    assert answer.headers["location"] == "/ops/memories?q=a+b"


@pytest.mark.parametrize(
    ("root", "wanted", "led"),
    [
        ("/ops", "/ops/memories?q=a+b", True),
        ("/ops", "/ops/memories?q=a/../b", True),
        ("/ops", "/ops/memories/a..b", True),
        ("", "/memories", True),
        ("/ops", "/ops/../elsewhere", False),
        ("/ops", "/ops/..?q=", False),
        ("/ops", "/ops/%2e%2E/mcp", False),
        ("/ops", "/ops/.%2e", False),
        ("/ops", "/opsy/", False),
        ("/ops", "/ops/\\evil.example", False),
        ("/ops", "/ops/\t/evil.example", False),
        ("", "//evil.example/", False),
        ("", "/\\evil.example", False),
        ("", "https://evil.example/", False),
    ],
)
def test_an_address_inside_is_told_from_one_that_leads_out(root: str, wanted: str, led: bool) -> None:
    # Fails without any of the looks of _inside: browsers take a backslash for a slash, and leave a tab out.
    request = Request({"type": "http", "root_path": root})
    assert login._inside(request, wanted) == (wanted if led else f"{root}/")


async def test_a_token_of_a_tenant_sees_that_tenant_alone(
    guarded: Site, operator: asyncpg.Connection, connection: asyncpg.Connection, world: World
) -> None:
    # Fails without the tenant in `slugs` or in `projects`; a memory is asked for by two statements that each hold it.
    await guarded.log_in((await issue(operator, "other-tenant")).secret)

    assert "payments" not in "".join([await guarded.text(path) for path in PAGES])
    assert (await guarded.get(f"/memories/{world.newest}")).status_code == 404
    assert (await guarded.get("/memories", project="payments")).status_code == 404
    assert (await guarded.get("/conflicts", project="payments")).status_code == 404
    assert "Workers" not in await guarded.text("/")
    assert (await guarded.act("/tenant", {"tenant": "local"})).status_code == 403
    assert (await guarded.act(f"/jobs/{world.job_id}/retry")).status_code == 403
    assert (await guarded.act(f"/memories/{world.newest}/forget")).status_code == 404
    assert await connection.fetchval(STATUS, world.job_id) == "failed"


async def test_a_token_of_a_project_does_not_learn_of_the_others(
    guarded: Site, operator: asyncpg.Connection, world: World
) -> None:
    # Fails without `bound` in Visit.project.
    await issue(operator, "local")
    await guarded.log_in((await issue(operator, "local", project="website")).secret)

    shown = "".join([await guarded.text(path) for path in PAGES])
    assert "website" in shown
    assert "payments" not in shown
    assert "all projects" not in shown
    for path in (f"/memories/{world.newest}", "/memories?project=payments", "/conflicts?project=payments"):
        refused = await guarded.get(path)
        assert refused.status_code == 404
        assert "Ed25519" not in refused.text


async def test_a_read_only_token_changes_nothing(
    guarded: Site, operator: asyncpg.Connection, connection: asyncpg.Connection, world: World
) -> None:
    # Fails without `ask_to_write`.
    await guarded.log_in((await issue(operator, "local", read_only=True)).secret)

    assert "Retry all" not in await guarded.text("/")
    assert (await guarded.act("/embeddings/retry")).status_code == 403
    assert "Forget this memory" not in await guarded.text(f"/memories/{world.newest}")
    assert (await guarded.act(f"/memories/{world.newest}/forget")).status_code == 403
    assert (await guarded.act(f"/memories/{world.forgotten}/restore")).status_code == 403
    assert await connection.fetchval("SELECT count(*) FROM memhub.embedding_work WHERE attempts = 5") == 1


async def test_a_token_makes_no_token(guarded: Site, operator: asyncpg.Connection) -> None:
    # Fails without `is_operator` in _ask_to_manage: a token that leaked would outlive its own end.
    issued = await issue(operator, "local")
    await guarded.log_in(issued.secret)

    assert (await guarded.act("/tokens", {"name": "more", "lifetime": "no end"})).status_code == 403
    assert (await guarded.act(f"/tokens/{issued.token.id}/revoke")).status_code == 403
    assert len(await api_tokens.listed(operator, None)) == 1


async def test_the_key_chooses_among_tenants(guarded: Site, connection: asyncpg.Connection, world: World) -> None:
    await made.build(connection, tenant="acme", fleet=False)
    await guarded.log_in(KEY)
    assert 'value="acme"' not in await guarded.text("/")
    await guarded.act("/tenant", {"tenant": "acme"})

    assert "</span> acme</span>" in await guarded.text("/")
    assert (await guarded.get(f"/memories/{world.newest}")).status_code == 404


async def test_without_a_key_it_is_open_to_this_machine_and_says_so(site: Site) -> None:
    shown = await site.text("/")

    assert "no key is set: open to this machine" in shown
    assert "</span> local</span>" in shown


async def test_without_a_key_the_first_token_closes_it(
    site: Site, operator: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "EXISTENCE_S", 0)
    assert (await site.get("/")).status_code == 200
    await issue(operator, "local")

    assert (await site.get("/")).status_code == 303


async def test_an_issuer_closes_it_too(serve: Serve) -> None:
    # Fails without `_has_issuer` in shared.credentials: it was open to this machine where the server asks.
    oauth = {
        "oauth_issuer": "https://login.example",
        "oauth_audience": "https://memhub.example",
        "oauth_tenant_claim": "tenant",
    }
    async with serve(**oauth) as site:
        assert (await site.get("/")).status_code == 303


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", ""])
async def test_a_form_of_another_origin_is_refused(site: Site, world: World, origin: str) -> None:
    # Fails without check_origin.
    csrf = (await site.text("/tokens")).partition('name="csrf" value="')[2].partition('"')[0]
    answer = await site.send(f"/jobs/{world.job_id}/retry", {"csrf": csrf}, origin=origin)

    assert answer.status_code == 403


@pytest.mark.parametrize("fields", [{"other": "x"}, {"csrf": ""}, {"csrf": "guessed"}, {"csrf": "ä"}])
async def test_a_form_without_its_token_is_refused(site: Site, world: World, fields: dict[str, str]) -> None:
    # Fails without check_csrf.
    assert (await site.send(f"/jobs/{world.job_id}/retry", fields)).status_code == 403


async def test_the_token_of_one_login_is_none_of_another(guarded: Site) -> None:
    await guarded.log_in(KEY)
    first = (await guarded.text("/tokens")).partition('name="csrf" value="')[2].partition('"')[0]
    await guarded.log_in(KEY)

    assert (await guarded.send("/logout", {"csrf": first})).status_code == 403


@pytest.mark.parametrize("path", ["/", "/memories", "/login", "/none", "/static/none.css"])
async def test_every_answer_keeps_foreign_content_out(site: Site, path: str) -> None:
    # Fails without GuardedApp.
    headers = (await site.get(path)).headers

    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


async def test_another_name_of_the_host_is_refused(site: Site) -> None:
    # Fails without TrustedHostMiddleware: a page elsewhere could point its own name at this machine.
    answer = await site.client.get("/ops/", headers={"Host": "evil.example"})

    assert answer.status_code == 400


async def test_a_memory_of_a_conversation_is_seen_with_that_conversation_named(site: Site, world: World) -> None:
    path = f"/memories/{world.conversational}"

    assert (await site.get(path)).status_code == 404
    assert "Only said here." in await site.text(path, conversation=CONVERSATION)
    assert "Only said here." not in await site.text("/memories", project="payments")
    assert "Only said here." in await site.text("/memories", project="payments", conversation=CONVERSATION)


async def test_a_database_that_is_away_is_told_and_comes_back(serve: Serve, connection: asyncpg.Connection) -> None:
    async with serve() as site:
        await site.text("/")
        await connection.execute("ALTER SCHEMA memhub RENAME TO hidden")
        away = await site.get("/")
        await connection.execute("ALTER SCHEMA hidden RENAME TO memhub")

        assert away.status_code == 503
        assert "memhub migrate" in away.text
        assert (await site.get("/")).status_code == 200
