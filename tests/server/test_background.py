"""What runs beside the calls outlives an error that nobody expected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import NoneType
from typing import Any
from uuid import uuid4

import pytest

from server import background, changes
from server.changes import Audience, Hub, Watch
from server.gateway import Gateway
from server.http.usage import Usage
from server.record import Unmetered
from server.timing import Timed
from server.upkeep import Upkeep
from shared import api_tokens
from shared.domain import Change
from shared.errors import BackendBusy
from shared.settings import Settings
from tests.server.memory import InMemory, project_id, with_project
from tests.server.processes import INITIALIZE, running

WAIT_S = 120.0
ROUND_S = 0.01


class Failing(InMemory):
    """A database whose first `failures` connections meet a bug."""

    failures = 1

    @asynccontextmanager
    async def connection(self, work: Any) -> AsyncIterator[Any]:
        self.opened += 1
        if self.opened <= self.failures:
            raise RuntimeError("the text of this exception quotes a memory")
        yield self


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(ROUND_S)


def gateway(backend: InMemory) -> Gateway:
    async def opener() -> InMemory:
        return backend

    return Gateway(opener=opener)


async def test_a_round_that_fails_is_logged_without_its_text_and_followed_by_the_next(logged: list[bytes]) -> None:
    # Fails without `except Exception` in surviving, which the tests below lean on too.
    rounds = 0

    async def work() -> None:
        nonlocal rounds
        rounds += 1
        raise RuntimeError("the text of this exception quotes a memory")

    task = asyncio.create_task(background.every(ROUND_S, work, event="work_failed"))
    await until(lambda: rounds >= 3)
    task.cancel()

    assert b'"event":"work_failed"' in logged[0]
    assert b"RuntimeError" in logged[0]
    assert not any(b"quotes a memory" in line for line in logged)


def test_a_database_that_opens_with_a_bug_does_not_end_a_session(tmp_path: Path) -> None:
    # Fails without `except Exception` in surviving.
    (tmp_path / "broken").touch()
    with running(tmp_path, MEMHUB_STATS_FLUSH_S="0.2") as raw:
        raw.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        raw.answer("init")
        for number in range(3):
            raw.call(number, "memory_search", query="x")
            assert raw.result(number)["isError"]
        assert raw.process.stderr is not None
        said = [raw.process.stderr.readline().decode()]
        while "timings_not_written" not in said[-1]:
            assert said[-1], said
            said.append(raw.process.stderr.readline().decode())
        (tmp_path / "broken").unlink()
        (tmp_path / "database").touch()
        for number in range(100, 200):
            raw.call(number, "memory_search", query="x")
            if not raw.result(number).get("isError"):
                break
        else:
            raise AssertionError("never answered")
        raw.close_stdin()
        assert raw.ended() == 0
        said.append(raw.stderr())
    assert "crashed" not in "".join(said)


async def test_the_last_flush_of_timings_ends_in_no_error() -> None:
    # Fails without the surviving of Timed.flush.
    async def opener() -> InMemory:
        raise RuntimeError("the text of this exception quotes a memory")

    timed = Timed(Unmetered(), Gateway(opener=opener), flush_s=60)
    timed.called("tool_call", "memory_search", outcome="found", seconds=0.003)
    await timed.flush()


async def test_the_use_of_tokens_is_written_after_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails without the surviving of Usage.flush.
    noted: set[Any] = set()

    async def note_used(_connection: Any, used: set[Any]) -> None:
        noted.update(used)

    monkeypatch.setattr(api_tokens, "note_used", note_used)
    usage = Usage(gateway(Failing()), flush_s=ROUND_S)
    running = asyncio.create_task(usage.run())
    token = uuid4()
    usage.note(token)
    await until(lambda: token in noted)
    running.cancel()


async def test_counters_are_flushed_after_a_bug() -> None:
    # Fails without `except Exception` in surviving.
    class Connection(Failing):
        appended = 0

        async def execute(self, *_arguments: Any) -> None:
            self.appended += 1

    database = Connection()
    settings = Settings(database_url="postgresql://nowhere/app", stats_flush_s=0.1)
    upkeep = Upkeep(database, settings)  # type: ignore[arg-type]
    upkeep.start()
    upkeep.counters.count(uuid4(), [uuid4()], "search")
    await until(lambda: database.appended == 1)

    assert upkeep.flushes().failed == 1
    await upkeep.aclose()


def watch_of(credential: str | None) -> Watch:
    return Watch(Audience("local", None, None, credential), f"memory://memories/{uuid4()}", lambda: None)


async def test_one_caller_leaves_watches_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails without _of_caller in Hub._reserve; with the check behind an await the three at once all pass.
    monkeypatch.setattr(changes, "WATCHES_OF_CALLER_MAX", 2)
    hub = Hub(gateway(with_project()), poll_s=ROUND_S)
    first = [watch_of("token:1"), watch_of("token:1")]
    added = await asyncio.gather(*(hub.add([each]) for each in (*first, watch_of("token:1"))), return_exceptions=True)
    assert [type(each) for each in added] == [NoneType, NoneType, BackendBusy]
    await hub.add([watch_of("token:2")])
    await hub.add([watch_of(None) for _ in range(5)])
    hub.remove(first[:1])
    hub.remove(first[:1])
    await hub.add([watch_of("token:1")])
    with pytest.raises(BackendBusy):
        await hub.add([watch_of("token:1")])
    assert hub.watches == 8
    await hub.aclose()


async def test_watches_that_could_not_be_added_leave_their_room() -> None:
    # Fails without _release in Hub.add.
    hub = Hub(gateway(Failing()), poll_s=ROUND_S)
    with pytest.raises(RuntimeError):
        await hub.add([watch_of("token:1")])
    assert hub.watches == 0


async def test_changes_are_followed_after_a_bug() -> None:
    # Fails without the surviving of Hub._follow.
    backend = with_project()
    failing = Failing(slugs=backend.slugs)
    failing.failures = 0
    hub = Hub(gateway(failing), poll_s=ROUND_S)
    told: list[bool] = []
    memory_id = uuid4()
    uri = f"memory://memories/{memory_id}"
    await hub.add([Watch(Audience("local", None, None), uri, lambda: told.append(True))])
    failing.failures = failing.opened + 2
    failing.changes.append(Change("local", project_id("app"), "app", memory_id, None, "revised"))
    await until(lambda: bool(told))

    assert hub.is_following
    await hub.aclose()
