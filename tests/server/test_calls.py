import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from shared.domain import AuthorKind, MemoryType, Scope, Status
from shared.memories.conflicts import Conflict
from shared.memories.requests import ConflictState, Remember, Revise
from shared.retrieval.requests import Search
from shared.settings import Settings
from tests.server.conftest import serving
from tests.server.memory import InMemory, project_id

NEXT_YEAR = datetime.now(UTC).year + 1
CONTENT = "Pagination uses cursors."
SECRET = "Staging:\npassword: hunter2Kq9vTz81"
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


def text_of(result: CallToolResult) -> dict[str, Any]:
    [content] = result.content
    assert content.type == "text"
    loaded: dict[str, Any] = json.loads(content.text)
    assert content.text == json.dumps(loaded, separators=(",", ":"), ensure_ascii=False)
    return loaded


async def refused(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The error of a call, the same in text and `_meta`, without structured content."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    error = text_of(result)
    assert list(error) == ["code", "message", "retryable", "next"]
    assert result.meta is not None
    assert error.items() <= result.meta.items()
    return error


async def answered(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured content of a call, the same in text; the client has checked it against the schema."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    structured = result.structured_content
    assert isinstance(structured, dict)
    assert text_of(result) == structured
    return structured


async def test_remember_hands_down_every_argument_clean(client: Client, backend: InMemory) -> None:
    answer = await answered(
        client,
        "memory_remember",
        content=CONTENT,
        type="TASK",
        project="app",
        category="api",
        tags=["a", "b", "a"],
        importance=100,
        ttl_days=30,
        supersedes=[UNKNOWN_ID, UNKNOWN_ID],
        scope="project",
        source="a meeting",
        author_kind="human_confirmed",
        acknowledge_sensitive=False,
        client_request_id="12345678",
    )
    assert answer["outcome"] == "created"
    assert backend.asked == [
        Remember(
            content=CONTENT,
            type=MemoryType.TASK,
            category="api",
            tags=("a", "b"),
            importance=100,
            ttl_days=30,
            supersedes=(UUID(UNKNOWN_ID),),
            source="a meeting",
            author_kind=AuthorKind.HUMAN_CONFIRMED,
            client_request_id="12345678",
        )
    ]


async def test_a_null_stands_for_an_argument_left_out(client: Client, backend: InMemory) -> None:
    optional = (
        "type project category tags importance expires_at ttl_days supersedes scope source author_kind "
        "acknowledge_sensitive client_request_id"
    )
    await answered(client, "memory_remember", content=CONTENT, **dict.fromkeys(optional.split()))
    assert backend.asked == [Remember(content=CONTENT)]


async def test_a_task_that_names_no_expiry_lives_seven_days(client: Client, backend: InMemory) -> None:
    await answered(client, "memory_remember", content=CONTENT, type="TASK")
    assert backend.asked[0].ttl_days == 7


async def test_an_instant_with_any_offset_is_taken(client: Client, backend: InMemory) -> None:
    await answered(client, "memory_remember", content=CONTENT, expires_at=f"{NEXT_YEAR}-01-01T09:00:00+09:00")
    assert backend.asked[0].expires_at == datetime(NEXT_YEAR, 1, 1, tzinfo=UTC)


async def test_a_conversation_s_memory_needs_a_conversation(client: Client, backend: InMemory) -> None:
    error = await refused(client, "memory_remember", content=CONTENT, scope="conversation")
    assert error["code"] == "CONVERSATION_REQUIRED"
    assert backend.asked == []


async def test_the_conversation_of_the_settings_travels_with_the_author(backend: InMemory) -> None:
    async with Client(serving(backend, Settings(project="app", conversation="c-1"))) as client:
        await answered(client, "memory_remember", content=CONTENT, scope="conversation")
    assert backend.authors[0].conversation == "c-1"
    assert backend.asked[0].scope is Scope.CONVERSATION


async def test_the_client_s_name_comes_with_either_era(client: Client, backend: InMemory) -> None:
    await answered(client, "memory_remember", content=CONTENT)
    assert backend.authors[0].client == "test-client"


async def test_the_setting_of_the_client_s_name_goes_first(backend: InMemory) -> None:
    async with Client(serving(backend, Settings(project="app", client="ci"))) as client:
        await answered(client, "memory_remember", content=CONTENT)
    assert backend.authors[0].client == "ci"


async def test_what_looks_like_a_credential_is_refused_unless_acknowledged(client: Client, backend: InMemory) -> None:
    error = await refused(client, "memory_remember", content=SECRET)
    assert error["code"] == "SENSITIVE_CONTENT"
    assert "line 2" in error["message"]
    assert "acknowledge_sensitive" in error["next"]
    assert "hunter" not in json.dumps(error)
    assert (backend.asked, backend.opened) == ([], 0)
    await answered(client, "memory_remember", content=SECRET, acknowledge_sensitive=True)
    assert backend.asked[0].acknowledged


async def test_a_revision_is_screened_too_and_told_the_way_that_it_has(client: Client, backend: InMemory) -> None:
    error = await refused(client, "memory_revise", memory_id=UNKNOWN_ID, expected_revision=1, content=SECRET)
    assert error["code"] == "SENSITIVE_CONTENT"
    assert "memory_remember" in error["next"]
    assert backend.asked == []


async def test_revise_forget_restore_and_history_answer_within_their_schemas(client: Client, backend: InMemory) -> None:
    created = await answered(client, "memory_remember", content=CONTENT)
    memory_id = created["memory"]["memory_id"]
    revised = await answered(client, "memory_revise", memory_id=memory_id, expected_revision=1, content="New.")
    assert (revised["outcome"], revised["memory"]["content"]) == ("revised", "New.")
    lost = await answered(client, "memory_revise", memory_id=memory_id, expected_revision=1, content="Late.")
    assert (lost["outcome"], lost["memory"]["content"]) == ("conflict", "New.")
    forgotten = await answered(client, "memory_forget", memory_id=memory_id, reason="gone")
    assert forgotten["outcome"] == "forgotten"
    restored = await answered(client, "memory_forget", memory_id=memory_id, restore=True)
    assert restored["outcome"] == "restored"
    history = await answered(client, "memory_history", memory_id=memory_id)
    assert history["status"] == "ACTIVE"
    assert backend.asked[3:] == [
        ("forget", UUID(memory_id), "gone"),
        ("restore", UUID(memory_id), None),
    ]


async def test_revise_tells_unchanged_cleared_and_never_apart(client: Client, backend: InMemory) -> None:
    head = {"memory_id": UNKNOWN_ID, "expected_revision": 1.0, "content": "x"}
    plain = Revise(memory_id=UUID(UNKNOWN_ID), expected_revision=1, content="x")
    for more, tags, never in (
        ({}, None, False),
        ({"tags": []}, (), False),
        ({"expires_at": "never"}, None, True),
    ):
        await refused(client, "memory_revise", **head, **more)
        seen = backend.asked.pop()
        assert (seen.tags, seen.never_expires, seen.expires_at) == (tags, never, None)
        assert (seen.memory_id, seen.expected_revision) == (plain.memory_id, plain.expected_revision)


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        ({}, 20),
        ({"query": " \n"}, 20),
        ({"query": "q"}, 5),
        ({"query": "q", "mode": "precision"}, 3),
        ({"query": "q", "mode": "exploratory"}, 10),
        ({"query": "q", "mode": "exploratory", "limit": 100}, 100),
    ],
)
async def test_the_limit_comes_from_the_mode_unless_given(
    client: Client, backend: InMemory, given: dict[str, Any], limit: int
) -> None:
    answer = await answered(client, "memory_search", **given)
    assert answer["confidence"] == "low"
    assert isinstance(backend.asked[0], Search)
    assert backend.asked[0].limit == limit


async def test_results_cut_content_at_1200_characters_and_history_does_not(client: Client) -> None:
    created = await answered(client, "memory_remember", content="é" * 1_201)
    assert created["memory"]["truncated"] is True
    assert created["memory"]["content"] == "é" * 1_200
    [hit] = (await answered(client, "memory_search", query="é"))["results"]
    assert (len(hit["content"]), hit["truncated"]) == (1_200, True)
    history = await answered(client, "memory_history", memory_id=created["memory"]["memory_id"])
    assert len(history["revisions"][0]["content"]) == 1_201


async def test_content_of_exactly_1200_characters_is_whole(client: Client) -> None:
    created = await answered(client, "memory_remember", content="é" * 1_200)
    assert created["memory"]["truncated"] is False


async def test_project_use_makes_a_project_under_its_aliases(client: Client, backend: InMemory) -> None:
    used = await answered(
        client,
        "project_use",
        project="billing",
        git_remote="https://user:token@example.org/acme/billing.git",
        create=True,
        display_name="Billing",
    )
    assert used == {
        "outcome": "created",
        "project_id": str(project_id("billing")),
        "slug": "billing",
        "display_name": "Billing",
        "guidance": "Calls that name no project use app: give project=billing in each that means this one.",
    }
    assert backend.asked == [("local", "billing", {"git_remote": "example.org/acme/billing"}, True, "Billing")]


async def test_the_name_of_a_project_is_screened(client: Client, backend: InMemory) -> None:
    # Fails without `screened` in project_use.
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    error = await refused(client, "project_use", project="billing", create=True, display_name=f"Billing {key}")
    assert error["code"] == "SENSITIVE_CONTENT"
    assert key not in json.dumps(error)
    assert backend.asked == []


async def test_without_project_and_alias_the_call_is_told_what_to_do(backend: InMemory) -> None:
    async with Client(serving(backend, Settings())) as client:
        error = await refused(client, "memory_search", query="q")
    assert error["code"] == "PROJECT_REQUIRED"


async def test_an_exception_nobody_expected_says_nothing_of_itself(
    client: Client, backend: InMemory, logged: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("the text quotes a memory")

    monkeypatch.setattr(backend, "search", broken)
    error = await refused(client, "memory_search", query="q")
    assert error["code"] == "INTERNAL_ERROR"
    assert "quotes" not in json.dumps(error)
    [bug, call] = [json.loads(line) for line in logged if b"database_opened" not in line]
    assert (bug["event"], bug["error"]) == ("bug", "RuntimeError")
    assert b"quotes" not in b"".join(logged)
    assert bug["request_id"] == call["request_id"]
    assert bug["request_id"] in error["next"]
    await answered(client, "memory_remember", content=CONTENT)


async def test_an_unknown_tool_is_a_protocol_error_that_names_the_known(client: Client) -> None:
    with pytest.raises(MCPError, match="memory_remember"):
        await client.call_tool("memory_explode", {})


async def test_resources_show_projects_a_memory_and_its_history(client: Client) -> None:
    created = await answered(client, "memory_remember", content="é" * 2_000)
    memory_id = created["memory"]["memory_id"]
    projects = await read(client, "memory://projects")
    assert projects == {"projects": [{"project_id": str(project_id("app")), "slug": "app"}]}
    whole = await read(client, f"memory://memories/{memory_id}")
    assert whole["content"] == "é" * 2_000
    history = await read(client, f"memory://memories/{memory_id}/history")
    assert history["memory_id"] == memory_id


async def test_the_resource_of_a_retired_memory_is_gone_and_its_history_is_not(client: Client) -> None:
    created = await answered(client, "memory_remember", content=CONTENT)
    memory_id = created["memory"]["memory_id"]
    await answered(client, "memory_forget", memory_id=memory_id)
    with pytest.raises(MCPError) as gone:
        await client.read_resource(f"memory://memories/{memory_id}")
    assert gone.value.error.data["code"] == "MEMORY_NOT_FOUND"
    assert "/history" in gone.value.error.data["next"]
    assert (await read(client, f"memory://memories/{memory_id}/history"))["status"] == "DELETED"


@pytest.mark.parametrize(
    "uri",
    [
        "memory://nothing",
        "memory://memories/not-an-id",
        "memory://memories/../projects",
        f"memory://memories/{UNKNOWN_ID}/history/more",
        "file:///etc/passwd",
        "memory://" + "x" * 10_000,
    ],
)
async def test_an_unknown_resource_is_refused_clearly(client: Client, uri: str) -> None:
    with pytest.raises(MCPError) as refused:
        await client.read_resource(uri)
    assert refused.value.error.code == -32602
    assert refused.value.error.data["code"] == "INVALID_ARGUMENT"


async def read(client: Client, uri: str) -> dict[str, Any]:
    [contents] = (await client.read_resource(uri)).contents
    assert contents.mime_type == "application/json"
    loaded: dict[str, Any] = json.loads(contents.text)  # type: ignore[union-attr]
    return loaded


HEAD = {"memory_id": UNKNOWN_ID, "expected_revision": 1, "content": "x"}
BAD = [
    ("memory_remember", {}, "content"),
    ("memory_remember", {"content": None}, "content"),
    ("memory_remember", {"content": ""}, "content"),
    ("memory_remember", {"content": " \n"}, "content"),
    ("memory_remember", {"content": 5}, "content"),
    ("memory_remember", {"content": "é" * 16_000 + "x"}, "content"),
    ("memory_remember", {"content": "a\0"}, "content"),
    ("memory_remember", {"content": "x", "kontent": "y"}, "kontent"),
    ("memory_remember", {"content": "x", "type": "fact"}, "type"),
    ("memory_remember", {"content": "x", "category": "c" * 129}, "category"),
    ("memory_remember", {"content": "x", "tags": "a,b"}, "tags"),
    ("memory_remember", {"content": "x", "tags": [str(n) for n in range(21)]}, "tags"),
    ("memory_remember", {"content": "x", "tags": ["ok", "t" * 65]}, "tags[1]"),
    ("memory_remember", {"content": "x", "tags": ["ok", "a\0"]}, "tags[1]"),
    ("memory_remember", {"content": "x", "importance": 101}, "importance"),
    ("memory_remember", {"content": "x", "importance": -1}, "importance"),
    ("memory_remember", {"content": "x", "importance": "5"}, "importance"),
    ("memory_remember", {"content": "x", "importance": True}, "importance"),
    ("memory_remember", {"content": "x", "importance": 5.5}, "importance"),
    ("memory_remember", {"content": "x", "expires_at": "2999-01-01T00:00:00"}, "expires_at"),
    ("memory_remember", {"content": "x", "expires_at": "2999-01-01T00:00:00Z", "ttl_days": 1}, "ttl_days"),
    ("memory_remember", {"content": "x", "expires_at": "2999-01-01T00:00:00Z", "type": "TASK"}, "expires_at"),
    ("memory_remember", {"content": "x", "ttl_days": 31, "type": "TASK"}, "ttl_days"),
    ("memory_remember", {"content": "x", "ttl_days": 0}, "ttl_days"),
    ("memory_remember", {"content": "x", "supersedes": ["7"]}, "supersedes[0]"),
    ("memory_remember", {"content": "x", "scope": "tenant"}, "scope"),
    ("memory_remember", {"content": "x", "source": "s" * 1_001}, "source"),
    ("memory_remember", {"content": "x", "author_kind": "root"}, "author_kind"),
    ("memory_remember", {"content": "x", "acknowledge_sensitive": "true"}, "acknowledge_sensitive"),
    ("memory_remember", {"content": "x", "client_request_id": "1234567"}, "client_request_id"),
    ("memory_remember", {"content": "x", "client_request_id": "k" * 129}, "client_request_id"),
    ("memory_remember", {"content": "x", "project": "No Slug"}, "project"),
    ("memory_revise", {**HEAD, "memory_id": "7"}, "memory_id"),
    ("memory_revise", {**HEAD, "expected_revision": 0}, "expected_revision"),
    ("memory_revise", {**HEAD, "expected_revision": 2**31}, "expected_revision"),
    ("memory_revise", {**HEAD, "expected_revision": "1"}, "expected_revision"),
    ("memory_revise", {**HEAD, "change_reason": "r" * 1_001}, "change_reason"),
    ("memory_revise", {**HEAD, "expires_at": "soon"}, "expires_at"),
    ("memory_forget", {"memory_id": UNKNOWN_ID, "reason": "r" * 1_001}, "reason"),
    ("memory_forget", {"memory_id": UNKNOWN_ID, "restore": 1}, "restore"),
    ("memory_search", {"query": "q" * 4_001}, "query"),
    ("memory_search", {"query": ["q"]}, "query"),
    ("memory_search", {"limit": 0}, "limit"),
    ("memory_search", {"limit": 101}, "limit"),
    ("memory_search", {"mode": "fast"}, "mode"),
    ("memory_search", {"types": "FACT"}, "types"),
    ("memory_search", {"types": ["FACTS"]}, "types"),
    ("memory_search", {"as_of": "yesterday"}, "as_of"),
    ("memory_search", {"query": "q", "cursor": "c"}, "cursor"),
    ("memory_history", {}, "memory_id"),
    ("project_use", {"project": "p", "create": True}, "project"),
    ("project_use", {"workspace_path": "not/absolute"}, "workspace_path"),
]


@pytest.mark.parametrize(("tool", "arguments", "name"), BAD)
async def test_a_bad_argument_is_refused_by_name_before_anything_runs(
    one_client: Client, backend: InMemory, tool: str, arguments: dict[str, Any], name: str
) -> None:
    error = await refused(one_client, tool, **arguments)
    assert error["code"] == "INVALID_ARGUMENT"
    assert error["message"].startswith(f"{name}: ")
    assert error["retryable"] is False
    assert (backend.asked, backend.opened) == ([], 0)


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "é" * 16_000},
        {"content": "x", "tags": [str(n) for n in range(20)]},
        {"content": "x", "tags": ["t" * 64], "category": "c" * 128, "source": "s" * 1_000},
        {"content": "x", "importance": 0, "client_request_id": "k" * 128},
        {"content": "x", "importance": 100.0, "client_request_id": "k" * 8},
    ],
)
async def test_an_argument_exactly_at_its_bound_is_taken(one_client: Client, arguments: dict[str, Any]) -> None:
    assert (await answered(one_client, "memory_remember", **arguments))["outcome"] == "created"


async def test_conflicts_are_cut_and_shown_without_what_is_missing(client: Client, backend: InMemory) -> None:
    backend.conflicted.append(
        Conflict(
            memory_id=UUID(int=1),
            type=MemoryType.DECISION,
            content="x" * 1000,
            retired_at=datetime(2026, 7, 1, tzinfo=UTC),
            retired_by="client",
            client="cursor",
            reason=None,
            superseded_by=UUID(int=2),
            successor_status=Status.ACTIVE,
            successor_revision=1,
            successor_type=MemoryType.DECISION,
            successor_content=CONTENT,
            successor_source="ADR 7",
        )
    )
    answer = await answered(client, "memory_conflicts", limit=3, project="app")

    assert backend.asked[-1] == {"state": ConflictState.RESOLVED, "limit": 3, "cursor": None}
    [shown] = answer["conflicts"]
    assert shown["replaced"] == {"memory_id": str(UUID(int=1)), "type": "DECISION", "excerpt": "x" * 400}
    assert (shown["by"]["excerpt"], shown["author_client"], shown["source"]) == (CONTENT, "cursor", "ADR 7")
    assert shown["retired_at"] == "2026-07-01T00:00:00Z"
    assert "reason" not in shown


async def test_a_state_that_is_none_is_refused_by_name(client: Client) -> None:
    error = await refused(client, "memory_conflicts", state="settled", project="app")

    assert error["message"] == "state: must be one of resolved, open"
