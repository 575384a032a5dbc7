"""The commands that start the processes of memhub and tell how they fare."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ops.running import loaded, run

AS_JSON = Annotated[bool, typer.Option("--json", help="Stable JSON instead of the table.")]


class JobState(StrEnum):
    FAILED = "failed"
    TODO = "todo"
    DOING = "doing"
    SUCCEEDED = "succeeded"


def add_to(app: typer.Typer) -> None:
    app.command()(up)
    app.command()(status)
    jobs = typer.Typer(help="The jobs of the fleet.", no_args_is_help=True)
    jobs.command("list")(jobs_list)
    jobs.command("retry")(jobs_retry)
    app.add_typer(jobs, name="jobs")


def up(
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Where the server listens, on this machine.")] = 3000,
) -> None:
    """Start the database, the server over HTTP and the fleet; Ctrl-C ends them all."""
    from ops.up import up as start

    start(loaded(), port=port)


def status(
    *,
    as_json: AS_JSON = False,
    here: Annotated[bool, typer.Option("--here", help="Only say whether a worker of this host is alive.")] = False,
) -> None:
    """Show the fleet: workers, queues, failures, embedding coverage, last runs."""
    from ops.status import probe, show

    run(probe if here else lambda settings: show(settings, as_json=as_json))


def jobs_list(
    *,
    state: Annotated[list[JobState] | None, typer.Option(help="Only in this state; may be given again.")] = None,
    queue: Annotated[str | None, typer.Option(metavar="QUEUE", help="Only of this queue.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many.")] = 50,
    as_json: AS_JSON = False,
) -> None:
    """Show jobs, the newest first: failed, waiting and under way unless a state is given."""
    from ops import jobs
    from shared import outbox

    if queue is not None and queue not in outbox.QUEUES:
        raise typer.BadParameter(f"{queue}: must be one of {', '.join(outbox.QUEUES)}", param_hint="--queue")
    states = [chosen.value for chosen in state] if state else ["failed", "todo", "doing"]
    run(lambda settings: jobs.listing(settings, states, queue, limit, as_json=as_json))


def jobs_retry(
    job: Annotated[list[int] | None, typer.Argument(metavar="ID", help="From `memhub jobs list`.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="All that failed.")] = False,
) -> None:
    """Put failed jobs back in their queue."""
    if bool(job) == every:
        raise typer.BadParameter("give the ids of failed jobs, or --all")
    from ops import jobs

    run(lambda settings: jobs.retry(settings, job))
