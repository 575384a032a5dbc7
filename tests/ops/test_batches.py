"""What an import reads, gathered while the batch before is written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from ops.moving.batches import batches
from ops.moving.lives import Item, Place, Problem


async def test_the_writing_has_its_turn_after_each_item_that_is_read() -> None:
    # Fails without `sleep` in `batches`: the database's answer would lie until a whole batch was read.
    read: list[int] = []
    turns: set[int] = set()

    def items() -> Iterator[Item]:
        for number in range(1, 4):
            read.append(number)
            yield Problem(Place(f"line {number}"), "it is no JSON")

    async def write() -> None:
        while True:
            turns.add(len(read))
            await asyncio.sleep(0)

    writing = asyncio.create_task(write())
    (batch,) = [batch async for batch in batches(items())]
    writing.cancel()

    assert len(batch.problems) == 3
    assert turns >= {1, 2, 3}
