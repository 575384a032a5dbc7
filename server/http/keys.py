"""The published keys of an issuer: found by its metadata, cached, fetched again behind the requests that they serve."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from urllib.parse import urlsplit

import httpx2
import jwt
import orjson

from server import background
from shared.errors import BackendUnavailable, Unauthorized
from shared.settings import LOOPBACK_NAMES

FRESH_S = 600.0
AGAIN_S = 10.0
"""A token with an invented key id must not make us ask the issuer each time."""

RETRY_S = 1.0
FETCH_S = 5.0
KEYS_MAX = 100


class Keys:
    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._fetched_s = self._tried_s = -FRESH_S
        self._refreshing: asyncio.Task[None] | None = None

    async def of(self, key_id: str | None) -> jwt.PyJWK:
        """The key of that id, or the only one where the token names none; only one that is not known is waited for.

        Raises Unauthorized where the issuer has no such key, BackendUnavailable where its keys cannot be had.
        """
        if self._is_due(key_id) and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._refresh())
        if key_id not in self._keys and self._refreshing is not None:
            await asyncio.wait({self._refreshing})
        if not self._keys:
            raise BackendUnavailable(
                "The issuer's keys cannot be fetched; nothing was run.", next="Call again in a moment."
            )
        found = self._keys.get(key_id)
        if found is None:
            raise Unauthorized("Authorization: this token was signed with an unknown key.", next="Fetch a new one.")
        return found

    def _is_due(self, key_id: str | None) -> bool:
        now_s = time.monotonic()
        wanted = now_s - self._fetched_s >= FRESH_S or key_id not in self._keys
        return wanted and now_s - self._tried_s >= (AGAIN_S if self._keys else RETRY_S)

    async def _refresh(self) -> None:
        """Keys that were had before serve on when new ones cannot be."""
        self._tried_s = time.monotonic()
        with background.surviving("issuer_unreachable"):
            async with asyncio.timeout(FETCH_S), httpx2.AsyncClient(timeout=FETCH_S) as http:
                answer = await http.get(await self._keys_url(http))
                self._keys = _parsed(orjson.loads(answer.raise_for_status().content))
            self._fetched_s = time.monotonic()

    async def _keys_url(self, http: httpx2.AsyncClient) -> str:
        for url in _metadata_urls(self._issuer):
            answer = await http.get(url)
            if answer.status_code == 404:
                continue
            metadata = orjson.loads(answer.raise_for_status().content)
            if metadata.get("issuer") != self._issuer:
                raise ValueError("the metadata is of another issuer")
            return _secure(metadata["jwks_uri"])
        raise ValueError("the issuer publishes no metadata")


def _metadata_urls(issuer: str) -> tuple[str, str]:
    """OpenID Connect Discovery 1.0 appends to the issuer, RFC 8414 goes between its host and its path."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    return (
        f"{issuer.rstrip('/')}/.well-known/openid-configuration",
        f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{path}",
    )


def _parsed(published: Any) -> dict[str | None, jwt.PyJWK]:
    """Without those that this program cannot use: an issuer that adds a new kind of key keeps its others."""
    signing = [
        key
        for key in published["keys"][:KEYS_MAX]
        if isinstance(key, dict) and key.get("use", "sig") == "sig" and key.get("kty") != "oct"
    ]
    keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict({"keys": signing}).keys}
    return {**keys, None: next(iter(keys.values()))} if len(keys) == 1 else keys


def _secure(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK_NAMES:
        raise ValueError("the issuer's keys are not at an https URL")
    return url
