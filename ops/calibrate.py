"""`memhub calibrate`: the floor of the current model from a project's own memories."""

from __future__ import annotations

from functools import partial
from uuid import UUID

import asyncpg

from ops.asking import asking
from ops.looking import looking, working
from ops.shell_projects import at_shell
from ops.terminal import Terminal
from ops.words import counted
from shared import limits, projects, workspace
from shared.domain import ProjectScope
from shared.embedding.registry import FLOOR_DEFAULT
from shared.errors import InvalidArgument, MemhubError
from shared.retrieval.calibration import FLOOR_MAX, FLOOR_MIN, Calibrated, put_floor
from shared.retrieval.calibration import calibrate as measure
from shared.settings import Settings

AGAIN = "Nothing was changed."
FAR = 0.15


class FarFloor(MemhubError):
    """What was measured is too far from what held to be written without a word."""

    code = "FAR_FLOOR"


async def calibrate(settings: Settings, *, project: str | None, dry_run: bool, yes: bool) -> int:
    """Shows the floor as it was and as it is measured, and writes it unless `dry_run`; a far one only with `yes`.

    Raises FarFloor for one that was not written: it holds for all tenants, and would hide what they search for.
    """
    named = limits.project(project, "--project") or limits.project(settings.project, "MEMHUB_PROJECT")
    async with working(settings) as database, asking(settings) as embedder:
        async with database.connection("read") as connection:
            with at_shell():
                scope = await _scope(connection, settings, named)
        write = partial(database.connection, "write")
        found = await measure(write, scope, embedder, dry_run=dry_run, far=None if yes else FAR)
    console = Terminal(soft_wrap=True)
    written = "" if found.written else " (not written)"
    console.print(f"{found.model}: floor {found.floor_before:.3f} → {found.floor:.3f}{written}")
    console.print(
        f"From {counted(found.sentences, 'sentence')} of {scope.slug}"
        f" and {counted(found.pairs, 'pair')} of unrelated memories."
    )
    is_far = abs(found.floor - found.floor_before) > FAR
    if is_far:
        console.print(
            f"That is far from what it was: where the memories of {scope.slug} are much alike, unrelated ones look "
            "near. Calibrate from a project of many subjects."
        )
    _tell_reach(console, settings, found)
    if is_far and not found.written and not dry_run:
        raise FarFloor(
            f"A floor of {found.floor:.3f} is far from {found.floor_before:.3f} and would hold for every project and "
            "tenant; nothing was changed.",
            next=f"Name a project of many subjects, or write it all the same: "
            f"`memhub calibrate --yes` or `memhub calibrate --floor {found.floor:.3f}`.",
        )
    return 0


async def put(settings: Settings, floor: float) -> int:
    """Writes a floor that a person names. Raises InvalidArgument, ConfigurationError where there is no model."""
    if not FLOOR_MIN <= floor <= FLOOR_MAX:
        raise InvalidArgument(
            "--floor", f"must be {FLOOR_MIN} to {FLOOR_MAX}", next=f"Write --floor {FLOOR_DEFAULT} for the default."
        )
    async with looking(settings) as connection:
        found = await put_floor(connection, floor)
    console = Terminal(soft_wrap=True)
    console.print(f"{found.model}: floor {found.floor_before:.3f} → {found.floor:.3f}")
    _tell_reach(console, settings, found)
    return 0


def _tell_reach(console: Terminal, settings: Settings, found: Calibrated) -> None:
    if found.written:
        console.print(
            "It holds for every project and tenant of this database; "
            f"`memhub calibrate --floor {found.floor_before:.3f}` sets it back."
        )
    if settings.embedding_floor is not None:
        console.print("MEMHUB_EMBEDDING_FLOOR is set: a worker that has it writes its own floor again. Unset it there.")


async def _scope(connection: asyncpg.Connection, settings: Settings, named: UUID | str | None) -> ProjectScope:
    if named is None:
        return await projects.resolve_alias(connection, settings.tenant, workspace.aliases_here())
    return await projects.resolve(connection, settings.tenant, named)
