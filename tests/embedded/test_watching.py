"""Noticing that a database was taken from its place, with processes that stand in for its server."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from shared.embedded import GroundWatch, postmaster

ENDED_S = 60

Server = subprocess.Popen[bytes]


@pytest.fixture
def serve(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Server]]:
    """Starts what is found as the server of the folder from then on."""
    (folder / "postgres").mkdir()
    served: list[Server] = []
    monkeypatch.setattr(postmaster, "find", lambda *_: served[-1].pid if served else None)

    def serving() -> Server:
        served.append(subprocess.Popen(["sleep", "600"]))
        return served[-1]

    yield serving
    for server in served:
        server.kill()
        server.wait(ENDED_S)


def replace(folder: Path, number: int) -> None:
    """The old one is kept, and with it its inode."""
    (folder / "postgres").rename(folder / f"elsewhere-{number}")
    (folder / "postgres").mkdir()


def test_a_server_ends_when_its_folder_is_taken_and_the_next_one_with_the_next(
    folder: Path, serve: Callable[[], Server]
) -> None:
    """Holds by _end and by the look for another server once a folder is taken, though the old one takes its time."""
    watch, first = GroundWatch(folder), serve()
    assert [watch.look(), watch.look()] == [False, False]
    first.send_signal(signal.SIGSTOP)
    replace(folder, 1)
    second = serve()
    assert [watch.look(), watch.look()] == [True, False]
    assert second.poll() is None
    replace(folder, 2)
    assert watch.look()

    assert second.wait(ENDED_S) == -signal.SIGINT
    first.send_signal(signal.SIGCONT)
    assert first.wait(ENDED_S) == -signal.SIGINT


def test_a_server_that_came_later_is_known(folder: Path, serve: Callable[[], Server]) -> None:
    """Holds by the look for a server while none is known, and when the known one is gone."""
    watch = GroundWatch(folder)
    watch.look()
    for number in range(2):
        gone = serve()
        watch.look()
        gone.kill()
        gone.wait(ENDED_S)
        server = serve()
        watch.look()
        replace(folder, number)
        assert watch.look()
        assert server.wait(ENDED_S) == -signal.SIGINT


def test_a_folder_that_is_made_was_not_taken(folder: Path, serve: Callable[[], Server]) -> None:
    """Holds by the look at what stood there before: a first start is no loss."""
    (folder / "postgres").rmdir()
    watch, server = GroundWatch(folder), serve()
    assert not watch.look()
    (folder / "postgres").mkdir()

    assert [watch.look(), watch.look()] == [False, False]
    assert server.poll() is None
