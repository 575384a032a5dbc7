"""One write for one client_request_id: claiming a key, and what a replay of its request is told."""

from __future__ import annotations

from typing import Any

import asyncpg
import orjson

from shared import statements
from shared.domain import ProjectScope
from shared.errors import IdempotencyKeyReused
from shared.memories import races

_SQL = statements.load("idempotency")
_CLAIM = _SQL["claim"]
_STORED = _SQL["stored"]
_SETTLE = _SQL["settle"]
_RELEASE = _SQL["release"]


async def claim(
    connection: asyncpg.Connection, scope: ProjectScope, key: str | None, fingerprint: bytes | None
) -> dict[str, Any] | None:
    """None when the caller now owns the key (or gave none), else the response stored under it.

    Waits for an owner in flight. Raises IdempotencyKeyReused when the key belongs to another request, and Raced when it
    was collected between the two statements.
    """
    if key is None or await connection.fetchval(_CLAIM, scope.project_id, key, fingerprint) is not None:
        return None
    stored = await connection.fetchrow(_STORED, scope.project_id, key)
    if stored is None:
        raise races.Raced
    if stored["fingerprint"] != fingerprint:
        raise IdempotencyKeyReused(
            "client_request_id: this key was used for a request with other arguments",
            next="Use a new client_request_id for a new request; repeat a request unchanged to replay it.",
        )
    response: dict[str, Any] = orjson.loads(stored["response"])
    return response


async def settle(
    connection: asyncpg.Connection, scope: ProjectScope, key: str | None, response: dict[str, Any]
) -> None:
    """Stores what a replay will be told; ids and numbers only, since content is read from its revision."""
    if key is not None:
        await connection.execute(_SETTLE, scope.project_id, key, encode(response))


async def release(connection: asyncpg.Connection, scope: ProjectScope, key: str | None) -> None:
    """Gives a claimed key back: nothing was written under it."""
    if key is not None:
        await connection.execute(_RELEASE, scope.project_id, key)


def encode(response: dict[str, Any]) -> str:
    return orjson.dumps(response).decode()
