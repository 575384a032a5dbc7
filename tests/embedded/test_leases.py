"""Leases, and the idle stop that they forbid."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg

from shared import embedded
from shared.embedded import locks
from tests.embedded.processes import ended, line_from, output_of, postmaster_pid, python

ROUNDS = 15

HOLD = """
import sys; from pathlib import Path; from shared.embedded import hold_lease
with hold_lease(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""

ATTACH_AGAIN_AND_AGAIN = """
import sys; from pathlib import Path; from shared.embedded import attach
import psycopg
for _ in range(int(sys.argv[2])):
    with attach(Path(sys.argv[1])) as cluster, psycopg.connect(cluster.dsn) as connection:
        connection.execute("INSERT INTO visits VALUES (1)")
print("done")
"""


def test_a_held_lease_forbids_the_idle_stop(data_dir: Path) -> None:
    """Holds by the exclusive attempt on the leases in cluster.stop_if_idle."""
    embedded.ensure_running(data_dir)
    with ended(python(HOLD, data_dir)) as holder:
        line_from(holder.stdout)

        assert embedded.is_leased(data_dir)
        assert not embedded.stop_if_idle(data_dir)
        assert embedded.is_running(data_dir)


def test_a_lease_ends_with_kill_9_of_its_process(data_dir: Path) -> None:
    """Holds by flock in locks.py: the kernel drops it."""
    embedded.ensure_running(data_dir)
    with ended(python(HOLD, data_dir)) as holder:
        line_from(holder.stdout)

    assert not embedded.is_leased(data_dir)
    assert embedded.stop_if_idle(data_dir)
    assert not embedded.is_running(data_dir)


def test_the_server_inherits_no_lease_and_no_lock_of_its_starter(data_dir: Path) -> None:
    with embedded.attach(data_dir):
        assert embedded.is_leased(data_dir)

    assert not embedded.is_leased(data_dir)
    assert embedded.stop_if_idle(data_dir)


def test_many_leases_count_until_the_last_ends(empty_dir: Path) -> None:
    with embedded.hold_lease(empty_dir):
        with embedded.hold_lease(empty_dir):
            pass
        assert embedded.is_leased(empty_dir)
    assert not embedded.is_leased(empty_dir)


def test_the_watch_counts_from_the_last_lease(empty_dir: Path) -> None:
    watch = embedded.IdleWatch(empty_dir)
    begin = time.monotonic()
    with embedded.hold_lease(empty_dir):
        assert watch.idle_for_s() == 0.0
    assert 0.0 <= watch.idle_for_s() <= time.monotonic() - begin


def test_who_attaches_during_a_stop_gets_a_new_server(data_dir: Path) -> None:
    """Holds by hold_lease before ensure_running in cluster.attach."""
    embedded.ensure_running(data_dir)
    first = postmaster_pid(data_dir)
    answers: list[object] = []

    with locks.exclusive(data_dir / "leases", timeout_s=5):  # what stop_if_idle holds while it stops
        late = threading.Thread(target=lambda: answers.append(_visit(data_dir)))
        late.start()
        late.join(1)
        assert late.is_alive()
        embedded.stop(data_dir)
        assert not answers
    late.join(60)

    assert answers == [(1,)]
    assert postmaster_pid(data_dir) != first


def _visit(data_dir: Path) -> object:
    with embedded.attach(data_dir) as cluster, psycopg.connect(cluster.dsn) as connection:
        return connection.execute("SELECT 1").fetchone()


def test_attaching_and_idle_stops_race_without_an_error(data_dir: Path) -> None:
    """Holds by the lease that attach takes and by the lock and the leases that stop_if_idle takes."""
    cluster = embedded.ensure_running(data_dir)
    with psycopg.connect(cluster.dsn) as connection:
        connection.execute("CREATE TABLE visits (visit int)")
    stops = 0
    with (
        ended(python(ATTACH_AGAIN_AND_AGAIN, data_dir, ROUNDS)) as one,
        ended(python(ATTACH_AGAIN_AND_AGAIN, data_dir, ROUNDS)) as two,
    ):
        while one.poll() is None or two.poll() is None:
            stops += embedded.stop_if_idle(data_dir)
        assert [output_of(one), output_of(two)] == ["done\n", "done\n"]

    assert stops > 0
    with psycopg.connect(embedded.ensure_running(data_dir).dsn) as connection:
        assert connection.execute("SELECT count(*) FROM visits").fetchone() == (2 * ROUNDS,)
