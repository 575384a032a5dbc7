"""Runs every job in a span; imported only where spans are exported."""

from __future__ import annotations

from typing import Any

from opentelemetry.trace import SpanKind
from procrastinate import JobContext
from procrastinate.middleware import AsyncCallNext
from procrastinate.worker import Worker

from shared import tracing


async def traced(call_next: AsyncCallNext, context: JobContext, _worker: Worker) -> Any:
    """Under the write that owed the job, where that was traced; of its arguments the span tells nothing."""
    job = context.job
    attributes: dict[str, str | int] = {
        "messaging.system": "procrastinate",
        "messaging.destination.name": job.queue,
        "messaging.message.id": str(job.id),
        "memhub.job.attempts": job.attempts,
    }
    owed = job.task_kwargs.get("traceparent")
    traceparent = owed if isinstance(owed, str) else None
    with tracing.span(job.task_name, SpanKind.CONSUMER, attributes, traceparent=traceparent):
        return await call_next()
