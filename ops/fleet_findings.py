"""What `memhub doctor` finds of the fleet: the embedding model, the workers, their jobs, what lacks vectors."""

from __future__ import annotations

import math
from collections.abc import Iterator

import asyncpg

from ops import models, words
from ops.absences import no_worker
from ops.asking import asked, asking
from ops.finding import Finding
from ops.words import counted
from shared import outbox
from shared.embedding import registry
from shared.embedding.models import PACKAGED_MODEL, Absent, Reason
from shared.embedding.registry import RegisteredModel, Standing
from shared.errors import ConfigurationError
from shared.settings import Settings
from shared.status import Model, Status, status

DUE_AGE_MAX_S = 300.0
NAMES_SHOWN = 3
NO_VECTORS_YET = "As long as there are no vectors, a worker that starts writes what the model gives."


async def findings(connection: asyncpg.Connection, settings: Settings) -> list[Finding]:
    """On a connection in no transaction, to a database at this program's schema. Reads only."""
    standing = await registry.standing(connection, settings)
    seen = await status(connection, settings)
    told = [_model(standing, seen, settings), _workers(seen, settings), _jobs(seen), *_coverage(seen)]
    for model in seen.models:
        told += [finding for look in (_dimension, _move) if (finding := await look(model, seen, settings))]
    return told


async def _dimension(model: Model, seen: Status, settings: Settings) -> Finding | None:
    """A dimension that differs from the one of the row: that of the settings here, or of what the endpoint answers."""
    if model.state == "retired" or model.dimension == registry.DIMENSION_UNKNOWN:
        return None
    name, has = f"dimension of {model.name}", f"the database has it with {model.dimension}"
    answer = await _answer(model, settings)
    if answer is not None and answer.gives is not None:
        return Finding(name, False, f"the endpoint gives vectors of {answer.gives}, {has}", _mend_dimension(model))
    asked_for = settings.embedding_dim if registry.configured_name(settings) == model.name else None
    if asked_for in (None, model.dimension):
        return None
    mend = f"Unset it, or set it to {model.dimension}." if model.embedded else f"Unset it. {NO_VECTORS_YET}"
    return Finding(name, False, f"MEMHUB_EMBEDDING_DIM is {asked_for} here, {has}", mend)


def _mend_dimension(model: Model) -> str:
    if model.state == "building":
        return (
            "Remove what is there by that name and begin again: memhub reembed --abort, memhub gc,"
            f" memhub reembed {model.name}"
        )
    if not model.embedded:
        return NO_VECTORS_YET
    return f"Let it give {model.dimension} again, or give it another name and move search to that: memhub reembed NAME"


async def _move(model: Model, seen: Status, settings: Settings) -> Finding | None:
    """What keeps a model that is being built from ever being so."""
    if model.state != "building":
        return None
    name, leave = f"move to {model.name}", "or leave the move: memhub reembed --abort"
    try:
        await models.check(settings, model.name)
    except models.UnknownModel as refused:
        mend = f"Name one that it knows, such as {', '.join(refused.known[:NAMES_SHOWN])}, {leave}"
        return Finding(name, False, f"no worker can load it: {refused.message}", mend)
    except ConfigurationError as refused:
        return Finding(name, False, f"no worker can load it: {refused.message}", f"{refused.next} {leave.capitalize()}")
    embedding = any(worker.alive and outbox.EMBED_QUEUE in worker.queues for worker in seen.workers)
    if not embedding or model.dimension != registry.DIMENSION_UNKNOWN:
        return None
    answer = await _answer(model, settings)
    if answer is None or answer.reason is not Reason.OTHER_MODEL:
        return None
    mend = f"A worker's log says why at `embedding_model_not_loaded`; mend that, {leave}"
    return Finding(name, False, "no worker has loaded it yet", mend)


async def _answer(model: Model, settings: Settings) -> Absent | None:
    row = RegisteredModel(model.id, model.name, model.dimension, model.floor, model.state)
    async with asking(settings) as embedder:
        return await asked(embedder, row)


def _model(standing: Standing, seen: Status, settings: Settings) -> Finding:
    current, configured = standing.current, standing.configured
    moving = next((model.name for model in seen.models if model.state == "building"), None)
    if standing.agrees or current is None:
        return Finding("embedding model", True, _model_detail(standing, moving) + _floor_note(standing, settings))
    if configured is None:
        detail = f"the settings switch embedding off, the database uses {current.name}"
        return Finding("embedding model", False, detail, "Set MEMHUB_EMBEDDING_PROVIDER as the workers have it.")
    back = (
        "unset MEMHUB_EMBEDDING_MODEL and _PROVIDER"
        if current.name == PACKAGED_MODEL
        else f"set MEMHUB_EMBEDDING_MODEL={current.name}"
    )
    return Finding(
        "embedding model",
        False,
        f"the settings name {configured}, search uses {current.name}" + (f" and moves to {moving}" if moving else ""),
        f"To move search: memhub reembed {configured}. To stay: {back}.",
    )


def _model_detail(standing: Standing, moving: str | None) -> str:
    if standing.current is None:
        return "off: search is by words" if standing.configured is None else "none yet: the first worker registers it"
    told = f"{standing.current.name}, floor {standing.current.floor:g}"
    return told if moving is None else f"{told}; moving to {moving}: `memhub reembed {moving}` watches and switches"


def _floor_note(standing: Standing, settings: Settings) -> str:
    current, floor = standing.current, settings.embedding_floor
    # The column is a real, of some seven digits.
    if current is None or floor is None or math.isclose(floor, current.floor, rel_tol=1e-6):
        return ""
    return f"; MEMHUB_EMBEDDING_FLOOR is {floor:g} here: a worker with that setting writes it over the database's"


def _workers(seen: Status, settings: Settings) -> Finding:
    alive = [worker for worker in seen.workers if worker.alive]
    if not alive:
        return no_worker(settings)
    lacking = set(outbox.QUEUES).difference(*(worker.queues for worker in alive))
    if lacking:
        names = ",".join(sorted(lacking))
        return Finding("workers", False, f"nobody serves {names}", f"Start one: memhub-worker --queues {names}")
    oldest = max(worker.heartbeat_age_s for worker in alive)
    return Finding("workers", True, f"{len(alive)} alive, each heard within {max(oldest, 1):.0f} s")


def _jobs(seen: Status) -> Finding:
    failed = sum(queue.failed for queue in seen.queues)
    if failed:
        reason = next((job.error for job in seen.troubled_jobs if job.status == "failed" and job.error), None)
        return Finding(
            "jobs",
            False,
            f"{failed} failed for good" + (f", the last one: {' '.join(reason.split())}" if reason else ""),
            "See memhub jobs list --state failed; when the reason is mended: memhub jobs retry --all",
        )
    waiting = sum(queue.todo for queue in seen.queues)
    late = max((queue.oldest_due_age_s or 0.0 for queue in seen.queues), default=0.0)
    if late > DUE_AGE_MAX_S and any(worker.alive for worker in seen.workers):
        detail = f"{counted(waiting, 'waits', 'wait')}, the oldest due for {late / 60:.0f} min"
        return Finding("jobs", False, detail, "Start more workers; `memhub status` shows which queue is behind.")
    return Finding("jobs", True, f"{counted(waiting, 'waits', 'wait')}, none failed")


def _coverage(seen: Status) -> Iterator[Finding]:
    for model in seen.models:
        if model.state == "retired":
            continue
        detail = (
            f"{model.coverage:.1%} of {words.memories(model.searchable)}, {counted(model.waiting, 'waits', 'wait')}"
        )
        if model.given_up:
            yield Finding(
                f"coverage of {model.name}",
                False,
                f"{detail}, {model.given_up:,} were given up: {model.error}",
                "Mend the reason and start the workers again: they give what was refused another try.",
            )
        else:
            yield Finding(f"coverage of {model.name}", True, detail)
