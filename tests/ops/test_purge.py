"""Purge destroys every copy of the words: looked for in a dump of the database and in every byte of its files."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from ops import purging
from ops.purge import purge
from shared import checker
from shared.domain import MemoryType
from shared.errors import BackendBusy, ConfigurationError, IdempotencyKeyReused, InvalidArgument, MemoryNotFound
from shared.retrieval import frequencies
from shared.settings import Settings
from tests.database import Cluster, installation
from tests.memories.clients import Client
from tests.memories.test_history import ODD_EVENT
from tests.ops import memhub

SECRET = "quokka"
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"
SAID = f"The launch code is zebra-{SECRET}-7391."


@dataclass(frozen=True)
class Chain:
    """A memory full of the secret, between the one that it superseded and the one that superseded it."""

    before: UUID
    secret: UUID
    after: UUID


@pytest.fixture
async def chain(speaker: Client, connection: asyncpg.Connection) -> Chain:
    await connection.execute(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ('small', 3, 0.3, 'current', now())"
    )
    before = await speaker.saved("There is no launch code.")
    secret = await speaker.saved(
        SAID,
        category=f"c {SECRET}",
        tags=(SECRET,),
        source=f"s {SECRET}",
        supersedes=(before,),
        client_request_id=f"first-request-{uuid4()}",
    )
    await with_vector(connection, secret)
    other = speaker.speaking("cursor")
    await other.remember(SAID.lower(), tags=(f"t {SECRET}",), source=f"o {SECRET}", category=SECRET)
    await speaker.forget(secret, reason=f"because of {SECRET}")
    await speaker.restore(secret, reason=f"despite {SECRET}")
    await speaker.revise(
        secret, 2, f"{SAID} Again.", reason=f"more {SECRET}", client_request_id=f"second-request-{uuid4()}"
    )
    await connection.execute(
        "INSERT INTO memhub.term_frequencies SELECT $1, unnest(ARRAY[$2, 'launch']), 1",
        speaker.scope.project_id,
        SECRET,
    )
    await connection.execute(
        "INSERT INTO memhub.counter_deltas (project_id, memory_id, counter, hits, created_at)"
        " VALUES ($1, $2, 'search', 1, clock_timestamp())",
        speaker.scope.project_id,
        secret,
    )
    await connection.execute(
        "INSERT INTO memhub.memory_counters (project_id, memory_id, used_at) VALUES ($1, $2, now())",
        speaker.scope.project_id,
        secret,
    )
    after = await speaker.saved("The launch code was changed.", type=MemoryType.DECISION, supersedes=(secret,))
    return Chain(before, secret, after)


async def with_vector(connection: asyncpg.Connection, memory_id: UUID) -> None:
    await connection.execute(
        "INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)"
        " SELECT project_id, memory_id, revision_no, 1, 3, 0, '[0.125,0.25,0.5]' FROM memhub.live_memories"
        " WHERE memory_id = $1",
        memory_id,
    )


async def found_in(cluster: Cluster, connection: asyncpg.Connection, url: str, secret: str) -> dict[str, int]:
    """How often the secret stands in a dump, and in which files of the database."""
    await connection.execute("CHECKPOINT")
    oid = await connection.fetchval("SELECT oid FROM pg_database WHERE datname = current_database()")
    return _found(cluster.data / "base" / str(oid), url, secret)


def _found(folder: Path, url: str, secret: str) -> dict[str, int]:
    dumped = subprocess.run([str(installation("18") / "bin" / "pg_dump"), url], capture_output=True, check=True).stdout
    places = {file.name: file.read_bytes() for file in folder.iterdir()} | {"dump": dumped}
    return {name: count for name, held in places.items() if (count := held.lower().count(secret.encode().lower())) > 0}


async def test_a_purged_secret_is_in_no_dump_and_in_no_file(
    settings: Settings, cluster: Cluster, connection: asyncpg.Connection, chain: Chain, database_url: str
) -> None:
    # Fails without any one of the steps of purging but those for counts, and without VACUUM (FULL) in `rewrite`:
    # of the tables, and of pg_statistic, which ANALYZE fills with samples.
    await connection.execute("ANALYZE")
    before = await found_in(cluster, connection, database_url, SECRET)
    assert len(before) > 5
    assert before["dump"] > 10

    assert await purge(settings, [str(chain.secret)], yes=True, rewrite=True) == 0

    assert await found_in(cluster, connection, database_url, SECRET) == {}


async def test_what_is_left_is_a_skeleton_that_history_reads(
    settings: Settings, speaker: Client, connection: asyncpg.Connection, chain: Chain
) -> None:
    await purge(settings, [str(chain.secret)], yes=True, rewrite=False)

    history = await speaker.history(chain.secret)
    assert [(said.content, said.purged_at is not None) for said in history.revisions] == [(None, True)] * 3
    assert (history.superseded_by, history.supersedes) == (chain.after, (chain.before,))
    assert [event.event for event in history.events] == [
        "remembered", "attested", "forgotten", "restored", "revised", "superseded", "purged",
    ]  # fmt: skip
    assert (await speaker.history(chain.before)).superseded_by == chain.secret
    assert await checker.check(connection) == []


async def test_details_that_no_server_wrote_are_purged_too(
    settings: Settings, connection: asyncpg.Connection, chain: Chain
) -> None:
    # Fails without the CASE of redact_events, and with `purged` events passed over whatever they hold.
    await connection.execute("ALTER DOMAIN memhub.event_details DROP CONSTRAINT event_details_check")
    for event, details in (
        ("attested", f'"{SECRET}"'),
        ("attested", f'["{SECRET}"]'),
        ("attested", "null"),
        ("purged", f'{{"revisions": 1, "reason": "{SECRET}"}}'),
    ):
        await connection.execute(ODD_EVENT.replace("'attested'", f"'{event}'"), chain.secret, details)

    assert await purge(settings, [str(chain.secret)], yes=True, rewrite=False) == 0

    told = await connection.fetch(
        "SELECT details::text FROM memhub.audit_events WHERE memory_id = $1 ORDER BY id DESC LIMIT 5", chain.secret
    )
    assert [details for (details,) in told] == [
        '{"revisions": 3}', '{"redacted": true, "revisions": 1}', *['{"redacted": true}'] * 3,
    ]  # fmt: skip


async def test_nothing_derived_is_left(
    settings: Settings, connection: asyncpg.Connection, chain: Chain, speaker: Client
) -> None:
    # Each table fails without its step.
    await purge(settings, [str(chain.secret)], yes=True, rewrite=False)

    tables = ("live_memories", "live_vectors", "retired_vectors", "embedding_work", "counter_deltas", "memory_counters")
    for table in tables:
        left = await connection.fetchval(f"SELECT count(*) FROM memhub.{table} WHERE memory_id = $1", chain.secret)
        assert (table, left) == (table, 0)
    jobs = "SELECT count(*) FROM procrastinate_jobs WHERE args->>'memory_id' = $1"
    assert await connection.fetchval(jobs, str(chain.secret)) == 0
    assert await connection.fetch("SELECT lexeme FROM memhub.term_frequencies") == [("launch",)]


async def test_an_active_memory_is_forgotten_with_its_words_and_vectors(
    settings: Settings, speaker: Client, connection: asyncpg.Connection, chain: Chain
) -> None:
    # Fails without `retire`, without `hide`, and when vectors are dropped before `hide` made their copies.
    await with_vector(connection, chain.after)
    await purge(settings, [str(chain.after)], yes=True, rewrite=False)

    assert await speaker.live() == {}
    assert (await speaker.restore(chain.after)).outcome == "not_active"
    assert (await speaker.revise(chain.after, 1, "New words.")).outcome == "not_active"
    left = "SELECT count(*) FROM memhub.retired_vectors WHERE memory_id = $1"
    assert await connection.fetchval(left, chain.after) == 0
    assert await checker.check(connection) == []


async def test_a_retried_request_does_not_bring_the_words_back(
    settings: Settings, speaker: Client, connection: asyncpg.Connection
) -> None:
    # Fails without seal_keys: as a replay it would be told of the skeleton, without its key it would write them again.
    memory = await speaker.saved(SAID, client_request_id="the-same-request")
    await purge(settings, [str(memory)], yes=True, rewrite=False)

    with pytest.raises(IdempotencyKeyReused):
        await speaker.remember(SAID, client_request_id="the-same-request")
    assert await speaker.live() == {}


async def test_without_yes_it_only_shows(
    settings: Settings, speaker: Client, chain: Chain, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = await (speaker.speaking(conversation="talk")).saved("Something else.")
    assert await purge(settings, [str(chain.secret), str(twin)], yes=False, rewrite=True) == 0

    told = capsys.readouterr().out
    assert str(chain.secret) in told
    assert "Nothing was destroyed" in told
    assert f"    {SAID}" in told
    assert "    Something else." in told
    assert (await speaker.history(chain.secret)).revisions[0].content == SAID


async def test_what_it_shows_is_text_to_the_terminal(
    settings: Settings, speaker: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = await speaker.saved("\n[red]Not\x1b[31m red[/] " + "and long " * 20)
    await purge(settings, [str(memory)], yes=False, rewrite=True)

    shown = capsys.readouterr().out.splitlines()[1]
    assert shown == "    " + ("[red]Not [31m red[/] " + "and long " * 20)[:80]


async def test_with_yes_no_words_are_shown(
    settings: Settings, speaker: Client, chain: Chain, capsys: pytest.CaptureFixture[str]
) -> None:
    await purge(settings, [str(chain.secret)], yes=True, rewrite=False)

    assert SECRET not in capsys.readouterr().out


async def test_others_that_say_the_same_are_named(
    settings: Settings, speaker: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = await speaker.saved(SAID)
    await speaker.forget(memory)
    twin = await speaker.saved(SAID)
    await purge(settings, [str(memory)], yes=False, rewrite=True)

    assert f"which are not touched: {twin}" in capsys.readouterr().out


async def test_an_id_that_is_nowhere_destroys_nothing(settings: Settings, speaker: Client, chain: Chain) -> None:
    with pytest.raises(MemoryNotFound, match="nothing was destroyed"):
        await purge(settings, [str(chain.secret), str(uuid4())], yes=True, rewrite=True)
    with pytest.raises(InvalidArgument, match="MEMORY_ID"):
        await purge(settings, ["not-an-id"], yes=True, rewrite=True)
    assert (await speaker.history(chain.secret)).revisions[0].content == SAID


async def test_purging_again_tells_it_once(settings: Settings, connection: asyncpg.Connection, chain: Chain) -> None:
    for _ in range(2):
        assert await purge(settings, [str(chain.secret)], yes=True, rewrite=False) == 0

    assert await connection.fetchval("SELECT count(*) FROM memhub.audit_events WHERE event = 'purged'") == 1


@pytest.fixture
async def reader(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A session that still sees what was before."""
    connection = await asyncpg.connect(database_url, server_settings={"application_name": "slow report"})
    yield connection
    await connection.close()


async def test_an_old_session_that_keeps_the_rows_in_the_files_is_named(
    settings: Settings, speaker: Client, reader: asyncpg.Connection, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without `_until_unseen`: VACUUM would silently keep the rows for that session.
    monkeypatch.setattr(purging, "OLDER_SESSIONS_WAIT_S", 0.05)
    async with reader.transaction(isolation="repeatable_read"):
        await reader.fetchval("SELECT 1")
        with pytest.raises(BackendBusy, match="slow report") as told:
            await purge(settings, [str(chain.secret)], yes=True, rewrite=True)

    assert "Run the same command again" in told.value.next
    assert (await speaker.history(chain.secret)).revisions[0].content is None


async def test_who_does_not_own_the_tables_is_told_that_the_files_hold_traces(
    speaker: Client, connection: asyncpg.Connection, chain: Chain, outsider: str
) -> None:
    # Fails without `mine` in `rewritten`: VACUUM only warns of what it skips.
    await connection.execute(f"SET SESSION AUTHORIZATION {outsider}")

    with pytest.raises(ConfigurationError, match="does not own them"):
        await purging.rewrite(connection, "1")
    await connection.execute("RESET SESSION AUTHORIZATION")


async def test_a_purge_that_is_interrupted_is_whole_or_absent(
    speaker: Client, connection: asyncpg.Connection, chain: Chain, database_url: str
) -> None:
    async with connection.transaction():
        await connection.execute("SELECT FROM memhub.memories WHERE id = $1 FOR UPDATE", chain.secret)
        process = memhub.start("purge", str(chain.secret), "--yes", MEMHUB_DATABASE_URL=database_url)
        async with asyncio.timeout(memhub.TIMEOUT_S):
            while not await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=memhub.TIMEOUT_S)

    assert process.returncode == 130
    assert err == "memhub: interrupted. Run the same command again: what is destroyed already stays so.\n"
    assert (await speaker.history(chain.secret)).revisions[0].content == SAID


async def test_a_count_that_is_under_way_brings_no_word_back(
    settings: Settings, speaker: Client, connection: asyncpg.Connection, reader: asyncpg.Connection
) -> None:
    # Fails without `lock_counts`: what the counter read before the purge it writes beside it.
    secret = await speaker.saved(SAID)
    await speaker.saved("The launch is on Monday.")
    counting = reader.transaction()
    await counting.start()
    assert await frequencies.count(reader, speaker.scope.project_id) is not None
    purging_ = asyncio.create_task(purge(settings, [str(secret)], yes=True, rewrite=False))
    async with asyncio.timeout(memhub.TIMEOUT_S):
        while not purging_.done() and not await connection.fetchval(WAITING):
            pass
        await counting.commit()
        assert await purging_ == 0

    words = [row["lexeme"] for row in await connection.fetch("SELECT lexeme FROM memhub.term_frequencies")]
    assert "launch" in words
    assert [word for word in words if SECRET in word or "zebra" in word] == []


async def test_a_purge_that_meets_a_deadlock_has_destroyed_nothing_and_says_to_call_again(
    speaker: Client, connection: asyncpg.Connection, chain: Chain, database_url: str
) -> None:
    # Fails without DeadlockDetectedError in database.translated: a traceback.
    await connection.execute(
        """CREATE FUNCTION memhub.met() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = 'deadlock_detected'; END $$;
           CREATE TRIGGER met BEFORE UPDATE ON memhub.attestations FOR EACH ROW EXECUTE FUNCTION memhub.met()"""
    )
    process = memhub.start("purge", str(chain.secret), "--yes", MEMHUB_DATABASE_URL=database_url)
    _, err = await asyncio.to_thread(process.communicate, timeout=memhub.TIMEOUT_S)

    assert process.returncode == 1
    assert err == (
        "memhub: Another writer and this one waited for each other; nothing was written. Call again in a moment.\n"
    )
    assert (await speaker.history(chain.secret)).revisions[0].content == SAID


async def test_a_second_purge_says_that_nothing_was_left(chain: Chain, database_url: str) -> None:
    arguments = ("purge", str(chain.secret), "--yes", "--no-rewrite")
    told = [memhub.run(*arguments, MEMHUB_DATABASE_URL=database_url).stdout for _ in range(2)]

    assert "\nDestroyed in the database, " in told[0]
    assert "\nNothing was left to destroy in the database, " in told[1]


def test_the_command_has_its_help_and_wants_ids() -> None:
    assert "--yes" in memhub.run("purge", "--help").stdout
    assert memhub.run("purge").returncode == 2
