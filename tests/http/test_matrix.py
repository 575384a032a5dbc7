"""Every tool, resource and prompt against all that is not its caller: nothing leaks, each refusal names its cause."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import asyncpg
import httpx2
import pytest

from server import prompts, tools
from shared import api_tokens
from tests.http.callers import Era, HeaderList, RawClient, client, raw_client
from tests.http.conftest import KEY
from tests.http.processes import Process, serving

MARK = "zanzibar"
"""A word that stands in what must not be told, and in no question."""

TENANT = "acme"
BOUNDS = {"X-Memory-Tenant": 128, "X-Memory-Project": 64, "X-Conversation-Id": 512}
CONVERSATION = [("X-Conversation-Id", "the-own-one")]
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class World:
    """What the owner stored, and the credentials of others."""

    open_id: str
    private_id: str
    revoked: str
    expired: str
    reading: str
    other_tenant: str
    other_project: str


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> Iterator[Process]:
    with serving(
        tmp_path_factory.mktemp("locked"), MEMHUB_DATABASE_URL=module_database_url, MEMHUB_API_KEY=KEY
    ) as process:
        yield process
        assert process.process.poll() is None


_worlds: dict[str, World] = {}


@pytest.fixture
async def world(locked: Process, module_database_url: str) -> World:
    """Made once a module."""
    if module_database_url not in _worlds:
        _worlds[module_database_url] = await _made(locked, module_database_url)
    return _worlds[module_database_url]


async def _made(locked: Process, database_url: str) -> World:
    async with client(locked.url, "2026-07-28", key=KEY, tenant=TENANT, headers=CONVERSATION) as owner:
        await owner.use("project_use", project="other-project", create=True)
        shared = await owner.use("memory_remember", content=f"Deployments go to {MARK}.")
        private = await owner.use("memory_remember", content=f"Holidays go to {MARK}.", scope="conversation")
    operator = await asyncpg.connect(database_url)

    async def issue(tenant: str, **wishes: Any) -> api_tokens.Issued:
        return await api_tokens.create(operator, tenant, name="matrix", **wishes)

    try:
        revoked = await issue(TENANT)
        await api_tokens.revoke(operator, revoked.token.id)
        return World(
            open_id=shared["memory"]["memory_id"],
            private_id=private["memory"]["memory_id"],
            revoked=revoked.secret,
            expired=(await issue(TENANT, ttl=timedelta(milliseconds=1))).secret,
            reading=(await issue(TENANT, read_only=True)).secret,
            other_tenant=(await issue("elsewhere")).secret,
            other_project=(await issue(TENANT, project="other-project")).secret,
        )
    finally:
        await operator.close()


def calls(world: World, memory_id: str) -> list[tuple[str, dict[str, Any], bool]]:
    """Tool, arguments, and whether it writes. Each tool is here, so that a new one must be added."""
    found: list[tuple[str, dict[str, Any], bool]] = [
        ("memory_search", {"query": "deployments holidays"}, False),
        ("memory_search", {}, False),
        ("memory_search", {"query": "deployments", "as_of": "2126-01-01T00:00:00Z"}, False),
        ("memory_remember", {"content": "Written by the matrix."}, True),
        ("memory_remember", {"content": "Replaced by the matrix.", "supersedes": [memory_id]}, True),
        ("memory_revise", {"memory_id": memory_id, "expected_revision": 1, "content": "Matrix."}, True),
        ("memory_forget", {"memory_id": memory_id}, True),
        ("memory_forget", {"memory_id": memory_id, "restore": True}, True),
        ("memory_history", {"memory_id": memory_id}, False),
        ("memory_context", {"query": "deployments holidays"}, False),
        ("memory_stats", {}, False),
        ("memory_conflicts", {}, False),
        ("docs_search", {"query": "deployments"}, False),
        ("project_use", {"project": "matrix", "create": True}, True),
    ]
    return [call for call in found if call[0] in tools.BY_NAME]


def uris(memory_id: str) -> list[str]:
    return [
        "memory://projects",
        "memory://projects/default/context",
        f"memory://memories/{memory_id}",
        f"memory://memories/{memory_id}/history",
    ]


async def everything(raw: RawClient, world: World, memory_id: str, headers: HeaderList = ()) -> AsyncIterator[Any]:
    """Each answer of each call, read and prompt: the name, whether it writes, the response."""
    for tool, arguments, writes in calls(world, memory_id):
        yield tool, writes, await raw.request("tools/call", {"name": tool, "arguments": arguments}, headers=headers)
    for uri in uris(memory_id):
        yield uri, False, await raw.request("resources/read", {"uri": uri}, headers=headers)
    for prompt in prompts.BY_NAME:
        yield prompt, False, await raw.request("prompts/get", {"name": prompt, "arguments": {}}, headers=headers)


def error_of(answer: httpx2.Response) -> dict[str, Any] | None:
    """The refusal in an answer of MCP, None where it succeeded."""
    message = answer.json()
    if "error" in message:
        data: dict[str, Any] = message["error"]["data"]
        return data
    if message["result"].get("isError"):
        told: dict[str, Any] = json.loads(message["result"]["content"][0]["text"])
        return told
    return None


def test_every_tool_stands_in_the_matrix() -> None:
    world = World(*[""] * 7)
    assert {tool for tool, _, _ in calls(world, UNKNOWN)} == set(tools.BY_NAME)


@pytest.mark.parametrize(
    ("credential", "cause"),
    [
        (lambda _world: None, "asks for a credential"),
        (lambda _world: "wrong", "not known here"),
        (lambda world: world.expired, "has expired"),
        (lambda world: world.revoked, "was revoked"),
    ],
    ids=["no key", "wrong key", "expired", "revoked"],
)
async def test_without_a_credential_that_holds_nothing_is_told(
    locked: Process, world: World, era: Era, credential: Callable[[World], str | None], cause: str
) -> None:
    """Also with the session id of somebody whose credential holds."""
    given = credential(world)
    async with client(locked.url, era, key=KEY, tenant=TENANT) as owner:
        headers: HeaderList = [] if given is None else [("Authorization", f"Bearer {given}")]
        async with raw_client(locked.url, era, headers=headers) as raw:
            raw.session = owner.session
            async for name, _writes, answer in everything(raw, world, world.open_id):
                # What was never issued is not told for ever that it was not.
                is_late = cause == "not known here" and answer.status_code == 429
                assert is_late or answer.status_code == 401, name
                assert ("Too many unknown credentials" if is_late else cause) in answer.json()["message"], name
                assert MARK not in answer.text


@pytest.mark.parametrize(
    ("headers", "status", "cause"),
    [
        ([("Origin", "null")], 403, "Origin:"),
        ([("Origin", "https://foreign.example.com")], 403, "Origin:"),
        ([("Host", "foreign.example.com")], 421, "Host:"),
    ],
    ids=["Origin null", "foreign Origin", "foreign Host"],
)
async def test_from_a_foreign_page_or_by_a_foreign_name_nothing_is_told(
    locked: Process, world: World, era: Era, headers: HeaderList, status: int, cause: str
) -> None:
    async with client(locked.url, era, key=KEY, tenant=TENANT) as raw:
        async for name, _writes, answer in everything(raw, world, world.open_id, headers):
            assert answer.status_code == status, name
            assert answer.json()["message"].startswith(cause), name
            assert MARK not in answer.text


@pytest.mark.parametrize("header", BOUNDS)
@pytest.mark.parametrize(
    "values",
    [["acme", "acme"], [""], None, [b"ac\x01me"], [b"ac\x7fme"], [b"ac\xffme"]],
    ids=["twice", "blank", "too long", "control", "delete", "not ASCII"],
)
async def test_a_header_that_is_malformed_is_refused_by_its_name(
    locked: Process, world: World, era: Era, header: str, values: list[str | bytes] | None
) -> None:
    place: HeaderList = [] if header == "X-Memory-Tenant" else [("X-Memory-Tenant", TENANT)]
    async with client(locked.url, era, key=KEY) as raw:
        headers = [*place, *((header, value) for value in values or ["a" * (BOUNDS[header] + 1)])]
        async for name, _writes, answer in everything(raw, world, world.open_id, headers):
            error = error_of(answer)
            assert error is not None, name
            assert error["code"] in {"INVALID_ARGUMENT", "TENANT_REQUIRED"}, name
            assert error["message"].startswith(f"{header}:"), name
            assert MARK not in answer.text


async def test_a_credential_that_only_reads_writes_nothing(locked: Process, world: World, era: Era) -> None:
    async with client(locked.url, era, key=world.reading) as raw:
        async for name, writes, answer in everything(raw, world, world.open_id):
            error = error_of(answer)
            assert (error is not None) is writes, (name, error)
            assert error is None or error["code"] == "FORBIDDEN", name
    await _is_untouched(locked, world)


@pytest.mark.parametrize("who", ["other tenant", "other project", "other conversation"])
async def test_another_place_knows_nothing_of_it(locked: Process, world: World, era: Era, who: str) -> None:
    key, memory_id, headers = {
        "other tenant": (world.other_tenant, world.open_id, CONVERSATION),
        "other project": (world.other_project, world.open_id, CONVERSATION),
        "other conversation": (KEY, world.private_id, [("X-Memory-Tenant", TENANT), ("X-Conversation-Id", "another")]),
    }[who]
    async with client(locked.url, era, key=key, headers=headers) as raw:
        async for name, _writes, answer in everything(raw, world, memory_id):
            assert answer.status_code in {200, 400}, name
            if who != "other conversation":
                assert MARK not in answer.text, name
            assert "Holidays go to" not in answer.text, name
            if memory_id in str(name) or name in {"memory_revise", "memory_forget", "memory_history"}:
                error = error_of(answer)
                assert error is not None, name
                assert error["code"] == "MEMORY_NOT_FOUND", name
    await _is_untouched(locked, world)


async def _is_untouched(locked: Process, world: World) -> None:
    async with client(locked.url, "2026-07-28", key=KEY, tenant=TENANT, headers=CONVERSATION) as owner:
        for memory_id in (world.open_id, world.private_id):
            history = await owner.use("memory_history", memory_id=memory_id)
            assert (history["status"], len(history["revisions"])) == ("ACTIVE", 1)
