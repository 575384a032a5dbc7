"""Who may look at a dashboard that is served alone: holders of the API key or a token, else this machine's people."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from uuid import UUID

from shared import tokens
from shared.errors import Unauthorized
from shared.mounts import Connections
from shared.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    identity: str | None = None
    tenant: str | None = None
    project_id: UUID | None = None
    read_only: bool = False


ANYONE = Principal()
KEY = Principal(identity="key")


class Credentials:
    """As the HTTP server does it, but for OAuth: a browser brings no access token of its own."""

    def __init__(self, database: Connections, settings: Settings) -> None:
        self._database = database
        self._key = None if settings.api_key is None else settings.api_key.get_secret_value().encode()

    async def authenticate(self, secret: str | None) -> Principal | None:
        """Open without a key, until the first token is made."""
        if secret is None:
            return None if self._key is not None or await self._any_token() else ANYONE
        if self._key is not None and hmac.compare_digest(secret.encode(), self._key):
            return KEY
        return await self._of_token(secret) if tokens.may_be_token(secret) else None

    async def _any_token(self) -> bool:
        async with self._database.connection("read") as connection:
            return await tokens.any_exist(connection)

    async def _of_token(self, secret: str) -> Principal | None:
        async with self._database.connection("read") as connection:
            try:
                token = await tokens.authenticate(connection, secret)
            except Unauthorized:
                return None
        return Principal(
            identity=f"token:{token.id}", tenant=token.tenant, project_id=token.project_id, read_only=token.read_only
        )
