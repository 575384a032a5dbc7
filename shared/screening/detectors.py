"""The list of all detectors, in the order in which they are asked: the most precise name wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shared.screening.text import Text


@dataclass(frozen=True, slots=True)
class Detector:
    """A named rule; `needles` are lower-case literals of which the text must hold one (none: always asked).

    Looking for the needles first takes a 300-byte note from 300 µs to a tenth of that.
    """

    name: str
    needles: tuple[str, ...]
    offsets: Callable[[Text], Iterator[int]]

    def may_find_in(self, text: Text) -> bool:
        lowered = text.lowered
        # A loop and not any(): a generator for each of a hundred detectors was half of what a note cost.
        for needle in self.needles:
            if needle in lowered:
                return True
        return not self.needles


def by_pattern(
    name: str,
    pattern: str,
    *,
    needles: tuple[str, ...],
    confirm: Callable[[str], bool] = lambda value: True,
    flags: int = 0,
) -> Detector:
    """A detector of one regular expression, whose first group (or whole match) `confirm` has to accept."""
    regex = re.compile(pattern, flags | re.ASCII)
    group = min(regex.groups, 1)

    def offsets(text: Text) -> Iterator[int]:
        return (match.start(group) for match in regex.finditer(text.plain) if confirm(match[group]))

    return Detector(name, needles, offsets)


def all_detectors() -> tuple[Detector, ...]:
    """Imports detect-secrets."""
    from shared.screening import assignments, dumps, library, providers, urls  # noqa: PLC0415

    return (
        *library.detectors(),
        *providers.detectors(),
        *urls.detectors(),
        *dumps.detectors(),
        *assignments.detectors(),
    )
