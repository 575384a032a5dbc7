"""JSON with comments, edited in place: what a change does not touch keeps every byte."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ops.connecting.errors import Malformed

DEPTH_MAX = 200

_TRIVIA = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_AFTER_ON_LINE = re.compile(r"[ \t]*,?[ \t]*(?://[^\n]*|/\*[^\n]*?\*/[ \t]*)?(?=\r?\n)")
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)


@dataclass(slots=True)
class Node:
    """A value and where it stands: text[start:end]; `members` of an object."""

    start: int
    end: int
    value: Any
    members: list[Member] = field(default_factory=list)


@dataclass(slots=True)
class Member:
    """`comma` is the position of the comma after it, None when there is none."""

    key: str
    start: int
    node: Node
    comma: int | None = None


def read(text: str, path: Sequence[str] = ()) -> Any:
    """The value at the path, None where there is none; an empty text is an empty object. Raises Malformed."""
    found = _reach(_parse(text), path)
    return found.value if found else None


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the value at the path, making the objects on the way.

    Raises Malformed where the text is no JSON, the way is blocked by another value or a comment would be lost.
    """
    root = _parse(text)
    if root.start == len(text):
        comments = text.strip("\ufeff \t\r\n")
        return (comments and comments + "\n") + _dumped(_nested(path, value), "", "  ", "\n") + "\n"
    node, left = root, list(path)
    while left and (member := _member(node, left[0])):
        node, left = member.node, left[1:]
    if left:
        return _inserted(text, node, left[0], _nested(left[1:], value), path)
    if node.value == value:
        return text
    _keep_comments(text, node, path)
    return text[: node.start] + _in_place(text, node.start, value) + text[node.end :]


def drop(text: str, path: Sequence[str]) -> str:
    """The text without the member at the path; unchanged where there is none. Raises Malformed."""
    parent = _reach(_parse(text), path[:-1])
    member = _member(parent, path[-1]) if parent else None
    if parent is None or member is None:
        return text
    _keep_comments(text, member.node, path)
    start, end = _extent(text, member)
    before = parent.members[parent.members.index(member) - 1] if parent.members[0] is not member else None
    if before is not None and member.comma is None and before.comma is not None:
        between = text[before.comma + 1 : start]
        return text[: before.comma] + (between if between.strip(" \t") else "") + text[end:]
    return text[:start] + text[end:]


def is_bare(text: str, path: Sequence[str]) -> bool:
    """Whether the text, comments counted, holds nothing but the way to the path."""
    ways = (json.dumps(_nested(path[:depth], {}), separators=(",", ":")) for depth in range(len(path)))
    return "".join(text.split()) in ("", *ways)


def _parse(text: str) -> Node:
    start = _skip(text, 0)
    if start == len(text):
        return Node(start, start, {})
    root = _value(text, start, 0)
    if _skip(text, root.end) != len(text):
        raise _malformed(text, _skip(text, root.end), "there is more after the end")
    return root


def _value(text: str, start: int, depth: int) -> Node:
    if depth > DEPTH_MAX:
        raise _malformed(text, start, "it is nested too deeply")
    match text[start : start + 1]:
        case "{":
            return _object(text, start, depth)
        case "[":
            return _array(text, start, depth)
        case '"':
            return _scalar(text, start, _STRING)
        case _:
            return _scalar(text, start, _SCALAR)


def _scalar(text: str, start: int, pattern: re.Pattern[str]) -> Node:
    found = pattern.match(text, start)
    if found is None:
        raise _malformed(text, start, "a value is expected")
    try:
        return Node(start, found.end(), json.loads(found[0]))
    except json.JSONDecodeError:
        raise _malformed(text, start, "this is no JSON value") from None


def _object(text: str, start: int, depth: int) -> Node:
    node = Node(start, start, {})
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        key = _scalar(text, at, _STRING)
        colon = _skip(text, key.end)
        if text[colon : colon + 1] != ":":
            raise _malformed(text, colon, "a colon is expected")
        member = Member(key.value, at, _value(text, _skip(text, colon + 1), depth + 1))
        if member.key in node.value:
            raise _malformed(text, at, f"{json.dumps(member.key)} is there twice")
        node.members.append(member)
        node.value[member.key] = member.node.value
        at, member.comma = _separated(text, member.node.end, "}")
    node.end = at + 1
    return node


def _array(text: str, start: int, depth: int) -> Node:
    node = Node(start, start, [])
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        item = _value(text, at, depth + 1)
        node.value.append(item.value)
        at, _comma = _separated(text, item.end, "]")
    node.end = at + 1
    return node


def _separated(text: str, end: int, closing: str) -> tuple[int, int | None]:
    at = _skip(text, end)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1), at
    if text[at : at + 1] != closing:
        raise _malformed(text, at, f"a comma or {closing} is expected")
    return at, None


def _skip(text: str, at: int) -> int:
    found = _TRIVIA.match(text, at)
    assert found is not None
    return found.end()


def _malformed(text: str, at: int, problem: str) -> Malformed:
    line = text.count("\n", 0, at) + 1
    return Malformed(f"line {line}, column {at - text.rfind(chr(10), 0, at)}: {problem}")


def _reach(node: Node | None, path: Sequence[str]) -> Node | None:
    for key in path:
        member = _member(node, key) if node else None
        node = member.node if member else None
    return node


def _member(node: Node, key: str) -> Member | None:
    return next((member for member in node.members if member.key == key), None)


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _inserted(text: str, node: Node, key: str, value: Any, path: Sequence[str]) -> str:
    if not isinstance(node.value, dict):
        raise _malformed(text, node.start, f"an object is expected, to hold {'.'.join(path)}")
    if "\n" not in text[node.start : node.end] and node.members:
        at = node.members[-1].node.end
        return f"{text[:at]}, {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}{text[at:]}"
    newline, unit = _newline(text), _unit(text)
    outer = _indent_at(text, node.start)
    inner = _indent_at(text, node.members[0].start) if node.members else outer + unit
    member = f"{inner}{json.dumps(key)}: {_dumped(value, inner, unit, newline)}"
    if not node.members:
        inside = text[node.start + 1 : node.end - 1].rstrip()
        return f"{text[: node.start + 1]}{inside}{newline}{member}{newline}{outer}{text[node.end - 1 :]}"
    last = node.members[-1]
    rest = _AFTER_ON_LINE.match(text, last.node.end)
    at = max(rest.end() if rest else last.node.end, (last.comma or -1) + 1)
    if last.comma is not None:
        return f"{text[:at]}{newline}{member},{text[at:]}"
    between = text[last.node.end : at]
    return f"{text[: last.node.end]},{between}{newline}{member}{text[at:]}"


def _extent(text: str, member: Member) -> tuple[int, int]:
    """What goes with a member: its comma, and the line when nothing else is on it."""
    start, end = member.start, (member.node.end if member.comma is None else member.comma + 1)
    line = text.rfind("\n", 0, start) + 1
    alone = not text[line:start].strip()
    rest = re.compile(r"[ \t]*\r?\n").match(text, end)
    if alone and rest:
        return line, rest.end()
    blanks = re.compile(r"[ \t]*").match(text, end)
    return start, blanks.end() if blanks and member.comma is not None else end


def _keep_comments(text: str, node: Node, path: Sequence[str]) -> None:
    bare = _STRING.sub('""', text[node.start : node.end])
    if "//" in bare or "/*" in bare:
        raise _malformed(text, node.start, f"the comments inside {'.'.join(path)} would be lost: move them out")


def _in_place(text: str, at: int, value: Any) -> str:
    return _dumped(value, _indent_at(text, at), _unit(text), _newline(text))


def _dumped(value: Any, indent: str, unit: str, newline: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def _indent_at(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
