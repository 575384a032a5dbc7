"""The command `memhub`: everything for people at a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer

from shared import settings as settings_module
from shared.errors import MemhubError
from shared.settings import Settings

_FORMATS = ("auto", "memhub", "jsonl", "server-memory", "markdown", "mcp-memory-service", "mem0")

app = typer.Typer(
    name="memhub",
    help="One shared, versioned memory for AI coding clients.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

token_app = typer.Typer(help="Tokens of callers over HTTP.", no_args_is_help=True)
app.add_typer(token_app, name="token")


def main() -> None:
    """Runs the command; what memhub explains itself is one line on stderr and exit status 1, Ctrl-C is 130."""
    try:
        app()
    except MemhubError as refused:
        _fail(refused)
    except KeyboardInterrupt:
        print("memhub: interrupted.", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def run(command: Callable[[Settings], Coroutine[Any, Any, int]], *, interrupted: str = "") -> None:
    """Runs an asynchronous command with the checked settings and exits with its status.

    `interrupted` is what a person should know and do after Ctrl-C.
    """
    try:
        status = anyio.run(command, settings_module.load())
    except KeyboardInterrupt:
        # Told here: typer ends without a word on it.
        print(f"memhub: interrupted. {interrupted}".rstrip(), file=sys.stderr)
        raise typer.Exit(130) from None
    if status:
        raise typer.Exit(status)


@app.command()
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Use your own database instead of a throwaway one.")] = False,
) -> None:
    """Two clients share a memory, reverse a decision and find only the current one."""
    from ops.demo import demonstrate

    anyio.run(demonstrate, keep)


@app.command()
def migrate() -> None:
    """Bring the database to the schema of this program."""
    from ops.migrate import migrate as bring

    run(bring)


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Stable JSON instead of the table.")] = False,
) -> None:
    """Say what is wrong and the command that mends it."""
    from ops.doctor import examine

    run(lambda settings: examine(settings, as_json=as_json))


@app.command()
def export(
    project: Annotated[str | None, typer.Option(help="Only this project: its slug or UUID.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant's projects.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file instead of standard output.")] = None,
) -> None:
    """Write every memory with its whole history as JSON Lines."""
    from ops.export import AGAIN
    from ops.export import export as write

    run(lambda settings: write(settings, project=project, tenant=tenant, output=output), interrupted=AGAIN)


@app.command("import")
def import_(
    source: Annotated[
        str, typer.Argument(help="A file, a folder of Markdown, an http(s) URL, or - for standard input.")
    ],
    form: Annotated[str, typer.Option("--format", help=f"One of: {', '.join(_FORMATS)}.")] = "auto",
    project: Annotated[str | None, typer.Option(help="The project to import into; made when it is not there.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be imported.")] = False,
    accept_sensitive: Annotated[
        bool, typer.Option("--accept-sensitive", help="Also what looks like a credential.")
    ] = False,
) -> None:
    """Bring memories in; run again, it goes on where it was and makes no doubles."""
    from ops.importing import AGAIN, Wish
    from ops.importing import import_ as bring
    from ops.moving.detection import Format

    if form not in _FORMATS:
        raise typer.BadParameter(f"must be one of {', '.join(_FORMATS)}", param_hint="--format")
    wish = Wish(
        source=source,
        format=None if form == "auto" else Format(form),
        project=project,
        dry_run=dry_run,
        accept_sensitive=accept_sensitive,
    )
    run(lambda settings: bring(settings, wish), interrupted=AGAIN)


@app.command()
def purge(
    memory_ids: Annotated[list[str], typer.Argument(metavar="MEMORY_ID...", help="The ids of memories.")],
    yes: Annotated[bool, typer.Option("--yes", help="Destroy it: there is no way back.")] = False,
    rewrite: Annotated[
        bool, typer.Option(help="Rewrite the files of the tables too; other sessions wait meanwhile.")
    ] = True,
) -> None:
    """Destroy every copy of a memory's words; its history stays as a skeleton."""
    from ops.purge import AGAIN
    from ops.purge import purge as destroy

    run(lambda settings: destroy(settings, memory_ids, yes=yes, rewrite=rewrite), interrupted=AGAIN)


@app.command()
def backup(path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")]) -> None:
    """Back the embedded database up to one file."""
    from ops.backup import BACKUP_AGAIN
    from ops.backup import backup as write

    run(lambda settings: write(settings, path), interrupted=BACKUP_AGAIN)


@app.command()
def restore(path: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `memhub backup`.")]) -> None:
    """Restore a backup into an empty data folder: whole and checked, or not at all."""
    from ops.backup import RESTORE_AGAIN
    from ops.backup import restore as bring_back

    run(lambda settings: bring_back(settings, path), interrupted=RESTORE_AGAIN)


@token_app.command("create")
def token_create(  # noqa: PLR0917 - typer calls it by name
    tenant: Annotated[str, typer.Option(help="The tenant that the token opens.")],
    project: Annotated[str | None, typer.Option(help="Slug or UUID of the one project that it opens.")] = None,
    name: Annotated[str, typer.Option(help="What you will know it by.")] = "token",
    read_only: Annotated[bool, typer.Option("--read-only", help="It may not write.")] = False,
    expires: Annotated[str | None, typer.Option(help="30d, 12h or an instant with its offset.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Stable JSON instead of the bare secret.")] = False,
) -> None:
    """Make a token; its secret is shown this once."""
    from ops import token

    wish = token.Wish(tenant=tenant, project=project, name=name, read_only=read_only, expires=expires)
    run(lambda settings: token.create(settings, wish, as_json=as_json))


@token_app.command("list")
def token_list(
    tenant: Annotated[str | None, typer.Option(help="Only of this tenant.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Stable JSON instead of the table.")] = False,
) -> None:
    """Show the tokens: bound to what, in which state, last used when."""
    from ops import token

    run(lambda settings: token.listing(settings, tenant, as_json=as_json))


@token_app.command("revoke")
def token_revoke(token_id: Annotated[str, typer.Argument(metavar="ID", help="From `memhub token list`.")]) -> None:
    """End a token at once."""
    from ops import token

    run(lambda settings: token.revoke(settings, token_id))


def _fail(refused: MemhubError) -> None:
    print(f"memhub: {refused.message} {refused.next}", file=sys.stderr)
    sys.exit(1)
