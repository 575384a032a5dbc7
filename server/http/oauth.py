"""Tokens of an OAuth issuer (RFC 9068 in spirit): signature by its published keys, audience, expiry, tenant, scopes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jwt
from jwt import exceptions

from server.http.keys import ALGORITHMS, Key, Keys
from shared.api_tokens import Unknown
from shared.credentials import InsufficientScope
from shared.environment import TENANT_PATTERN
from shared.errors import Forbidden, Unauthorized
from shared.principal import Principal
from shared.settings import Settings

LEEWAY_S = 30
TOKEN_CHARACTERS_MAX = 16_384

_OF_CLAIMS = (
    exceptions.ImmatureSignatureError,
    exceptions.InvalidIssuedAtError,
    exceptions.InvalidIssuerError,
    exceptions.InvalidJTIError,
    exceptions.InvalidSubjectError,
    exceptions.MissingRequiredClaimError,
)
"""Said of tokens whose signature holds: PyJWT looks at it first."""


class OAuthIssuer:
    def __init__(self, settings: Settings, keys: Keys) -> None:
        assert settings.oauth_issuer is not None
        assert settings.oauth_tenant_claim is not None
        self._issuer = settings.oauth_issuer
        self._audience = settings.oauth_audience
        self._tenant_claim = settings.oauth_tenant_claim
        self._scope = settings.oauth_scope
        self._write_scope = settings.oauth_write_scope
        self._keys = keys

    def may_be_issued(self, credential: str) -> bool:
        return len(credential) <= TOKEN_CHARACTERS_MAX and credential.count(".") == 2

    async def principal(self, credential: str) -> Principal:
        """Who the token speaks for.

        Raises Unknown for a token that its issuer did not sign, Unauthorized for another that proves nothing, Forbidden
        for one that reaches nothing here, and BackendUnavailable while the issuer's keys cannot be had.
        """
        claims = self._verified(credential, await self._keys.of(_key_id(credential)))
        tenant = claims.get(self._tenant_claim)
        if not isinstance(tenant, str) or not TENANT_PATTERN.fullmatch(tenant):
            raise Forbidden(
                f"Authorization: the claim {self._tenant_claim} of this token names no tenant.",
                next="Ask the issuer for a token with that claim.",
            )
        scopes = _scopes(claims)
        if self._scope is not None and self._scope not in scopes:
            raise InsufficientScope(
                f"Authorization: this token lacks the scope {self._scope}.",
                next="Ask the issuer for that scope.",
                scopes=[self._scope, *scopes.intersection({self._write_scope})],
            )
        return Principal(
            # With the tenant: a session tells what it subscribed to, and its subject may come to belong elsewhere.
            identity=f"oauth:{self._issuer} {tenant} {claims['sub']}",
            tenant=tenant,
            read_only=self._write_scope is not None and self._write_scope not in scopes,
        )

    def _verified(self, credential: str, key: Key) -> Mapping[str, Any]:
        try:
            claims: Mapping[str, Any] = jwt.decode(
                credential,
                key.public,
                algorithms=key.algorithms,
                audience=self._audience,
                issuer=self._issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except jwt.ExpiredSignatureError:
            raise Unauthorized("Authorization: this token has expired.", next="Fetch a new one.") from None
        except jwt.InvalidAudienceError:
            raise Unauthorized(
                "Authorization: this token is for another audience.", next=f"Ask for the audience {self._audience}."
            ) from None
        except _OF_CLAIMS as refused:
            raise Unauthorized(_does_not_hold(refused), next="Fetch a new one.") from None
        except jwt.PyJWTError as refused:
            raise Unknown(_does_not_hold(refused), next="Fetch a new one.") from None
        return claims


def _key_id(credential: str) -> str | None:
    try:
        header = jwt.get_unverified_header(credential)
    except jwt.PyJWTError as refused:
        raise Unknown(_does_not_hold(refused), next="Fetch a new one.") from None
    if header.get("alg") not in ALGORITHMS:
        raise Unknown(_does_not_hold(jwt.InvalidAlgorithmError()), next="Fetch a new one.")
    key_id = header.get("kid")
    return key_id if isinstance(key_id, str) else None


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    found = claims.get("scope", claims.get("scp", ()))
    named = found.split() if isinstance(found, str) else found
    return (
        frozenset(scope for scope in named if isinstance(scope, str))
        if isinstance(named, list | tuple)
        else frozenset()
    )


def _does_not_hold(refused: jwt.PyJWTError) -> str:
    return f"Authorization: this token does not hold ({type(refused).__name__})."
