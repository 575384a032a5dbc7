"""`memhub demo`: two real servers, driven as two clients would, share a memory and reverse a decision."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import orjson
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, Implementation, TextContent
from rich.console import Console
from rich.json import JSON
from rich.panel import Panel

from ops.files import naming
from ops.programs import program
from shared.embedded import stop
from shared.errors import MemhubError
from shared.fleet import is_worker_alive

CALL_TIMEOUT_S = 60
RETRIES_S = 120
RETRY_PAUSE_S = 1
WORKER_END_S = 60
WORKER_POLL_S = 0.2
PROJECT = "memhub-demo"
LEFT_MAX = 100
OLD = "Job queue: we use Redis with RQ, because the team knows it."
NEW = "Job queue: procrastinate on PostgreSQL instead of Redis, so that a job commits with the row that owes it."
NEWER = "Job queue: procrastinate 3 on PostgreSQL 18 instead of Redis; a job commits with the row that owes it."
LATE = "Job queue: Celery with RabbitMQ instead of Redis."

_STARTING = re.compile("is still (?:being made|starting)")

# What the answers say of themselves matters here, not every field of them.
_SHOWN = (
    "outcome", "slug", "memory", "superseded", "attestations", "results", "confidence", "guidance", "memory_id",
    "revision", "previous_revision", "status", "superseded_by", "supersedes", "revisions", "content", "type",
    "author_client", "updated_at", "valid_from", "valid_to", "reason", "score",
)  # fmt: skip


class DemoFailed(MemhubError):
    """The demo did not get, or did not see, what it was to show."""

    code = "DEMO"


async def demonstrate(keep: bool, console: Console | None = None) -> None:
    """Runs the story on a throwaway database, or on the user's own with `keep`; raises when an answer differs."""
    try:
        async with AsyncExitStack() as stack:
            environment = dict(os.environ)
            if not keep:
                environment = await stack.enter_async_context(_throwaway(environment))
            await _tell(console or Console(), environment, again=keep)
    except ExceptionGroup as group:
        # The client's tasks wrap what ends them.
        raise _explained(group) or group from None


async def _tell(console: Console, environment: dict[str, str], *, again: bool) -> None:
    console.rule("[bold]memhub: one memory, two clients")
    async with _client("claude-code", environment, console) as claude:
        await claude.call("project_use", {"project": PROJECT, "create": True})
        if again:
            await _forget_the_last_run(claude)
        decided = await claude.call("memory_remember", {"project": PROJECT, "type": "DECISION", "content": OLD})
        old = decided["memory"]["memory_id"]
        async with _client("cursor", environment, console) as cursor:
            console.rule("Another client finds what the first one decided")
            found = await cursor.call("memory_search", {"project": PROJECT, "query": "which job queue"})
            _expect(found["results"][0]["memory_id"] == old, "the other client finds the decision")
            console.rule("It reverses the decision")
            reversed_ = await cursor.call(
                "memory_remember",
                {"project": PROJECT, "type": "DECISION", "content": NEW, "supersedes": [old]},
            )
            new = reversed_["memory"]["memory_id"]
            console.rule("The old word now finds only the new decision")
            found = await claude.call("memory_search", {"project": PROJECT, "query": "Redis RQ queue"})
            _expect([hit["memory_id"] for hit in found["results"]] == [new], "only the current decision is found")
            console.rule("The old one stays readable in its history")
            history = await claude.call("memory_history", {"project": PROJECT, "memory_id": old})
            _expect(history["superseded_by"] == new, "history names the successor")
            console.rule("Two clients revise the same revision: one wins, the other is told what won")
            first = {"project": PROJECT, "memory_id": new, "expected_revision": 1}
            won = await claude.call("memory_revise", first | {"content": NEWER, "change_reason": "pin the versions"})
            _expect(won["outcome"] == "revised", "the first writer wins")
            lost = await cursor.call("memory_revise", first | {"content": LATE})
            _expect(lost["outcome"] == "conflict", "the second writer is told")
            _expect(lost["memory"]["content"] == NEWER, "the answer carries what won")
    console.rule("[bold green]Done: one memory, its history whole, nothing stale found")


async def _forget_the_last_run(claude: Speaker) -> None:
    """The project is the demo's own: what it said the last time would be found beside what it says now."""
    left = await claude.call("memory_search", {"project": PROJECT, "limit": LEFT_MAX})
    for hit in left.get("results", []):
        await claude.call("memory_forget", {"project": PROJECT, "memory_id": hit["memory_id"]})


class Speaker:
    """One client at its own server; every call and its real answer is printed."""

    def __init__(self, name: str, client: Client, console: Console, *, pause_s: float = RETRY_PAUSE_S) -> None:
        self._name = name
        self._client = client
        self._console = console
        self._pause_s = pause_s
        self._waited = False

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = await self._answer(tool, arguments)
        self._console.print(f"[bold cyan]{self._name}[/] calls [bold]{tool}[/]", JSON.from_data(arguments, indent=None))
        if answer.is_error or answer.structured_content is None:
            raise _refused(tool, answer)
        self._console.print(Panel(_folded(_shown(answer.structured_content)), border_style="dim"))
        return dict(answer.structured_content)

    async def _answer(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        """What the tool answers; called again for RETRIES_S while the database is being made, which on a busy machine
        takes longer than a call waits."""
        end_s = time.monotonic() + RETRIES_S
        while True:
            answer = await self._client.call_tool(tool, arguments, read_timeout_seconds=CALL_TIMEOUT_S)
            if not _is_starting(answer) or time.monotonic() > end_s:
                return answer
            if not self._waited:
                self._console.print("The database is being made, which takes a while here; calling again ...")
                self._waited = True
            await anyio.sleep(self._pause_s)


@asynccontextmanager
async def _client(name: str, environment: dict[str, str], console: Console) -> AsyncIterator[Speaker]:
    command = program("memhub-server")
    # Its project is that of no folder: nobody is advised to tie the one that is open to it.
    own = {"MEMHUB_LOG_LEVEL": "ERROR", "MEMHUB_PROJECT": PROJECT}
    server = StdioServerParameters(command=str(command), env=environment | own)
    async with Client(server, client_info=Implementation(name=name, version="1")) as client:
        yield Speaker(name, client, console)


@asynccontextmanager
async def _throwaway(environment: dict[str, str]) -> AsyncIterator[dict[str, str]]:
    """An environment with a database of its own, stopped and deleted at the end."""
    settings = {name: value for name, value in environment.items() if not name.startswith("MEMHUB_")}
    with naming(Path(tempfile.gettempdir())), tempfile.TemporaryDirectory(prefix="memhub-demo-") as folder:
        data_dir = Path(folder) / "data"
        try:
            yield settings | {"MEMHUB_DATA_DIR": str(data_dir), "MEMHUB_WORKER_IDLE_S": "1"}
        finally:
            await _until_worker_ends(data_dir)
            await anyio.to_thread.run_sync(stop, data_dir)


async def _until_worker_ends(data_dir: Path) -> None:
    """A worker that outlives its folder would make a new database in it."""
    with anyio.move_on_after(WORKER_END_S):
        while await anyio.to_thread.run_sync(is_worker_alive, data_dir):  # noqa: ASYNC110 - its lock tells nobody
            await anyio.sleep(WORKER_POLL_S)


def _shown(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _shown(value) for name, value in answer.items() if name in _SHOWN and value not in (None, [])}
    return [_shown(value) for value in answer] if isinstance(answer, list) else answer


def _folded(answer: Any) -> JSON:
    rendered = JSON.from_data(answer, indent=None)
    rendered.text.no_wrap = False  # else what a memory says is cut at the edge of the terminal
    return rendered


def _is_starting(answer: CallToolResult) -> bool:
    """What else a call may be repeated for, as a full disk, is told at once: waiting alone does not mend it."""
    return bool(answer.is_error and _STARTING.search(_text(answer)))


def _text(answer: CallToolResult) -> str:
    return " ".join(part.text for part in answer.content if isinstance(part, TextContent))


def _refused(tool: str, answer: CallToolResult) -> DemoFailed:
    """What the server's error says, which is JSON in the text."""
    told = _text(answer)
    try:
        error = orjson.loads(told)
        return DemoFailed(f"{tool}: {error['message']}", next=error["next"])
    except (ValueError, KeyError, TypeError):
        return DemoFailed(f"{tool}: {told}", next="Run `memhub doctor`.")


def _explained(group: ExceptionGroup) -> MemhubError | None:
    """The first error in the group that says by itself what happened."""
    for error in group.exceptions:
        found = _explained(error) if isinstance(error, ExceptionGroup) else error
        if isinstance(found, MemhubError):
            return found
    return None


def _expect(holds: bool, promise: str) -> None:
    if not holds:
        raise DemoFailed(
            f"The demo did not see what memhub promises: {promise}.", next="Run `memhub doctor`, and report it."
        )
