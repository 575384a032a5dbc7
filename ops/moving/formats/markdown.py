"""Markdown such as CLAUDE.md: a memory for each list item, paragraph, quote, table and fence, under its headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import assert_never

from ops.moving.entries import Entry
from ops.moving.formats import loose
from ops.moving.lives import Place
from shared.domain import MemoryType

SUFFIXES = frozenset({".md", ".markdown", ".mdc", ".mdx"})
NAMES = frozenset({".cursorrules", ".windsurfrules", ".clinerules"})

# No pattern that looks for its end again from each place: a line or a file of a few MB would take hours.
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*)$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")
_ITEM = re.compile(r"( {0,3})(?:[-*+]|\d{1,9}[.)])\s+(.*)$")
# Done or not is what a todo item says: its mark stays.
_TODO = re.compile(r"\[[ xX]\]\s")
_QUOTE = re.compile(r" {0,3}>")
_ROW = re.compile(r" {0,3}\|")
_UNDER_THE_HEAD = re.compile(r" {0,3}:?-+:?\s*(?:\|\s*:?-+:?\s*)+$")
_IMAGE = re.compile(r"\s*(?:\[?!\[.*\)|<img\b.*>)\s*$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_RULE = re.compile(r" {0,3}([-*_])\s*(?:\1\s*){2,}$")
# The rules that `memhub connect` wrote are no memories of the project.
_OURS = ("<!-- memhub:begin", "<!-- memhub:end -->")
_COMMENT = ("<!--", "-->")
_IMPORT = re.compile(r"@\S+$")
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_DECISION = re.compile(r"\bdecisions?\b|\badrs?\b", re.IGNORECASE)
_CONSTRAINT = re.compile(r"\b(rules?|constraints?|conventions?|requirements?|never|must|do not|don't)\b", re.IGNORECASE)

# What is said before every memory under it: longer ones would fill a memory alone, and a file a thousand times.
_TITLE_CHARACTERS_MAX = 500
_INTRO_CHARACTERS_MAX = 2_000


class _Kind(Enum):
    PARAGRAPH = auto()
    ITEM = auto()
    QUOTE = auto()
    TABLE = auto()
    CODE = auto()


@dataclass(slots=True)
class _Block:
    """A paragraph, a list item or what else stands for itself, with all that belongs to it."""

    line: int
    path: tuple[str, ...]
    kind: _Kind
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()

    @property
    def demands(self) -> bool:
        """Whether it can be one of the rules that its heading announces: a sentence, and no picture, quote or todo."""
        if self.kind not in (_Kind.PARAGRAPH, _Kind.ITEM) or _TODO.match(self.text):
            return False
        if len(self.lines) > 1 and _UNDER_THE_HEAD.match(self.lines[1]):
            return False
        return not all(_IMAGE.match(line) for line in self.lines if line)


def entries(name: str, text: str) -> list[Entry]:
    """`name` is the file's name as told to people and kept as the source."""
    found: list[Entry] = []
    intro = ""
    for block in _blocks(_blanked(text.replace("\r\n", "\n"))):
        if block.kind is not _Kind.PARAGRAPH:
            found.append(_entry(name, block, intro))
            # A list may have more items, what else was announced is all of it.
            intro = intro if block.kind is _Kind.ITEM else ""
            continue
        # What a list is announced by says nothing without its items.
        intro = block.text if block.text.endswith(":") and len(block.text) <= _INTRO_CHARACTERS_MAX else ""
        if not intro and not _IMPORT.fullmatch(block.text):
            found.append(_entry(name, block, ""))
    return found


def _entry(name: str, block: _Block, intro: str) -> Entry:
    heading = " > ".join(block.path)
    said = f"{intro}{' ' if block.kind is _Kind.ITEM else chr(10)}{block.text}" if intro else block.text
    return Entry(
        place=Place(f"{name} line {block.line}"),
        content=f"{heading}: {said}" if heading else said,
        type=_type(heading) if block.demands else MemoryType.FACT,
        category=loose.category(block.path[-1]) or None if block.path else None,
        source=f"{name[-500:]}",
    )


def _type(heading: str) -> MemoryType:
    if _DECISION.search(heading):
        return MemoryType.DECISION
    return MemoryType.CONSTRAINT if _CONSTRAINT.search(heading) else MemoryType.FACT


def _blanked(text: str) -> str:
    """Without front matter, our own rules and comments, every line in its place."""
    text = _FRONT_MATTER.sub(lambda match: "\n" * match[0].count("\n"), text)
    return _without(_without(text, *_OURS), *_COMMENT)


def _without(text: str, opening: str, closing: str) -> str:
    """Without what stands between the two, its line ends kept; what is never closed stays."""
    kept: list[str] = []
    at = 0
    while (begin := text.find(opening, at)) >= 0 and (end := text.find(closing, begin + len(opening))) >= 0:
        kept += (text[at:begin], "\n" * text.count("\n", begin, end))
        at = end + len(closing)
    return "".join((*kept, text[at:]))


def _blocks(text: str) -> Iterator[_Block]:
    headings: dict[int, str] = {}
    block: _Block | None = None
    fence = ""
    blank = False
    for number, line in enumerate(text.split("\n"), start=1):
        path = tuple(headings[level] for level in sorted(headings))
        if fence or _FENCE.match(line):
            if not fence and not _takes_fence(line, block):
                yield from _done(block)
                block = None
            block = block or _Block(number, path, _Kind.CODE)
            block.lines.append(line)
            fence = _fence_after(fence, line)
            blank = False
            continue
        if not line.strip():
            blank = True
            if block is not None:
                block.lines.append("")
            continue
        if underlined := not blank and _is_paragraph(block) and _UNDERLINE.match(line):
            assert block is not None
            _enter(headings, 1 if underlined[1].startswith("=") else 2, block.text)
            block = None
        elif heading := _HEADING.match(line):
            yield from _done(block)
            block = None
            _enter(headings, len(heading[1]), heading[2].rstrip().rstrip("#"))
        elif _RULE.match(line):
            yield from _done(block)
            block = None
        elif _belongs(line, block, blank=blank):
            assert block is not None
            block.lines.append(line)
        else:
            yield from _done(block)
            block = _Block(number, path, *_begun(line))
        blank = False
    yield from _done(block)


def _begun(line: str) -> tuple[_Kind, list[str]]:
    if item := _ITEM.match(line):
        return _Kind.ITEM, [item[2]]
    if _QUOTE.match(line):
        return _Kind.QUOTE, [line]
    return (_Kind.TABLE if _ROW.match(line) else _Kind.PARAGRAPH), [line]


def _belongs(line: str, block: _Block | None, *, blank: bool) -> bool:
    """Whether a line goes on with the block: lazily in its paragraph, or indented under its item."""
    if block is None:
        return False
    begins, _ = _begun(line)
    match block.kind:
        case _Kind.ITEM:
            item = _ITEM.match(line)
            indented = line[:1] in " \t" and (item is None or len(item[1]) >= 2)
            return indented or (begins is _Kind.PARAGRAPH and not blank)
        case _Kind.PARAGRAPH:
            return begins is _Kind.PARAGRAPH and not blank
        case _Kind.QUOTE:
            return begins in (_Kind.QUOTE, _Kind.PARAGRAPH) and not blank
        case _Kind.TABLE:
            return "|" in line and begins in (_Kind.TABLE, _Kind.PARAGRAPH) and not blank
        case _Kind.CODE:
            return False
        case _:
            assert_never(block.kind)


def _takes_fence(line: str, block: _Block | None) -> bool:
    """Whether code that begins here goes with the paragraph above it, or with the item that it is indented under."""
    return _is_paragraph(block) or (block is not None and block.kind is _Kind.ITEM and line[:1] in " \t")


def _is_paragraph(block: _Block | None) -> bool:
    return block is not None and block.kind is _Kind.PARAGRAPH


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open after this line."""
    mark = _FENCE.match(line)
    if not fence:
        return mark[1] if mark else ""
    return "" if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]) else fence


def _enter(headings: dict[int, str], level: int, title: str) -> None:
    for deeper in [known for known in headings if known >= level]:
        del headings[deeper]
    if title.strip():
        headings[level] = " ".join(title.split())[:_TITLE_CHARACTERS_MAX].rstrip()


def _done(block: _Block | None) -> Iterator[_Block]:
    if block is not None and block.text:
        yield block
