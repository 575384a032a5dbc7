import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from mcp import Client
from rich.console import Console

from ops.demo import DemoFailed, Speaker
from server import caller
from server.application import Application
from server.gateway import Gateway
from shared.errors import BackendUnavailable, MemhubError, SchemaMismatch
from shared.settings import Settings
from tests.server.memory import InMemory

STARTING = BackendUnavailable("The database is still being made; nothing was run.", next="Call again.")


@asynccontextmanager
async def speaking(*failures: MemhubError, told: io.StringIO) -> AsyncIterator[Speaker]:
    """A client at a server whose first calls fail so."""
    left = list(failures)

    async def opener() -> InMemory:
        if left:
            raise left.pop(0)
        return InMemory()

    application = Application(gateway=Gateway(opener=opener), identify=caller.of_stdio(Settings(), aliases=dict))
    async with Client(application.server()) as client:
        yield Speaker("claude-code", client, Console(file=told), pause_s=0)


async def test_the_demo_calls_again_while_the_database_is_being_made_and_says_so_once() -> None:
    """Fails without the loop in `Speaker._answer`: a demo on a busy machine ended with its first call."""
    told = io.StringIO()
    async with speaking(STARTING, STARTING, told=told) as claude:
        answer = await claude.call("project_use", {"project": "memhub-demo", "create": True})
    assert answer["outcome"] == "created"
    assert told.getvalue().count("is being made") == 1


@pytest.mark.parametrize(
    "failure",
    [
        SchemaMismatch("The database is behind.", next="Migrate."),
        BackendUnavailable("The database cannot be reached.", next="Call again."),
    ],
    ids=lambda failure: failure.code,
)
async def test_the_demo_ends_at_what_waiting_does_not_mend(failure: MemhubError) -> None:
    """Fails without _STARTING in `_is_starting`: for a database that is away it waited two minutes."""
    async with speaking(failure, told=io.StringIO()) as claude:
        with pytest.raises(DemoFailed, match=failure.message):
            await claude.call("project_use", {"project": "memhub-demo", "create": True})
