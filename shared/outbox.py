"""The jobs that a write owes, as rows of procrastinate, and the nudge that wakes the fleet after the commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

EMBED_QUEUE = "embed"
EMBED_TASK = "embed_revision"


@dataclass(frozen=True, slots=True)
class Job:
    """A job to defer: the queue and the task's name as the fleet registers them, arguments that JSON can hold."""

    queue: str
    task: str
    arguments: Mapping[str, Any]


def embed_job(*, project_id: UUID, memory_id: UUID, revision: int) -> Job:
    return Job(
        queue=EMBED_QUEUE,
        task=EMBED_TASK,
        arguments={"project_id": str(project_id), "memory_id": str(memory_id), "revision_no": revision},
    )


def encode(job: Job) -> str:
    """The job as the JSON text that statements hand to procrastinate_defer_jobs_v1.

    Priority and arguments are always given (a NULL priority aborts the writer), a queueing lock never: on the
    request path a duplicate would abort the write and an uncommitted one would block every other writer.
    """
    return orjson.dumps({"queue_name": job.queue, "task_name": job.task, "priority": 0, "args": job.arguments}).decode()
