"""Puts the graded set into a database: written by the services, dated back to the set's own times, with vectors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import asyncpg

from shared import projects
from shared.database import SERVER_ROLE
from shared.domain import Author, MemoryType, ProjectScope
from shared.embedding.models import PACKAGED_MODEL
from shared.embedding.registry import FLOOR_DEFAULT
from shared.memories.remember import remember
from shared.memories.requests import Remember
from shared.retrieval import frequencies
from tests.eval.graded import NOW, GradedMemory, GradedSet
from tests.eval.vectors import Embeddings
from workers.embedding.embedder import Vectors

AUTHOR = Author("eval")
TASK_LIFE = timedelta(days=30)

_MODEL = """
INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)
VALUES ($1, 384, $2, 'current', clock_timestamp()) RETURNING id
"""

# Times are the database's: it takes the operator's role, which has an exemption, and the owner's leave to change rows.
_EXEMPT = """
GRANT UPDATE ON memhub.memories, memhub.memory_revisions, memhub.live_memories TO memhub_operator;
SET session_replication_role = replica;
SET ROLE memhub_operator
"""

_DATE_BACK = """
WITH born AS (
    UPDATE memhub.memories SET created_at = $3, retired_at = $4 WHERE project_id = $1 AND id = $2
), spoken AS (
    UPDATE memhub.memory_revisions SET valid_from = $3, valid_to = $4, expires_at = $5
    WHERE project_id = $1 AND memory_id = $2
)
UPDATE memhub.live_memories SET created_at = $3, updated_at = $3, expires_at = $5
WHERE project_id = $1 AND memory_id = $2
"""

_VECTORS = """
WITH given AS (
    SELECT number::smallint - 1 AS chunk_no, embedding::halfvec
    FROM unnest($4::text[]) WITH ORDINALITY AS told (embedding, number)
), live AS (
    INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
    SELECT $1, $2, 1, $3, 384, given.chunk_no, given.embedding FROM given
    WHERE EXISTS (SELECT FROM memhub.live_memories WHERE project_id = $1 AND memory_id = $2)
    RETURNING chunk_no
)
INSERT INTO memhub.retired_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT $1, $2, 1, $3, 384, given.chunk_no, given.embedding FROM given WHERE NOT EXISTS (SELECT FROM live)
"""


@dataclass(frozen=True, slots=True)
class Loaded:
    """`shift` is what lies between the set's now and the database's: instants of the set are moved by it."""

    scopes: dict[str, ProjectScope]
    ids: dict[str, UUID]
    names: dict[UUID, str]
    shift: timedelta


async def load(url: str, graded: GradedSet, embeddings: Embeddings) -> Loaded:
    """Writes everything; vectors are kept for the next run."""
    owner = await asyncpg.connect(url)
    model = await owner.fetchval(_MODEL, PACKAGED_MODEL, FLOOR_DEFAULT)
    await owner.execute(f"SET ROLE {SERVER_ROLE}")
    scopes = {
        slug: (await projects.use(owner, "eval", AUTHOR, project=slug, aliases={}, create=True)).project
        for slug in graded.projects
    }
    ids: dict[str, UUID] = {}
    for memory in graded.memories:
        ids[memory.id] = await _remember(owner, scopes[memory.project], memory, ids)
    await owner.execute("RESET ROLE")
    shift = await owner.fetchval("SELECT now()") - NOW
    await _date_back(owner, scopes, ids, graded, shift)
    for memory in graded.memories:
        vectors = _texts(embeddings.of_memory(memory))
        await owner.execute(_VECTORS, scopes[memory.project].project_id, ids[memory.id], model, vectors)
    for scope in scopes.values():
        await frequencies.count(owner, scope.project_id)
    await owner.execute("DELETE FROM memhub.embedding_work")
    await owner.execute("VACUUM ANALYZE")
    await owner.close()
    return Loaded(scopes=scopes, ids=ids, names={memory_id: name for name, memory_id in ids.items()}, shift=shift)


async def _remember(
    connection: asyncpg.Connection, scope: ProjectScope, memory: GradedMemory, ids: dict[str, UUID]
) -> UUID:
    request = Remember(
        content=memory.content,
        type=MemoryType(memory.type),
        category=memory.category,
        tags=memory.tags,
        importance=memory.importance,
        ttl_days=TASK_LIFE.days if memory.type == MemoryType.TASK else None,
        supersedes=(ids[memory.supersedes],) if memory.supersedes else (),
    )
    remembered = await remember(connection, scope, AUTHOR, request)
    assert remembered.outcome == "created", memory.id
    assert remembered.memory is not None
    return remembered.memory.memory_id


async def _date_back(
    owner: asyncpg.Connection,
    scopes: dict[str, ProjectScope],
    ids: dict[str, UUID],
    graded: GradedSet,
    shift: timedelta,
) -> None:
    retired: dict[str, datetime] = {
        memory.supersedes: memory.created_at for memory in graded.memories if memory.supersedes
    }
    await owner.execute(_EXEMPT)
    for memory in graded.memories:
        created_at = memory.created_at + shift
        retired_at = retired[memory.id] + shift if memory.id in retired else None
        expires_at = created_at + TASK_LIFE if memory.type == MemoryType.TASK else None
        project_id = scopes[memory.project].project_id
        await owner.execute(_DATE_BACK, project_id, ids[memory.id], created_at, retired_at, expires_at)
    await owner.execute("RESET ROLE; SET session_replication_role = origin")


def _texts(vectors: Vectors) -> list[str]:
    return [f"[{','.join(map(str, vector.tolist()))}]" for vector in vectors]
