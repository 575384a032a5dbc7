"""Where the memories of a supersession chain stand in its picture: what was replaced is left of what replaced it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.overview.lives import Link
from shared.text.unseen import visible

WIDTH, HEIGHT = 208, 64
GAP_X, GAP_Y = 48, 14
LINE_CHARS = 28


@dataclass(frozen=True, slots=True)
class Node:
    link: Link
    x: int
    y: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """A path from what was replaced to what replaced it."""

    path: str


@dataclass(frozen=True, slots=True)
class Picture:
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    width: int
    height: int


def draw(chain: Sequence[Link]) -> Picture | None:
    """None where nothing was replaced."""
    if len(chain) < 2:
        return None
    columns: dict[int, list[Link]] = {}
    for link in chain:
        columns.setdefault(link.step, []).append(link)
    tallest = max(len(column) for column in columns.values())
    nodes = {}
    for place, step in enumerate(sorted(columns)):
        free = (tallest - len(columns[step])) * (HEIGHT + GAP_Y) // 2
        for row, link in enumerate(columns[step]):
            x, y = place * (WIDTH + GAP_X) + 1, free + row * (HEIGHT + GAP_Y) + 1
            nodes[link.memory_id] = Node(link, x, y, _lines(link.content))
    return Picture(
        nodes=tuple(nodes.values()),
        arrows=tuple(
            _arrow(node, nodes[node.link.superseded_by])
            for node in nodes.values()
            if node.link.superseded_by is not None and node.link.superseded_by in nodes
        ),
        width=len(columns) * (WIDTH + GAP_X) - GAP_X + 2,
        height=tallest * (HEIGHT + GAP_Y) - GAP_Y + 2,
    )


def _arrow(old: Node, new: Node) -> Arrow:
    x1, y1 = old.x + WIDTH, old.y + HEIGHT // 2
    x2, y2 = new.x - 3, new.y + HEIGHT // 2
    middle = (x1 + x2) // 2
    return Arrow(f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}")


def _lines(content: str | None) -> tuple[str, ...]:
    """The first words in two lines; SVG does not wrap."""
    if content is None:
        return ("(purged)",)
    words = " ".join(visible(content).split())
    if len(words) <= LINE_CHARS:
        return (words,)
    cut = words.rfind(" ", 1, LINE_CHARS + 1)
    cut = LINE_CHARS if cut < LINE_CHARS // 2 else cut
    rest = words[cut:].strip()
    return (words[:cut], rest if len(rest) <= LINE_CHARS else rest[: LINE_CHARS - 1].rstrip() + "…")
