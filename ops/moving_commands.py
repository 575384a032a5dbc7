"""The commands that move memories out and in, destroy them and keep copies of the database."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ops.running import run

if TYPE_CHECKING:
    from ops.moving.tables import Table

FORCE = Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")]


class Form(StrEnum):
    """Those of ops.moving.detection, which no other command pays the import of, and `auto`."""

    AUTO = "auto"
    MEMHUB = "memhub"
    JSONL = "jsonl"
    SERVER_MEMORY = "server-memory"
    MARKDOWN = "markdown"
    MCP_MEMORY_SERVICE = "mcp-memory-service"
    MCP_MEMORY = "mcp-memory"
    MEMORY_MCP = "memory-mcp"
    MEM0 = "mem0"


def add_to(app: typer.Typer) -> None:
    for command in (export, purge, backup, restore):
        app.command()(command)
    app.command("import")(import_)


def export(
    project: Annotated[
        str | None,
        typer.Option(
            metavar="PROJECT", help="Only this project: its slug (with --tenant where several have it) or UUID."
        ),
    ] = None,
    tenant: Annotated[str | None, typer.Option(metavar="TENANT", help="Only this tenant's projects.")] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="A file instead of standard output (-).", show_default=False
        ),
    ] = "-",
    force: FORCE = False,
) -> None:
    """Write every memory with its whole history as JSON Lines."""
    from ops.export import AGAIN
    from ops.export import export as write

    # As text until here: a Path does not tell a file of that name, ./-, from it.
    path = None if output == "-" else Path(output)
    run(
        lambda settings: write(settings, project=project, tenant=tenant, output=path, force=force),
        interrupted=AGAIN,
    )


def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A file, a folder of Markdown, an http(s) URL, - for standard input, a PostgreSQL URL.",
        ),
    ],
    *,
    form: Annotated[Form, typer.Option("--format", help="What the source is; auto: as it looks.")] = Form.AUTO,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="PROJECT",
            help="The project to import into, made when it is not there; else that of the open folder.",
        ),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option("--from", metavar="NAME", help="Only what belongs to this tenant, environment or project there."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE", help="The table or view of another memory server's database: SCHEMA.NAME or NAME."
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=COLUMN", help="A column of it under another name, such as content=body; repeatable."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be imported.")] = False,
    accept_sensitive: Annotated[
        bool, typer.Option("--accept-sensitive", help="Also what looks like a credential.")
    ] = False,
) -> None:
    """Bring memories in. Run again after an interruption, it continues and makes no duplicates."""
    from ops.importing import AGAIN, Wish
    from ops.importing import import_ as bring
    from ops.moving.detection import Format

    wish = Wish(
        source=_source(source, form, table, column or []),
        format=Format.JSONL if table else None if form is Form.AUTO else Format(form.value),
        project=project,
        origin=origin,
        dry_run=dry_run,
        accept_sensitive=accept_sensitive,
    )
    run(lambda settings: bring(settings, wish), interrupted=AGAIN)


def _source(given: str, form: Form, table: str | None, columns: list[str]) -> str | Table:
    """The path or URL as it was given, or the database that it names. Raises BadParameter for what does not fit it."""
    from ops.moving.tables import Table, is_url, is_whole

    if not is_url(given):
        if table or columns:
            raise typer.BadParameter("belongs to a postgresql:// URL", param_hint="--table" if table else "--column")
        return given
    if not is_whole(given):
        raise typer.BadParameter("it is no whole URL", param_hint="SOURCE")
    if table and form not in (Form.AUTO, Form.JSONL):
        raise typer.BadParameter("a table is read as jsonl", param_hint="--format")
    if form not in (Form.AUTO, Form.JSONL, Form.MEMHUB, Form.MCP_MEMORY, Form.MEMORY_MCP):
        raise typer.BadParameter("no PostgreSQL holds this form; leave it out", param_hint="--format")
    return Table(given, table, _columns(columns))


def _columns(given: list[str]) -> dict[str, str]:
    from ops.moving.formats.generic import FIELDS

    columns: dict[str, str] = {}
    for pair in given:
        field, equals, column = pair.partition("=")
        if field not in FIELDS or not equals or not column:
            raise typer.BadParameter(
                f"{pair}: must be FIELD=COLUMN, where FIELD is one of {', '.join(sorted(FIELDS))}",
                param_hint="--column",
            )
        columns[field] = column
    return columns


def purge(
    memory_ids: Annotated[list[str], typer.Argument(metavar="MEMORY_ID", help="The ids of memories.")],
    yes: Annotated[bool, typer.Option("--yes", help="Destroy it: there is no way back.")] = False,
    rewrite: Annotated[
        bool, typer.Option(help="Rewrite the files of the tables too; other sessions wait meanwhile.")
    ] = True,
) -> None:
    """Destroy every copy of a memory's words; its history stays as a skeleton."""
    from ops.purge import AGAIN
    from ops.purge import purge as destroy

    run(lambda settings: destroy(settings, memory_ids, yes=yes, rewrite=rewrite), interrupted=AGAIN)


def backup(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    force: FORCE = False,
) -> None:
    """Back the embedded database up to one file."""
    from ops.backup import BACKUP_AGAIN
    from ops.backup import backup as write

    run(lambda settings: write(settings, path, force=force), interrupted=BACKUP_AGAIN)


def restore(path: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `memhub backup`.")]) -> None:
    """Restore a backup into an empty data folder: whole and checked, or not at all.

    Only one that you made yourself: a backup of somebody else can run any program as this user.
    """
    from ops.backup import RESTORE_AGAIN
    from ops.backup import restore as bring_back

    run(lambda settings: bring_back(settings, path), interrupted=RESTORE_AGAIN)
