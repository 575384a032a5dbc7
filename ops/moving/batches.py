"""Items gathered into batches that are bounded by rows and by bytes, while the database works on the batch before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field

from ops.moving.lives import Item, Life, Problem, Project

# 2,000 and 4,000 were no faster.
BATCH_ROWS = 1_000
# Nothing of a file may be of the tenant that is wanted: what was read of it is told all the same.
BATCH_RECORDS_MAX = 10_000
BATCH_CHARACTERS_MAX = 4 * 2**20


@dataclass(slots=True)
class Batch:
    """What is written together; a project opens a batch, so that it stands before its memories."""

    projects: list[Project] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


async def batches(items: Iterator[Item | None]) -> AsyncGenerator[Batch]:
    """Lets the writing run after each item, and each None, a record that gave nothing: a thread beside it kept the
    interpreter from it for 20 to 30 ms a statement. A batch may be empty."""
    batch = Batch()
    characters = rows = records = 0
    for item in items:
        await asyncio.sleep(0)
        records += 1
        match item:
            case None:
                pass
            case Problem():
                batch.problems.append(item)
            case Project():
                if batch.lives:
                    yield batch
                    batch, characters, rows, records = Batch(), 0, 0, 0
                batch.projects.append(item)
            case Life():
                batch.lives.append(item)
                rows += len(item.revisions)
                characters += sum(len(said.words.content) for said in item.revisions if said.words is not None)
        is_full = rows >= BATCH_ROWS or characters >= BATCH_CHARACTERS_MAX or len(batch.problems) >= BATCH_ROWS
        if is_full or records >= BATCH_RECORDS_MAX:
            yield batch
            batch, characters, rows, records = Batch(), 0, 0, 0
    yield batch
