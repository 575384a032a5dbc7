"""An import from its first byte to its report: read and prepared while the batch before is written."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from ops.moving.batches import Batch, batches
from ops.moving.lives import Item, Problem
from ops.moving.ordering import Held, successors_first
from ops.moving.planning import Written
from ops.moving.sources import Source
from ops.moving.writer import Writer

PROBLEMS_KEPT_MAX = 1_000
ROUNDS_MAX = 1_000
UNSUCCEEDED = "what superseded it did not come, and is not here"
UNSETTLED = "what it is compared with did not settle: import it again"


@dataclass(slots=True)
class Report:
    """`counts`: imported, known (were there before), continued (were there, and went on), changed (are told otherwise
    here), deduplicated, passed (were replaced or forgotten here), projects, bad, twice (are told otherwise before
    in what is read), sensitive, expired. The first PROBLEMS_KEPT_MAX problems are told one by one, and as many notes
    after them."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        return not any(self.counts[kind] for kind in ("bad", "twice", "sensitive"))

    def tell(self, problem: Problem) -> None:
        self.counts[problem.kind] += 1
        kept = self.notes if problem.kind == "note" else self.problems
        if len(kept) < PROBLEMS_KEPT_MAX:
            kept.append(problem)


async def run(source: Source, writer: Writer, report: Report, *, progress: Callable[[int], None]) -> None:
    """Imports everything in the source, and tells the report of it. Commits batch by batch.

    `progress` is told the bytes read so far. Memories whose successor comes later are read again, until all stand
    or no round brings any.
    """
    held = await _pass(source, writer, source.items(), report, progress)
    for _ in range(ROUNDS_MAX):
        if not held:
            break
        left = await _pass(source, writer, source.again(successors_first(held)), report, progress)
        if len(left) == len(held) and not writer.wait_no_longer():
            break
        held = left
    for each in held:
        report.tell(Problem(each.place, UNSUCCEEDED if each.successor else UNSETTLED))


async def _pass(
    source: Source, writer: Writer, items: Iterator[Item | None], report: Report, progress: Callable[[int], None]
) -> list[Held]:
    held: list[Held] = []
    async with aclosing(batches(items)) as made:
        making = asyncio.create_task(_next(made))
        try:
            while (batch := await making) is not None:
                making = asyncio.create_task(_next(made))
                written = await _write(writer, batch)
                report.counts.update(written.counts)
                for problem in (*batch.problems, *written.problems):
                    report.tell(problem)
                held += written.held
                progress(source.read_bytes)
        finally:
            # It reads the file that is closed with it.
            making.cancel()
            await asyncio.wait({making})
            if isinstance(items, Generator):
                # Whatever holds on to this frame, nothing of the file is read any more.
                items.close()
    return held


async def _next(made: AsyncIterator[Batch]) -> Batch | None:
    return await anext(made, None)


async def _write(writer: Writer, batch: Batch) -> Written:
    written = Written()
    for project in batch.projects:
        written.add(await writer.project(project))
    if batch.lives:
        written.add(await writer.write(batch.lives))
    return written
