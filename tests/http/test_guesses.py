"""Guessed tokens: few of them cost a question to the database, and nobody who was let in pays for them."""

from __future__ import annotations

import secrets

import asyncpg
import pytest

from server.gateway import Gateway
from server.http import credentials as module
from server.http.credentials import Credentials
from server.http.usage import Usage
from shared import api_tokens
from shared.errors import RateLimited, Unauthorized
from shared.settings import Settings
from tests.http.asked import Asked

ADDRESS = "192.0.2.7"


@pytest.fixture
def asked(connection: asyncpg.Connection) -> Asked:
    return Asked(connection)


@pytest.fixture
def credentials(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> Credentials:
    """An address has one guess in a hundred seconds."""
    monkeypatch.setattr(module, "UNKNOWN_PER_S", 0.01)

    async def opener() -> Asked:
        return asked

    gateway = Gateway(opener=opener)
    return Credentials(Settings(), gateway=gateway, usage=Usage(gateway, flush_s=60), issuer=None)


def guess() -> str:
    return "mh_" + secrets.token_urlsafe(32)


async def guessed(credentials: Credentials, address: str = ADDRESS) -> None:
    with pytest.raises(Unauthorized):
        await credentials.principal(guess(), address=address)


async def test_an_address_has_a_few_guesses_and_others_have_their_own(credentials: Credentials, asked: Asked) -> None:
    # Fails without the look at _guesses in `token`: each guess was a read of the database, before any rate.
    await guessed(credentials)
    for _ in range(20):
        with pytest.raises(RateLimited):
            await credentials.principal(guess(), address=ADDRESS)
    await guessed(credentials, "192.0.2.8")

    assert asked.opened == 2


async def test_a_token_that_was_let_in_goes_on_from_an_address_that_guesses(
    credentials: Credentials, connection: asyncpg.Connection
) -> None:
    # Fails without _known.
    known, new = [(await api_tokens.create(connection, "acme", name="test")).secret for _ in range(2)]
    await credentials.principal(known, address=ADDRESS)
    await guessed(credentials)

    assert (await credentials.principal(known, address=ADDRESS)).tenant == "acme"
    with pytest.raises(RateLimited):
        await credentials.principal(new, address=ADDRESS)


async def test_a_token_that_is_revoked_is_no_guess_and_has_no_way_round_the_bound(
    credentials: Credentials, connection: asyncpg.Connection
) -> None:
    # Fails without Unknown in `token`, and without the pop from _known.
    issued = await api_tokens.create(connection, "acme", name="test")
    await credentials.principal(issued.secret, address=ADDRESS)
    await api_tokens.revoke(connection, issued.token.id)
    for _ in range(3):
        with pytest.raises(Unauthorized, match="revoked"):
            await credentials.principal(issued.secret, address=ADDRESS)
    await guessed(credentials)
    with pytest.raises(RateLimited):
        await credentials.principal(issued.secret, address=ADDRESS)
