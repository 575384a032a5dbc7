"""`memhub reembed` with a real fleet: search by meaning goes on from the first moment to the last."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import asyncpg
import pytest

from shared.domain import ProjectScope
from shared.embedding import registry
from shared.embedding.address import embedder_address
from shared.embedding.client import QueryEmbedder
from shared.memories.remember import remember
from shared.memories.requests import Remember
from shared.retrieval import meaning
from shared.retrieval.requests import Found, Search
from shared.retrieval.search import search
from shared.settings import Settings
from tests.ops import memhub
from tests.workers.conftest import AUTHOR, Write
from tests.workers.fake import HELD_S_MAX, FakeEmbedder
from tests.workers.processes import EXIT_S, SOON_FORGOTTEN, environment, model_server, ran, stopped, worker
from tests.workers.waiting import until

STATE = "SELECT state FROM memhub.embedding_models WHERE name = $1"
HAVE = """
SELECT NOT EXISTS (
    SELECT FROM memhub.live_memories AS live WHERE 1 <> (
        SELECT count(*) FROM memhub.live_vectors AS vector JOIN memhub.embedding_models AS model ON model.id = model_id
        WHERE model.name = $1 AND (vector.project_id, vector.memory_id, vector.revision_no)
            = (live.project_id, live.memory_id, live.revision_no)))
"""
SOME_AND_NOT_ALL = """
SELECT count(*) BETWEEN 1 AND 29 FROM memhub.live_vectors AS vector
JOIN memhub.embedding_models AS model ON model.id = vector.model_id WHERE model.name = $1
"""
SWEPT_AFTER = """
SELECT count(*) >= 2 FROM memhub.fleet_runs WHERE actor = 'sweep_embeddings' AND outcome = 'ok' AND started_at > $1
"""
QUERY = "zebra quagga"
SMALL_BATCHES = {"MEMHUB_EMBEDDING_BATCH_ROWS": "8"}
NONE = {"MEMHUB_EMBEDDING_PROVIDER": "none"}


@dataclass
class Held:
    """Two models behind one server; the new one stops in the middle of the memories until it is released."""

    old: FakeEmbedder = field(default_factory=lambda: FakeEmbedder("old", 8))
    new: FakeEmbedder = field(default_factory=lambda: FakeEmbedder("new", 12))
    released: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.new.fail = self._hold

    def _hold(self, texts: Sequence[str]) -> None:
        if len(self.new.texts) > 12:
            assert self.released.wait(HELD_S_MAX)


@dataclass
class Searcher:
    """Searches without end, as a server does, and keeps what was not answered by meaning."""

    connection: asyncpg.Connection
    scope: ProjectScope
    embedder: QueryEmbedder
    searches: int = 0
    models: list[str] = field(default_factory=list)
    lapses: list[str] = field(default_factory=list)

    async def run(self) -> None:
        while True:
            found, model = await self._search()
            self.searches += 1
            if model not in self.models:
                self.models.append(model)
            if found.degraded or not found.results or "cosine" not in (found.results[0].why or {}):
                self.lapses.append(f"search {self.searches} with {model}: {found.degraded}, {len(found.results)}")

    async def _search(self) -> tuple[Found, str]:
        model = await meaning.current_model(self.connection)
        assert model is not None
        understood = await meaning.of_query(f"{QUERY} {self.searches}", model, self.embedder)
        request = Search(query=f"{QUERY} {self.searches}")
        return await search(self.connection, self.scope, AUTHOR, request, meaning=understood), model.name


@asynccontextmanager
async def searching(database_url: str, data_dir: Path, scope: ProjectScope) -> AsyncIterator[Searcher]:
    connection = await asyncpg.connect(database_url)
    address = embedder_address(Settings(data_dir=data_dir))
    async with QueryEmbedder(address, timeout_s=EXIT_S) as embedder:
        searcher = Searcher(connection, scope, embedder)
        running = asyncio.create_task(searcher.run())
        yield searcher
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    await connection.close()


async def until_searched(searcher: Searcher, times: int) -> None:
    aim = searcher.searches + times
    async with asyncio.timeout(EXIT_S):
        while searcher.searches < aim:  # noqa: ASYNC110 - the searcher is the event
            await asyncio.sleep(0.01)


def told(settings: Mapping[str, str]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name.startswith("MEMHUB_")}


async def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = await asyncio.to_thread(process.communicate, timeout=2 * EXIT_S)
    return process.returncode, out, err


async def begun(connection: asyncpg.Connection, write: Write, held: Held) -> None:
    """Thirty memories that have vectors of the old model."""
    await registry.register(connection, name=held.old.name, dimension=held.old.dimension, floor=None)
    for number in range(30):
        await write(f"Fact number {number}")
    await until(connection, HAVE, "old")


async def test_search_by_meaning_goes_on_while_the_model_is_moved_and_the_command_killed(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, scope: ProjectScope, write: Write
) -> None:
    # Fails without `other than retired` in the shelf's refresh: a fleet with the old setting drops the new model.
    held = Held()
    async with model_server(held.old, held.new) as provider:
        settings = environment(database_url, data_dir, **provider, **SMALL_BATCHES)
        with worker(environment=settings):
            await begun(connection, write, held)
            async with searching(database_url, data_dir, scope) as searcher:
                await until_searched(searcher, 5)
                first = memhub.start("reembed", "new", **told(settings))
                await until(connection, SOME_AND_NOT_ALL, "new")
                during = await write("Written while the model moves")
                first.kill()
                first.communicate()
                seen = memhub.run("reembed", "--status", **told(settings))
                assert seen.stdout.startswith("new is being built: ")
                held.released.set()
                await until(connection, HAVE, "new")
                assert await connection.fetchval(STATE, "new") == "building"
                await until(connection, HAVE, "old")
                of_both = "SELECT count(DISTINCT model_id) FROM memhub.live_vectors WHERE memory_id = $1"
                assert await connection.fetchval(of_both, during.memory_id) == 2

                code, out, err = await finished(memhub.start("reembed", "new", **told(settings)))
                assert (code, out.splitlines()[0]) == (
                    0,
                    "Search uses new. The vectors of the model before go with the collector (`memhub gc`).",
                )
                assert "Set MEMHUB_EMBEDDING_MODEL=new for the fleet" in out
                assert "embedding with new: 31 of 31" in err
                switched_at = await connection.fetchval("SELECT clock_timestamp()")
                assert json.loads(memhub.run("gc", "--json", **told(settings)).stdout)["vectors"] == 31
                await until(connection, SWEPT_AFTER, switched_at)
                await until_searched(searcher, 5)

    assert (searcher.lapses, searcher.models) == ([], ["old", "new"])
    assert await connection.fetchval(HAVE, "new")
    assert await connection.fetchval("SELECT count(*) FROM memhub.retired_vectors") == 0


async def test_a_worker_killed_in_the_middle_of_a_move_loses_nothing_of_it(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, write: Write
) -> None:
    held = Held()
    async with model_server(held.old, held.new) as provider:
        settings = environment(database_url, data_dir, **provider, **SMALL_BATCHES, **SOON_FORGOTTEN)
        with worker(environment=settings) as first:
            await begun(connection, write, held)
            moving = memhub.start("reembed", "new", **told(settings))
            await until(connection, SOME_AND_NOT_ALL, "new")
            first.kill()
            first.wait(EXIT_S)
        held.released.set()
        with worker(environment=settings):
            code, _, err = await finished(moving)

    assert code == 0, err
    assert await connection.fetchval(STATE, "new") == "current"
    assert await connection.fetchval(HAVE, "new")


async def test_a_move_says_that_no_worker_runs_and_that_none_serves_the_model(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, write: Write
) -> None:
    held = Held()
    async with model_server(held.old) as provider:
        settings = environment(database_url, data_dir, **provider, **SMALL_BATCHES)
        with worker(environment=settings):
            await begun(connection, write, held)
            # A provider that refuses the name is refused at once: here only the workers know of it.
            unaware = told(settings) | {"MEMHUB_EMBEDDING_PROVIDER": "bedrock"}
            moving = memhub.start("reembed", "new", **unaware)
            assert moving.stderr is not None
            lines = [await asyncio.to_thread(moving.stderr.readline) for _ in range(2)]
            moving.send_signal(signal.SIGINT)
            code, _, err = await finished(moving)
    assert lines[0] == "embedding with new: 0 of 30\n"
    assert lines[1].startswith("No worker serves new: ")
    assert "Set MEMHUB_EMBEDDING_MODEL=new" in lines[1]
    assert (code, err) == (130, "memhub: interrupted. Run it again to go on: the fleet embeds meanwhile, and search"
                                " stays as it is until the switch.\n")  # fmt: skip

    await connection.execute("DELETE FROM procrastinate_workers")
    alone = memhub.start("reembed", "new", **told(settings))
    assert alone.stderr is not None
    lines = [await asyncio.to_thread(alone.stderr.readline) for _ in range(2)]
    alone.kill()
    alone.communicate()
    assert lines[1].startswith("No worker is embedding: ")

    left = memhub.run("reembed", "--abort", **told(settings))
    assert left.stdout.startswith("The move to new was left")
    assert await connection.fetchval(STATE, "new") == "retired"
    assert memhub.run("reembed", "--status", **told(settings)).stdout == "No move is under way; search uses old.\n"


async def test_between_two_providers_the_command_says_whose_worker_to_stop_and_then_switches(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    database_url: str,
    data_dir: Path,
    write: Write,
) -> None:
    # Fails without _served_instead in the stalls: while somebody writes, nothing was said for ever.
    held = Held()
    held.released.set()
    async with model_server(held.old) as before, model_server(held.new) as after:
        first, second = (environment(database_url, data_dir, **each) for each in (before, after))
        with worker(environment=first) as holder:
            await begun(connection, write, held)
            with worker(environment=second):
                writing = asyncio.create_task(writing_on(write))
                moving = memhub.start("reembed", "new", **told(second))
                try:
                    line = await line_of(moving, " but the endpoint serves old and not new. Stop the worker of the old")
                    # The other one is the writer's.
                    assert await server_connection.fetchval(STATE, "new") == "building", line
                    assert await stopped(holder) == 0
                    code, _, err = await finished(moving)
                finally:
                    moving.kill()
                    writing.cancel()
                    await asyncio.gather(writing, return_exceptions=True)

    assert code == 0, err
    assert await connection.fetchval(STATE, "new") == "current"


async def writing_on(write: Write) -> None:
    for number in range(10_000):
        await write(f"Written while the model moves, number {number}")
        await asyncio.sleep(0.1)


async def line_of(process: subprocess.Popen[str], part: str) -> str:
    """The first line of its stderr that has this part."""
    assert process.stderr is not None
    async with asyncio.timeout(EXIT_S):
        async for line in lines_of(process.stderr):
            if part in line:
                return line
    raise AssertionError(f"it ended without {part!r}")


async def lines_of(stream: IO[str]) -> AsyncIterator[str]:
    while line := await asyncio.to_thread(stream.readline):
        yield line


async def test_a_name_that_nobody_can_load_is_refused_at_once(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, tmp_path: Path
) -> None:
    await registry.register(connection, name="old", dimension=8, floor=None)
    told_where = {"MEMHUB_DATABASE_URL": database_url, "HOME": str(tmp_path)}
    unknown = await asyncio.to_thread(memhub.run, "reembed", "no/such-model", **told_where)
    assert unknown.returncode == 1
    # Without ORT_DISABLE_TELEMETRY in `models` the runtime leaves an id in the home to be known by.
    assert os.listdir(tmp_path) == []
    assert "fastembed knows no model no/such-model. For a model of another provider set" in unknown.stderr
    assert "\n  memhub/minilm-int8\n" in unknown.stderr
    async with model_server(FakeEmbedder("old", 8)) as provider:
        settings = environment(database_url, data_dir, **provider)
        refused = await asyncio.to_thread(memhub.run, "reembed", "new", **told(settings))
    assert (refused.returncode, "refuses the model new with 404" in refused.stderr) == (1, True), refused.stderr
    assert await connection.fetchval("SELECT count(*) FROM memhub.embedding_models") == 1


@pytest.mark.parametrize("arguments", [["new", "--abort"], ["--status", "--abort"], ["new", "old"]])
def test_bad_usage_of_reembed_exits_2(arguments: list[str]) -> None:
    assert memhub.run("reembed", *arguments).returncode == 2


@pytest.mark.parametrize("named", [[], ["none"], ["memhub/minilm-int8"]])
async def test_settings_that_embed_nothing_move_search_to_no_model(
    connection: asyncpg.Connection, database_url: str, named: list[str]
) -> None:
    # Fails without the refusal in `reembed`: the move would wait for ever.
    await registry.register(connection, name="old", dimension=8, floor=None)
    none = {"MEMHUB_DATABASE_URL": database_url, "MEMHUB_EMBEDDING_PROVIDER": "none"}
    ran = await asyncio.to_thread(memhub.run, "reembed", *named, **none)

    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)
    assert "MEMHUB_EMBEDDING_PROVIDER is none: these settings embed nothing" in ran.stderr
    assert [model.name for model in await registry.models(connection)] == ["old"]


async def test_a_worker_that_embeds_nothing_leaves_what_is_owed_to_the_others(
    connection: asyncpg.Connection, database_url: str, data_dir: Path, write: Write
) -> None:
    await registry.register(connection, name="old", dimension=8, floor=None)
    await write("Owed")
    async with model_server(FakeEmbedder("old", 8)) as provider:
        settings = environment(database_url, data_dir, **provider)
        assert (await asyncio.to_thread(ran, "--once", environment=settings | NONE)).returncode == 0
        assert await connection.fetchval("SELECT count(*) FROM memhub.embedding_work WHERE attempts = 0") == 1
        assert (await asyncio.to_thread(ran, "--once", environment=settings)).returncode == 0

    assert await connection.fetchval(HAVE, "old")


async def test_remembered_while_building_owes_both_models(connection: asyncpg.Connection, scope: ProjectScope) -> None:
    await registry.register(connection, name="old", dimension=8, floor=None)
    await connection.execute(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ('new', 1, .25, 'building', now())"
    )
    await remember(connection, scope, AUTHOR, Remember(content="Said now"))

    assert await connection.fetchval("SELECT count(*) FROM memhub.embedding_work") == 2
