"""Processes for these tests: Python with our code, other users, and waits that are bounded."""

from __future__ import annotations

import contextlib
import os
import pickle
import pwd
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

REPOSITORY = Path(__file__).resolve().parents[2]
WAIT_S = 180.0


def python(code: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start Python on the code, which can import ours and finds its arguments in sys.argv."""
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        text=True,
        **options,
    )


def output_of(process: subprocess.Popen[str]) -> str:
    """Wait for the process to end well and give what it printed."""
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, err
    return out


@contextlib.contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """The process, killed at the end of the block and its pipes closed."""
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)


def line_from(stream: IO[str] | None) -> str:
    """The next line of a process's output, at most WAIT_S later."""
    assert stream is not None
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.append(stream.readline()), daemon=True)
    reader.start()
    reader.join(WAIT_S)
    assert lines, "no line came"
    return lines[0].strip()


def until(condition: Callable[[], bool]) -> None:
    """Poll the condition; fail when it does not come true in time."""
    deadline = time.monotonic() + WAIT_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "the condition never came true"
        pause.wait(0.005)


def as_user(name: str, work: Callable[[], object]) -> Any:
    """The result of the work, or its exception as a string, in a fork that has become that user."""
    entry = pwd.getpwnam(name)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
            answer = work()
        except BaseException as failure:
            answer = f"{type(failure).__name__}: {failure}"
        os.write(writing, pickle.dumps(answer))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pickle.loads(pipe.read())
    os.waitpid(child, 0)
    return answer


def postmaster_pid(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().splitlines()[0])
