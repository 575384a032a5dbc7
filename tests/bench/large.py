"""Large projects for benchmarks and plan tests: rows as the services leave them, written in bulk by the owner."""

from __future__ import annotations

import asyncpg

from shared import projects
from shared.database import SERVER_ROLE
from shared.domain import Author, ProjectScope
from shared.embedding.models import PACKAGED_MODEL
from shared.retrieval import frequencies
from shared.text.document import project_lexeme

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

# Around the vectors given, as texts about the same things lie around one another.
_VECTORS = """
INSERT INTO memhub.live_vectors (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
SELECT $1, live.memory_id, 1, $2, 384, 0, l2_normalize(base.embedding + noise.embedding)
FROM (SELECT memory_id, row_number() OVER () AS number FROM memhub.live_memories WHERE project_id = $1) AS live
JOIN (SELECT embedding::vector(384) AS embedding, number FROM unnest($3::text[]) WITH ORDINALITY
      AS told (embedding, number)) AS base ON base.number = 1 + live.number % cardinality($3::text[])
CROSS JOIN LATERAL (
    SELECT array_agg((random() - 0.5) * $4::float8)::vector(384) AS embedding
    FROM generate_series(1, 384) WHERE live.number = live.number) AS noise
"""

_EXEMPT = """
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA memhub TO memhub_operator;
SET session_replication_role = replica;
SET ROLE memhub_operator
"""


async def project(
    owner: asyncpg.Connection, slug: str, memories: int, *, vectors: list[str] | None = None, noise: float = 0.1
) -> ProjectScope:
    """A project of that size, counted and analysed; with vectors around the given ones."""
    await owner.execute(f"SET ROLE {SERVER_ROLE}")
    scope = (await projects.use(owner, "bench", AUTHOR, project=slug, aliases={}, create=True)).project
    await owner.execute("RESET ROLE")
    await owner.execute(_EXEMPT)
    await owner.execute(_ROWS, scope.project_id, memories, WORDS, project_lexeme(scope.project_id))
    if vectors:
        await owner.execute(_VECTORS, scope.project_id, await _model(owner), vectors, noise)
    await owner.execute("RESET ROLE; SET session_replication_role = origin")
    await frequencies.count(owner, scope.project_id)
    await owner.execute("VACUUM ANALYZE")
    return scope


async def _model(owner: asyncpg.Connection) -> int:
    await owner.execute(
        "INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)"
        " VALUES ($1, 384, 0.25, 'current', clock_timestamp()) ON CONFLICT DO NOTHING",
        PACKAGED_MODEL,
    )
    model: int = await owner.fetchval("SELECT id FROM memhub.embedding_models WHERE name = $1", PACKAGED_MODEL)
    return model


def texts(vectors: list[list[float]]) -> list[str]:
    return [f"[{','.join(map(str, vector))}]" for vector in vectors]
