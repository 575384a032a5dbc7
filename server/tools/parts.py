"""The arguments that more than one tool takes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from server.arguments import Checked, array, integer, string
from shared import limits
from shared.domain import MemoryType

TYPE_NAMES = tuple(member.value for member in MemoryType)

Project = Annotated[UUID | str | None, Checked(limits.project, string("UUID or slug"))]
MemoryId = Annotated[UUID, Checked(limits.memory_id, string())]
Content = Annotated[str, Checked(limits.content, string("1-32,000 bytes of UTF-8"))]
Tags = Annotated[
    tuple[str, ...] | None,
    Checked(limits.tags, array(string(), items_max=limits.TAGS_MAX, description="Each max 64 bytes; case matters")),
]
Importance = Annotated[int | None, Checked(limits.importance, integer(0, 100))]
RequestId = Annotated[str | None, Checked(limits.client_request_id, string("8-128 characters; makes a retry safe"))]
Reason = Annotated[str | None, Checked(limits.reason, string("Max 1,000 bytes"))]
AsOf = Annotated[
    datetime | None,
    Checked(lambda value: limits.instant("as_of", value), string("What held then: 2026-08-01T12:00:00Z")),
]
