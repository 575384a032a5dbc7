from __future__ import annotations

import pytest

from shared.text.initials import spelled_out, written


@pytest.mark.parametrize(
    ("query", "acronym", "words"),
    [
        ("change data capture from billing", "=cdc", {"change", "data", "capture"}),
        ("software bill of materials for a release", "=sbom", {"software", "bill", "materials"}),
        ("Know your customer: limits", "=kyc", {"know", "customer"}),
    ],
)
def test_neighbouring_words_may_stand_for_an_acronym(query: str, acronym: str, words: set[str]) -> None:
    assert spelled_out(query)[acronym] == words


def test_words_that_say_nothing_neither_begin_nor_end_one() -> None:
    assert spelled_out("the list of all things in it").keys() == {"=loat"}
    assert spelled_out("lower the set point") == {}


def test_the_words_looked_at_are_bounded() -> None:
    assert len(spelled_out(" ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}x" for n in range(676)))) < 200


@pytest.mark.parametrize(
    ("token", "lexemes"), [("KYC", ["=kyc"]), ("Kyc", []), ("IT", []), ("HTTPSX", []), ("E42", [])]
)
def test_only_what_is_written_as_an_acronym_is_one(token: str, lexemes: list[str]) -> None:
    assert list(written(token)) == lexemes
