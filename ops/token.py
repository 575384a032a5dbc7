"""`memhub token`: makes, lists and revokes the tokens of callers over HTTP."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import orjson
from rich.table import Table

from ops.operating import operating
from ops.shell_projects import at_shell
from ops.terminal import Terminal
from ops.texts import shown
from shared import api_tokens, limits
from shared.errors import InvalidArgument
from shared.settings import Settings

AGAIN = "See `memhub token list` for what was done."

_FIRST = "It is the first: from now on the server over HTTP and the dashboard ask everybody for a token or the key."

_CUT = f"These are the newest {api_tokens.LISTED_MAX:,}; older ones are not listed. --tenant lists those of one tenant."

_TTL = re.compile(r"(\d{1,6})([hd])", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What `memhub token create` was asked for, as typed; `tenant` None: that of the settings."""

    tenant: str | None
    project: str | None
    name: str
    read_only: bool
    expires: str | None


async def create(settings: Settings, wish: Wish, *, as_json: bool) -> int:
    """Prints the secret alone on stdout, and about it on stderr."""
    tenant = settings.tenant if wish.tenant is None else limits.tenant(wish.tenant, "tenant")
    project = limits.project(wish.project)
    expires_at, ttl = _expiry(wish.expires)
    async with operating(settings, create=True, again=AGAIN) as connection, connection.transaction():
        is_first = not await api_tokens.any_exist(connection)
        with at_shell():
            issued = await api_tokens.create(
                connection,
                tenant,
                name=wish.name,
                project=project,
                read_only=wish.read_only,
                expires_at=expires_at,
                ttl=ttl,
            )
        # Before the commit: a token whose secret nobody could read is not made.
        print(_json({"secret": issued.secret, **asdict(issued.token)}) if as_json else issued.secret, flush=True)
    if not as_json:
        print(f"{shown(_described(issued.token))} Keep the secret: it is shown this once.", file=sys.stderr)
    if is_first:
        print(_FIRST, file=sys.stderr)
    return 0


async def listing(settings: Settings, tenant: str | None, *, as_json: bool) -> int:
    wanted = None if tenant is None else limits.tenant(tenant, "tenant")
    async with operating(settings, again=AGAIN) as connection:
        found = await api_tokens.listed(connection, wanted)
    if len(found) == api_tokens.LISTED_MAX:
        print(_CUT, file=sys.stderr)
    if as_json:
        print(_json([asdict(token) for token in found]))
        return 0
    table = Table("id", "name", "tenant", "project", "rights", "state", "last used", box=None, header_style="")
    for token in found:
        rights = "read" if token.read_only else "read, write"
        used = _moment(token.last_used_at) if token.last_used_at else "never"
        table.add_row(str(token.id), token.name, token.tenant, token.project or "all", rights, _state(token), used)
    Terminal(width=None if sys.stdout.isatty() else 200).print(table)
    return 0


async def revoke(settings: Settings, token_id: str) -> int:
    try:
        wanted = UUID(token_id)
    except ValueError:
        raise InvalidArgument("id", "is not the id of a token", next="Take ids from `memhub token list`.") from None
    async with operating(settings, again=AGAIN) as connection:
        name = (await api_tokens.revoke(connection, wanted)).name
    print(f"Token {shown(name)} is revoked: it opens nothing any more.", file=sys.stderr)
    return 0


def _expiry(expires: str | None) -> tuple[datetime | None, timedelta | None]:
    if expires is None:
        return None, None
    if period := _TTL.fullmatch(expires):
        return None, timedelta(**{"hours" if period[2] == "h" else "days": int(period[1])})
    try:
        return limits.instant("expires", expires), None
    except InvalidArgument:
        raise InvalidArgument(
            "expires",
            "must be days such as 30d, hours such as 12h, or an instant with its offset",
            next="Write --expires 30d, --expires 12h or --expires 2030-01-01T00:00:00Z.",
        ) from None


def _described(token: api_tokens.Token) -> str:
    reach = f"project {token.project}" if token.project else "all projects"
    rights = "reads" if token.read_only else "reads and writes"
    until = f"until {_moment(token.expires_at)}" if token.expires_at else "until it is revoked"
    return f"Token {token.name} ({token.id}) {rights} {reach} of tenant {token.tenant} {until}."


def _state(token: api_tokens.Token) -> str:
    if token.revoked_at is not None:
        return "revoked"
    if token.expired:
        return "expired"
    return f"valid until {_moment(token.expires_at)}" if token.expires_at else "valid"


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%MZ")


def _json(value: object) -> str:
    # The driver's UUID is one of its own.
    return orjson.dumps(value, default=str).decode()
