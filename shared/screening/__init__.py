"""Keeps credentials out of the memory: detect-secrets' provider detectors beside rules of our own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from shared.errors import SensitiveContent

if TYPE_CHECKING:
    from shared.screening.detectors import Sieve

__all__ = ["Finding", "refusal", "refuse_secrets", "screen", "warm"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Which detector saw a credential and in which line (from 1); the credential itself is not kept."""

    detector: str
    line: int


def screen(content: str) -> Finding | None:
    """The first credential in the content, or None.

    Pure and safe on any thread or loop. Costs time linear in the content, whose length the caller bounds.
    The first call of a process imports detect-secrets (0.2 to 0.9 s) unless `warm` ran before.
    """
    # Lazy, so that a stdio server answers its first request before this is paid.
    from shared.screening.text import Text  # noqa: PLC0415

    text = Text.of(content)
    for detector in _sieve().detectors_for(text):
        for offset in detector.offsets(text):
            return Finding(detector.name, text.line_of(offset))
    return None


def refuse_secrets(content: str, *, argument: str = "content") -> None:
    """Raises SensitiveContent, naming detector and line, if the content seems to hold a credential."""
    finding = screen(content)
    if finding is None:
        return
    raise refusal(argument, finding, otherwise="If it is none, accept it: what was acknowledged is stored.")


def refusal(argument: str, finding: Finding, *, otherwise: str) -> SensitiveContent:
    """What is said of a finding; `next` ends with what to do `otherwise`: if it is no credential."""
    return SensitiveContent(
        finding.detector,
        f"{argument}: line {finding.line} looks like a credential ({finding.detector}); nothing was stored.",
        next=f"Store where it is kept instead. {otherwise}",
        argument=argument,
    )


def warm() -> None:
    """Imports and compiles everything that `screen` needs; meant for a background thread."""
    _sieve()


@cache
def _sieve() -> Sieve:
    from shared.screening.detectors import Sieve, all_detectors  # noqa: PLC0415

    return Sieve(all_detectors())
