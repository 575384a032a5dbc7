"""The published keys of an issuer as they come and go."""

from __future__ import annotations

import pytest

from server.http import keys
from server.http.keys import Keys
from shared.errors import BackendUnavailable, Unauthorized
from tests.http.issuer import issuing


async def test_a_rotated_key_is_fetched_when_a_token_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "AGAIN_S", 0.0)
    with issuing() as issuer:
        held = Keys(issuer.url)
        assert (await held.of("first")).key_id == "first"
        issuer.rotate("second")
        assert (await held.of("second")).key_id == "second"
        with pytest.raises(Unauthorized):
            await held.of("first")


async def test_keys_that_were_had_serve_on_while_the_issuer_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "AGAIN_S", 0.0)
    monkeypatch.setattr(keys, "FRESH_S", 0.0)
    with issuing() as issuer:
        held = Keys(issuer.url)
        await held.of("first")
    assert (await held.of("first")).key_id == "first"


async def test_without_any_key_the_issuer_is_told_to_be_away() -> None:
    with issuing() as issuer:
        url = issuer.url
    with pytest.raises(BackendUnavailable):
        await Keys(url).of("first")


async def test_metadata_of_another_issuer_is_not_believed() -> None:
    with issuing() as issuer, pytest.raises(BackendUnavailable):
        await Keys(issuer.url + "/").of("first")
