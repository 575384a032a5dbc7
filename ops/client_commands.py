"""The commands that clients are connected by, and those that clients run."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    app.command()(connect)
    hooks = typer.Typer(help="What clients run by themselves.", no_args_is_help=True)
    hooks.command("session-start")(session_start)
    app.add_typer(hooks, name="hook")


class ClientName(StrEnum):
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    CODEX = "codex"
    VSCODE = "vscode"
    WINDSURF = "windsurf"


def connect(
    client: Annotated[ClientName, typer.Argument(metavar="CLIENT", help="The client to connect.")],
    *,
    http: Annotated[str | None, typer.Option(metavar="URL", help="A server over HTTP instead of a local one.")] = None,
    local: Annotated[
        bool, typer.Option("--local", help="A local server instead of the one over HTTP that the entry names.")
    ] = False,
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="With --http: the token, from `memhub token`.")
    ] = None,
    token_env: Annotated[str | None, typer.Option(metavar="NAME", help="The variable that holds the token.")] = None,
    tenant: Annotated[
        str | None, typer.Option(metavar="TENANT", help="With --http: the tenant, when no token is bound to one.")
    ] = None,
    memory_project: Annotated[
        str | None, typer.Option(metavar="SLUG", help='The memhub project of its calls; "" takes it off again.')
    ] = None,
    project: Annotated[
        bool,
        typer.Option(
            "--project",
            help="Write the file of this folder, which its repository shares, not yours."
            " Without --http it gets paths of this machine: do not commit it then.",
        ),
    ] = False,
    with_hooks: Annotated[
        bool, typer.Option("--with-hooks", help="Claude Code only: show sessions what is remembered.")
    ] = False,
    with_rules: Annotated[bool, typer.Option("--with-rules", help="Tell the model when to use the memory.")] = False,
    rules_only: Annotated[bool, typer.Option("--rules-only", help="Write the rules alone, no entry.")] = False,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print what would be written where, write nothing.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take out what connect wrote.")] = False,
) -> None:
    """Write memhub into a client's own configuration, keeping all else in it; a backup stays beside the file.

    Once more, it changes in memhub's entry what is asked for, and keeps what else stands there.
    """
    from ops.connecting.command import Asked, Misused
    from ops.connecting.command import run as connect_client

    asked = Asked(
        client=client.value,
        http=http,
        local=local,
        token=token,
        token_variable=token_env,
        tenant=tenant,
        memory_project=memory_project,
        project=project,
        with_hooks=with_hooks,
        with_rules=with_rules,
        rules_only=rules_only,
        print_only=print_only,
        remove=remove,
    )
    try:
        connect_client(asked)
    except Misused as misused:
        raise typer.BadParameter(str(misused)) from None


def session_start() -> None:
    """Print what the project remembers, as Claude Code's SessionStart hook takes it; its JSON comes on stdin."""
    from ops import hook

    hook.main()
