"""What the embedder does with the rows of embedding_work, whatever happens to the memories meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from shared.database import Database
from shared.domain import Memory, ProjectScope
from shared.memories.forget import forget
from shared.memories.remember import remember
from shared.memories.requests import Remember, Revise
from shared.memories.revise import revise
from shared.settings import Settings
from tests.workers.conftest import AUTHOR, Write, vectors
from tests.workers.fake import HELD_S_MAX, FakeEmbedder
from tests.workers.waiting import until, until_blocked
from workers import embedder as embedding
from workers.embedder import EmbedderActor
from workers.embedding.errors import EmbeddingRefused, EmbeddingStopped, EmbeddingUnavailable
from workers.leases import SUSPECT_ATTEMPTS
from workers.shelf import Shelf

Embed = Callable[[Memory], Awaitable[None]]

# Every live memory has vectors of its own revision and of no other, and no work is left.
WHOLE = """
SELECT NOT EXISTS (SELECT FROM memhub.embedding_work)
   AND NOT EXISTS (SELECT FROM memhub.live_memories AS live WHERE NOT EXISTS (
       SELECT FROM memhub.live_vectors AS vector
       WHERE (vector.project_id, vector.memory_id, vector.revision_no)
           = (live.project_id, live.memory_id, live.revision_no) AND vector.chunk_no = 0))
"""


async def waiting(connection: asyncpg.Connection) -> int:
    count: int = await connection.fetchval("SELECT count(*) FROM memhub.embedding_work")
    return count


async def held(embed: Awaitable[None], fake: FakeEmbedder) -> asyncio.Task[None]:
    """The job, run up to the model and held there."""
    fake.gate.clear()
    fake.entered.clear()
    job = asyncio.ensure_future(embed)
    assert isinstance(job, asyncio.Task)
    assert await asyncio.to_thread(fake.entered.wait, 30)
    return job


async def test_a_job_gives_its_revision_vectors_and_its_work_is_done(
    connection: asyncpg.Connection, shelf: Shelf, write: Write, embed: Embed
) -> None:
    memory = await write("The queue runs on PostgreSQL.")
    await embed(memory)

    assert await vectors(connection, "live_vectors", memory.memory_id) == [1]
    assert await connection.fetchval(WHOLE)


async def test_one_job_drains_the_rows_of_others_and_they_end_at_once(
    connection: asyncpg.Connection, fake: FakeEmbedder, shelf: Shelf, write: Write, embed: Embed
) -> None:
    # Fails without `others` in claim_own: the rest would be embedded job by job.
    memories = [await write(f"Fact number {number}") for number in range(10)]
    await embed(memories[4])
    assert await connection.fetchval(WHOLE)

    for memory in memories:
        await embed(memory)
    assert len(fake.texts) == 10


async def test_a_dimension_that_another_worker_changed_costs_no_attempt(
    connection: asyncpg.Connection, fake: FakeEmbedder, shelf: Shelf, write: Write, embed: Embed
) -> None:
    # Fails without the look for ForeignKeyViolationError in `_write`: it was taken for a fault of the memory.
    memory = await write("Said before the first vector")
    job = await held(embed(memory), fake)
    await connection.execute("UPDATE memhub.embedding_models SET dimension = dimension + 1")
    fake.gate.set()
    await job

    (row,) = await connection.fetch("SELECT attempts, error FROM memhub.embedding_work")
    assert (row["attempts"], "gave the model another dimension" in row["error"]) == (0, True)


async def test_a_batch_is_bounded(
    connection: asyncpg.Connection, settings: Settings, shelf: Shelf, write: Write, embed: Embed
) -> None:
    memories = [await write(f"Fact number {number}") for number in range(settings.embedding_batch_rows + 3)]
    await embed(memories[0])

    assert await waiting(connection) == 3


async def test_a_long_memory_has_a_vector_for_every_chunk(
    connection: asyncpg.Connection, shelf: Shelf, write: Write, embed: Embed
) -> None:
    memory = await write(" ".join(f"Sentence {number} says something." for number in range(400)))
    await embed(memory)

    chunks = await connection.fetchrow("SELECT count(*), max(chunk_no) FROM memhub.live_vectors")
    assert chunks["count"] == chunks["max"] + 1 > 10


async def test_of_a_revision_that_passed_while_it_was_embedded_nothing_is_live(
    connection: asyncpg.Connection, scope: ProjectScope, fake: FakeEmbedder, shelf: Shelf, write: Write, embed: Embed
) -> None:
    # Fails without the join to live_memories in `write` of embedding.sql: the foreign key refuses the batch.
    memory = await write("The old text")
    job = await held(embed(memory), fake)
    request = Revise(memory_id=memory.memory_id, expected_revision=1, content="The new text")
    revised = await revise(connection, scope, AUTHOR, request)
    fake.gate.set()
    await embed(revised.memory)
    await job

    assert await vectors(connection, "live_vectors", memory.memory_id) == [2]
    assert await vectors(connection, "retired_vectors", memory.memory_id) == [1]
    assert await connection.fetchval(WHOLE)


async def test_of_a_memory_superseded_while_it_was_embedded_nothing_is_live(
    connection: asyncpg.Connection, scope: ProjectScope, fake: FakeEmbedder, shelf: Shelf, write: Write, embed: Embed
) -> None:
    old = await write("We deploy on Mondays")
    job = await held(embed(old), fake)
    request = Remember(content="We deploy on Tuesdays", supersedes=(old.memory_id,))
    new = (await remember(connection, scope, AUTHOR, request)).memory
    assert new is not None
    fake.gate.set()
    await embed(new)
    await job

    assert await vectors(connection, "live_vectors", old.memory_id) == []
    assert await vectors(connection, "retired_vectors", old.memory_id) == [1]
    assert await connection.fetchval(WHOLE)


async def test_a_writer_that_is_open_while_vectors_are_written_leaves_them_retired(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    scope: ProjectScope,
    shelf: Shelf,
    write: Write,
    embed: Embed,
) -> None:
    # Fails without `lock_memories`: the write's snapshot still shows the live row, and the foreign key raises.
    memory, other = await write("One fact"), await write("Another fact")
    transaction = server_connection.transaction()
    await transaction.start()
    await forget(server_connection, scope, AUTHOR, memory.memory_id)
    job = asyncio.ensure_future(embed(memory))
    await until_blocked(connection)
    await transaction.commit()
    await job

    assert await vectors(connection, "live_vectors", memory.memory_id) == []
    assert await vectors(connection, "retired_vectors", memory.memory_id) == [1]
    assert await vectors(connection, "live_vectors", other.memory_id) == [1]


async def test_vectors_of_a_memory_that_was_reaped_meanwhile_are_kept_for_the_past(
    connection: asyncpg.Connection, fake: FakeEmbedder, shelf: Shelf, write: Write, embed: Embed
) -> None:
    memory = await write("Soon past")
    job = await held(embed(memory), fake)
    await connection.execute("DELETE FROM memhub.live_memories WHERE memory_id = $1", memory.memory_id)
    fake.gate.set()
    await job

    assert await vectors(connection, "live_vectors", memory.memory_id) == []
    assert await vectors(connection, "retired_vectors", memory.memory_id) == [1]
    assert await waiting(connection) == 0


async def test_work_for_a_purged_revision_is_dropped(
    connection: asyncpg.Connection, scope: ProjectScope, fake: FakeEmbedder, shelf: Shelf, write: Write, embed: Embed
) -> None:
    memory = await write("To be purged")
    await purge(connection, scope, memory)
    await embed(memory)

    assert (await waiting(connection), fake.texts) == (0, [])


async def purge(connection: asyncpg.Connection, scope: ProjectScope, memory: Memory) -> None:
    """As far as the embedder sees it."""
    await forget(connection, scope, AUTHOR, memory.memory_id)
    await connection.execute("GRANT memhub_operator TO current_user")
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE memhub_operator")
        await connection.execute(
            "UPDATE memhub.memory_revisions"
            " SET content = NULL, content_hash = NULL, document = NULL, purged_at = now() WHERE memory_id = $1",
            memory.memory_id,
        )


async def test_no_transaction_is_open_while_the_model_runs(
    connection: asyncpg.Connection, fake: FakeEmbedder, shelf: Shelf, write: Write, embed: Embed
) -> None:
    job = await held(embed(await write("Held in the model")), fake)
    open_transactions = await connection.fetchval(
        """SELECT count(*) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"""
    )
    fake.gate.set()
    await job

    assert open_transactions == 0


async def test_a_row_in_hand_is_left_to_its_holder(
    connection: asyncpg.Connection,
    fake: FakeEmbedder,
    shelf: Shelf,
    write: Write,
    embed: Embed,
    embedder: EmbedderActor,
) -> None:
    # Fails without `leased_until` in the claims: the text would be embedded twice.
    memory = await write("In hand")
    job = await held(embed(memory), fake)
    await embed(memory)
    await embedder.sweep()
    fake.gate.set()
    await job

    assert len(fake.texts) == 1


async def test_a_lease_is_renewed_while_the_model_runs(
    connection: asyncpg.Connection,
    fake: FakeEmbedder,
    shelf: Shelf,
    database: Database,
    write: Write,
    scope: ProjectScope,
) -> None:
    # Fails without `_renew`.
    settings = Settings(embedding_lease_s=0.5)
    embedder = EmbedderActor(database, settings, shelf)
    memory = await write("Long in the model")
    job = await held(
        embedder.embed_revision(
            project_id=str(scope.project_id), memory_id=str(memory.memory_id), revision_no=memory.revision
        ),
        fake,
    )
    first = await connection.fetchval("SELECT leased_until FROM memhub.embedding_work")
    await until(connection, "SELECT leased_until > $1::timestamptz + interval '1 s' FROM memhub.embedding_work", first)

    fake.gate.set()
    await job


async def test_a_lease_that_ran_out_is_swept(
    connection: asyncpg.Connection, shelf: Shelf, write: Write, embedder: EmbedderActor
) -> None:
    await write("Left by a worker that died")
    await connection.execute("UPDATE memhub.embedding_work SET leased_until = now() - interval '1 s', attempts = 1")
    await embedder.sweep()

    assert await connection.fetchval(WHOLE)


async def test_a_stop_gives_the_rows_back_uncounted(
    connection: asyncpg.Connection, fake: FakeEmbedder, shelf: Shelf, write: Write, embed: Embed
) -> None:
    # Fails without the handler of CancelledError in `_finish`: the row stays leased and has spent an attempt.
    memory = await write("Cut short")
    job = await held(embed(memory), fake)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job

    row = await connection.fetchrow(
        "SELECT attempts, leased_until <= clock_timestamp() AS due FROM memhub.embedding_work"
    )
    assert (row["attempts"], row["due"]) == (0, True)


async def test_a_model_that_stops_costs_no_attempt(
    connection: asyncpg.Connection, shelf: Shelf, write: Write, embedder: EmbedderActor
) -> None:
    # Fails without EmbeddingStopped beside CancelledError in `_finish`: the rows had spent an attempt, and waited.
    await write("Cut short")
    for inference in shelf.served.values():
        await inference.close()
    with pytest.raises(EmbeddingStopped):
        await embedder.sweep()

    row = await connection.fetchrow(
        "SELECT attempts, leased_until <= clock_timestamp() AS due, error FROM memhub.embedding_work"
    )
    assert tuple(row) == (0, True, None)


async def test_a_failure_that_nobody_expected_is_counted_with_its_type(
    connection: asyncpg.Connection, fake: FakeEmbedder, shelf: Shelf, database: Database, write: Write
) -> None:
    # Fails without the last handler of `_finish`: the row had no reason, and was leased for minutes.
    def break_down(_texts: Sequence[str]) -> None:
        raise RuntimeError("the text quotes a memory")

    await write("Breaks it")
    fake.fail = break_down
    settings = Settings(embedding_lease_s=600, job_backoff_s=0.01, job_backoff_s_max=1)
    with pytest.raises(RuntimeError):
        await EmbedderActor(database, settings, shelf).sweep()

    row = await connection.fetchrow(
        "SELECT attempts, leased_until < now() + interval '10 s' AS soon, error FROM memhub.embedding_work"
    )
    assert tuple(row) == (1, True, "RuntimeError")


async def test_vectors_that_could_not_be_written_leave_their_rows_in_hand(
    connection: asyncpg.Connection,
    shelf: Shelf,
    write: Write,
    embedder: EmbedderActor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Fails when `settling` lets go of the rows before its statement: they stayed leased, without a reason.
    async def refused(*_: object) -> None:
        raise asyncpg.DiskFullError("could not extend file")

    await write("Cannot be written")
    monkeypatch.setattr(embedder._leases, "done", refused)
    with pytest.raises(asyncpg.DiskFullError):
        await embedder.sweep()

    row = await connection.fetchrow("SELECT attempts, error FROM memhub.embedding_work")
    assert tuple(row) == (1, "DiskFullError (53100)")


async def test_a_provider_that_is_away_costs_no_attempt_and_the_reason_is_kept(
    connection: asyncpg.Connection, fake: FakeEmbedder, shelf: Shelf, write: Write, embedder: EmbedderActor
) -> None:
    def away(_texts: Sequence[str]) -> None:
        raise EmbeddingUnavailable("The server is away.", next="Wait.")

    await write("Waits for the provider")
    fake.fail = away
    await embedder.sweep()

    row = await connection.fetchrow(
        "SELECT attempts, leased_until > now() AS put_off, error FROM memhub.embedding_work"
    )
    assert tuple(row) == (0, True, "EMBEDDING_UNAVAILABLE: The server is away.")


async def test_a_text_that_is_refused_spoils_no_other_and_is_given_up_in_the_end(
    connection: asyncpg.Connection,
    fake: FakeEmbedder,
    shelf: Shelf,
    settings: Settings,
    write: Write,
    embedder: EmbedderActor,
) -> None:
    def refuse(texts: Sequence[str]) -> None:
        if any("poison" in text for text in texts):
            raise EmbeddingRefused("It will not.", next="Say it otherwise.")

    for number in range(5):
        await write(f"A good fact, number {number}")
    poison = await write("A poison fact")
    fake.fail = refuse
    await embedder.sweep()
    assert await waiting(connection) == 1
    for _ in range(settings.embedding_attempts_max + 3):
        await connection.execute("UPDATE memhub.embedding_work SET leased_until = NULL")
        await embedder.sweep()

    row = await connection.fetchrow("SELECT memory_id, attempts, error FROM memhub.embedding_work")
    assert tuple(row) == (poison.memory_id, settings.embedding_attempts_max, "EMBEDDING_REFUSED: It will not.")


class Refusing:
    """Refuses two texts together and the first one alone; of the second alone it does as told."""

    def __init__(self, last: Callable[[], None]) -> None:
        self._last = last
        self._alone = 0

    def __call__(self, texts: Sequence[str]) -> None:
        self._alone += len(texts) == 1
        if self._alone == 2:
            self._last()
        else:
            raise EmbeddingRefused("It will not.", next="Say it otherwise.")


async def test_a_refusal_stays_counted_when_the_provider_goes_away_after_it(
    connection: asyncpg.Connection, fake: FakeEmbedder, shelf: Shelf, write: Write, embedder: EmbedderActor
) -> None:
    # Fails without `settling` in `_refuse`: its attempt was given back and its reason overwritten.
    def away() -> None:
        raise EmbeddingUnavailable("The server is away.", next="Wait.")

    await write("One fact")
    await write("Another fact")
    fake.fail = Refusing(away)
    await embedder.sweep()

    rows = await connection.fetch("SELECT attempts, error FROM memhub.embedding_work ORDER BY attempts")
    assert [tuple(row) for row in rows] == [
        (0, "EMBEDDING_UNAVAILABLE: The server is away."),
        (1, "EMBEDDING_REFUSED: It will not."),
    ]


async def test_the_pause_of_a_refused_row_is_no_lease(
    connection: asyncpg.Connection, database: Database, fake: FakeEmbedder, shelf: Shelf, write: Write
) -> None:
    # Fails without `settling` in `_refuse`: the row was leased on as long as its batch was in the model.
    model_goes_on = threading.Event()

    def hang() -> None:
        assert model_goes_on.wait(HELD_S_MAX)

    for number in (1, 2):
        await write(f"Fact {number}")
    fake.fail = Refusing(hang)
    settings = Settings(embedding_lease_s=0.5, job_backoff_s=60)
    sweep = asyncio.ensure_future(EmbedderActor(database, settings, shelf).sweep())
    refused = "SELECT leased_until FROM memhub.embedding_work WHERE error IS NOT NULL"
    await until(connection, refused)
    paused_until = await connection.fetchval(refused)
    first = await connection.fetchval("SELECT leased_until FROM memhub.embedding_work WHERE error IS NULL")
    await until(connection, "SELECT max(leased_until) > $1 FROM memhub.embedding_work WHERE error IS NULL", first)

    assert await connection.fetchval(refused) == paused_until
    model_goes_on.set()
    await sweep


# What was settled is claimed by another worker.
CLAIMED_SINCE = """
INSERT INTO memhub.embedding_work AS work (project_id, memory_id, revision_no, model_id, attempts, leased_until)
SELECT revision.project_id, revision.memory_id, revision.revision_no, model.id, 1, now() + interval '1 hour'
FROM memhub.memory_revisions AS revision CROSS JOIN memhub.embedding_models AS model
ON CONFLICT (project_id, memory_id, revision_no, model_id)
    DO UPDATE SET attempts = 1, leased_until = excluded.leased_until WHERE work.attempts = 0"""
CLAIMED = "SELECT count(*) FROM memhub.embedding_work WHERE leased_until > now() + interval '30 min' AND attempts = 1"


@pytest.mark.parametrize("settled", ["written", "put off", "dropped"])
async def test_what_is_settled_is_in_hand_no_more(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    fake: FakeEmbedder,
    shelf: Shelf,
    write: Write,
    embedder: EmbedderActor,
    monkeypatch: pytest.MonkeyPatch,
    settled: str,
) -> None:
    # Fails without `settling` in `_embed`, at each of its three: a stop gave back what another worker had claimed.
    entered, model_goes_on = threading.Event(), threading.Event()
    passing = [1] if settled == "written" else []

    def hang(_texts: Sequence[str]) -> None:
        if passing:
            passing.pop()
            return
        entered.set()
        assert model_goes_on.wait(HELD_S_MAX)

    fake.fail = hang
    memory, _ = await write("One fact"), await write("Another fact")
    if settled == "dropped":
        await purge(connection, scope, memory)
    else:
        monkeypatch.setattr(embedding, "BATCH_BYTES_MAX", 1)
    if settled == "put off":
        known, gone = shelf.inference, iter([None])
        monkeypatch.setattr(shelf, "inference", lambda model_id: next(gone, known(model_id)))
    sweep = asyncio.ensure_future(embedder.sweep())
    assert await asyncio.to_thread(entered.wait, 30)
    await connection.execute(CLAIMED_SINCE)
    assert await connection.fetchval(CLAIMED) == 1
    sweep.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sweep
    model_goes_on.set()

    assert await connection.fetchval(CLAIMED) == 1


async def test_work_for_a_model_that_was_dropped_since_costs_no_attempt(
    connection: asyncpg.Connection, shelf: Shelf, write: Write, embedder: EmbedderActor, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without `put_off` there: the row was leased and had spent an attempt.
    await write("Of a model that is gone")
    monkeypatch.setattr(shelf, "inference", lambda _model_id: None)
    await embedder.sweep()

    row = await connection.fetchrow(
        "SELECT attempts, leased_until > now() + interval '10 s' AS put_off, error FROM memhub.embedding_work"
    )
    assert tuple(row) == (0, True, None)


async def test_a_lease_is_not_renewed_beside_the_writing_of_its_vectors(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    database: Database,
    shelf: Shelf,
    write: Write,
) -> None:
    # Fails without `held` in `settling`: two statements on the same rows, each in its own order, could wait for each
    # other.
    await write("Being written")
    transaction = server_connection.transaction()
    await transaction.start()
    await server_connection.execute("SELECT FROM memhub.memories FOR UPDATE")
    sweep = asyncio.ensure_future(EmbedderActor(database, Settings(embedding_lease_s=0.5), shelf).sweep())
    await until_blocked(connection)
    leased_until = await connection.fetchval("SELECT leased_until FROM memhub.embedding_work")
    await until(connection, "SELECT clock_timestamp() > $1::timestamptz + interval '300 ms'", leased_until)

    assert await connection.fetchval("SELECT leased_until FROM memhub.embedding_work") == leased_until
    await transaction.rollback()
    await sweep
    assert await connection.fetchval(WHOLE)


async def test_a_worker_that_starts_tries_the_refused_once_more(
    connection: asyncpg.Connection, shelf: Shelf, settings: Settings, write: Write, embedder: EmbedderActor
) -> None:
    await write("Refused with a wrong key")
    await connection.execute(
        "UPDATE memhub.embedding_work SET attempts = $1, error = 'EMBEDDING_REFUSED: 401'",
        settings.embedding_attempts_max,
    )
    await embedder.start()
    await embedder.sweep()

    assert await connection.fetchval(WHOLE)


async def test_a_row_that_may_have_killed_its_worker_is_tried_alone(
    connection: asyncpg.Connection, fake: FakeEmbedder, shelf: Shelf, write: Write, embedder: EmbedderActor
) -> None:
    # Fails with one claim for all: the batch of a text that kills its worker would be given up with it.
    for number in range(4):
        await write(f"Fact number {number}")
    await connection.execute("UPDATE memhub.embedding_work SET attempts = $1", SUSPECT_ATTEMPTS)
    batches: list[int] = []
    fake.fail = lambda texts: batches.append(len(texts))
    await embedder.sweep()

    assert batches == [1, 1, 1, 1]


async def test_memories_from_before_the_model_are_owed_and_swept(
    connection: asyncpg.Connection,
    database: Database,
    settings: Settings,
    write: Write,
    fake: FakeEmbedder,
) -> None:
    memories = [await write(f"Written without a model, number {number}") for number in range(3)]
    assert await waiting(connection) == 0
    shelf = Shelf(settings, load=lambda settings, *, name=None: fake)
    await shelf.refresh(database)
    embedder = EmbedderActor(database, settings, shelf)
    await embedder.backfill()
    await embedder.backfill()
    assert await waiting(connection) == len(memories)
    await embedder.sweep()

    assert await connection.fetchval(WHOLE)
    await shelf.close()


async def test_the_past_gets_vectors_of_the_current_model_when_nothing_live_waits(
    connection: asyncpg.Connection,
    scope: ProjectScope,
    shelf: Shelf,
    write: Write,
    embed: Embed,
    embedder: EmbedderActor,
) -> None:
    # Fails without owe_past in `backfill`: as_of would be lexical for ever once search moved to another model.
    memory, forgotten = await write("The old text"), await write("To be forgotten")
    request = Revise(memory_id=memory.memory_id, expected_revision=1, content="The new text")
    revised = await revise(connection, scope, AUTHOR, request)
    await embed(revised.memory)
    await forget(connection, scope, AUTHOR, forgotten.memory_id)
    await connection.execute("SET ROLE memhub_operator; DELETE FROM memhub.retired_vectors; RESET ROLE")
    await write("Waits for its vectors")
    await embedder.backfill()
    assert await waiting(connection) == 1  # fails without `in_hand` in owe_past

    await embedder.sweep()
    await embedder.backfill()
    await embedder.sweep()
    await embedder.backfill()
    assert await vectors(connection, "retired_vectors", memory.memory_id) == [1]
    assert await vectors(connection, "retired_vectors", forgotten.memory_id) == [1]
    assert await connection.fetchval(WHOLE)


async def test_the_backfill_leaves_a_memory_that_is_being_revised_and_does_not_wait(
    connection: asyncpg.Connection,
    server_connection: asyncpg.Connection,
    scope: ProjectScope,
    shelf: Shelf,
    write: Write,
    embedder: EmbedderActor,
) -> None:
    # Fails without FOR KEY SHARE ... SKIP LOCKED in `owe`: the foreign key waits for the writer.
    memory, _ = await write("Being revised"), await write("At rest")
    await connection.execute("DELETE FROM memhub.embedding_work")
    transaction = server_connection.transaction()
    await transaction.start()
    request = Revise(memory_id=memory.memory_id, expected_revision=1, content="Revised")
    await revise(server_connection, scope, AUTHOR, request)
    async with asyncio.timeout(60):
        await embedder.backfill()
    await transaction.rollback()

    assert await waiting(connection) == 1


async def test_the_embedded_text_depends_on_the_revision_alone(
    connection: asyncpg.Connection, scope: ProjectScope, fake: FakeEmbedder, shelf: Shelf, embed: Embed
) -> None:
    request = Remember(
        content="Tagged", tags=("a", "b"), category="storage", expires_at=datetime.now(UTC) + timedelta(1)
    )
    memory = (await remember(connection, scope, AUTHOR, request)).memory
    assert memory is not None
    await embed(memory)

    assert fake.texts == [f"Fact about storage (a, b), {memory.created_at.date().isoformat()}: Tagged"]
