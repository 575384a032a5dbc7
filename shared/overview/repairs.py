"""What people may set going again: failed jobs and embeddings that were given up, each with its audit row."""

from __future__ import annotations

import asyncpg

from shared import jobs, statements
from shared.domain import Author
from shared.overview.views import View

_SQL = statements.load("overview")
_AUDIT_JOB_RETRY = _SQL["audit_job_retry"]
_RETRY_EMBEDDINGS = _SQL["retry_embeddings"]


async def retry_job(connection: asyncpg.Connection, tenant: str, author: Author, job_id: int) -> bool:
    """Puts a failed job back in its queue, wakes the fleet, and commits. False where no such job has failed."""
    async with connection.transaction():
        if not await jobs.retry(connection, [job_id]):
            return False
        await connection.execute(_AUDIT_JOB_RETRY, tenant, job_id, author.client, author.request_id)
    return True


async def retry_embeddings(connection: asyncpg.Connection, view: View, author: Author) -> int:
    """Makes the failed revisions due again and commits; how many they were."""
    count: int = await connection.fetchval(
        _RETRY_EMBEDDINGS, view.tenant, view.project_id, author.client, author.request_id
    )
    return count
