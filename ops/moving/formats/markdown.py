"""Markdown such as CLAUDE.md: a memory for each list item and paragraph, under the headings that it stands under."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ops.moving.entries import Entry
from ops.moving.formats import loose
from ops.moving.lives import Place
from shared.domain import MemoryType

SUFFIXES = frozenset({".md", ".markdown", ".mdc", ".mdx", ".txt"})
NAMES = frozenset({".cursorrules", ".windsurfrules", ".clinerules"})

# No pattern that looks for its end again from each place: a line or a file of a few MB would take hours.
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*)$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")
_ITEM = re.compile(r"( {0,3})(?:[-*+]|\d{1,9}[.)])\s+(\[[ xX]\]\s+)?(.*)$")
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


@dataclass(slots=True)
class _Block:
    """A paragraph or a list item with all that belongs to it."""

    line: int
    path: tuple[str, ...]
    is_item: bool
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


def entries(name: str, text: str) -> list[Entry]:
    """`name` is the file's name as told to people and kept as the source."""
    found: list[Entry] = []
    intro = ""
    for block in _blocks(_blanked(text.replace("\r\n", "\n"))):
        if block.is_item:
            found.append(_entry(name, block, intro))
            continue
        # What a list is announced by says nothing without its items.
        intro = block.text if block.text.endswith(":") and len(block.text) <= _INTRO_CHARACTERS_MAX else ""
        if not intro and not _IMPORT.fullmatch(block.text):
            found.append(_entry(name, block, ""))
    return found


def _entry(name: str, block: _Block, intro: str) -> Entry:
    heading = " > ".join(block.path)
    said = f"{intro} {block.text}" if intro else block.text
    return Entry(
        place=Place(f"{name} line {block.line}"),
        content=f"{heading}: {said}" if heading else said,
        type=_type(heading),
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
            block = block or _Block(number, path, is_item=False)
            block.lines.append(line)
            fence = _fence_after(fence, line)
            continue
        if not line.strip():
            blank = True
            if block is not None:
                block.lines.append("")
            continue
        if underlined := block is not None and not block.is_item and not blank and _UNDERLINE.match(line):
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
            item = _ITEM.match(line)
            block = _Block(number, path, is_item=item is not None, lines=[item[3] if item else line])
        blank = False
    yield from _done(block)


def _belongs(line: str, block: _Block | None, *, blank: bool) -> bool:
    """Whether a line goes on with the block: lazily in its paragraph, or indented under its item."""
    if block is None:
        return False
    item = _ITEM.match(line)
    if block.is_item:
        indented = line[:1] in " \t" and (item is None or len(item[1]) >= 2)
        return indented or (item is None and not blank)
    return item is None and not blank


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
