"""The state of things: fleet, queues, coverage, errors with their retry, activity and how long tools take."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from ops.dashboard.charts import bars
from ops.dashboard.rendering import Renderer
from ops.dashboard.visits import Visit
from shared import jobs, timings
from shared.errors import Forbidden, InvalidArgument
from shared.overview import activity, projects, repairs
from shared.overview.activity import Period, Unit
from shared.status import status as fleet_status

LATENCY_HOURS = 24

# What can be chosen, by the word in the address: its name, the unit and how many of it.
RANGES: dict[str, tuple[str, Unit, int]] = {
    "day": ("24 hours", "hour", 24),
    "month": ("30 days", "day", 30),
    "quarter": ("26 weeks", "week", 26),
    "years": ("24 months", "month", 24),
}

_WRITES = ("remembered", "revised", "attested", "restored")
_ENDINGS = ("superseded", "ended")


async def show(renderer: Renderer, visit: Visit) -> Response:
    view, settings = visit.visitor.view, visit.settings
    chosen = visit.request.query_params.get("range", "")
    chosen = chosen if chosen in RANGES else "day"
    name, unit, periods = RANGES[chosen]
    attempts_max = settings.embedding_attempts_max
    async with visit.reading() as connection:
        happened = await activity.activity(connection, view, unit=unit, periods=periods)
        held = await projects.projects(connection, view)
        errors = await activity.embedding_errors(connection, view, attempts_max=attempts_max)
        waiting = await activity.waiting(connection, view, attempts_max=attempts_max)
        # The fleet and its jobs belong to no tenant: who is bound to one sees what concerns it.
        fleet = await fleet_status(connection, settings) if visit.visitor.is_operator else None
        slow = await timings.latencies(connection, hours=LATENCY_HOURS) if visit.visitor.is_operator else ()
    return renderer.page(
        visit.request,
        "status.html",
        visitor=visit.visitor,
        activity=happened,
        charts=_charts(happened, unit, name),
        chosen=chosen,
        ranges=RANGES,
        projects=held,
        errors=errors,
        waiting=waiting,
        fleet=fleet,
        latencies=slow,
    )


async def retry_job(_renderer: Renderer, visit: Visit, _fields: dict[str, str]) -> Response:
    visit.ask_to_write()
    if not visit.visitor.is_operator:
        raise Forbidden("Jobs belong to no tenant.", next="Log in with the key of this server.")
    job_id = visit.request.path_params["job_id"]
    if not 0 < job_id <= jobs.JOB_MAX:
        raise InvalidArgument("job", "is not the id of a job", next="Go on from the list of jobs.")
    async with visit.writing() as connection:
        retried = await repairs.retry_job(connection, visit.visitor.tenant, visit.author, job_id)
    return _back(visit, "job-retried" if retried else "job-gone")


async def retry_embeddings(_renderer: Renderer, visit: Visit, _fields: dict[str, str]) -> Response:
    visit.ask_to_write()
    async with visit.writing() as connection:
        await repairs.retry_embeddings(connection, visit.visitor.view, visit.author)
    return _back(visit, "embeddings-retried")


def _back(visit: Visit, done: str) -> Response:
    base = visit.request.scope.get("root_path", "")
    return RedirectResponse(f"{base}/?done={done}", status_code=HTTPStatus.SEE_OTHER)


def _charts(happened: Sequence[Period], unit: Unit, name: str) -> dict[str, Markup]:
    shape = {"hour": "%H:%M", "day": "%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m"}[unit]
    labels = [f"{period.begins:{shape}}" for period in happened]

    def chart(events: Sequence[str], what: str) -> Markup:
        counts = {event: [getattr(period, event) for period in happened] for event in events}
        total = sum(sum(values) for values in counts.values())
        return bars(labels, counts, caption=f"{what} of the last {name}: {total:,} in all, by {unit}, in UTC")

    return {"writes": chart(_WRITES, "Writes"), "endings": chart(_ENDINGS, "Retired memories")}
