"""A connection whose statements are spans, by their names in shared/sql; imported only where spans are exported."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import asyncpg
from opentelemetry import trace
from opentelemetry.trace import SpanKind

from shared import statements, tracing

_VERBS = frozenset({"BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET"})
_ATTRIBUTES = {"db.system.name": "postgresql"}


def _names() -> Mapping[str, str]:
    """The name of every statement by its text; of two that read the same, the first."""
    named: dict[str, str] = {}
    for stem in statements.stems():
        for name, statement in statements.load(stem).items():
            named.setdefault(statement, f"{stem}.{name}")
    return named


_NAMES = _names()


class TracedConnection(asyncpg.Connection):  # type: ignore[misc]
    """Arguments never leave it, nor does the text of a statement that has no name."""

    async def execute(self, query: str, *arguments: Any, **options: Any) -> Any:
        with _span(query):
            return await super().execute(query, *arguments, **options)

    async def executemany(self, command: str, *arguments: Any, **options: Any) -> Any:
        with _span(command):
            return await super().executemany(command, *arguments, **options)

    async def fetch(self, query: str, *arguments: Any, **options: Any) -> Any:
        with _span(query):
            return await super().fetch(query, *arguments, **options)

    async def fetchrow(self, query: str, *arguments: Any, **options: Any) -> Any:
        with _span(query):
            return await super().fetchrow(query, *arguments, **options)

    async def fetchval(self, query: str, *arguments: Any, **options: Any) -> Any:
        with _span(query):
            return await super().fetchval(query, *arguments, **options)


def _span(query: str) -> AbstractContextManager[None]:
    """Only under a call or a job that is recorded: what a process does by itself would be a trace of its own each."""
    if not trace.get_current_span().is_recording():
        return nullcontext()
    return tracing.span(_name(query), SpanKind.CLIENT, _ATTRIBUTES)


def _name(query: str) -> str:
    named = _NAMES.get(query)
    if named is not None:
        return named
    verb = query.split(maxsplit=1)[0].rstrip(";").upper()
    return verb if verb in _VERBS else "statement"
