"""What screening catches, what it lets pass, and what it never says."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.api_tokens import PREFIX, SECRET_BYTES
from shared.errors import SensitiveContent
from shared.screening import Finding, refuse_secrets, screen
from shared.screening.detectors import Sieve, all_detectors
from shared.screening.text import Text
from tests.screening.fake_secrets import BY_DETECTOR, BY_KEYWORD, WORD

HARMLESS = Path(__file__).with_name("harmless_notes.txt").read_text(encoding="utf-8").splitlines()
CAUGHT = [(name, note, secret) for name, notes in BY_DETECTOR.items() for note, secret in notes]
DETECTORS = all_detectors()
SIEVE = Sieve(DETECTORS)
NAMES = {detector.name for detector in DETECTORS}


def test_the_harmless_notes_are_two_hundred_and_more() -> None:
    assert len(set(HARMLESS)) >= 200


@pytest.mark.parametrize(
    "behind",
    [
        " must stay out of git",
        "\nis how it begins, and then comes base64",
        "\nPrivateKeyInfo is what follows",
        "\nREDACTED\n-----END " + "PRIVATE KEY-----",
        "\n...\n-----END " + "PRIVATE KEY-----",
        "\n<base64>\n-----END " + "PRIVATE KEY-----",
        " internationalization",
        " getPrivateKeyBytes reads it",
        "\n/etc/ssl/private/key2.pem has one",
        "",
    ],
)
def test_a_sentence_may_name_the_header_of_a_key(behind: str) -> None:
    assert screen("It begins with -----BEGIN RSA " + "PRIVATE KEY-----" + behind) is None


def test_a_token_of_our_own_is_refused_and_what_only_begins_like_one_is_not() -> None:
    # Fails without `memhub token` among the providers.
    for _ in range(20):
        found = screen(f"the laptop uses {PREFIX}{secrets.token_urlsafe(SECRET_BYTES)} since May")
        assert found == Finding("memhub token", 1)
    for name in ("mh_status_of_the_last_migration_of_the_database", f"{PREFIX}short", f"{PREFIX}{'A' * 43}"):
        assert screen(f"see {name} there") is None


@pytest.mark.parametrize("note", HARMLESS)
def test_a_harmless_note_passes(note: str) -> None:
    assert screen(note) is None


def test_all_harmless_notes_pass_as_one_text() -> None:
    assert screen("\n".join(HARMLESS)) is None


def test_every_detector_has_a_secret_to_catch() -> None:
    assert set(BY_DETECTOR) == NAMES


@pytest.mark.parametrize(("name", "note"), [(name, note) for name, note, _ in CAUGHT])
def test_a_detector_catches_its_secret_by_itself(name: str, note: str) -> None:
    # Taking a detector out of all_detectors() fails the cases of its name.
    text = Text.of(note)
    assert any(True for detector in SIEVE.detectors_for(text) if detector.name == name for _ in detector.offsets(text))


def test_the_sieve_asks_whom_a_look_for_each_needle_asks() -> None:
    """Fails without the longer needles, or with those in capitals looked for in the lower-case text."""
    needles = [needle for detector in DETECTORS for needle in detector.needles]
    for note in [*needles, *map(str.swapcase, needles), *HARMLESS, *(note for _, note, _ in CAUGHT)]:
        text = Text.of(note)
        asked = [
            detector
            for detector in DETECTORS
            if any(needle in (text.lowered if needle.lower() == needle else text.plain) for needle in detector.needles)
        ]
        assert [detector.name for detector in SIEVE.detectors_for(text)] == [detector.name for detector in asked], note


@pytest.mark.parametrize("note", [note for note, _ in BY_KEYWORD])
def test_the_keyword_rule_catches_a_named_value(note: str) -> None:
    text = Text.of(note)
    assert any(True for detector in DETECTORS if detector.name == "Secret keyword" for _ in detector.offsets(text))
    assert screen(note) is not None


@pytest.mark.parametrize(("note", "secret"), [(note, secret) for _, note, secret in CAUGHT] + BY_KEYWORD)
def test_a_refusal_says_detector_and_line_and_nothing_else(note: str, secret: str) -> None:
    with pytest.raises(SensitiveContent) as refused:
        refuse_secrets(f"Wiki of the team\n\n{note}", argument="reason")
    _assert_says_only_detector_and_line(refused.value, "reason")
    assert secret not in repr(vars(refused.value))


@given(
    template=st.sampled_from(
        ["password: {}", "API_KEY={}", "é\npassword={}", "redis://:{}@h", "sk-ant-{}", "token is {}"]
    ),
    secret=st.text(st.characters(min_codepoint=33), min_size=1, max_size=60),
)
@settings(deadline=None, max_examples=300)
def test_no_value_reaches_the_refusal(template: str, secret: str) -> None:
    try:
        refuse_secrets(template.format(secret))
    except SensitiveContent as refused:
        _assert_says_only_detector_and_line(refused, "content")


def _assert_says_only_detector_and_line(refused: SensitiveContent, argument: str) -> None:
    assert refused.detector in NAMES
    shape = rf"{argument}: line \d+ looks like a credential \({re.escape(refused.detector)}\); nothing was stored\."
    assert re.fullmatch(shape, refused.message)
    assert refused.args == (refused.message,)
    assert refused.next.startswith("Store where it is kept instead.")
    assert refused.__cause__ is None
    assert refused.__context__ is None


@pytest.mark.parametrize("lines_before", [0, 1, 7])
def test_the_line_of_the_secret_is_told(lines_before: int) -> None:
    # "password" without a value stands on the lines before; runs of spaces must not move the count.
    content = "the   password   policy\r\n" * lines_before + f"  password:  {WORD}\nend"
    assert screen(content) == Finding("Secret keyword", lines_before + 1)


def test_an_empty_text_passes() -> None:
    assert screen("") is None


def test_an_allowlist_pragma_of_the_library_excuses_nothing() -> None:
    assert screen(f"password: {WORD}  # pragma: allowlist secret") is not None


def test_one_secret_among_harmless_notes_is_found() -> None:
    notes = [*HARMLESS[:100], f"password: {WORD}", *HARMLESS[100:]]
    assert screen("\n".join(notes)) == Finding("Secret keyword", 101)
