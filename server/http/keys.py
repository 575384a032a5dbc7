"""The published keys of an issuer: found by its metadata, cached, fetched again behind the requests that they serve."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
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

AGE_S_MAX = 24 * 3600.0
"""Keys serve on while their issuer is away, but not for ever: it cannot take one back meanwhile."""

RETRY_S = 1.0
FETCH_S = 5.0
KEYS_MAX = 100

# Never a symmetric one: a published key would verify what anyone signs with it.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_OF_RSA = tuple(name for name in ALGORITHMS if name[:2] in {"RS", "PS"})


@dataclass(frozen=True, slots=True)
class Key:
    """`algorithms` are all that this key may verify: none for one whose own we do not take."""

    id: str | None
    public: Any
    algorithms: tuple[str, ...]


class Keys:
    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._keys: dict[str | None, Key] | None = None
        self._fetched_s = self._tried_s = -AGE_S_MAX
        self._refreshing: asyncio.Task[None] | None = None

    async def of(self, key_id: str | None) -> Key:
        """The key of that id, or the only one where the token names none; only one that is not known is waited for.

        Raises Unauthorized where the issuer has no such key, BackendUnavailable where its keys cannot be had.
        """
        if self._is_due(key_id) and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.create_task(self._refresh())
        if key_id not in (self._held() or ()) and self._refreshing is not None:
            await asyncio.wait({self._refreshing})
        held = self._held()
        if held is None:
            raise BackendUnavailable(
                "The issuer's keys cannot be fetched; nothing was run.", next="Call again in a moment."
            )
        found = held.get(key_id)
        if found is None:
            # No guess: it may be one of an issuer that changed its keys, whose holder has to hear 401.
            raise Unauthorized("Authorization: this token was signed with an unknown key.", next="Fetch a new one.")
        return found

    def _is_due(self, key_id: str | None) -> bool:
        now_s, held = time.monotonic(), self._held()
        if held is None:
            return now_s - self._tried_s >= RETRY_S
        wanted = now_s - self._fetched_s >= FRESH_S or key_id not in held
        return wanted and now_s - self._tried_s >= AGAIN_S

    def _held(self) -> dict[str | None, Key] | None:
        """What the issuer last published, which may be no key at all; None where that is unknown or too long ago."""
        return self._keys if time.monotonic() - self._fetched_s < AGE_S_MAX else None

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


def _parsed(published: Any) -> dict[str | None, Key]:
    """Without those that this program cannot use: an issuer that adds a new kind of key keeps its others.

    A set without any is a set: so an issuer withdraws all of them. Raises ValueError for what is none.
    """
    members = published["keys"]
    if not isinstance(members, list) or (members and not any(isinstance(member, dict) for member in members)):
        raise ValueError("the issuer publishes no set of keys")
    usable = (_usable(member) for member in members[:KEYS_MAX] if isinstance(member, dict))
    keys = {key.id: key for key in usable if key is not None}
    return {**keys, None: next(iter(keys.values()))} if len(keys) == 1 else keys


def _usable(published: dict[str, Any]) -> Key | None:
    if published.get("use", "sig") != "sig" or published.get("kty") == "oct":
        return None
    # A private key verifies nothing, and one that everybody can read signs for everybody (RFC 7517, 9.2).
    if "d" in published:
        return None
    named, id = published.get("alg"), published.get("kid")
    if not (named is None or named in ALGORITHMS) or not (id is None or isinstance(id, str)):
        return None
    try:
        key = jwt.PyJWK(published)
    except (jwt.PyJWTError, TypeError, ValueError):
        return None
    return Key(key.key_id, key.key, _fitting(key, named=named))


def _fitting(key: jwt.PyJWK, *, named: str | None) -> tuple[str, ...]:
    """The algorithm that the key names, else all of its type (RFC 7517, 4.4: it need not name one).

    A curve fits one algorithm alone, which PyJWK finds; of a key of RSA it takes RS256 for granted.
    """
    if not named and key.key_type == "RSA":
        return _OF_RSA
    return (key.algorithm_name,) if key.algorithm_name in ALGORITHMS else ()


def _secure(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK_NAMES:
        raise ValueError("the issuer's keys are not at an https URL")
    return url
