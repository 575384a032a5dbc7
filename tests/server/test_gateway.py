import asyncio
import os
from pathlib import Path

import pytest

from server.gateway import Gateway
from server.opening import is_being_made
from shared.errors import BackendUnavailable, SchemaMismatch
from shared.settings import Settings
from tests.server.memory import InMemory


class Opening:
    """An opener that fails as often as told, and can be held while it runs."""

    def __init__(self, *failures: Exception, held: bool = False) -> None:
        self.failures = list(failures)
        self.attempts = 0
        self.gate = asyncio.Event()
        if not held:
            self.gate.set()

    async def __call__(self) -> InMemory:
        self.attempts += 1
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        return InMemory()


DOWN = BackendUnavailable("down", next="Wait.")


async def test_calls_at_the_same_time_share_one_attempt() -> None:
    opening = Opening(held=True)
    gateway = Gateway(opener=opening)
    calls = [asyncio.create_task(gateway.backend()) for _ in range(10)]
    await asyncio.sleep(0)
    opening.gate.set()
    opened = await asyncio.gather(*calls)
    assert opening.attempts == 1
    assert all(backend is opened[0] for backend in opened)


async def test_a_failed_attempt_is_told_and_the_next_call_tries_again() -> None:
    gateway = Gateway(opener=Opening(DOWN))
    with pytest.raises(BackendUnavailable, match="down"):
        await gateway.backend()
    assert isinstance(await gateway.backend(), InMemory)


async def test_a_database_of_another_version_is_told_as_such_and_tried_again() -> None:
    gateway = Gateway(opener=Opening(SchemaMismatch("behind", next="Migrate.")))
    with pytest.raises(SchemaMismatch):
        await gateway.backend()
    assert isinstance(await gateway.backend(), InMemory)


async def test_a_call_waits_no_longer_than_its_bound_for_an_attempt() -> None:
    opening = Opening(held=True)
    gateway = Gateway(opener=opening, open_wait_s=0.01)
    with pytest.raises(BackendUnavailable, match="starting"):
        await gateway.backend()
    opening.gate.set()
    attempt = gateway.begin()
    assert attempt is not None
    await attempt
    assert isinstance(await gateway.backend(), InMemory)
    assert opening.attempts == 1


async def test_a_call_waits_longer_for_a_database_that_is_being_made() -> None:
    """Fails without the second wait in `backend`: the first call of a new user on a busy machine."""
    opening = Opening(held=True)
    gateway = Gateway(opener=opening, is_being_made=lambda: True, open_wait_s=0)
    call = asyncio.create_task(gateway.backend())
    await asyncio.wait({call}, timeout=0.2)
    assert not call.done()
    opening.gate.set()
    assert isinstance(await call, InMemory)


def test_a_database_is_being_made_until_its_first_start_is_long_over(tmp_path: Path) -> None:
    embedded = Settings(data_dir=tmp_path)
    made = tmp_path / "postgres" / "PG_VERSION"
    assert is_being_made(embedded)
    made.parent.mkdir()
    made.write_text("18")
    assert is_being_made(embedded)
    assert not is_being_made(Settings(data_dir=tmp_path, database_url="postgresql://h/d"))
    # Fails without the look at its age: a call would wait long for a database that cannot be had.
    os.utime(made, (0, 0))
    assert not is_being_made(embedded)


async def test_also_the_making_of_a_database_is_waited_for_within_a_bound() -> None:
    gateway = Gateway(opener=Opening(held=True), is_being_made=lambda: True, open_wait_s=0, making_wait_s=0.01)
    with pytest.raises(BackendUnavailable, match="being made"):
        await gateway.backend()
    await gateway.aclose()


async def test_a_cancelled_call_does_not_cancel_the_attempt() -> None:
    opening = Opening(held=True)
    gateway = Gateway(opener=opening)
    attempt = gateway.begin()
    assert attempt is not None
    call = asyncio.create_task(gateway.backend())
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait({call})
    opening.gate.set()
    await attempt
    assert isinstance(await gateway.backend(), InMemory)


async def test_closing_ends_an_attempt_under_way() -> None:
    gateway = Gateway(opener=Opening(held=True))
    attempt = gateway.begin()
    assert attempt is not None
    await asyncio.sleep(0)
    await gateway.aclose()
    assert attempt.cancelled()


async def test_an_open_backend_is_not_opened_again() -> None:
    """A second one would hold counters that nobody writes. Fails without the look at `_backend` in `begin`."""
    opening = Opening()
    gateway = Gateway(opener=opening)
    await gateway.backend()
    assert gateway.begin() is None
    assert opening.attempts == 1
