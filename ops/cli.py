"""The command `memhub`: everything for people at a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import metadata
from typing import Annotated, NoReturn

import typer

from ops import client_commands, fleet_commands, moving_commands, upkeep_commands
from ops.files import FileRefused, Output, ReaderGone
from ops.main import INTERRUPTED
from ops.running import Interrupted, run, telling
from ops.texts import shown
from ops.usage import Commands
from shared.errors import InvalidArgument, MemhubError
from shared.settings import Settings

NEXT_CLIENTS = f"claude-code --with-rules (or {', '.join(list(client_commands.ClientName)[1:])})"

app = typer.Typer(
    name="memhub",
    cls=Commands,
    help="One shared, versioned memory for AI coding clients.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

client_commands.add_to(app)
fleet_commands.add_to(app)
moving_commands.add_to(app)
upkeep_commands.add_to(app)
token_app = typer.Typer(help="Tokens of callers over HTTP.", no_args_is_help=True)
app.add_typer(token_app, name="token")
project_app = typer.Typer(help="Projects, and the folders and repositories that lead to them.", no_args_is_help=True)
app.add_typer(project_app, name="project")


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"memhub {metadata.version('memhub')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_tell_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """One shared, versioned memory for AI coding clients."""


def main() -> None:
    """Runs the command; what memhub explains itself is one line on stderr.

    The exit status is then 1, for an argument that cannot be used 2, and after Ctrl-C, SIGTERM or SIGHUP as a shell
    tells them: 130, 143, 129.
    """
    try:
        with _output():
            app()
    except ReaderGone:
        sys.exit(1)
    except InvalidArgument as wrong:
        _fail(wrong.line, 2)
    except MemhubError as refused:
        _fail(refused.line, 1)
    except Interrupted as interrupted:
        _fail(f"interrupted. {interrupted}".rstrip(), interrupted.status)
    except SystemExit as ended:
        # Typer says nothing of a Ctrl-C.
        if ended.code == INTERRUPTED:
            _fail("interrupted.", INTERRUPTED)
        raise


@app.command()
def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Use your own database instead of a throwaway one.")] = False,
) -> None:
    """Two clients share a memory, reverse a decision and find only the current one."""
    from ops.demo import demonstrate
    from ops.interrupts import interruptible

    with telling():
        interruptible(demonstrate, keep)
    print(f"Next, connect a client of yours: {sys.argv[0]} connect {NEXT_CLIENTS}", flush=True)


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
    from shared.settings import load

    # What is no setting is one of its findings.
    run(lambda settings: examine(settings, as_json=as_json), load=load)


@app.command()
def dashboard(
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port on this machine; 0: any free one.")] = 3001,
    browse: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
) -> None:
    """Look at the memories in a browser, on this machine only."""
    from ops.dashboard.serving import serve
    from ops.reaching import reached

    async def show(settings: Settings) -> int:
        with ExitStack() as lease:
            await reached(settings, lease)
            return await serve(settings, port=port, browse=browse)

    run(show)


@token_app.command("create")
def token_create(  # noqa: PLR0917 - typer calls it by name
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="The tenant that the token opens: MEMHUB_TENANT, else local.")
    ] = None,
    project: Annotated[
        str | None, typer.Option(metavar="PROJECT", help="Slug or UUID of the one project that it opens.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What you will know it by.")] = "token",
    read_only: Annotated[bool, typer.Option("--read-only", help="It may not write.")] = False,
    expires: Annotated[str | None, typer.Option(metavar="WHEN", help="30d, 12h or an instant with its offset.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Stable JSON instead of the bare secret.")] = False,
) -> None:
    """Make a token; its secret is shown this once."""
    from ops import token

    wish = token.Wish(tenant=tenant, project=project, name=name, read_only=read_only, expires=expires)
    run(lambda settings: token.create(settings, wish, as_json=as_json))


@token_app.command("list")
def token_list(
    tenant: Annotated[str | None, typer.Option(metavar="TENANT", help="Only of this tenant.")] = None,
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


@project_app.command("list")
def project_list(
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="Another tenant than that of the settings.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Stable JSON instead of the table.")] = False,
) -> None:
    """Show the projects and what each is known by."""
    from ops import project

    run(lambda settings: project.listing(settings, tenant, as_json=as_json))


@project_app.command("rename")
def project_rename(
    slug: Annotated[str, typer.Argument(metavar="SLUG", help="The project, by its slug or UUID.")],
    new_slug: Annotated[str | None, typer.Argument(metavar="NEW-SLUG", help="What it is called from now on.")] = None,
    display_name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The name that people are shown beside it.")
    ] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="Another tenant than that of the settings.")
    ] = None,
) -> None:
    """Call a project otherwise; what is remembered, and what leads to it, stays."""
    from ops import project

    if new_slug is None and display_name is None:
        raise typer.BadParameter("NEW-SLUG, --display-name or both are needed")
    run(lambda settings: project.rename(settings, slug, slug=new_slug, display_name=display_name, tenant=tenant))


@project_app.command("untie")
def project_untie(
    place: Annotated[str, typer.Argument(metavar="PLACE", help="A folder, or the remote of a git repository.")],
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="Another tenant than that of the settings.")
    ] = None,
) -> None:
    """Take a folder or repository off its project; what is remembered stays."""
    from ops import project

    run(lambda settings: project.untie(settings, place, tenant))


@contextmanager
def _output() -> Iterator[None]:
    """All that was printed is out at the end. Raises FileRefused where it finds no room, ReaderGone."""
    sys.stdout = Output.of(sys.stdout)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except (FileRefused, ReaderGone):
        # The interpreter flushes once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _fail(told: str, status: int) -> NoReturn:
    print(f"memhub: {shown(told)}", file=sys.stderr)
    sys.exit(status)
