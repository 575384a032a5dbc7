"""The command `memhub`: everything for people at a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from enum import StrEnum
from typing import Annotated, Any

import anyio
import typer

from shared import settings as settings_module
from shared.errors import MemhubError
from shared.settings import Settings

app = typer.Typer(
    name="memhub",
    help="One shared, versioned memory for AI coding clients.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


def run(command: Callable[[Settings], Coroutine[Any, Any, int]]) -> None:
    """Runs an asynchronous command with the checked settings and exits with its status."""
    status = anyio.run(command, settings_module.load())
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


class ClientName(StrEnum):
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    CODEX = "codex"
    VSCODE = "vscode"
    WINDSURF = "windsurf"


@app.command()
def connect(
    client: Annotated[ClientName, typer.Argument(help="The client to connect.")],
    *,
    http: Annotated[str | None, typer.Option(metavar="URL", help="A server over HTTP instead of a local one.")] = None,
    token: Annotated[str | None, typer.Option(help="With --http: the token, from `memhub token`.")] = None,
    token_env: Annotated[str | None, typer.Option(metavar="NAME", help="The variable that holds the token.")] = None,
    tenant: Annotated[str | None, typer.Option(help="With --http: the tenant, when no token is bound to one.")] = None,
    memory_project: Annotated[str | None, typer.Option(metavar="SLUG", help="The memhub project, always.")] = None,
    project: Annotated[bool, typer.Option("--project", help="This folder's file instead of your own.")] = False,
    with_hooks: Annotated[bool, typer.Option("--with-hooks", help="Show sessions what is remembered.")] = False,
    with_rules: Annotated[bool, typer.Option("--with-rules", help="Tell the model when to use the memory.")] = False,
    print_only: Annotated[bool, typer.Option("--print", help="Print the configuration, write nothing.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take out what connect wrote.")] = False,
) -> None:
    """Write memhub into a client's own configuration, keeping all else in it; a backup stays beside the file."""
    from ops.connecting.command import Asked, Misused
    from ops.connecting.command import run as connect_client

    asked = Asked(
        client=client.value,
        http=http,
        token=token,
        token_variable=token_env,
        tenant=tenant,
        memory_project=memory_project,
        project=project,
        with_hooks=with_hooks,
        with_rules=with_rules,
        print_only=print_only,
        remove=remove,
    )
    try:
        connect_client(asked)
    except Misused as misused:
        raise typer.BadParameter(str(misused)) from None


hooks = typer.Typer(help="What clients run by themselves.", no_args_is_help=True)
app.add_typer(hooks, name="hook")


@hooks.command("session-start")
def session_start() -> None:
    """Print what the project remembers, as Claude Code's SessionStart hook takes it; its JSON comes on stdin."""
    from ops import hook

    hook.main()


def _fail(refused: MemhubError) -> None:
    print(f"memhub: {refused.message} {refused.next}", file=sys.stderr)
    sys.exit(1)
