"""Cursors of browsing, bound to the project and the filters that they were made for."""

from __future__ import annotations

import hashlib

import asyncpg
import orjson

from shared.domain import ProjectScope
from shared.paging import Pages, Position
from shared.retrieval.requests import Search

_PAGES = Pages(
    argument="cursor",
    unreadable="is not a cursor of memory_search",
    of_another="belongs to a search with another project or other filters",
    next="Pass next_cursor of the page before with the same filters, or leave it out.",
)


def encode(last: asyncpg.Record, scope: ProjectScope, request: Search) -> str:
    return _PAGES.encode(Position(last["created_at"], last["memory_id"]), of=_filters(scope, request))


def decode(cursor: str | None, scope: ProjectScope, request: Search) -> Position | None:
    """The position that a cursor tells; raises InvalidArgument for one that is not of this browsing."""
    return _PAGES.decode(cursor, of=_filters(scope, request))


def _filters(scope: ProjectScope, request: Search) -> str:
    told = [
        str(scope.project_id),
        sorted(request.types or ()),
        sorted(request.tags),
        request.match_all_tags,
        request.as_of,
    ]
    return hashlib.sha256(orjson.dumps(told)).hexdigest()[:16]
