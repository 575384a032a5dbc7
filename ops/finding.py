"""What an examination tells of one thing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; `mend` says what to do where it is not well."""

    name: str
    well: bool
    detail: str
    mend: str = ""
