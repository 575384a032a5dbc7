"""What the pages are looked at with: projects, chains, revisions, a troubled fleet, and hostile words everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import asyncpg

from shared import projects
from shared.domain import Author, AuthorKind, MemoryType, ProjectScope, Scope
from shared.memories.forget import forget
from shared.memories.remember import remember
from shared.memories.requests import Remember, Revise
from shared.memories.revise import revise

HOSTILE = "<script>alert('owned')</script><img src=x onerror=alert(1)>&amp;\"'`{{7*7}}</textarea></title>"
CONVERSATION = "conversation-7"
QUEUE = "Job queue: procrastinate on PostgreSQL; a job commits with the row that owes it, and retries come with it."
SIGNED = "Webhooks are signed with HMAC-SHA256.\nThe header is X-Signature and the clock may differ by 5 minutes."
RENAMED = SIGNED.replace("X-Signature", "X-Acme-Signature")
ROTATED = (
    "Webhooks are signed with Ed25519.\nThe header is X-Acme-Signature and the clock may differ by 2 minutes.\n"
    "Old signatures are accepted until June."
)


@dataclass(frozen=True, slots=True)
class World:
    scope: ProjectScope
    other: ProjectScope
    revised: UUID
    replaced: UUID
    newest: UUID
    forgotten: UUID
    expired: UUID
    hostile: UUID
    conversational: UUID
    job_id: int


async def build(connection: asyncpg.Connection, *, tenant: str = "local", fleet: bool = True) -> World:
    """Everything through the services as clients write it; what the fleet leaves behind by SQL."""
    claude, cursor = Author("claude-code", request_id="r-1"), Author("cursor", request_id="r-2")
    scope = (
        await projects.use(
            connection,
            tenant,
            claude,
            project="payments",
            aliases={"git_remote": "github.com/acme/payments"},
            create=True,
            display_name=f"Payments {HOSTILE}",
        )
    ).project
    other = (await projects.use(connection, tenant, cursor, project="website", aliases={}, create=True)).project

    async def saved(author: Author, content: str, **said: object) -> UUID:
        made = await remember(connection, scope, author, Remember(content=content, **said))  # type: ignore[arg-type]
        assert made.memory is not None
        return made.memory.memory_id

    await saved(
        claude,
        "Amounts are integers in the smallest unit of their currency; a float never touches money.",
        type=MemoryType.CONSTRAINT,
        tags=("money", "invariant"),
        importance=90,
    )
    await saved(cursor, "Refunds above 500 EUR need a second approval.", type=MemoryType.FACT, tags=("refunds",))
    await saved(claude, "Move the ledger export to nightly runs.", type=MemoryType.TASK, ttl_days=5.0)
    redis = await saved(
        claude, "Job queue: we use Redis with RQ, because the team knows it.", type=MemoryType.DECISION, tags=("queue",)
    )
    celery = await saved(
        cursor, "Retries: Celery beat re-sends failed webhooks every minute.", type=MemoryType.DECISION
    )
    sqs = await saved(
        cursor,
        "Job queue: SQS instead of Redis, so that a restart loses no job.",
        type=MemoryType.DECISION,
        supersedes=(redis,),
    )
    newest = await saved(
        claude,
        QUEUE,
        type=MemoryType.DECISION,
        tags=("queue", "postgresql"),
        supersedes=(sqs, celery),
        source="docs/decisions/0007.md",
    )
    await remember(
        connection,
        scope,
        cursor,
        Remember(
            content=QUEUE.removesuffix("."),
            author_kind=AuthorKind.HUMAN_CONFIRMED,
            tags=("infra",),
        ),
    )
    revised = await saved(claude, SIGNED, tags=("webhooks",), category="security")
    rotation = "key rotation, agreed with the partners"
    for expected, words, reason in ((1, RENAMED, "the header was renamed"), (2, ROTATED, rotation)):
        request = Revise(
            memory_id=revised,
            expected_revision=expected,
            content=words,
            reason=reason,
            tags=("webhooks", "signing") if expected == 2 else None,
            importance=70 if expected == 2 else None,
        )
        await revise(connection, scope, cursor, request)
    forgotten = await saved(cursor, "The staging password rotates on Mondays.")
    await forget(connection, scope, claude, forgotten, reason="no longer true")
    expired = await saved(claude, "The freeze holds until noon.", ttl_days=1 / 86_400_000_000)
    hostile = await saved(
        Author(HOSTILE),
        f"{HOSTILE}\nand the rest",
        tags=(HOSTILE[:40],),
        category=HOSTILE,
        source=HOSTILE,
    )
    await revise(
        connection,
        scope,
        Author(HOSTILE, request_id=HOSTILE),
        Revise(memory_id=hostile, expected_revision=1, content=f"{HOSTILE}\nand more", reason=HOSTILE),
    )
    made = await remember(
        connection, scope, Author("cursor", CONVERSATION), Remember(content="Only said here.", scope=Scope.CONVERSATION)
    )
    assert made.memory is not None
    job_id = await _fleet(connection, revised) if fleet else 0
    return World(
        scope=scope,
        other=other,
        revised=revised,
        replaced=redis,
        newest=newest,
        forgotten=forgotten,
        expired=expired,
        hostile=hostile,
        conversational=made.memory.memory_id,
        job_id=job_id,
    )


async def _fleet(connection: asyncpg.Connection, memory_id: UUID) -> int:
    model: int = await connection.fetchval(
        """INSERT INTO memhub.embedding_models (name, dimension, floor, state, created_at)
           VALUES ('minilm-l6-int8', 3, 0.3, 'current', clock_timestamp()) RETURNING id"""
    )
    await connection.execute(
        """INSERT INTO memhub.live_vectors
               (project_id, memory_id, revision_no, model_id, dimension, chunk_no, embedding)
           SELECT project_id, memory_id, revision_no, $1, 3, 0, '[0.6,0.8,0]'
           FROM memhub.live_memories WHERE memory_id <> $2""",
        model,
        memory_id,
    )
    await connection.execute(
        """INSERT INTO memhub.embedding_work (project_id, memory_id, revision_no, model_id, attempts, error)
           SELECT project_id, memory_id, revision_no, $1, 5, $3 FROM memhub.live_memories WHERE memory_id = $2""",
        model,
        memory_id,
        f"EMBEDDING_REFUSED: {HOSTILE}",
    )
    await connection.execute(
        """WITH worker AS (
               INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now()), (now() - interval '3 min')
               RETURNING id)
           INSERT INTO memhub.fleet_workers (worker_id, host, pid, queues, concurrency, started_at)
           SELECT id, 'ip-10-12-140-201.eu-central-1.compute.internal', 4000 + id,
                  ARRAY['embed', 'counters', 'retention'], 4, now() - interval '2 h'
           FROM worker"""
    )
    await connection.execute(
        """INSERT INTO memhub.fleet_runs (actor, started_at, finished_at, outcome, details, error)
           VALUES ('reap_expired', now() - interval '4 min', now() - interval '4 min', 'ok', '{"expired": 3}', NULL),
                  ('collect', now() - interval '50 min', now() - interval '49 min', 'ok', '{"keys": 0}', NULL),
                  ('fold_counters', now(), now(), 'failed', '{}', 'BACKEND_BUSY')"""
    )
    await connection.execute(
        """INSERT INTO procrastinate_jobs (queue_name, task_name)
           VALUES ('embed', 'embed_revision'), ('counters', 'fold_counters')"""
    )
    job_id: int = await connection.fetchval(
        """INSERT INTO procrastinate_jobs (queue_name, task_name, status, attempts)
           VALUES ('embed', 'embed_revision', 'failed', 8) RETURNING id"""
    )
    await connection.execute(
        "INSERT INTO memhub.job_errors (job_id, error, failed_at) VALUES ($1, $2, now())",
        job_id,
        f"ValueError {HOSTILE}",
    )
    await connection.execute(
        """INSERT INTO memhub.tool_timings (hour, tool, bucket, calls, failures)
           SELECT date_trunc('hour', now(), 'UTC'), tool, bucket, 900 / (1 + (bucket - 3) ^ 2)::int, 0
           FROM unnest(ARRAY['memory_search', 'memory_remember', 'memory_revise']) AS tool,
                generate_series(1, 7) AS bucket"""
    )
    return job_id
