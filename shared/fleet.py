"""The one detached worker of a data folder: whether it lives, and how a server starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shared.embedded import folder, locks, logfile
from shared.errors import BackendUnavailable
from shared.settings import Settings

# A worker that dies at its start is not started again by every missed embedding.
START_INTERVAL_S = 3.0

# The console script may lie anywhere, and `-m` would look into the folder that a client started us in.
_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from workers.main import main; main()"

# The shell ends at once and leaves the worker to init, which reaps it: it is nobody's child. Its standard
# streams are the null device and the log.
_DETACH = '"$@" &'


def worker_lock(data_dir: Path) -> Path:
    return folder.locate(data_dir).root / "worker.lock"


def worker_log(data_dir: Path) -> Path:
    return folder.locate(data_dir).root / "worker.log"


def is_worker_alive(data_dir: Path) -> bool:
    """True while a worker of this data folder lives; the kernel drops its lock however it ends.

    Raises ConfigurationError where this user may not look, BackendUnavailable where the file cannot be read.
    """
    with folder.naming(data_dir):
        lock = worker_lock(data_dir)
        if not lock.exists():
            return False
        held = locks.try_exclusive(lock)
    if held is None:
        return True
    os.close(held)
    return False


def ensure_worker(data_dir: Path, settings: Settings) -> bool:
    """Starts a detached worker when none is alive; true when this call started it. Blocks for milliseconds.

    With an external database it never does: its fleet is someone's deployment. The worker inherits the lock
    that was taken here, so that of many servers one starts it and there is no moment without an owner.
    Raises ConfigurationError where the data folder cannot be used, BackendUnavailable where no process can
    be started.
    """
    if settings.database_url is not None:
        return False
    folder.claim(data_dir)
    lock = worker_lock(data_dir)
    with folder.naming(data_dir):
        held = locks.try_exclusive(lock)
        if held is None:
            return False
        try:
            if time.time() - lock.stat().st_mtime < START_INTERVAL_S and lock.stat().st_size:
                return False
            os.pwrite(held, b"a worker holds this file while it lives\n", 0)
            _start(data_dir, held)
        finally:
            os.close(held)
    return True


@contextmanager
def shown_alive(data_dir: Path) -> Iterator[None]:
    """Keeps servers from starting another worker; no matter when one runs already."""
    folder.claim(data_dir)
    with ExitStack() as held:
        with suppress(BackendUnavailable), folder.naming(data_dir):
            held.enter_context(locks.shared(worker_lock(data_dir), timeout_s=0))
        yield


def bound_log(data_dir: Path) -> None:
    """Begins the worker's log again, keeping the last one, when it has grown too large."""
    log = worker_log(data_dir)
    if logfile.is_overgrown(log):
        logfile.rotate(log)


def _start(data_dir: Path, lock: int) -> None:
    root = str(Path(__file__).resolve().parents[1])
    command = [sys.executable, "-P", "-c", _BOOT, root, "--detached"]
    bound_log(data_dir)
    log = logfile.open_for_append(worker_log(data_dir))
    try:
        subprocess.run(  # noqa: S603 - our own interpreter and no user's text
            ["/bin/sh", "-c", _DETACH, "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(lock,),
            cwd=folder.locate(data_dir).root,
            env={**os.environ, "MEMHUB_DATA_DIR": str(data_dir)},
            start_new_session=True,
            check=True,
            timeout=10,
        )
    except subprocess.SubprocessError as failure:
        raise BackendUnavailable(
            f"A worker could not be started: {failure}.", next="Start one by hand: memhub-worker"
        ) from None
    finally:
        os.close(log)
