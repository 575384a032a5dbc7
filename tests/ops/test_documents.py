"""JSON that is neither plain lines nor one document: every record of it comes, or is told."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.moving import documents
from ops.moving.detection import HEAD_BYTES, Format, detect, is_lines
from ops.moving.entries import Context
from ops.moving.lives import Life, Problem
from ops.moving.sources import Source


def read(path: Path, text: str | bytes) -> tuple[list[str], list[str]]:
    """The contents of the records, and the places of what could not be read."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    context = Context(format=Format.JSONL, project_id=UUID(int=0), now=datetime.now(UTC))
    found = list(Source(path, Format.JSONL, context, moved=True).items())
    said = [item.head.words for item in found if isinstance(item, Life)]
    return [words.content for words in said if words], [item.place.told for item in found if isinstance(item, Problem)]


def record(content: str, **fields: Any) -> str:
    return json.dumps({"content": content} | fields)


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        pytest.param('{\n "content": "a"\n}\n{\n "content": "b"\n}\n', ["a", "b"], id="objects over several lines"),
        pytest.param('[{"content": "a"}]\n{"content": "b"}\n{"content": "c"}\n', ["a", "b", "c"], id="lines behind"),
        pytest.param('{"memories": [{"content": "a"}]}\n' * 2, ["a", "a"], id="documents as lines"),
        pytest.param('{"memories": []}{"data": [{"content": "a"}]} [{"content": "b"}]', ["a", "b"], id="on one line"),
        pytest.param('{"memories": [{"content": "a"}],\n"content": "b"}', ["a", "b"], id="a content beside"),
        pytest.param('{"content": "a"}\n\n\n{"content": "b"}', ["a", "b"], id="blank lines"),
        pytest.param('{"content": "a"}{"content": "b"}\n', ["a", "b"], id="two on a line"),
        pytest.param('{"content": "a"}{"content": "b"}', ["a", "b"], id="two on a line without an end"),
    ],
)
def test_what_follows_a_document_is_read(text: str, contents: list[str], tmp_path: Path) -> None:
    # Fails when `elements` returns after its first document, or yields no object that holds no collection, and without
    # goes_on in `_first_record`.
    assert read(tmp_path / "a", text) == (contents, [])


@pytest.mark.parametrize(
    ("text", "contents", "bad"),
    [
        ('[{"content": "a"}]\n,{"content": "b"}', ["a"], 1),
        ('[{"content": "a"}] and more', ["a"], 1),
        ('{"memories": [{"content": "a"}]}\n{broken\n{"content": "b"}', ["a"], 1),
        ('{"memories": {"content": "a"}}', [], 1),
        ('{"version": 1}', [], 1),
        ("[{}, 1]", [], 2),
        ('{"data": {"data": {"data": {"data": {"data": {"data": [{"content": "a"}]}}}}}}', [], 1),
        ('{"data": ' * 100_000, [], 1),
    ],
)
def test_what_cannot_be_read_is_told(text: str, contents: list[str], bad: int, tmp_path: Path) -> None:
    found, told = read(tmp_path / "a", text)
    assert (found, len(told)) == (contents, bad)


@pytest.mark.parametrize(
    ("first", "contents"),
    [
        pytest.param(b'{"content": "a"' + b" " * HEAD_BYTES + b"}", ["a"], id="very long"),
        pytest.param(b"{broken", [], id="broken"),
        pytest.param(b'{"content": "\xff"}', [], id="no UTF-8"),
        pytest.param(b"null", [], id="no object"),
        pytest.param(b'{"content": "a", "data": {"b": 1}}', [], id="something named data"),
        pytest.param(b'{"content": "a", "records": [1]}', [], id="a list of its own"),
    ],
)
def test_lines_are_lines_whatever_the_first_is(first: bytes, contents: list[str], tmp_path: Path) -> None:
    # Fails without each of the ways in which `_first_record` tells them, and without `says` in `_wraps`.
    text = first + b'\n{"content": "b"}\n{broken\n{"content": "c"}\n'
    found, told = read(tmp_path / "a", text)
    assert (found, told) == ([*contents, "b", "c"], [*([] if contents else ["line 1"]), "line 3"])
    assert is_lines(tmp_path / "a")


@pytest.mark.parametrize(
    "text", ['{"memories":\n[\n{"content": "a"}\n]}', '[\n{"content": "a"}\n]', '{\n"content": "a"\n}']
)
def test_a_document_with_a_record_on_a_line_is_no_line(text: str, tmp_path: Path) -> None:
    assert read(tmp_path / "a", text) == (["a"], [])
    assert not is_lines(tmp_path / "a")


_RECORDS = st.lists(st.builds(lambda number: {"n": number}, st.integers(0, 99)), max_size=4)
_DOCUMENTS = st.lists(
    st.one_of(
        _RECORDS,
        st.builds(lambda number: {"n": number}, st.integers(0, 99)),
        st.builds(lambda some, more: {"total": 1, "memories": some, "results": more}, _RECORDS, _RECORDS),
        st.builds(lambda some: {"data": {"page": 1, "records": some}}, _RECORDS),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=200, deadline=None)
@given(_DOCUMENTS, st.sampled_from(["", " ", "\n", "\n\n"]), st.sampled_from([None, 1]))
def test_every_record_of_every_document_comes(written: list[Any], between: str, indent: int | None) -> None:
    text = between.join(json.dumps(document, indent=indent) for document in written)
    found = list(documents.elements(BytesIO(text.encode())))
    assert sorted(element.value["n"] for element in found) == sorted(map(int, re.findall(r'"n": (\d+)', text)))
    # Found again by what they are told by.
    assert len({(element.collection, element.number) for element in found}) == len(found)


def test_the_form_of_objects_over_several_lines_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{\n "content": "a"\n}\n{\n "content": "b"\n}\n')
    assert detect(tmp_path / "a") is Format.JSONL
