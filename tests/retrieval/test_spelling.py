from __future__ import annotations

import pytest

from shared.retrieval.spelling import LETTERS_MAX, edits


@pytest.mark.parametrize("slip", ["quue", "qeueu", "queuee", "aqueue", "qieue", "ueue"])
def test_a_word_is_among_the_edits_of_its_slips(slip: str) -> None:
    assert ("queue" in edits(slip)) == (slip != "qeueu")


def test_edits_are_bounded_and_do_not_hold_the_word() -> None:
    word = "a" * LETTERS_MAX

    assert word not in edits(word)
    assert len(edits("abcdefgh" * 3)) < 54 * LETTERS_MAX + 25
