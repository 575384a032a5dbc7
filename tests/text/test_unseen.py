"""What hides in a text is written out, and what scripts and emoji need is left alone."""

from __future__ import annotations

import unicodedata

import pytest

from shared.text.unseen import visible

TAGS = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"a{TAGS}", r"a\u{e006f}\u{e0062}\u{e0065}\u{e0079}"),
        (f"\U0001f3f4{TAGS}\U000e007f", "\U0001f3f4" + r"\u{e006f}\u{e0062}\u{e0065}\u{e0079}\u{e007f}"),
        ("if \u202e} \u2066admin\u2069", r"if \u{202e}} \u{2066}admin\u{2069}"),
        ("שלום \u202eabc", "שלום " + r"\u{202e}abc"),
        ("pay\u200bload, pay\u200dload, pay\u200cload", r"pay\u{200b}load, pay\u{200d}load, pay\u{200c}load"),
        ("\ufeffa\u2060b\u2063c", r"\u{feff}a\u{2060}b\u{2063}c"),
        ("\u200eabc\u200f", r"\u{200e}abc\u{200f}"),
        ("שלום\u200f\u200e\u200f", "שלום\u200f" + r"\u{200e}\u{200f}"),
        ("\U0001f600\ufe0f\ufe01\U000e0101", "\U0001f600\ufe0f" + r"\u{fe01}\u{e0101}"),
        ("a\ufe0f1\ufe0f", r"a\u{fe0f}1\u{fe0f}"),
        ("می\u200c\u200d\u200c\u200dرود", "می\u200c" + r"\u{200d}\u{200c}" + "\u200dرود"),
        ("a\u3164b\u115f\x1b[2J\x08\x9b", r"a\u{3164}b\u{115f}\u{1b}[2J\u{8}\u{9b}"),
        ("\xad\xada", r"\u{ad}\u{ad}a"),
    ],
)
def test_what_hides_is_written_out(text: str, shown: str) -> None:
    """Each fails without its characters in _UNSEEN, or with more kept by _BELONGING."""
    assert visible(text) == shown
    assert visible(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Plain text,\twith a tab\r\nand line ends.",
        "naïve café, Zürich, Ж, ελληνικά, 日本語、한국어",
        "می\u200cرود و نامه\u200cها",  # Persian, with ZWNJ
        "क्\u200dष, क्\u200cष, র\u200d্য, ක්\u200dරි",  # Hindi, Bengali, Sinhala
        "ภาษา\u200bไทย ភាសា\u200bខ្មែរ",  # Thai and Khmer, whose words ZWSP parts
        "ᠰᠠᠶᠢᠨ\u180eᠠ ᠪᠠ\u180b",  # Mongolian
        "שפת C++\u200e היא מהירה\u200f!",
        "لغة C#\u200e سريعة\u061c.",
        "\u2764\ufe0f \U0001f469\U0001f3fd\u200d\U0001f4bb \U0001f3f3\ufe0f\u200d\U0001f308 \xa9\ufe0f",
        "1\ufe0f\u20e3 #\ufe0f\u20e3",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f9d1\u200d\U0001f91d\u200d\U0001f9d1 \u26a0\ufe0e",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f \U0001f3f4\u200d\u2620\ufe0f",
        "葛\U000e0100飾区、逢\ufe00",
        "Donau\xaddampf\xadschiff",
    ],
)
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    """Each fails without its line of _BELONGING."""
    assert visible(text) == text


def test_nothing_that_is_drawn_as_nothing_passes_alone() -> None:
    # Fails for each range that is left out of _UNSEEN.
    signs = {0x2028, 0x2029, *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    hieroglyphs, tabs_and_line_ends = range(0x13430, 0x13440), {0x09, 0x0A, 0x0D}
    drawn = {*signs, *hieroglyphs, *tabs_and_line_ends}
    controls = [code for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cf")]
    fillers = [0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0]
    hidden = {*controls, *fillers, *range(0xE0000, 0xE1000)} - drawn
    assert [hex(code) for code in sorted(hidden) if chr(code) in visible(f"1{chr(code)}2")] == []
