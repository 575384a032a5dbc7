"""The short form of the soak: enough to see that it runs, and that stalled clients harm nobody."""

from __future__ import annotations

from tests.soak import running
from tests.soak.places import embedded_server
from tests.soak.stalled import BEGINNINGS


async def test_mixed_clients_beside_stalled_ones_see_no_error_and_lose_nothing() -> None:
    with embedded_server() as (process, data_dir):
        soak = await running.run(process, data_dir, clients=20, stalled=2 * len(BEGINNINGS), seconds=10, think_s=0.5)
    assert soak.tally.errors == []
    assert soak.tally.calls > 0
    assert soak.tally.written
    assert (soak.lost, soak.doubled, soak.violations) == (set(), set(), [])
