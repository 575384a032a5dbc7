"""The list of all detectors, in the order in which they are asked: the most precise name wins."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from shared.screening.text import Text


@dataclass(frozen=True, slots=True)
class Detector:
    """A named rule; `needles` are literals of which the text must hold one (none: always asked).

    They are looked for in the lower-case text, those with a capital letter in the text as it is written.
    """

    name: str
    needles: tuple[str, ...]
    offsets: Callable[[Text], Iterator[int]]


# Behind it: digits and signs, which most notes have few of.
_COMMON_FIRST = " etaoinshrdlcumwfgypbvkjxqz"


class Sieve:
    """The detectors that a text has to be shown: those of whose needles it holds one.

    Needles are looked for by their rarest character, so that most are passed over by a look at the characters that the
    text has, and those that hold another needle only where that was found: a note of 300 bytes takes 22 µs on a busy
    machine, where looking for each of 177 needles takes 62.
    """

    def __init__(self, detectors: Sequence[Detector]) -> None:
        self._detectors = detectors
        self._always = {place for place, detector in enumerate(detectors) if not detector.needles}
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, detector in enumerate(detectors):
            for needle in detector.needles:
                self._places[needle].append(place)
        self._written: dict[str, list[str]] = defaultdict(list)
        self._shortest: dict[str, list[str]] = defaultdict(list)
        self._longer: dict[str, list[str]] = defaultdict(list)
        lowered = [needle for needle in self._places if needle == needle.lower()]
        for needle in self._places.keys() - set(lowered):
            self._written[next(filter(str.isupper, needle))].append(needle)
        for needle in lowered:
            held = [other for other in lowered if other in needle and other != needle]
            if held:
                self._longer[max(held, key=len)].append(needle)
            else:
                self._shortest[max(needle, key=_rarity)].append(needle)

    def detectors_for(self, text: Text) -> list[Detector]:
        """In their order."""
        plain, lowered = text.plain, text.lowered
        found: list[str] = []
        for capital in self._written:
            if capital in plain:
                found += [needle for needle in self._written[capital] if needle in plain]
        present = self._shortest.keys() & set(lowered)
        found += [needle for character in present for needle in self._shortest[character] if needle in lowered]
        asked = set(self._always)
        while found:
            needle = found.pop()
            asked.update(self._places[needle])
            found += [longer for longer in self._longer.get(needle, ()) if longer in lowered]
        return [self._detectors[place] for place in sorted(asked)]


def _rarity(character: str) -> int:
    place = _COMMON_FIRST.find(character)
    return place if place >= 0 else len(_COMMON_FIRST)


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
