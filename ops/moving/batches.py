"""Items gathered into batches that are bounded by rows and by bytes, and made on a thread beside the writing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ops.moving.lives import Item, Life, Problem, Project

# Twice as many as 1,000 gained a twentieth: each of a batch's statements waits for the thread that prepares the next.
BATCH_ROWS = 2_000
BATCH_CHARACTERS_MAX = 4 * 2**20


@dataclass(slots=True)
class Batch:
    """What is written together; a project opens a batch, so that it stands before its memories."""

    projects: list[Project] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def batches(items: Iterator[Item]) -> Iterator[Batch]:
    batch = Batch()
    characters = rows = 0
    for item in items:
        match item:
            case Problem():
                batch.problems.append(item)
            case Project():
                if batch.lives:
                    yield batch
                    batch, characters, rows = Batch(), 0, 0
                batch.projects.append(item)
            case Life():
                batch.lives.append(item)
                rows += len(item.revisions)
                characters += sum(len(said.words.content) for said in item.revisions if said.words is not None)
        if rows >= BATCH_ROWS or characters >= BATCH_CHARACTERS_MAX or len(batch.problems) >= BATCH_ROWS:
            yield batch
            batch, characters, rows = Batch(), 0, 0
    yield batch
