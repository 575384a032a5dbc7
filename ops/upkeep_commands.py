"""The commands that keep a database tidy and its embeddings good."""

from __future__ import annotations

from typing import Annotated

import typer

from ops.running import run

AS_JSON = Annotated[bool, typer.Option("--json", help="Stable JSON instead of the table.")]


def add_to(app: typer.Typer) -> None:
    app.command()(gc)
    app.command()(reembed)
    app.command()(calibrate)


def gc(*, as_json: AS_JSON = False) -> None:
    """Remove now what the fleet removes by the clock: spent bookkeeping, never what was said."""
    from ops.gc import AGAIN
    from ops.gc import gc as collect

    run(lambda settings: collect(settings, as_json=as_json), interrupted=AGAIN)


def reembed(
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="The model to move to; that of the settings unless it is given."),
    ] = None,
    *,
    status: Annotated[bool, typer.Option("--status", help="Only tell how far a move is.")] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Leave a move; search stays as it is.")] = False,
) -> None:
    """Move search to another embedding model, built beside the one in use and switched at once."""
    if status + abort + (model is not None) > 1:
        raise typer.BadParameter("give a model, --status or --abort")
    from ops import reembed as moving

    if abort:
        run(moving.abort)
    elif status:
        run(moving.show)
    else:
        run(lambda settings: moving.reembed(settings, model), interrupted=moving.AGAIN)


def calibrate(
    project: Annotated[
        str | None,
        typer.Option(
            metavar="PROJECT", help="The project whose memories tell; that of this folder unless it is given."
        ),
    ] = None,
    *,
    floor: Annotated[
        float | None, typer.Option(metavar="COSINE", help="Set this floor instead of measuring one: 0.02 to 0.95.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what it would be.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Write it also where it is far from what it was.")] = False,
) -> None:
    """Set the floor of the embedding model, under which a text is no answer, from a project's own memories.

    It holds for every project and tenant of the database.
    """
    if floor is not None and (dry_run or yes or project is not None):
        raise typer.BadParameter("--floor goes with neither --project, --dry-run nor --yes")
    from ops import calibrate as calibrating

    if floor is not None:
        run(lambda settings: calibrating.put(settings, floor), interrupted=calibrating.AGAIN)
    else:
        run(
            lambda settings: calibrating.calibrate(settings, project=project, dry_run=dry_run, yes=yes),
            interrupted=calibrating.AGAIN,
        )
