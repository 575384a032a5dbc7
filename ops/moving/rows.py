"""Lives as the arrays that the statements unnest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from ops.moving.lives import Attestation, Event, Life, Words

_UNIT_SEPARATOR = "\x1f"


def columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[Sequence[Any]]:
    """The rows turned into `width` columns, also when there are none."""
    return list(zip(*rows, strict=True)) if rows else [()] * width


def memories(lives: Iterable[Life]) -> list[Sequence[Any]]:
    return columns(
        [
            (
                life.project_id,
                life.memory_id,
                life.conversation,
                life.status,
                life.head.revision,
                life.created_at,
                life.retired_at,
                life.retired_by,
                life.superseded_by,
            )
            for life in lives
        ],
        9,
    )


def revisions(lives: Iterable[Life]) -> list[Sequence[Any]]:
    return columns(
        [
            (
                life.project_id,
                life.memory_id,
                said.revision,
                said.origin,
                *_words(said.words),
                said.type,
                said.category,
                _UNIT_SEPARATOR.join(said.tags),
                said.importance,
                said.expires_at,
                said.author_client,
                said.author_conversation,
                said.author_kind,
                said.source,
                said.reason,
                said.valid_from,
                said.valid_to,
                said.purged_at,
            )
            for life in lives
            for said in life.revisions
        ],
        21,
    )


def attestations(said: Iterable[tuple[tuple[UUID, UUID], Attestation]]) -> list[Sequence[Any]]:
    return columns(
        [
            (
                *key,
                attestation.revision,
                attestation.author_client,
                attestation.author_conversation,
                attestation.author_kind,
                attestation.type,
                attestation.category,
                _UNIT_SEPARATOR.join(attestation.tags),
                attestation.importance,
                attestation.expires_at,
                attestation.source,
                attestation.created_at,
            )
            for key, attestation in said
        ],
        13,
    )


def events(told: Iterable[tuple[UUID, UUID | None, Event]]) -> list[Sequence[Any]]:
    return columns(
        [
            (
                project_id,
                memory_id,
                event.revision,
                event.scope_key,
                event.event,
                event.client,
                event.request_id,
                event.details,
                event.at,
            )
            for project_id, memory_id, event in told
        ],
        9,
    )


def _words(words: Words | None) -> tuple[Any, ...]:
    return (
        (None, None, None, None) if words is None else (words.content, words.content_hash, words.plain, words.lexemes)
    )
