"""What tells a client's model when to remember, revise, supersede and search: written, replaced and removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from ops.connecting.errors import Malformed
from ops.connecting.places import Places

BEGIN = "<!-- memhub:begin (written by `memhub connect`, replaced and removed by it) -->"
END = "<!-- memhub:end -->"

DESCRIPTION = (
    "Shared memory of this project in memhub. Search it before deciding or asking, remember decisions, constraints "
    "and facts, revise or supersede what changed."
)


@dataclass(frozen=True, slots=True)
class Rules:
    """One file of rules; with a `front` it is ours as a whole, else ours is the block between the marks."""

    path: Callable[[Places], Path]
    front: str | None

    @classmethod
    def of_skill(cls, path: Callable[[Places], Path]) -> Rules:
        return cls(path, f"---\nname: memhub\ndescription: {DESCRIPTION}\n---\n")

    @classmethod
    def of_cursor(cls, path: Callable[[Places], Path]) -> Rules:
        return cls(path, f"---\ndescription: {DESCRIPTION}\nalwaysApply: true\n---\n")

    @classmethod
    def of_copilot(cls, path: Callable[[Places], Path]) -> Rules:
        return cls(path, f"---\ndescription: {DESCRIPTION}\napplyTo: '**'\n---\n")

    @classmethod
    def of_block(cls, path: Callable[[Places], Path]) -> Rules:
        return cls(path, None)

    def installed(self, text: str) -> str:
        """The file's text with our rules in it. Raises Malformed for a file that is not ours to replace."""
        return self.put(text, _block() if self.front is None else f"{self.front}\n{_block()}\n")

    def found(self, text: str) -> str | None:
        """What is ours in the text, None where nothing is. Raises Malformed."""
        marks = _found(text)
        if marks is None or self.front is not None:
            return None if marks is None else text
        return text[marks[0] : marks[1]]

    def put(self, text: str, ours: str) -> str:
        """The text with this as ours in it. Raises Malformed."""
        if self.front is not None:
            self._check_ours(text)
            return ours
        if marks := _found(text):
            return text[: marks[0]] + ours + text[marks[1] :]
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{ours}\n"

    def removed(self, text: str) -> str | None:
        """The file's text without our rules; None when nothing is left. Raises Malformed."""
        found = _found(text)
        if found is None:
            return text or None
        if self.front is not None:
            return None
        rest = text[: found[0]].rstrip("\n") + "\n" + text[found[1] :].lstrip("\n")
        return rest if rest.strip() else None

    def _check_ours(self, text: str) -> None:
        if text.strip() and _found(text) is None:
            raise Malformed("it holds rules that memhub did not write: move it away first")


@cache
def _block() -> str:
    body = (resources.files("ops") / "clients" / "rules.md").read_text(encoding="utf-8").strip()
    return f"{BEGIN}\n{body}\n{END}"


def _found(text: str) -> tuple[int, int] | None:
    begin, end = text.find(BEGIN), text.find(END)
    if begin < 0 and end < 0:
        return None
    if begin < 0 or end < begin or text.count(BEGIN) > 1 or text.count(END) > 1:
        raise Malformed("the marks memhub:begin and memhub:end in it do not match")
    return begin, end + len(END)
