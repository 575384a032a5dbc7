"""An import of many memories by the command itself: how many a second, and what it holds of memory."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import TemporaryDirectory

import anyio.to_thread
import asyncpg
import orjson
import psutil

from shared import checker
from tests.bench import corpus, places
from tests.bench.options import Options
from tests.bench.report import Figure

MEMORIES = 100_000
MEMORIES_QUICK = 1_000
RATE_AIMED = 2_000.0
RSS_MB_MAX = 500.0
LOOK_S = 0.05

ROOT = Path(__file__).parents[2]
_MEMHUB = "import sys; sys.path.insert(0, sys.argv.pop(1)); from ops.main import main; main()"


@dataclass(frozen=True, slots=True)
class _Run:
    elapsed_s: float
    rss_mb: float
    cpu_s: float


async def figures(options: Options) -> list[Figure]:
    memories = options.count(MEMORIES, MEMORIES_QUICK)
    with TemporaryDirectory(prefix="mh-bench-") as name:
        folder = Path(name)
        _write(folder / "notes.jsonl", memories)
        async with places.database() as first, places.database() as second:
            plain = await _imported(first, options, folder / "notes.jsonl", "--project", places.PROJECT)
            exported = folder / "export.jsonl"
            await anyio.to_thread.run_sync(_run, first, "export", "--output", str(exported))
            own = await _imported(second, options, exported)
    return [
        *_told("JSON Lines of any system", plain, memories),
        *_told("our own export", own, memories),
    ]


def _write(path: Path, memories: int) -> None:
    with path.open("wb") as file:
        for number, text in enumerate(corpus.texts(memories)):
            said = {
                "id": number,
                "content": text,
                "category": "notes",
                "tags": [f"area-{number % 50}", "bench"],
                "source": f"wiki/{number % 1_000}",
                "created_at": 1_700_000_000 + number,
            }
            file.write(orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE))


async def _imported(url: str, options: Options, path: Path, *arguments: str) -> _Run:
    with places.undisturbed(await places.postmaster(url), real_time=options.real_time):
        run = await anyio.to_thread.run_sync(_run, url, "import", str(path), *arguments)
    owner = await asyncpg.connect(url)
    try:
        assert await checker.check(owner) == []
    finally:
        await owner.close()
    return run


def _run(url: str, *arguments: str) -> _Run:
    """The command from its start to its end; what it holds is looked at every LOOK_S."""
    with TemporaryDirectory(prefix="mh-bench-") as data:
        environment = dict(os.environ, MEMHUB_DATABASE_URL=url, MEMHUB_DATA_DIR=data, MEMHUB_TENANT=places.TENANT)
        began = time.perf_counter()
        rss_bytes = 0
        cpu_s = 0.0
        with Popen(
            [sys.executable, "-P", "-c", _MEMHUB, str(ROOT), *arguments], env=environment, stdout=DEVNULL
        ) as process:
            watched = psutil.Process(process.pid)
            while process.poll() is None:
                with watched.oneshot():
                    rss_bytes = max(rss_bytes, watched.memory_info().rss)
                    cpu_s = sum(watched.cpu_times()[:2])
                time.sleep(LOOK_S)
        assert process.returncode == 0
        return _Run(time.perf_counter() - began, rss_bytes / 1_000_000, cpu_s)


def _told(what: str, run: _Run, memories: int) -> list[Figure]:
    return [
        Figure(
            f"{what}: memories a second, {memories:,}", memories / run.elapsed_s, RATE_AIMED, "/s", "what is aimed at",
            aim=1, at_least=True,
        ),
        Figure(f"{what}: memory", run.rss_mb, RSS_MB_MAX, "MB", "what is allowed", aim=1),
        Figure(
            f"{what}: CPU of the command for a memory", run.cpu_s / memories * 1e6, 1e6 / RATE_AIMED, "µs",
            "one core at the rate aimed at",
        ),
    ]  # fmt: skip
