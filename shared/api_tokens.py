"""Tokens of callers over HTTP: made and revoked by people, looked up by servers, kept as hashes alone."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import asyncpg

from shared import projects, statements
from shared.errors import InvalidArgument, Unauthorized

PREFIX = "mh_"
SECRET_BYTES = 32
LISTED_MAX = 1_000

_SQL = statements.load("tokens")
_CREATE = _SQL["create"]
_BY_HASH = _SQL["by_hash"]
_LIST = _SQL["list"]
_REVOKE = _SQL["revoke"]
_USED = _SQL["used"]
_ANY_EXIST = _SQL["any_exist"]

_SECRET = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; `project` is the slug of the project that it is bound to."""

    id: UUID
    tenant: str
    project_id: UUID | None
    project: str | None
    name: str
    read_only: bool
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    created_at: datetime
    expired: bool


@dataclass(frozen=True, slots=True)
class Issued:
    """The one moment at which the secret exists outside its owner."""

    token: Token
    secret: str


@dataclass(frozen=True, slots=True)
class Revoked:
    """`is_now` is false for one that was revoked before."""

    name: str
    is_now: bool


async def create(
    connection: asyncpg.Connection,
    tenant: str,
    *,
    name: str,
    project: UUID | str | None = None,
    read_only: bool = False,
    expires_at: datetime | None = None,
    ttl: timedelta | None = None,
) -> Issued:
    """A new token of a tenant, or of one project of it; commits. Needs the operator's role.

    Raises ProjectNotFound, and InvalidArgument for an expiry that has passed.
    """
    scope = None if project is None else await projects.resolve(connection, tenant, project)
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    try:
        row = await connection.fetchrow(
            _CREATE,
            uuid4(),
            tenant,
            None if scope is None else scope.project_id,
            name,
            _hash(secret),
            read_only,
            expires_at,
            ttl,
        )
    except asyncpg.CheckViolationError as refused:
        raise _refused(refused) from None
    return Issued(token=_token(row, project=None if scope is None else scope.slug), secret=secret)


async def listed(connection: asyncpg.Connection, tenant: str | None, *, project_id: UUID | None = None) -> list[Token]:
    """The tokens of a tenant, of one project of it, or of all; revoked and expired ones too.

    Newest first, at most LISTED_MAX: who shows so many tells that there may be older ones.
    """
    return [_token(row) for row in await connection.fetch(_LIST, tenant, project_id, LISTED_MAX)]


async def revoke(connection: asyncpg.Connection, token_id: UUID, *, tenant: str | None = None) -> Revoked:
    """Ends a token at once and for ever, one of `tenant` where that is given. Commits. Needs the operator's role.

    Raises InvalidArgument where there is no such token.
    """
    row = await connection.fetchrow(_REVOKE, token_id, tenant)
    if row is None:
        raise InvalidArgument("id", f"there is no token {token_id}", next="Take ids from `memhub token list`.")
    return Revoked(**row)


async def authenticate(connection: asyncpg.Connection, secret: str) -> Token:
    """The token of a secret that may be used now. Reads only. Raises Unauthorized, which says why."""
    given = _hash(secret)
    row = await connection.fetchrow(_BY_HASH, given)
    if row is None or not hmac.compare_digest(row["hash"], given):
        raise unknown()
    token = _token(row)
    if token.revoked_at is not None:
        raise Unauthorized("Authorization: this token was revoked.", next="Ask for a new one.")
    if token.expired:
        raise Unauthorized("Authorization: this token has expired.", next="Ask for a new one.")
    return token


def may_be_token(credential: str) -> bool:
    """Whether it has the form of a token: nothing else is worth a question to the database."""
    return _SECRET.fullmatch(credential) is not None


class Unknown(Unauthorized):
    """No credential that was ever issued, here or by the issuer: a guess, where an expired or a revoked one is none."""


def unknown() -> Unknown:
    return Unknown("Authorization: this credential is not known here.", next="Check it, or ask for a new one.")


async def note_used(connection: asyncpg.Connection, ids: Collection[UUID]) -> None:
    """Writes that these were used; commits."""
    await connection.execute(_USED, list(ids))


async def any_exist(connection: asyncpg.Connection) -> bool:
    """Whether any token was ever made, also one that is revoked or expired."""
    found: bool = await connection.fetchval(_ANY_EXIST)
    return found


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _token(row: asyncpg.Record, *, project: str | None = None) -> Token:
    known = {name: row[name] for name in Token.__dataclass_fields__}
    return Token(**{**known, "project": project or known["project"]})


def _refused(refused: asyncpg.CheckViolationError) -> InvalidArgument:
    if refused.constraint_name == "api_tokens_expiry":
        return InvalidArgument("expires", "is not in the future", next="Give a later instant, or leave it out.")
    return InvalidArgument("name", "must be 1 to 128 bytes", next="Give another name.")
