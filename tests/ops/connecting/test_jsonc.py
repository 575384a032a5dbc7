import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.connecting import jsonc
from ops.connecting.errors import Malformed

ENTRY = {"command": "/opt/memhub-server", "args": []}
KEY = ("servers", "memhub")
COMMENTED = """\
// servers of mine
{
\t"servers": {
\t\t/* the first */
\t\t"other": { "command": "x" }, // keep "this"
\t\t// "off": {},
\t},
\t"inputs": [ /* none */ ],
}
"""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "{ }\n",
        "{\n}\n",
        '{"a": 1}',
        '{"servers": {}}',
        '{\n  "servers": {\n    "a": 1\n  }\n}\n',
        '{\r\n    "servers": {\r\n        "a": "b" // c\r\n    }\r\n}\r\n',
        '{\n  "servers": {\n    // nothing yet\n  }\n}\n',
        '\ufeff{"servers": {"a": [1, {"b": null}]}}',
        COMMENTED,
    ],
)
def test_what_was_put_reads_back_and_dropping_it_restores_what_was_there(text: str) -> None:
    put = jsonc.put(text, KEY, ENTRY)
    assert jsonc.read(put, KEY) == ENTRY
    assert jsonc.put(put, KEY, ENTRY) == put
    before = jsonc.read(text) if text else {}
    dropped = jsonc.read(jsonc.drop(put, KEY))
    assert dropped == before | {"servers": before.get("servers", {})}


def test_comments_order_indentation_and_trailing_commas_stay() -> None:
    put = jsonc.put(COMMENTED, KEY, ENTRY)
    added = '\n\t\t"memhub": {\n\t\t\t"command": "/opt/memhub-server",\n\t\t\t"args": []\n\t\t},'
    assert put.replace(added, "") == COMMENTED
    assert added in put


def test_dropping_gives_the_file_back_byte_by_byte() -> None:
    assert jsonc.drop(jsonc.put(COMMENTED, KEY, ENTRY), KEY) == COMMENTED
    plain = json.dumps({"servers": {"a": {"b": 1}}, "z": "ü"}, indent=4, ensure_ascii=False)
    assert jsonc.drop(jsonc.put(plain, KEY, ENTRY), KEY) == plain


@pytest.mark.parametrize(
    "text", ['{"servers": {"other": {}}, "z": 1}', '{\n  "servers": { "other": 1 },\n  "z": 1\n}\n']
)
def test_dropping_what_was_replaced_on_one_line_leaves_no_blank(text: str) -> None:
    # Fails without `between` in `drop`.
    put = jsonc.put(jsonc.put(text, KEY, ENTRY), KEY, ENTRY | {"args": ["--http"]})
    assert jsonc.drop(put, KEY) == text


def test_a_changed_entry_is_replaced_where_it_stands() -> None:
    text = '{\n  "servers": {\n    "memhub": {"command": "old"},\n    "z": 1\n  }\n}'
    put = jsonc.put(text, KEY, ENTRY)
    assert list(json.loads(put)["servers"]) == ["memhub", "z"]
    assert jsonc.read(put, KEY) == ENTRY


def test_comments_inside_what_would_be_replaced_are_refused() -> None:
    text = '{"servers": {"memhub": {"command": "old" /* mine */}}}'
    with pytest.raises(Malformed, match=r"comments inside servers\.memhub would be lost"):
        jsonc.put(text, KEY, ENTRY)
    with pytest.raises(Malformed, match="comments"):
        jsonc.drop(text, KEY)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a": }', "line 1, column 7"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        ('{"a": 1', "line 1, column 8"),
        ('{"a": 01}', "line 1"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": 1} {}', "there is more after the end"),
        ('{"servers": {}, "servers": {}}', "is there twice"),
        ('{"servers": []}', "an object is expected"),
        ("[]", "an object is expected"),
        ('{"a": "\n"}', "line 1, column 7"),
        ("[" * 300, "nested too deeply"),
    ],
)
def test_a_text_that_is_no_json_is_refused_with_its_place(text: str, where: str) -> None:
    with pytest.raises(Malformed, match=where):
        jsonc.put(text, KEY, ENTRY)


def test_a_file_of_comments_alone_keeps_them() -> None:
    put = jsonc.put("// mine", KEY, ENTRY)
    assert put.startswith("// mine\n")
    assert jsonc.read(put, KEY) == ENTRY


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), _VALUES, max_size=5), _VALUES, st.sampled_from([None, 2, "\t"]))
def test_any_json_takes_and_gives_back_a_member(document: dict[str, object], value: object, indent: str | None) -> None:
    document.pop("servers", None)
    text = json.dumps(document, indent=indent)
    put = jsonc.put(text, KEY, value)
    assert json.loads(put) == document | {"servers": {"memhub": value}}
    assert json.loads(jsonc.drop(put, ("servers",))) == document
