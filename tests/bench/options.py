"""How long and how a benchmark runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """`quick` shows that every section runs, its figures mean nothing; `real_time` needs root."""

    quick: bool = False
    real_time: bool = False

    def count(self, full: int, quick: int) -> int:
        return quick if self.quick else full
