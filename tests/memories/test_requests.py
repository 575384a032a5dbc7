from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from shared.domain import AuthorKind, MemoryType, Scope
from shared.memories.requests import Remember, Revise, fingerprint

ONE, TWO = UUID(int=1), UUID(int=2)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

_REMEMBER = Remember(content="words", supersedes=(ONE,))
_REVISE = Revise(memory_id=ONE, expected_revision=1, content="words")
_OTHERWISE: dict[type, dict[str, Any]] = {
    Remember: {
        "content": "Words",
        "type": MemoryType.TASK,
        "category": "x",
        "tags": ("x",),
        "importance": 0,
        "expires_at": NOON,
        "ttl_days": 1,
        "supersedes": (TWO,),
        "scope": Scope.CONVERSATION,
        "source": "x",
        "author_kind": AuthorKind.IMPORT,
    },
    Revise: {
        "memory_id": TWO,
        "expected_revision": 2,
        "content": "Words",
        "tags": (),
        "importance": 0,
        "expires_at": NOON,
        "never_expires": True,
        "reason": "x",
    },
}
_APART = {"acknowledged", "client_request_id"}


@pytest.mark.parametrize("request_", [_REMEMBER, _REVISE])
def test_every_argument_but_the_key_and_the_override_tells_requests_apart(request_: Remember | Revise) -> None:
    kind = type(request_)
    others = [
        kind(**{field.name: getattr(request_, field.name) for field in fields(kind)} | {name: value})
        for name, value in _OTHERWISE[kind].items()
    ]

    assert _OTHERWISE[kind].keys() == {field.name for field in fields(kind)} - _APART
    prints = {fingerprint(each, conversation=None) for each in (request_, *others)}
    assert len(prints) == len(others) + 1


def test_the_key_and_the_override_make_no_other_request() -> None:
    again = Remember(content="words", supersedes=(ONE,), client_request_id="request-0001", acknowledged="keyword")

    assert fingerprint(again, conversation=None) == fingerprint(_REMEMBER, conversation=None)


def test_another_conversation_makes_another_request() -> None:
    prints = {fingerprint(_REMEMBER, conversation=conversation) for conversation in (None, "talk-1", "talk-2")}

    assert len(prints) == 3
