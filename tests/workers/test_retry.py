"""When a failed job runs again."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from procrastinate.exceptions import JobAborted
from procrastinate.jobs import Job

from shared.settings import Settings
from workers.embedding.errors import EmbeddingStopped
from workers.retry import Backoff, backoff_s


def job(*, attempts: int) -> Job:
    return Job(queue="embed", lock=None, queueing_lock=None, task_name="x", attempts=attempts)


def test_the_pause_doubles_with_jitter_up_to_its_bound() -> None:
    for attempts in range(40):
        full = min(60.0, 2.0 * 2**attempts)
        pauses = [backoff_s(attempts, base_s=2, max_s=60) for _ in range(50)]

        assert full / 2 <= min(pauses) < max(pauses) <= full


def test_attempts_are_bounded() -> None:
    backoff = Backoff(Settings(job_attempts_max=3))

    assert backoff.get_retry_decision(exception=ValueError(), job=job(attempts=1)) is not None
    assert backoff.get_retry_decision(exception=ValueError(), job=job(attempts=2)) is None


@pytest.mark.parametrize(
    "cut_short", [asyncio.CancelledError(), JobAborted(), EmbeddingStopped("Stopping.", next="Wait.")]
)
def test_a_run_that_a_stop_cut_short_goes_back_at_once_at_any_count(cut_short: BaseException) -> None:
    # Fails without _STOPPED: a job that was stopped often enough would be failed by its last stop.
    decision = Backoff(Settings(job_attempts_max=3)).get_retry_decision(exception=cut_short, job=job(attempts=99))

    assert decision is not None
    assert decision.retry_at is not None
    assert decision.retry_at <= datetime.now(UTC)
