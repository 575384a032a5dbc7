"""The commands that keep a database tidy and its embeddings good."""

from __future__ import annotations

from typing import Annotated

import typer

from ops.running import run

AS_JSON = Annotated[bool, typer.Option("--json", help="Stable JSON instead of the table.")]


def add_to(app: typer.Typer) -> None:
    app.command()(gc)


def gc(*, as_json: AS_JSON = False) -> None:
    """Remove now what the fleet removes by the clock: spent bookkeeping, never what was said."""
    from ops.gc import AGAIN
    from ops.gc import gc as collect

    run(lambda settings: collect(settings, as_json=as_json), interrupted=AGAIN)
