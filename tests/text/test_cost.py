"""No content costs much more than prose of its length: this runs on the event loop."""

import time
import tracemalloc
import unicodedata
from collections.abc import Callable
from functools import cache
from random import Random
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.composing import composed
from shared.limits.texts import CONTENT_BYTES_MAX
from shared.text import canonical as canonical_module
from shared.text import normaliser
from shared.text.canonical import canonical
from shared.text.normaliser import document_terms, query_terms

RATIO_MAX = 30
PATTERNS = [
    *("1", "a", "A", "_", "é", "字", "カ", "가", "\\", "@", "#", ".", "-", "`", " ", "\n", "(", "👍"),
    *("/a", "a.", "abc-", "a_", "aA", "1.", "v1.", "e\u0301", "::", "--a", "a'", "a+", "a:", "1,", "1_000,", "a1"),
    *("x://", "ABs", "1.1rc", "äB.", "字a", "A ", "` a", "``` ", ":\n ", "a-", "1a.", "f0", "I ", "'(", "\r\n"),
    *("\u0301", "\u0301\u0323", "\u0345\u0301", "\u05bd\u0591", "\uff9e\u0301", "\u0344\u0323", "กิ", "\u200b", "ﷺ"),
]


def filled(pattern: str) -> str:
    size = len(pattern.encode())
    return pattern * (CONTENT_BYTES_MAX // size)


def prose() -> str:
    random = Random(7)
    words = ("".join(random.choices(ascii_lowercase, k=random.randint(2, 9))).capitalize() for _ in range(9_000))
    return ", ".join(words)[:CONTENT_BYTES_MAX]


@cache
def cost_of_prose() -> float:
    return cost(document_terms, prose())


def cost(work: Callable[[str], object], text: str) -> float:
    costs = []
    for _ in range(3):
        normaliser._known_token.cache_clear()
        canonical_module._fold_known.cache_clear()
        start = time.thread_time()
        work(text)
        costs.append(time.thread_time() - start)
    return min(costs)


@pytest.mark.parametrize("work", [document_terms, query_terms, canonical])
@pytest.mark.parametrize("pattern", PATTERNS, ids=ascii)
def test_no_content_costs_much_more_than_prose(work: Callable[[str], object], pattern: str) -> None:
    bound = RATIO_MAX * max(cost_of_prose(), 0.002)
    start = time.thread_time()
    work(filled(pattern))
    first = time.thread_time() - start
    assert first < bound or cost(work, filled(pattern)) < bound


MARKS = st.text(st.sampled_from("ae가\u0301\u0323\u0345\u0344\u05bd\u0591\uff9e\uff76\u3099\u034f👍…ế "), max_size=90)


@given(st.text(max_size=60), MARKS)
def test_marks_in_order_change_no_normal_form(text: str, marks: str) -> None:
    for given_text in (text + marks, marks * 3, "e" + "".join(filter(unicodedata.combining, marks)) * 5 + text):
        assert composed("NFC", given_text) == unicodedata.normalize("NFC", given_text)
        assert composed("NFKC", given_text) == unicodedata.normalize("NFKC", given_text)


@pytest.mark.parametrize("keeper", [normaliser.document_terms, canonical])
def test_long_tokens_are_not_kept(keeper: Callable[[str], object]) -> None:
    # Fails when TOKEN_KEPT_CHARACTERS_MAX bounds neither _known_token nor _fold_known: 3,000 contents of one token
    # then held 0.8 GB for the life of the server.
    tracemalloc.start()
    try:
        for number in range(10):
            keeper(f"{number}/" + "a/" * 10_000)
            keeper(f"{number}" + "a" * 10_000)
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < CONTENT_BYTES_MAX
