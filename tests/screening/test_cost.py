"""Screening takes time in proportion to the content, whatever stands in it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from shared.screening import screen
from shared.screening.detectors import all_detectors

CHARACTERS = 32_000
# The worst repeat takes 2 times as long as notes of the same length (20 ms). With the library's own patterns
# "eyJ" takes 14 times as long, "sk-" 100 times, "key" and spaces 5,000 times.
RATIO_MAX = 6
NEEDLES = sorted({needle for detector in all_detectors() for needle in detector.needles})
# In front of every text, so that no detector is spared because its needle is missing.
ALL_NEEDLES = " ".join(NEEDLES) + "\n"
REPEATS = [
    *("a", " ", "\n", "/", "-", "é", "İ", "eyJ", "sk-", "key" + " " * 50, "key\t", "a\n"),
    *(
        "password=",
        "password=ab1",
        "password is ",
        "password for a ",
        "password (",
        'password "',
        "--password ",
    ),
    *(
        "abcdefg1 as the ",
        "密码1",
        "token: ",
        "password:a[b]",
        "secret a",
        "://a:",
        "://a:b",
        "curl -u ",
        "curl -u a:",
    ),
    *(
        "bearer a",
        "basic abcdefgh",
        "machine a ",
        "kind: Secret\n\n",
        "a:5432:b:c:",
        "[pypi]\n",
        "A_KEY=x1\n",
    ),
    *(
        "BEGIN " + "PRIVATE KEY",
        "-----BEGIN " + "PRIVATE KEY-----",
        "-----BEGIN " + "PRIVATE KEY-----\nA: 1\nA: 2\n",
        "mh_",
        "PuTTY-User-Key-File-2",
        "awskey",
        "aws key '",
    ),
    *(
        "$2b$12$",
        "$6$a$",
        "$argon2id$",
        "MNOMNOMNOMNOMNOMNOMNOMNO.",
        "123456789:",
        "//x/:_authToken=",
        '"kty" "d":"',
    ),
    *(needle + "1" for needle in NEEDLES),
    " ".join(NEEDLES),
]


@pytest.fixture(scope="module")
def notes_s() -> float:
    notes = Path(__file__).with_name("harmless_notes.txt").read_text(encoding="utf-8")
    content = ALL_NEEDLES + (notes * 2)[:CHARACTERS]
    assert screen(content) is None
    return min(_cpu_s(content) for _ in range(3))


@pytest.mark.parametrize("repeat", REPEATS)
def test_no_repeat_makes_screening_slow(repeat: str, notes_s: float) -> None:
    content = ALL_NEEDLES + repeat * (CHARACTERS // len(repeat))
    assert any(_cpu_s(content) < RATIO_MAX * notes_s for _ in range(3))


def _cpu_s(content: str) -> float:
    """This thread's own time, so that other processes do not count."""
    started = time.thread_time()
    screen(content)
    return time.thread_time() - started
