"""Large projects for benchmarks and plan tests: rows as the services leave them, written in bulk by the owner."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import asyncpg

from shared import projects
from shared.database import SERVER_ROLE
from shared.domain import Author, ProjectScope
from shared.embedding.models import PACKAGED_MODEL
from shared.retrieval import frequencies
from shared.retrieval.terms import COUNTED_MAX
from shared.text.document import project_lexeme
from workers.embedding.embedder import Vectors

AUTHOR = Author("bench")
WORDS = 20_000

# Zipf's law: word n of a text of 30 is drawn with weight 1/n, so w1 stands in most rows and w10000 in a few.
_ROWS = """
WITH made AS MATERIALIZED (
    SELECT number, gen_random_uuid() AS id, sha256(number::text::bytea) AS hash, drawn.words,
           array_to_tsvector(array_append(drawn.words, $4::text)) AS document,
           now() - number * interval '1 second' AS at
    FROM generate_series(1, $2::int) AS number CROSS JOIN LATERAL (
        SELECT array_agg('w' || floor(exp(random() * ln($3::int)))::int) AS words
        FROM generate_series(1, 30) WHERE number = number) AS drawn
), born AS (
    INSERT INTO memhub.memories (project_id, id, created_at) SELECT $1, id, at FROM made
), spoken AS (
    INSERT INTO memhub.memory_revisions (project_id, memory_id, revision_no, origin, content, content_hash, document,
        type, author_client, author_kind, valid_from)
    SELECT $1, id, 1, 'import', array_to_string(words, ' '), hash, document, 'FACT', 'bench', 'import', at FROM made
), live AS (
    INSERT INTO memhub.live_memories (project_id, memory_id, revision_no, scope_key, content_hash, document, type,
        tags, author_client, author_kind, created_at, updated_at)
    SELECT $1, id, 1, '', hash, document, 'FACT', '{}', 'bench', 'import', at, at FROM made
)
SELECT count(*) FROM made
"""

_EXEMPT = """
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA memhub TO memhub_operator;
SET session_replication_role = replica;
SET ROLE memhub_operator
"""
_NO_LONGER_EXEMPT = "RESET ROLE; SET session_replication_role = origin"

# One after the other as a client wrote them, and so of no order by id.
_KEYS = """
SELECT project_id, memory_id FROM memhub.live_memories WHERE project_id = ANY ($1::uuid[])
ORDER BY project_id, created_at DESC
"""
_COLUMNS = ("project_id", "memory_id", "revision_no", "model_id", "dimension", "chunk_no", "embedding")


async def project(
    owner: asyncpg.Connection, slug: str, memories: int, *, vectors: Vectors | None = None
) -> ProjectScope:
    """A project of that size, counted and analysed; with one vector each where float32[memories, 384] are given."""
    (scope,) = await projects_of(owner, [slug], memories, vectors=vectors)
    return scope


async def projects_of(
    owner: asyncpg.Connection, slugs: Sequence[str], memories: int, *, vectors: Vectors | None = None
) -> list[ProjectScope]:
    """Projects of that size each; their vectors are taken in turn from float32[len(slugs) * memories, 384]."""
    scopes = [await _filled(owner, slug, memories) for slug in slugs]
    if vectors is not None:
        await _embed(owner, scopes, vectors)
    if memories >= COUNTED_MAX:  # a search reads what was counted of the words that it does not count by itself
        for scope in scopes:
            await frequencies.count(owner, scope.project_id)
    await owner.execute("VACUUM ANALYZE")
    return scopes


async def _filled(owner: asyncpg.Connection, slug: str, memories: int) -> ProjectScope:
    await owner.execute(f"SET ROLE {SERVER_ROLE}")
    scope = (await projects.use(owner, "bench", AUTHOR, project=slug, aliases={}, create=True)).project
    await owner.execute("RESET ROLE")
    await owner.execute(_EXEMPT)
    await owner.execute(_ROWS, scope.project_id, memories, WORDS, project_lexeme(scope.project_id))
    await owner.execute(_NO_LONGER_EXEMPT)
    return scope


async def _embed(owner: asyncpg.Connection, scopes: list[ProjectScope], vectors: Vectors) -> None:
    model = await _model(owner)
    await owner.set_type_codec("halfvec", schema="public", encoder=_halfvec, decoder=bytes, format="binary")
    keys = await owner.fetch(_KEYS, [scope.project_id for scope in scopes])
    records = [(*key, 1, model, 384, 0, vector) for key, vector in zip(keys, vectors, strict=True)]
    await owner.execute(_EXEMPT)
    await owner.copy_records_to_table("live_vectors", schema_name="memhub", columns=_COLUMNS, records=records)
    await owner.execute(_NO_LONGER_EXEMPT)


def _halfvec(vector: Vectors) -> bytes:
    """How pgvector sends it: the dimension, a reserved field, then half floats."""
    return struct.pack(">HH", len(vector), 0) + vector.astype(">f2").tobytes()


async def _model(owner: asyncpg.Connection) -> int:
    await owner.execute(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ($1, 384, 0.25, 'current', clock_timestamp()) ON CONFLICT DO NOTHING",
        PACKAGED_MODEL,
    )
    model: int = await owner.fetchval("SELECT id FROM memhub.embedding_models WHERE name = $1", PACKAGED_MODEL)
    return model
