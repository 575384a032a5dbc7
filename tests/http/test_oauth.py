"""Tokens of an OAuth issuer, checked by what it publishes."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from server.http.keys import ALGORITHMS, Keys
from server.http.oauth import OAuthIssuer
from shared import api_tokens
from shared.errors import Unauthorized
from shared.settings import Settings
from tests.http.callers import Era, client, plain, raw_client
from tests.http.issuer import AUDIENCE, Issuer, issuing
from tests.http.processes import Process, serving

FLOOD, FLOODS_MAX = 60, 10
METADATA = 'resource_metadata="https://memory.example.com/.well-known/oauth-protected-resource/mcp"'


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with issuing() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def trusting(tmp_path_factory: pytest.TempPathFactory, module_database_url: str, issuer: Issuer) -> Iterator[Process]:
    with trusting_server(tmp_path_factory.mktemp("trusting"), module_database_url, issuer) as process:
        yield process


def trusting_server(
    folder: Path, database_url: str, issuer: Issuer, **settings: str
) -> AbstractContextManager[Process]:
    usual = {
        "MEMHUB_DATABASE_URL": database_url,
        "MEMHUB_OAUTH_ISSUER": issuer.url,
        "MEMHUB_OAUTH_AUDIENCE": AUDIENCE,
        "MEMHUB_OAUTH_TENANT_CLAIM": "https://example.com/tenant",
        "MEMHUB_OAUTH_SCOPE": "memory",
        "MEMHUB_OAUTH_WRITE_SCOPE": "memory:write",
    }
    return serving(folder, **{**usual, **settings})


def token(issuer: Issuer, tenant: Any = "acme", scope: Any = "memory memory:write", **wishes: Any) -> str:
    return issuer.token(**{"https://example.com/tenant": tenant, "scope": scope, **wishes})


async def test_a_token_of_the_issuer_opens_the_tenant_of_its_claim(trusting: Process, issuer: Issuer, era: Era) -> None:
    async with client(trusting.url, era, key=token(issuer, tenant=f"claimed-{era}")) as raw:
        assert (await raw.use("memory_remember", content="Said."))["outcome"] == "created"
        assert (await raw.refused("memory_search", headers=[("X-Memory-Tenant", "other")]))["code"] == "FORBIDDEN"
    async with client(trusting.url, era, key=token(issuer, tenant=f"claimed-{era}", sub="another")) as raw:
        assert len((await raw.use("memory_search"))["results"]) == 1
    assert trusting.event("http_listening")["auth"] == "oauth and tokens"


async def test_without_the_write_scope_a_token_only_reads(trusting: Process, issuer: Issuer, era: Era) -> None:
    async with client(trusting.url, era, key=token(issuer, scope=["memory"])) as raw:
        assert "results" in await raw.use("memory_search", query="anything")
        assert (await raw.refused("memory_remember", content="Written."))["code"] == "FORBIDDEN"


async def test_a_renewed_token_keeps_its_session_and_another_subject_or_tenant_has_none(
    trusting: Process, issuer: Issuer
) -> None:
    """Fails without the tenant in the identity of server/http/oauth.py: subscriptions of the session keep its place."""
    async with client(trusting.url, "2025-11-25", key=token(issuer)) as raw:
        raw.headers = [("Authorization", f"Bearer {token(issuer, exp=time.time() + 900)}")]
        assert (await raw.request("tools/list", {})).status_code == 200
        for other in (token(issuer, sub="another"), token(issuer, tenant="another")):
            raw.headers = [("Authorization", f"Bearer {other}")]
            assert (await raw.request("tools/list", {})).status_code == 404


@pytest.mark.parametrize(
    "wishes",
    [
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"aud": "https://elsewhere.example.com"},
        {"aud": None},
        {"iss": "https://elsewhere.example.com"},
        {"nbf": 4_000_000_000},
        {"key": ec.generate_private_key(ec.SECP256R1())},
        {"headers": {"kid": "never-published"}},
    ],
)
async def test_a_token_that_does_not_hold_opens_nothing(
    trusting: Process, issuer: Issuer, wishes: dict[str, Any]
) -> None:
    credential = token(issuer, **wishes)
    refused = await presented(trusting, credential)
    assert refused.status_code == 401, refused.text
    challenge = refused.headers["www-authenticate"]
    assert 'error="invalid_token"' in challenge
    assert METADATA in challenge
    assert credential not in refused.text


@pytest.mark.parametrize(
    ("scope", "needed"),
    [(None, "memory"), ("memory-like openid", "memory"), ("memory:write", "memory memory:write")],
)
async def test_a_token_without_the_scope_is_told_which_to_ask_for(
    trusting: Process, issuer: Issuer, scope: str | None, needed: str
) -> None:
    """Fails without the scopes of InsufficientScope in the challenge of server/http/auth.py."""
    refused = await presented(trusting, token(issuer, scope=scope))
    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    challenge = refused.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert f'scope="{needed}"' in challenge
    assert METADATA in challenge


@pytest.mark.parametrize("tenant", [None, ["acme"], "../acme", "t" * 129])
async def test_a_token_without_a_tenant_is_told_so_and_not_to_ask_for_a_scope(
    trusting: Process, issuer: Issuer, tenant: Any
) -> None:
    """Fails where every Forbidden is insufficient_scope in server/http/auth.py: clients asked their issuer again."""
    refused = await presented(trusting, token(issuer, tenant=tenant))
    assert (refused.status_code, refused.json()["code"]) == (403, "FORBIDDEN")
    assert "the claim https://example.com/tenant of this token names no tenant" in refused.json()["message"]
    assert "www-authenticate" not in refused.headers


async def presented(process: Process, credential: str) -> httpx2.Response:
    async with raw_client(process.url, "2026-07-28", headers=[("Authorization", f"Bearer {credential}")]) as raw:
        return await raw.open()


async def test_neither_an_unsigned_token_nor_one_signed_with_the_public_key_holds(
    trusting: Process, issuer: Issuer
) -> None:
    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "x", "exp": time.time() + 60, "scope": "memory"}
    public = next(iter(issuer.keys.values())).public_key()
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for algorithm in ("none", "HS256"):
        header = {"alg": algorithm, "kid": "first"}
        signing = ".".join(_encoded(json.dumps(part).encode()) for part in (header, claims))
        forged = f"{signing}.{_encoded(pem[:32]) if algorithm == 'HS256' else ''}"
        async with raw_client(trusting.url, "2026-07-28", headers=[("Authorization", f"Bearer {forged}")]) as raw:
            assert (await raw.open()).status_code == 401


RSA = rsa.generate_private_key(65_537, 2_048)
P384, ED25519 = ec.generate_private_key(ec.SECP384R1()), ed25519.Ed25519PrivateKey.generate()


@pytest.mark.parametrize(
    ("key", "named", "algorithm", "holds"),
    [
        *((RSA, None, name, True) for name in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")),
        (RSA, "PS256", "PS256", True),
        (RSA, "PS256", "RS256", False),
        (RSA, "RS256", "RS512", False),
        (P384, None, "ES384", True),
        (P384, "ES384", "ES384", True),
        (ED25519, None, "EdDSA", True),
    ],
)
async def test_a_key_verifies_the_algorithm_that_it_names_or_all_of_its_type(
    key: Any, named: str | None, algorithm: str, holds: bool
) -> None:
    """Fails without _OF_RSA in server/http/keys.py, and without the look at the algorithm that a key names."""
    with issuing() as issuer:
        issuer.rotate("only", key, named=named)
        assert await is_let_in(issuer, issuer.token(algorithm=algorithm, tenant="acme")) is holds


@pytest.mark.parametrize(("key", "algorithm"), [(RSA, "RS256"), (P384, "ES384"), (ED25519, "EdDSA")])
async def test_a_key_verifies_no_algorithm_of_another_type(key: Any, algorithm: str) -> None:
    """Fails with ALGORITHMS instead of those of the key in server/http/oauth.py."""
    with issuing() as issuer:
        issuer.rotate("only", key)
        fitting = {name for name in ALGORITHMS if name[:2] in {"RS", "PS"}} if key is RSA else {algorithm}
        _header, signed = issuer.token(algorithm=algorithm, tenant="acme").split(".", 1)
        for other in {*ALGORITHMS, "ES256K", "HS256", "none"}.difference(fitting):
            forged = _encoded(json.dumps({"alg": other, "kid": "only"}).encode())
            assert not await is_let_in(issuer, f"{forged}.{signed}")


async def is_let_in(issuer: Issuer, credential: str) -> bool:
    settings = Settings(oauth_issuer=issuer.url, oauth_audience=AUDIENCE, oauth_tenant_claim="tenant")
    try:
        return (await OAuthIssuer(settings, Keys(issuer.url)).principal(credential)).tenant == "acme"
    except Unauthorized:
        return False


async def test_the_metadata_of_the_resource_names_the_issuer_to_anyone(trusting: Process, issuer: Issuer) -> None:
    async with plain(trusting.url) as http:
        for path in ("", "/mcp"):
            described = (await http.get(f"/.well-known/oauth-protected-resource{path}")).json()
            assert described["resource"] == AUDIENCE
            assert described["authorization_servers"] == [issuer.url]
            assert described["scopes_supported"] == ["memory", "memory:write"]


@pytest.mark.parametrize("path", ["/memhub/mcp", "/mem%20hub", ""])
async def test_the_metadata_is_where_the_challenge_says(
    tmp_path: Path, module_database_url: str, issuer: Issuer, path: str
) -> None:
    """Fails without the path of url() in paths() of server/http/metadata.py, and without its unquote."""
    audience = f"https://memory.example.com{path}"
    with trusting_server(tmp_path, module_database_url, issuer, MEMHUB_OAUTH_AUDIENCE=audience) as process:
        async with plain(process.url) as http:
            challenge = (await http.post("/mcp")).headers["www-authenticate"]
            named = challenge.partition('resource_metadata="https://memory.example.com')[2].rstrip('"')
            described = await http.get(named)
    assert named.startswith("/.well-known/oauth-protected-resource")
    assert (described.status_code, described.json()["resource"]) == (200, audience)


async def test_an_invented_key_id_asks_the_issuer_once(trusting: Process, issuer: Issuer) -> None:
    async with client(trusting.url, "2026-07-28", key=token(issuer)):
        before = issuer.fetches
    for _ in range(5):
        forged = token(issuer, headers={"kid": "invented"})
        async with raw_client(trusting.url, "2026-07-28", headers=[("Authorization", f"Bearer {forged}")]) as raw:
            assert (await raw.open()).status_code == 401
    assert issuer.fetches - before <= 1


@pytest.mark.parametrize("kind", ["forged", "no token at all", "malformed"])
async def test_an_address_that_sends_what_is_unknown_is_told_to_wait_and_nobody_else_there_is(
    tmp_path: Path, module_database_url: str, issuer: Issuer, kind: str
) -> None:
    """Fails without _unknown in server/http/auth.py, or where the kind is no Unknown; and without Told in refusals.py.

    Where it is looked at before the credential is, or where all that does not hold is counted, the others fail.
    """
    unknown = {
        "forged": f"Bearer {token(issuer, key=ec.generate_private_key(ec.SECP256R1()))}",
        "no token at all": "Bearer the-wrong-key",
        "malformed": "Basic abc",
    }[kind]
    fresh = await _issued(module_database_url)
    with trusting_server(tmp_path, module_database_url, issuer) as process:
        assert [answer.status_code for answer in await flooded(process, unknown, requests=1)] == [401]
        answers = await flooded_until(429, process, unknown)
        limited = [answer for answer in answers if answer.status_code == 429]
        assert {answer.status_code for answer in answers} <= {401, 429}
        assert int(limited[0].headers["retry-after"]) >= 1
        for good in (token(issuer), fresh):
            assert (await presented(process, good)).status_code == 200
        # The last may be of an issuer that changed its keys: its holder has to hear 401.
        rotated = token(issuer, headers={"kid": "invented"})
        for signed in (token(issuer, exp=1), token(issuer, nbf=4_000_000_000), rotated):
            answers += (others := await flooded(process, f"Bearer {signed}"))
            assert {answer.status_code for answer in others} == {401}
        process.process.terminate()
        log = process.log()
    assert 0 < log.count('"http_refused"') < len(answers) / 5


async def flooded_until(status: int, process: Process, authorization: str) -> list[httpx2.Response]:
    """What was answered until that came: a server without time is asked more slowly than it forgets."""
    answers: list[httpx2.Response] = []
    for _ in range(FLOODS_MAX):
        answers += await flooded(process, authorization)
        if any(answer.status_code == status for answer in answers):
            return answers
    raise AssertionError(f"no {status} among {len(answers)}")


async def flooded(process: Process, authorization: str, *, requests: int = FLOOD) -> list[httpx2.Response]:
    """The answers to as many at once."""
    async with plain(process.url) as http:
        asked = (http.get("/mcp", headers={"Authorization": authorization}) for _ in range(requests))
        return await asyncio.gather(*asked)


async def _issued(database_url: str) -> str:
    operator = await asyncpg.connect(database_url)
    try:
        return (await api_tokens.create(operator, "acme", name="test")).secret
    finally:
        await operator.close()


def _encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()
