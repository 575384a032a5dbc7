"""Embedding work in hand: rows claimed for a while, renewed, given back, or done with their vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
import numpy as np
import orjson

from shared import statements
from shared.database import Database
from shared.domain import MemoryType
from shared.settings import Settings
from workers.embedding.embedder import Vectors
from workers.embedding.texts import RevisionText

# A row that failed twice may be what kills its worker: it is tried alone.
SUSPECT_ATTEMPTS = 2

_SQL = statements.load("embedding")
_CLAIM_OWN = _SQL["claim_own"]
_CLAIM_DUE = _SQL["claim_due"]
_RENEW = _SQL["renew"]
_PUT_OFF = _SQL["put_off"]
_FORGIVE = _SQL["forgive"]
_LOCK_MEMORIES = _SQL["lock_memories"]
_WRITE = _SQL["write"]
_DROP_WORK = _SQL["drop_work"]


@dataclass(frozen=True, slots=True)
class Work:
    """A claimed row; `attempts` tells this claim from a later one. `text` is None when it was purged."""

    project_id: UUID
    memory_id: UUID
    revision_no: int
    model_id: int
    attempts: int
    text: RevisionText | None

    @property
    def size_bytes(self) -> int:
        return len(self.text.content.encode()) if self.text else 0


class Leases:
    """Each method is a transaction of its own and commits."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._settings = settings

    async def claim_own(self, project_id: UUID, memory_id: UUID, revision_no: int, *, models: list[int]) -> list[Work]:
        """That row and a batch of others; none when the row is done, in hand or suspect."""
        return await self._claim(
            _CLAIM_OWN,
            models,
            project_id,
            memory_id,
            revision_no,
            self._settings.embedding_batch_rows,
            self._settings.embedding_lease_s,
            min(SUSPECT_ATTEMPTS, self._settings.embedding_attempts_max),
        )

    async def claim_due(self, *, models: list[int]) -> list[Work]:
        """A batch of what is due; when nothing else is, one suspect row."""
        rows, lease_s = self._settings.embedding_batch_rows, self._settings.embedding_lease_s
        most = self._settings.embedding_attempts_max
        due = await self._claim(_CLAIM_DUE, models, 0, min(SUSPECT_ATTEMPTS, most), rows, lease_s)
        return due or await self._claim(_CLAIM_DUE, models, SUSPECT_ATTEMPTS, most, 1, lease_s)

    async def renew(self, rows: Sequence[Work]) -> None:
        await self._execute(_RENEW, *_claims(rows), self._settings.embedding_lease_s)

    async def put_off(self, rows: Sequence[Work], *, pause_s: float, error: str | None, counts: bool) -> None:
        """Gives rows back, due after the pause, with a reason to keep; `counts` spends the attempt."""
        await self._execute(_PUT_OFF, *_claims(rows), pause_s, error, counts)

    async def forgive(self, *, models: list[int]) -> None:
        """Another try for what was refused to the bound of attempts."""
        await self._execute(_FORGIVE, models, self._settings.embedding_attempts_max)

    async def drop(self, rows: Sequence[Work]) -> None:
        await self._execute(_DROP_WORK, *_keys(rows))

    async def done(self, rows: Sequence[Work], vectors: Sequence[Vectors]) -> None:
        """Writes float32[chunks, dim] of each row and deletes the row. Locks the memories, by project and id."""
        written = [chunk for row, chunks in zip(rows, vectors, strict=True) for chunk in _vector_rows(row, chunks)]
        async with self._database.connection("write") as connection, connection.transaction():
            await connection.execute(_LOCK_MEMORIES, [row.project_id for row in rows], [row.memory_id for row in rows])
            await connection.execute(_WRITE, orjson.dumps(written, option=orjson.OPT_SERIALIZE_NUMPY).decode())

    async def _claim(self, statement: str, *arguments: object) -> list[Work]:
        async with self._database.connection("write") as connection:
            return [_work(row) for row in await connection.fetch(statement, *arguments)]

    async def _execute(self, statement: str, *arguments: object) -> None:
        async with self._database.connection("write") as connection:
            await connection.execute(statement, *arguments)


def _work(row: asyncpg.Record) -> Work:
    return Work(
        project_id=row["project_id"],
        memory_id=row["memory_id"],
        revision_no=row["revision_no"],
        model_id=row["model_id"],
        attempts=row["attempts"],
        text=None if row["content"] is None else _text(row),
    )


def _text(row: asyncpg.Record) -> RevisionText:
    written_at: datetime = row["valid_from"]
    return RevisionText(
        content=row["content"],
        type=MemoryType(row["type"]),
        category=row["category"],
        tags=tuple(row["tags"]),
        written_on=written_at.astimezone(UTC).date(),
    )


def _vector_rows(work: Work, chunks: Vectors) -> Iterator[dict[str, object]]:
    for chunk_no, embedding in enumerate(chunks):
        yield {
            "project_id": str(work.project_id),
            "memory_id": str(work.memory_id),
            "revision_no": work.revision_no,
            "model_id": work.model_id,
            "dimension": len(embedding),
            "chunk_no": chunk_no,
            "embedding": np.ascontiguousarray(embedding),
        }


def _keys(rows: Sequence[Work]) -> tuple[list[UUID], list[UUID], list[int], list[int]]:
    return (
        [row.project_id for row in rows],
        [row.memory_id for row in rows],
        [row.revision_no for row in rows],
        [row.model_id for row in rows],
    )


def _claims(rows: Sequence[Work]) -> tuple[list[UUID], list[UUID], list[int], list[int], list[int]]:
    return (*_keys(rows), [row.attempts for row in rows])
