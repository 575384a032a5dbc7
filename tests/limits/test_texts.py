import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared import limits
from shared.errors import InvalidArgument
from shared.limits.texts import text


def refusal(check: object, value: object) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as refused:
        check(value)  # type: ignore[operator]
    return refused.value


BOUNDED = [
    (limits.content, "content", 32_000),
    (limits.category, "category", 128),
    (limits.display_name, "display_name", 200),
    (limits.reason, "reason", 1_000),
    (limits.source, "source", 1_000),
    (limits.query, "query", 4_000),
    (limits.cursor, "cursor", 1_000),
]


@pytest.mark.parametrize(("check", "argument", "bytes_max"), BOUNDED)
def test_a_text_of_exactly_its_bound_is_taken(check: object, argument: str, bytes_max: int) -> None:
    for full in ("a" * bytes_max, "é" * (bytes_max // 2)):
        assert check(full) == full  # type: ignore[operator]


@pytest.mark.parametrize(("check", "argument", "bytes_max"), BOUNDED)
def test_a_text_one_byte_over_names_the_argument_and_the_bound(check: object, argument: str, bytes_max: int) -> None:
    for over in ("a" * (bytes_max + 1), "é" * (bytes_max // 2) + "a"):
        refused = refusal(check, over)
        assert refused.argument == argument
        assert str(bytes_max) in refused.message
        assert refused.next


@pytest.mark.parametrize(("check", "argument", "bytes_max"), BOUNDED)
@pytest.mark.parametrize("value", ["a\0b", "a\ud800b", "\udfff", 5, True, b"abc", ["a"], {"a": 1}])
def test_what_postgresql_cannot_store_is_refused_by_name(
    check: object, argument: str, bytes_max: int, value: object
) -> None:
    assert refusal(check, value).argument == argument


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u200b", "\ufeff \u00a0\u3000", None])
def test_content_without_anything_visible_is_refused(blank: object) -> None:
    assert refusal(limits.content, blank).argument == "content"


def test_content_is_kept_exactly_as_given() -> None:
    assert limits.content("  cafe\u0301 \n") == "  cafe\u0301 \n"


@pytest.mark.parametrize(
    "check", [limits.category, limits.display_name, limits.reason, limits.source, limits.query, limits.cursor]
)
@pytest.mark.parametrize("blank", [None, "", "  \n"])
def test_an_optional_text_that_is_blank_counts_as_left_out(check: object, blank: object) -> None:
    assert check(blank) is None  # type: ignore[operator]


@pytest.mark.parametrize(
    "invisible",
    [
        "\u3164",
        "\u2800 \u2800",
        "\ufe0f",
        "\u200b\u200d\ufeff",
        "\u0301\u20e3",
        "\u115f\u1160\uffa0",
        "\U000e0041",
        "\u00ad",
    ],
)
def test_a_content_that_shows_nothing_is_refused(invisible: str) -> None:
    assert "holds nothing visible" in refusal(limits.content, invisible).message
    assert limits.query(invisible) is None


@pytest.mark.parametrize(
    "visible", ["e\u0301", "\u2714\ufe0f", "1\ufe0f\u20e3", "\u2801", "\u3131", "\U0010fffd", "\u0915\u093f"]
)
def test_a_mark_on_something_visible_is_visible(visible: str) -> None:
    assert limits.content(visible) == visible


def test_a_revise_names_its_own_reason() -> None:
    with pytest.raises(InvalidArgument, match=r"^change_reason: holds 1001 bytes"):
        limits.reason("a" * 1_001, "change_reason")


def test_a_category_is_one_line_in_nfc() -> None:
    assert limits.category(" cafe\u0301\n  menu ") == "caf\u00e9 menu"
    assert refusal(limits.category, "a\x1b[31m").argument == "category"


def test_tags_are_trimmed_composed_and_distinct_in_their_order() -> None:
    assert limits.tags([" b ", "a", "cafe\u0301", "caf\u00e9", "b", "B"]) == ("b", "a", "caf\u00e9", "B")
    assert limits.tags([]) == ()
    assert limits.tags(None) is None


def test_twenty_tags_are_taken_and_one_more_is_refused() -> None:
    twenty = [f"tag{number}" for number in range(20)]
    assert limits.tags([*twenty, "tag0"]) == tuple(twenty)
    refused = refusal(limits.tags, [*twenty, "tag20"])
    assert "at most 20" in refused.message


def test_a_tag_is_bounded_as_it_is_stored() -> None:
    assert limits.tags(["a" * 64, " " + "b" * 64 + " "]) == ("a" * 64, "b" * 64)
    assert refusal(limits.tags, ["ok", "a" * 65]).argument == "tags[1]"
    # Eleven of these are 33 bytes as given and 66 in NFC, which takes this letter apart.
    assert refusal(limits.tags, ["\u0958" * 11]).argument == "tags[0]"


@pytest.mark.parametrize("value", ["a,b", {"a": 1}, 5, [5], [None], [""], [" "], ["a\0"], ["\ud800"], ["\x07"]])
def test_tags_that_are_none_are_refused(value: object) -> None:
    assert refusal(limits.tags, value).argument.startswith("tags")


@pytest.mark.parametrize("value", ["12345678", "a" * 128, "req 2026/01~", "{3f}-!x9"])
def test_a_request_id_within_its_bounds_is_taken(value: str) -> None:
    assert limits.client_request_id(value) == value


@pytest.mark.parametrize("value", ["", "1234567", "a" * 129, "1234567\n", "12345678\n", "1234567é", "\0" * 8, 12345678])
def test_a_request_id_outside_its_bounds_is_refused(value: object) -> None:
    refused = refusal(limits.client_request_id, value)
    assert refused.argument == "client_request_id"
    assert "8 to 128" in refused.message


@given(st.text(alphabet=st.characters()) | st.integers() | st.none())
def test_a_client_name_is_never_refused_and_always_storable(value: object) -> None:
    name = limits.client_name(value)
    assert text("name", name, limits.CLIENT_NAME_BYTES_MAX)


def test_a_client_name_is_cut_between_characters() -> None:
    assert limits.client_name("é" * 65) == "é" * 64
    assert limits.client_name("claude-code\x1b[0m") == "claude-code [0m"
    assert limits.client_name(" \u200b ") == "unknown"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("a\udce9", "content: holds a lone surrogate, or bytes that are not UTF-8"),
        ("a\ud800", "content: holds a lone surrogate"),
    ],
)
def test_bytes_that_are_no_utf8_are_told_as_what_they_may_be(value: str, told: str) -> None:
    # Fails without _UNDECODED: who sent Latin-1 was told of a surrogate, and had sent none.
    assert refusal(limits.content, value).message == told
