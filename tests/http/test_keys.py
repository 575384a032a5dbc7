"""The published keys of an issuer as they come and go."""

from __future__ import annotations

import asyncio
import json

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from server.http import keys
from server.http.keys import Keys
from shared.errors import BackendUnavailable, Unauthorized
from tests.http.issuer import WAIT_S, PrivateKey, issuing


async def test_a_rotated_key_is_fetched_when_a_token_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "AGAIN_S", 0.0)
    with issuing() as issuer:
        held = Keys(issuer.url)
        assert (await held.of("first")).id == "first"
        issuer.rotate("second")
        assert (await held.of("second")).id == "second"
        with pytest.raises(Unauthorized):
            await held.of("first")


async def test_keys_that_were_had_serve_on_while_the_issuer_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "AGAIN_S", 0.0)
    monkeypatch.setattr(keys, "FRESH_S", 0.0)
    with issuing() as issuer:
        held = Keys(issuer.url)
        await held.of("first")
    assert (await held.of("first")).id == "first"
    await refreshed()
    assert (await held.of("first")).id == "first"
    await refreshed()


async def test_a_key_that_is_known_does_not_wait_for_an_issuer_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails where `of` awaits the refresh of a key that it holds.
    monkeypatch.setattr(keys, "AGAIN_S", 0.0)
    monkeypatch.setattr(keys, "FRESH_S", 0.0)
    with issuing() as issuer:
        held = Keys(issuer.url)
        await held.of("first")
        issuer.may_answer.clear()
        async with asyncio.timeout(WAIT_S / 2):
            for _ in range(3):
                assert (await held.of("first")).id == "first"
            unknown = asyncio.create_task(held.of("second"))
            issuer.rotate("second")
            issuer.may_answer.set()
            assert (await unknown).id == "second"


@pytest.mark.parametrize(
    "beside",
    [
        {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AA", "kid": "new"},
        {"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA", "kid": "new"},
        {"kty": "OKP", "crv": "X448", "x": "AA", "kid": "new"},
        "no key",
    ],
)
async def test_a_key_of_an_unknown_kind_leaves_the_others_usable(beside: object) -> None:
    # Fails without the except in _usable.
    with issuing() as issuer:
        issuer.beside.append(beside)
        assert (await Keys(issuer.url).of("first")).id == "first"


@pytest.mark.parametrize("odd", [{"alg": "none"}, {"alg": ["ES256"]}, {"kid": ["new"]}])
async def test_a_key_of_odd_names_leaves_the_others_usable(odd: dict[str, object]) -> None:
    # Fails without the look of _usable at what the key names: the key itself is a good one.
    with issuing() as issuer:
        issuer.beside.append({**issuer.jwk("first"), "kid": "new", **odd})
        assert (await Keys(issuer.url).of("first")).id == "first"


@pytest.mark.parametrize("kind", ["RSA", "EC", "OKP"])
async def test_a_key_that_was_published_with_its_private_part_is_none(kind: str) -> None:
    # Fails without the look of _usable at `d`: PyJWT verified with a private key, whose AttributeError was a 500, and
    # anybody could sign.
    private: PrivateKey
    match kind:
        case "RSA":
            private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
            written = RSAAlgorithm.to_jwk(private)
        case "EC":
            private = ec.generate_private_key(ec.SECP256R1())
            written = ECAlgorithm.to_jwk(private)
        case _:
            private = ed25519.Ed25519PrivateKey.generate()
            written = OKPAlgorithm.to_jwk(private)
    with issuing() as issuer:
        issuer.beside.append({**json.loads(written), "kid": "leaked", "use": "sig"})
        held = Keys(issuer.url)
        with pytest.raises(Unauthorized):
            await held.of("leaked")
        assert (await held.of("first")).id == "first"


@pytest.mark.parametrize("published", [["no", "key", 5], {"kty": "EC"}, None])
async def test_what_is_no_set_of_keys_is_an_issuer_that_is_away(published: object) -> None:
    # Fails without the surviving of _refresh: AttributeError and TypeError were let out.
    with issuing() as issuer:
        issuer.published = published
        with pytest.raises(BackendUnavailable):
            await Keys(issuer.url).of("first")


@pytest.mark.parametrize("published", [[], [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "first", "use": "enc"}]])
async def test_a_set_without_keys_takes_back_those_that_were_had(
    monkeypatch: pytest.MonkeyPatch, published: object
) -> None:
    # Fails where _parsed refuses an empty set, and where `of` takes it for none: this issuer is not away.
    monkeypatch.setattr(keys, "FRESH_S", 0.0)
    monkeypatch.setattr(keys, "AGAIN_S", 0.0)
    with issuing() as issuer:
        held = Keys(issuer.url)
        await held.of("first")
        issuer.published = published
        await held.of("first")
        await refreshed()
        with pytest.raises(Unauthorized):
            await held.of("first")
        await refreshed()


async def test_keys_of_an_issuer_that_stays_away_end_by_their_age(monkeypatch: pytest.MonkeyPatch) -> None:
    # Fails without the age in _held.
    with issuing() as issuer:
        held = Keys(issuer.url)
        await held.of("first")
    assert (await held.of("first")).id == "first"
    monkeypatch.setattr(keys, "AGE_S_MAX", 0.0)
    monkeypatch.setattr(keys, "RETRY_S", 0.0)
    with pytest.raises(BackendUnavailable):
        await held.of("first")


async def test_without_any_key_the_issuer_is_told_to_be_away() -> None:
    with issuing() as issuer:
        url = issuer.url
    with pytest.raises(BackendUnavailable):
        await Keys(url).of("first")


async def test_metadata_of_another_issuer_is_not_believed() -> None:
    with issuing() as issuer, pytest.raises(BackendUnavailable):
        await Keys(issuer.url + "/").of("first")


async def refreshed() -> None:
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
