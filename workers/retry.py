"""When a failed job runs again: exponential backoff with jitter, bounded attempts, and never a job lost to a stop."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta

from procrastinate.exceptions import JobAborted
from procrastinate.jobs import Job
from procrastinate.retry import BaseRetryStrategy, RetryDecision

from shared.settings import Settings
from workers.embedding.errors import EmbeddingStopped

STOPPED = (asyncio.CancelledError, JobAborted, EmbeddingStopped)


class Backoff(BaseRetryStrategy):
    """`job_attempts_max` runs in all; a run that a stop of its worker cut short goes back at once, at any count."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if isinstance(exception, STOPPED):
            return RetryDecision(retry_at=datetime.now(UTC))
        if job.attempts + 1 >= self._settings.job_attempts_max:
            return None
        pause_s = backoff_s(job.attempts, base_s=self._settings.job_backoff_s, max_s=self._settings.job_backoff_s_max)
        return RetryDecision(retry_at=datetime.now(UTC) + timedelta(seconds=pause_s))


def backoff_s(attempts: int, *, base_s: float, max_s: float) -> float:
    """Between half and the whole of `base_s` doubled for each attempt, at most `max_s`."""
    return min(max_s, base_s * 2.0 ** min(attempts, 30)) * random.uniform(0.5, 1)  # noqa: S311 - no secret
