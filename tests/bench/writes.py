"""What a write costs at the service, against the smallest transaction on the same connection."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from shared.domain import ProjectScope
from shared.memories.remember import remember
from shared.memories.requests import Remember, Revise
from shared.memories.revise import revise
from tests.bench import places
from tests.bench.options import Options
from tests.bench.places import AUTHOR
from tests.bench.report import Figure, Sample, interleaved

ROUNDS = 1_000
ROUNDS_QUICK = 20
SENTENCE = "We keep the session in a signed cookie, number {}, because the cache may lose it at any time."

_FLOOR = "BEGIN, one single-row INSERT, COMMIT"
_INSERT = "INSERT INTO public.floor (said) VALUES ($1)"


async def figures(options: Options) -> list[Figure]:
    async with places.database() as url, places.session(url, "write") as connection:
        scope = await places.project(connection)
        durable = await _taken(connection, scope, options)
        await connection.execute("SET synchronous_commit = off")
        unflushed = await _taken(connection, scope, options)
    return [
        *(_wall(what, durable, "to the disk", aim=2) for what in ("remember", "revise")),
        *(_wall(what, unflushed, "no flush") for what in ("remember", "revise")),
        *(_cpu(what, unflushed) for what in ("remember", "revise")),
    ]


async def _taken(connection: asyncpg.Connection, scope: ProjectScope, options: Options) -> dict[str, Sample]:
    steps = writing(connection, scope)
    with places.undisturbed(connection.get_server_pid(), real_time=options.real_time):
        return await interleaved(
            options.count(ROUNDS, ROUNDS_QUICK),
            steps,
            other_process_ms=places.worked_ms(connection.get_server_pid()),
        )


def writing(connection: asyncpg.Connection, scope: ProjectScope) -> dict[str, Callable[[], Awaitable[object]]]:
    """The smallest transaction, a remember, and a revise of what was remembered last."""
    sentences = told()
    last = _Last()

    async def floor() -> None:
        await connection.execute("BEGIN")
        await connection.execute(_INSERT, next(sentences))
        await connection.execute("COMMIT")

    async def remember_one() -> None:
        remembered = await remember(connection, scope, AUTHOR, Remember(content=next(sentences)))
        assert remembered.memory is not None
        last.memory_id = remembered.memory.memory_id

    async def revise_one() -> None:
        assert last.memory_id is not None
        request = Revise(memory_id=last.memory_id, expected_revision=1, content=next(sentences))
        assert (await revise(connection, scope, AUTHOR, request)).outcome == "revised"

    return {"floor": floor, "remember": remember_one, "revise": revise_one}


@dataclass(slots=True)
class _Last:
    memory_id: UUID | None = None


_NUMBERS = itertools.count(1)


def told() -> Iterator[str]:
    """Sentences that differ by their number, never the same twice in a run."""
    return (SENTENCE.format(number) for number in _NUMBERS)


def _wall(what: str, taken: dict[str, Sample], how: str, aim: float | None = None) -> Figure:
    return Figure(f"{what}, p50, {how}", taken[what].wall_ms, taken["floor"].wall_ms, "ms", _FLOOR, aim=aim)


def _cpu(what: str, taken: dict[str, Sample]) -> Figure:
    return Figure(
        f"{what}, CPU of client and server", taken[what].cpu_ms, taken["floor"].cpu_ms, "ms", f"the same of {_FLOOR}"
    )
