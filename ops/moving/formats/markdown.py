"""Markdown such as CLAUDE.md: a memory for each list item, paragraph, quote, table and fence, under its headings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import assert_never

from ops.moving.entries import Entry
from ops.moving.formats import loose, marks
from ops.moving.formats.comments import comments
from ops.moving.lives import Place, Problem
from shared.domain import MemoryType

SUFFIXES = frozenset({".md", ".markdown", ".mdc", ".mdx"})
NAMES = frozenset({".cursorrules", ".windsurfrules", ".clinerules"})

# Done or not is what a todo item says: its mark stays.
_TODO = re.compile(r"\[[ xX]\]\s")
_UNDER_THE_HEAD = re.compile(r" {0,3}:?-+:?\s*(?:\|\s*:?-+:?\s*)+$")
_IMAGE = re.compile(r"\s*(?:\[?!\[.*\)|<img\b.*>)\s*$")
_IMPORT = re.compile(r"@\S+$")
_KEY = re.compile(r"[\w-]+:(?:\s+(.*))?$")
_DECISION = re.compile(r"\bdecisions?\b|\badrs?\b", re.IGNORECASE)
_CONSTRAINT = re.compile(r"\b(rules?|constraints?|conventions?|requirements?|never|must|do not|don't)\b", re.IGNORECASE)

# What is said before every memory under it: longer ones would fill a memory alone, and a file a thousand times.
_TITLE_CHARACTERS_MAX = 500
_INTRO_CHARACTERS_MAX = 2_000
_LINES_TOLD_MAX = 5

_FRONT_MATTER, _OURS, _COMMENTS, _IMPORTS = (
    "front matter", "the rules that memhub connect wrote", "comments", "names of other files",
)  # fmt: skip


class _Kind(Enum):
    HEADING = auto()
    PARAGRAPH = auto()
    ITEM = auto()
    QUOTE = auto()
    TABLE = auto()
    CODE = auto()


@dataclass(slots=True)
class _Block:
    """A paragraph, a list item or what else stands for itself, with all that belongs to it.

    `path` are the headings above it, `section` counts headings and rules, and `mark` is that of an item's list.
    """

    line: int
    path: tuple[str, ...]
    section: int
    kind: _Kind
    mark: str = ""
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

    @property
    def announces(self) -> bool:
        # What a list is announced by says nothing without its items.
        return self.kind is _Kind.PARAGRAPH and self.text.endswith(":") and len(self.text) <= _INTRO_CHARACTERS_MAX

    @property
    def names_a_file(self) -> bool:
        return self.kind is _Kind.PARAGRAPH and _IMPORT.fullmatch(self.text) is not None


def entries(name: str, text: str) -> list[Entry | Problem]:
    """`name` is the file's name as told to people and kept as the source. Every word is in an entry, or in what the
    note at the end says was left out."""
    text, left_out = _bare(text.replace("\r\n", "\n"))
    found: list[Entry | Problem] = []
    for block, intro in _said(_Blocks().of(text)):
        if block.names_a_file:
            left_out[_IMPORTS].append(block.line)
        else:
            found.append(_entry(name, block, intro))
    if left_out:
        found.append(Problem(Place(name), f"left out: {_told(left_out)}", "note"))
    return found


def _told(left_out: dict[str, list[int]]) -> str:
    return ", ".join(
        f"{what} (line {', '.join(map(str, lines[:_LINES_TOLD_MAX]))}{', …' if lines[_LINES_TOLD_MAX:] else ''})"
        for what, lines in left_out.items()
    )


def _said(blocks: Iterator[_Block]) -> Iterator[tuple[_Block, str]]:
    """Each block with what announced it. A heading or an announcement that nothing stands under is said for itself."""
    heading: _Block | None = None
    intro: _Block | None = None
    announced: _Block | None = None
    for block in blocks:
        if intro is not None and not _is_announced(block, intro, announced):
            if announced is None:
                heading = None
                yield intro, ""
            intro = announced = None
        if block.kind is _Kind.HEADING:
            if heading is not None and block.path[: len(heading.path) + 1] != (*heading.path, heading.text):
                yield heading, ""
            heading = block if len(block.text) <= _TITLE_CHARACTERS_MAX else None
            if heading is None:
                yield block, ""
        elif block.announces:
            intro, announced = block, None
        else:
            # A file that is only named does not say what its heading says.
            heading = heading if block.names_a_file else None
            announced = block
            yield block, intro.text if intro else ""
    if intro is not None and announced is None:
        heading = None
        yield intro, ""
    if heading is not None:
        yield heading, ""


def _is_announced(block: _Block, intro: _Block, before: _Block | None) -> bool:
    """What directly follows the announcement, and if that is an item, the other items of its list; `before` is the one
    that it announced last."""
    if block.section != intro.section or block.kind in (_Kind.PARAGRAPH, _Kind.HEADING):
        return False
    return before is None or (before.kind is block.kind is _Kind.ITEM and before.mark == block.mark)


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


def _bare(text: str) -> tuple[str, dict[str, list[int]]]:
    """Without front matter, our own rules and comments, every line in its place; and in which lines they began."""
    left_out: dict[str, list[int]] = defaultdict(list)
    at = _front_matter_end(text)
    kept = ["\n" * text.count("\n", 0, at)]
    if at:
        left_out[_FRONT_MATTER].append(1)
    line = 1
    counted = 0
    for comment in comments(text, at):
        line += text.count("\n", counted, comment.begin)
        counted = comment.begin
        left_out[_OURS if comment.is_ours else _COMMENTS].append(line)
        kept += (text[at : comment.begin], "\n" * text.count("\n", comment.begin, comment.end))
        at = comment.end
    return "".join((*kept, text[at:])), left_out


def _front_matter_end(text: str) -> int:
    """0 where what stands between the first two rules is no mapping of YAML: then they are rules."""
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        return 0
    at = len(first) + 1
    takes_items: bool | None = None
    for line in rest.split("\n"):
        if line.rstrip() == "---" and takes_items is not None:
            return at + len(line)
        if key := _KEY.match(line):
            takes_items = not key[1]
        elif takes_items is None or (line[:1] not in ("", " ", "\t") and not (takes_items and line.startswith("- "))):
            return 0
        at += len(line) + 1
    return 0


class _Blocks:
    """The blocks of a text, line by line."""

    def __init__(self) -> None:
        self._headings: dict[int, str] = {}
        self._path: tuple[str, ...] = ()
        self._section = 0
        self._block: _Block | None = None
        self._fence = ""
        self._blank = False

    def of(self, text: str) -> Iterator[_Block]:
        for number, line in enumerate(text.split("\n"), start=1):
            was_open, self._fence = self._fence, marks.fence_after(self._fence, line)
            if was_open or (self._fence and _takes_fence(line, self._block)):
                assert self._block is not None
                self._block.lines.append(line)
            elif self._fence:
                yield from self._begin(number, line)
            elif line.strip():
                yield from self._line(number, line)
            elif self._block is not None:
                self._block.lines.append("")
            self._blank = not (was_open or self._fence or line.strip())
        yield from self._end()

    def _line(self, number: int, line: str) -> Iterator[_Block]:
        block = self._block
        takes = block is not None and not self._blank and _takes_underline(block)
        if block is not None and takes and (underlined := marks.UNDERLINE.match(line)):
            self._block = None
            yield from self._enter(block.line, 1 if underlined[1].startswith("=") else 2, block.text)
        elif heading := marks.HEADING.match(line):
            yield from self._end()
            yield from self._enter(number, len(heading[1]), _unclosed(heading[2]))
        elif marks.RULE.match(line):
            yield from self._end()
            self._section += 1
        elif block is not None and _belongs(line, block, blank=self._blank):
            block.lines.append(line)
        else:
            yield from self._begin(number, line)

    def _begin(self, number: int, line: str) -> Iterator[_Block]:
        yield from self._end()
        kind, mark, said = _begun(line)
        if self._fence and kind is _Kind.PARAGRAPH:
            kind = _Kind.CODE
        self._block = _Block(number, self._path, self._section, kind, mark, [said])

    def _end(self) -> Iterator[_Block]:
        if self._block is not None and self._block.text:
            yield self._block
        self._block = None

    def _enter(self, number: int, level: int, title: str) -> Iterator[_Block]:
        self._section += 1
        self._headings = {known: said for known, said in self._headings.items() if known < level}
        above = tuple(self._headings.values())
        if title := " ".join(title.split()):
            yield _Block(number, above, self._section, _Kind.HEADING, lines=[title])
            self._headings[level] = title[:_TITLE_CHARACTERS_MAX].rstrip()
        self._path = tuple(self._headings.values())


def _begun(line: str) -> tuple[_Kind, str, str]:
    """The kind, the mark of its list, and what is left of the line."""
    if item := marks.ITEM.match(line):
        return _Kind.ITEM, item[2][-1], item[3]
    if marks.QUOTE.match(line):
        return _Kind.QUOTE, "", line
    return (_Kind.TABLE if marks.ROW.match(line) else _Kind.PARAGRAPH), "", line


def _belongs(line: str, block: _Block, *, blank: bool) -> bool:
    """Whether a line goes on with the block: lazily in its paragraph, or indented under its item."""
    if block.kind is _Kind.ITEM and _is_indented(line):
        return True
    begins, _, _ = _begun(line)
    match block.kind:
        case _Kind.ITEM:
            return begins is _Kind.PARAGRAPH and not blank
        case _Kind.PARAGRAPH:
            return not blank and (begins is _Kind.PARAGRAPH or marks.is_within(line))
        case _Kind.QUOTE:
            return begins in (_Kind.QUOTE, _Kind.PARAGRAPH) and not blank
        case _Kind.TABLE:
            return "|" in line and begins in (_Kind.TABLE, _Kind.PARAGRAPH) and not blank
        case _Kind.CODE | _Kind.HEADING:
            return False
        case _:
            assert_never(block.kind)


def _is_indented(line: str) -> bool:
    if line[:1] not in " \t":
        return False
    item = marks.ITEM.match(line)
    return item is None or len(item[1]) >= 2


def _takes_fence(line: str, block: _Block | None) -> bool:
    """Whether code that begins here goes with the paragraph above it, or with the item that it is indented under."""
    if block is None:
        return False
    if block.kind is _Kind.ITEM:
        return _is_indented(line)
    return block.kind is _Kind.PARAGRAPH and marks.ITEM.match(line) is None and not block.names_a_file


def _takes_underline(block: _Block) -> bool:
    # Code that goes with its paragraph is no title.
    return block.kind is _Kind.PARAGRAPH and not marks.closes_fence(block.lines[-1])


def _unclosed(title: str) -> str:
    """Without the marks that close a heading; those of `C#` stand apart from no word."""
    title = title.rstrip()
    bare = title.rstrip("#")
    return bare if not bare or bare[-1] in " \t" else title
