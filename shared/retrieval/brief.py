"""The brief that a context is: Markdown grouped by type, each memory with its id and date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import assert_never
from uuid import UUID

from shared.domain import MemoryType
from shared.retrieval.selection import Candidate

# A heading, an item, a quote, a fence, HTML; a thematic break, of which the item's own dash may be the third; the
# definition of a link, whose label may go on in the next line.
_MARKED = re.compile(
    r"#{1,6}(\s|$)|[-*+](\s|$)|\d+[.)](\s|$)|>|```|~~~|<"
    r"|([-*_])([ \t]*\4)+[ \t]*$"
    r"|\[([^]\\]|\\.)*(]:|\\?$)"
)
# What makes a table of the line before it and of all that are ruled off behind it, and drops the cells that it has no
# column for.
_COLUMNS = re.compile(r"[|:\s-]++$")

ORDER = (MemoryType.CONSTRAINT, MemoryType.DECISION, MemoryType.FACT, MemoryType.TASK)


def render(slug: str, chosen: Sequence[Candidate]) -> str:
    """The same memories give the same bytes; nothing chosen gives an empty text."""
    if not chosen:
        return ""
    groups = [_group(kind, [one for one in chosen if one.type is kind]) for kind in ORDER]
    return title(slug) + "".join(groups)


def title(slug: str) -> str:
    return f"# Memory of {slug}\n"


def heading(kind: MemoryType) -> str:
    match kind:
        case MemoryType.CONSTRAINT:
            return "\n## Constraints\n"
        case MemoryType.DECISION:
            return "\n## Decisions\n"
        case MemoryType.FACT:
            return "\n## Facts\n"
        case MemoryType.TASK:
            return "\n## Tasks\n"
        case _:
            assert_never(kind)


def line(content: str, memory_id: UUID, written_on: date) -> str:
    """Further lines of a content are ruled off, and a first one that is more than text in Markdown, so that none can
    pass for a heading or another memory: an indent alone makes a heading inside of the item. None ends the item,
    defines a link for others or hides the id."""
    first, *further = content.strip().splitlines() or [""]
    mark = "- | " if _MARKED.match(first) else "- "
    body = "\n".join([mark + first, *(_ruled(said) for said in further)])
    return f"{body} ({memory_id}, {written_on.isoformat()})\n"


def _ruled(said: str) -> str:
    mark = "  | | " if _COLUMNS.match(said) else "  | "
    return f"{mark}{said}".rstrip()


def _group(kind: MemoryType, members: Sequence[Candidate]) -> str:
    ranked = sorted(members, key=lambda one: (-one.value, one.memory_id))
    lines = "".join(line(one.content, one.memory_id, one.written_on) for one in ranked)
    return heading(kind) + lines if lines else ""
