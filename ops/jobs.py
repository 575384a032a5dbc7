"""`memhub jobs`: what the fleet has to do, what failed, and another try."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict

import orjson
from rich.table import Table

from ops.looking import looking
from ops.terminal import Terminal
from shared import jobs
from shared.errors import InvalidArgument, MemhubError
from shared.settings import Settings


class NotRetried(MemhubError):
    """Jobs that cannot be put back."""

    code = "JOBS_NOT_RETRIED"


async def listing(settings: Settings, states: Sequence[str], queue: str | None, limit: int, *, as_json: bool) -> int:
    async with looking(settings) as connection:
        found = await jobs.listed(connection, states=states, queue=queue, limit=limit)
    if as_json:
        sys.stdout.write(orjson.dumps([asdict(job) for job in found]).decode() + "\n")
        return 0
    if not found:
        print("No job is in that state." if states else "No job is failed, waiting or under way.")
        return 0
    table = Table("job", "queue", "task", "state", "runs", "reason", box=None, pad_edge=False)
    for job in found:
        reason = " ".join((job.error or "").split())
        table.add_row(str(job.job_id), job.queue, job.task, job.status, str(job.attempts), reason)
    Terminal(width=None if sys.stdout.isatty() else 200).print(table)
    return 0


async def retry(settings: Settings, wanted: Sequence[int] | None) -> int:
    """Raises NotRetried naming the jobs that have not failed; those that have are put back all the same."""
    if any(not 0 < job <= jobs.JOB_MAX for job in wanted or ()):
        raise InvalidArgument("id", "is not the id of a job", next="Take ids from `memhub jobs list`.")
    async with looking(settings) as connection:
        done = await jobs.retry(connection, wanted)
    print(f"{len(done)} put back." if done or wanted is None else "None put back.")
    if left := sorted(set(wanted or ()) - set(done)):
        names = ", ".join(map(str, left))
        raise NotRetried(f"These have not failed, or are not there: {names}.", next="See `memhub jobs list`.")
    return 0
