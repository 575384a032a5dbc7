"""`memhub doctor` about the fleet: what is wrong, and the command that mends it."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncpg
import orjson
import pytest

from ops import doctor
from ops.finding import Finding
from ops.fleet_findings import findings
from shared import fleet
from shared.embedding import registry
from shared.settings import Settings
from tests.memories.clients import Client
from tests.ops import lively
from tests.ops.conftest import Installation
from tests.workers.fake import FakeEmbedder
from tests.workers.processes import model_server

AWAY = Settings(database_url="postgresql://somewhere/else")
HERE = Settings()
MODELS: Any = "http://models.test/v1"


async def found(connection: asyncpg.Connection, settings: Settings = AWAY) -> dict[str, Finding]:
    return {finding.name: finding for finding in await findings(connection, settings)}


async def test_a_setting_that_differs_from_the_database_is_wrong_and_says_both_ways_out(
    connection: asyncpg.Connection,
) -> None:
    await registry.announce(connection, HERE)
    assert (await found(connection))["embedding model"] == Finding(
        "embedding model", True, "memhub/minilm-int8, floor 0.25"
    )
    settings = Settings(embedding_model="BAAI/bge-small-en-v1.5")
    model = (await found(connection, settings))["embedding model"]

    assert (model.well, model.detail) == (
        False,
        "the settings name BAAI/bge-small-en-v1.5, search uses memhub/minilm-int8",
    )
    assert model.mend == (
        "To move search: memhub reembed BAAI/bge-small-en-v1.5. To stay: unset MEMHUB_EMBEDDING_MODEL and _PROVIDER."
    )
    off = (await found(connection, Settings(embedding_provider="none")))["embedding model"]
    assert not off.well


async def test_a_move_that_is_under_way_is_told_and_is_not_wrong(connection: asyncpg.Connection) -> None:
    await registry.announce(connection, HERE)
    await connection.execute(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ('thenlper/gte-base', 1, .25, 'building', now())"
    )
    told = await found(connection)

    assert told["embedding model"].well
    assert "moving to thenlper/gte-base: `memhub reembed thenlper/gte-base`" in told["embedding model"].detail
    assert "move to thenlper/gte-base" not in told


async def test_a_move_to_a_model_that_no_worker_can_load_is_wrong(connection: asyncpg.Connection) -> None:
    await registry.announce(connection, HERE)
    await connection.execute(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ('no/such-model', 1, .25, 'building', now())"
    )
    move = (await found(connection))["move to no/such-model"]

    assert (move.well, move.detail) == (False, "no worker can load it: fastembed knows no model no/such-model.")
    assert move.mend.startswith("Name one that it knows, such as ")
    assert move.mend.endswith("memhub reembed --abort")


async def test_a_dimension_of_the_settings_that_differs_is_wrong_and_says_what_to_set(
    connection: asyncpg.Connection,
) -> None:
    # Fails without _dimension among the findings.
    remote = Settings(embedding_provider="openai", embedding_model="m", embedding_base_url=MODELS)
    settings = remote.model_copy(update={"embedding_dim": 100})
    await registry.register(connection, name="m", dimension=2, floor=None)
    name = "dimension of m"
    assert (await found(connection, settings))[name] == Finding(
        name,
        False,
        "MEMHUB_EMBEDDING_DIM is 100 here, the database has it with 2",
        "Unset it. As long as there are no vectors, a worker that starts writes what the model gives.",
    )
    speaker: Client = await lively.client(connection)
    await speaker.saved("One.")
    await connection.execute(
        "INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)"
        " SELECT project_id, memory_id, revision_no, 1, 2, 0, '[1,0]' FROM memhub.live_memories"
    )
    assert (await found(connection, settings))[name].mend == "Unset it, or set it to 2."
    assert name not in await found(connection, remote.model_copy(update={"embedding_dim": 2}))


@pytest.mark.parametrize(("state", "mend"), [("current", "Let it give 2 again"), ("building", "Remove what is there")])
async def test_a_dimension_of_the_endpoint_that_differs_is_wrong(
    connection: asyncpg.Connection, state: str, mend: str
) -> None:
    # Fails without `gives` in the client's answer.
    await registry.register(connection, name="m", dimension=2, floor=None)
    speaker: Client = await lively.client(connection)
    await speaker.saved("One.")
    await connection.execute(
        "INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)"
        " SELECT project_id, memory_id, revision_no, 1, 2, 0, '[1,0]' FROM memhub.live_memories"
    )
    await connection.execute("UPDATE memhub.embedding_models SET state = $1", state)
    async with model_server(FakeEmbedder("m", 3)) as provider:
        url: Any = provider["MEMHUB_EMBEDDING_BASE_URL"]
        told = await found(connection, Settings(embedder_url=url))

    assert not told["dimension of m"].well
    assert told["dimension of m"].detail == "the endpoint gives vectors of 3, the database has it with 2"
    assert told["dimension of m"].mend.startswith(mend)


async def test_a_floor_of_the_settings_that_differs_is_a_note(connection: asyncpg.Connection) -> None:
    # Fails without _floor_note; with `==` the floor of the database, a real, would differ from itself.
    await registry.register(connection, name="memhub/minilm-int8", dimension=384, floor=0.3)
    same = (await found(connection, Settings(embedding_floor=0.3)))["embedding model"]
    assert same == Finding("embedding model", True, "memhub/minilm-int8, floor 0.3")

    other = (await found(connection, Settings(embedding_floor=0.4)))["embedding model"]
    assert other.well
    assert other.detail.endswith(
        "MEMHUB_EMBEDDING_FLOOR is 0.4 here: a worker with that setting writes it over the database's"
    )


@pytest.mark.parametrize(
    ("granted", "well", "said", "mend"),
    [
        (("memhub_server", "memhub_operator"), True, "servers act as memhub_server, which cannot rewrite history", ""),
        (
            ("memhub_server",),
            True,
            "purge, token, project untie and rename act as memhub_operator: give them the owner's URL",
            "",
        ),
        (("memhub_operator",), False, "no server can start with this URL", "the URL of a member of memhub_server"),
        ((), False, "neither as memhub_server nor as memhub_operator", "GRANT memhub_server TO the connecting role"),
    ],
)
async def test_a_role_is_wrong_only_where_it_is_neither_a_server_s_nor_an_operator_s(
    connection: asyncpg.Connection, granted: tuple[str, ...], well: bool, said: str, mend: str
) -> None:
    """Fails where every role that is missing is wrong: servers were to be given the right to purge."""
    change = connection.transaction()
    await change.start()
    await connection.execute("CREATE ROLE looked_at")
    for role in granted:
        await connection.execute(f"GRANT {role} TO looked_at")
    await connection.execute("SET LOCAL ROLE looked_at")
    finding = await doctor._roles(connection)
    await change.rollback()

    assert (finding.well, said in finding.detail, mend in finding.mend) == (well, True, True)
    assert "GRANT memhub_operator" not in finding.mend


def test_no_database_is_well_but_beside_a_worker_that_had_one(tmp_path: Path) -> None:
    # Fails without is_worker_alive in `_absent`: clients heard that the database is gone, and doctor that all is well.
    settings = Settings(data_dir=tmp_path)
    assert doctor._absent(settings).well
    with fleet.shown_alive(tmp_path):
        beside = doctor._absent(settings)
    assert (beside.well, beside.mend) == (False, "Move it back, or bring a backup there: memhub restore FILE")


def test_a_worker_of_another_user_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    # Fails without `naming` in is_worker_alive: a traceback. And without lexists in _of_client and in _of_hook, where
    # the home is another user's too.
    with tempfile.TemporaryDirectory(prefix="mh-", dir="/tmp") as place, ExitStack() as stack:
        data_dir = Path(place)
        data_dir.chmod(0o755)
        stack.enter_context(fleet.shown_alive(data_dir))
        fleet.worker_lock(data_dir).chmod(0)
        if os.geteuid() == 0:
            os.seteuid(65534)
            stack.callback(os.seteuid, 0)
        status = asyncio.run(doctor.examine(Settings(data_dir=data_dir), as_json=True))
    (told,) = [finding for finding in orjson.loads(capsys.readouterr().out) if not finding["well"]]

    assert (status, told["name"]) == (1, "database")
    assert told["detail"] == (
        f"The data folder {data_dir} cannot be used: Permission denied at {fleet.worker_lock(data_dir)}."
    )


def test_a_folder_that_was_deleted_hides_no_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails with Places.here() in `_clients`: a traceback.
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text('{"mcpServers": {"memhub": {"command": "/gone"}}}')
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "open").mkdir()
    monkeypatch.chdir(tmp_path / "open")
    (tmp_path / "open").rmdir()
    status = asyncio.run(doctor.examine(Settings(data_dir=tmp_path / "data"), as_json=True))
    assert status == 1
    assert "cursor" in {finding["name"] for finding in orjson.loads(capsys.readouterr().out)}


def test_a_user_without_a_home_has_no_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Fails without RuntimeError in `_clients`: a traceback.
    def unknown(_uid: int) -> None:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    status = asyncio.run(doctor.examine(Settings(data_dir=tmp_path / "data"), as_json=True))
    told = [finding["name"] for finding in orjson.loads(capsys.readouterr().out)]
    assert (status, told) == (0, ["settings", "disk", "database"])


async def test_no_worker_is_wrong_with_a_database_of_ones_own_and_normal_with_the_embedded_one(
    connection: asyncpg.Connection,
) -> None:
    assert (await found(connection))["workers"].mend == "Start memhub-worker, with these settings."
    assert (await found(connection, HERE))["workers"].well

    await lively.employ(connection, "embed", "counters", "retention", seconds_ago=60)
    assert not (await found(connection))["workers"].well


async def test_a_queue_that_nobody_serves_is_named_with_the_worker_to_start(connection: asyncpg.Connection) -> None:
    await lively.employ(connection, "embed")
    workers = (await found(connection))["workers"]
    assert (workers.detail, workers.mend) == (
        "nobody serves counters,retention",
        "Start one: memhub-worker --queues counters,retention",
    )

    await lively.employ(connection, "counters", "retention")
    assert (await found(connection))["workers"].well


async def test_failed_jobs_are_counted_with_a_reason_and_an_old_backlog_is_told(connection: asyncpg.Connection) -> None:
    insert = "INSERT INTO procrastinate_jobs (queue_name, task_name, status) VALUES ('embed', 'x', $1) RETURNING id"
    waiting = await connection.fetchval(insert, "todo")
    assert (await found(connection))["jobs"].detail == "1 waits, none failed"

    await connection.execute("UPDATE procrastinate_events SET at = now() - interval '1 h' WHERE job_id = $1", waiting)
    await lively.employ(connection, "embed", "counters", "retention")
    late = (await found(connection))["jobs"]
    assert (late.well, late.detail) == (False, "1 waits, the oldest due for 60 min")

    failed = await connection.fetchval(insert, "failed")
    await connection.execute("INSERT INTO memhub.job_errors VALUES ($1, 'TimeoutError', now())", failed)
    jobs = (await found(connection))["jobs"]
    assert (jobs.well, jobs.detail) == (False, "1 failed for good, the last one: TimeoutError")
    assert "memhub jobs list" in jobs.mend


async def test_coverage_is_told_and_what_was_given_up_is_wrong(connection: asyncpg.Connection) -> None:
    await registry.announce(connection, HERE)
    speaker: Client = await lively.client(connection)
    await speaker.saved("One.")
    name = "coverage of memhub/minilm-int8"
    assert (await found(connection))[name] == Finding(name, True, "0.0% of 1 memory, 1 waits")

    await connection.execute("UPDATE memhub.embedding_work SET attempts = 5, error = 'EMBEDDING_REFUSED: no'")
    given_up = (await found(connection))[name]
    assert not given_up.well
    assert given_up.detail.endswith("1 were given up: EMBEDDING_REFUSED: no")


async def test_the_command_shows_them_and_exits_1_where_one_is_wrong(
    connection: asyncpg.Connection, database_url: str, installation: Installation
) -> None:
    url = {"MEMHUB_DATABASE_URL": database_url}
    ran = installation.run("doctor", "--json", environment=url)
    told: list[dict[str, Any]] = orjson.loads(ran.stdout)
    # The cluster of tests has no fsync.
    assert (ran.returncode, [each["name"] for each in told if not each["well"]]) == (1, ["durability", "workers"])

    await lively.employ(connection, "embed", "counters", "retention")
    shown = installation.run("doctor", environment=url | {"MEMHUB_TENANTS": "x"})
    assert "no such setting: MEMHUB_TENANTS (did you mean MEMHUB_TENANT?)" in " ".join(shown.stdout.split())
    assert (shown.returncode, shown.stderr) == (1, "")
    assert "1 alive" in shown.stdout
