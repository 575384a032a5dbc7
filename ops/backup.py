"""`memhub backup` and `memhub restore`: the embedded database as one file, and back into an empty data folder."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import asyncpg

from ops import words
from ops.files import FileRefused, naming, passing, publish, require_free, sweep, sync
from ops.operating import CLIENT
from ops.reaching import reached
from ops.terminal import Terminal
from ops.words import counted
from shared import checker, migrations, statements
from shared.database import translated
from shared.embedded import ensure_running, folder, locks, stop
from shared.embedded.binaries import install_for
from shared.embedded.folder import Layout
from shared.errors import BackendBusy, BackendUnavailable, ConfigurationError, SchemaMismatch
from shared.settings import Settings

BACKUP_AGAIN = "Nothing was left under the name of the file; run it again."
RESTORE_AGAIN = "The data folder is as it was; run it again."

_NASCENT = "restoring-"
_MAGIC = b"PGDMP"
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}

# Loaded here: between fork and exec nothing may be.
_PRCTL = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1

_SQL = statements.load("operating")
_TELL = _SQL["tell"]
_CREATE_SERVER_ROLE = _SQL["create_server_role"]
_CREATE_OPERATOR_ROLE = _SQL["create_operator_role"]
_RELEASE_EVENTS = tuple(
    _SQL[name]
    for name in (
        "lend_transaction_ids",
        "unguard_events",
        "act_as_operator",
        "release_events",
        "act_as_owner",
        "guard_events",
        "take_transaction_ids_back",
    )
)
_FORGET_WORKERS = _SQL["forget_workers"]
_ANALYZE = _SQL["analyze"]
_MEMORIES = _SQL["memories"]


async def backup(settings: Settings, path: Path, *, force: bool = False) -> int:
    """Writes the backup whole or not at all, checks that it can be read, and says how large it is.

    1 where `restore` will not take it, because it breaks an invariant or was migrated by another program: it is kept,
    as the last resort.
    """
    _require_embedded(settings, "pg_dump")
    require_free(path, force=force)
    await anyio.to_thread.run_sync(sweep, path)
    with ExitStack() as lease:
        dsn = await reached(settings, lease)
        with naming(path), passing(path) as nascent:
            await _run("pg_dump", "--format=custom", f"--file={nascent}", f"--dbname={dsn}", writing=path)
            await _run("pg_restore", "--list", str(nascent), writing=path)
            refusal = await _refusal(dsn, settings)
            size = await anyio.to_thread.run_sync(_publish, nascent, path)
    Terminal().print(f"Backed up to {path} ({size:,} bytes).", soft_wrap=True)
    if refusal is not None:
        Terminal(stderr=True).print(f"memhub: {path}: `memhub restore` will not take it: {refusal}", soft_wrap=True)
        return 1
    return 0


async def restore(settings: Settings, path: Path) -> int:
    """Builds the database beside its place, checks it, and only then puts it there."""
    _require_embedded(settings, "pg_restore")
    _require_backup(path)
    await anyio.to_thread.run_sync(sweep, path)
    layout = folder.claim(settings.data_dir)
    with _alone(layout):
        _require_empty(layout)
        await anyio.to_thread.run_sync(_discard_abandoned, layout)
        async with _nascent(layout) as nascent:
            memories = await _fill(settings, nascent, path)
            await anyio.to_thread.run_sync(stop, nascent)
            await anyio.to_thread.run_sync(_place, layout, nascent)
    Terminal().print(f"Restored {words.memories(memories)} into {layout.root}.", soft_wrap=True)
    return 0


async def _fill(settings: Settings, nascent: Path, path: Path) -> int:
    """Starts a new database, fills and checks it; how many memories it holds."""
    cluster = await anyio.to_thread.run_sync(ensure_running, nascent)
    with translated("read"):
        connection = await asyncpg.connect(cluster.dsn)
    try:
        await connection.execute(_CREATE_SERVER_ROLE)
        await connection.execute(_CREATE_OPERATOR_ROLE)
        options = ("--single-transaction", "--exit-on-error", "--no-owner")
        try:
            await _run("pg_restore", *options, f"--dbname={cluster.dsn}", str(path), writing=settings.data_dir)
        except BackendUnavailable as failed:
            if "end of file" not in failed.message:
                raise
            raise FileRefused(
                f"{path}: it ends too early; nothing was restored.", next="Take another backup."
            ) from None
        async with connection.transaction():
            for statement in _RELEASE_EVENTS:
                await connection.execute(statement)
        with translated("write"):
            await migrations.migrate(connection)
        violations = await checker.check(connection)
        if violations:
            raise FileRefused(
                f"{path}: it breaks {counted(len(violations), 'invariant')},"
                f" first {violations[0].detail}; nothing was restored.",
                next="Take an older backup.",
            )
        await connection.execute(_FORGET_WORKERS)
        await connection.execute(_ANALYZE)
        await connection.execute(_TELL, settings.tenant, "restored", CLIENT, "{}")
        return int(await connection.fetchval(_MEMORIES))
    finally:
        await connection.close()


async def _refusal(dsn: str, settings: Settings) -> str | None:
    """Why `restore` would not take what was dumped of this database, or None; the audit is told of the backup.

    Of a database that waits for migrations nothing is written or checked: `restore` does it when it has applied them.
    """
    with translated("read"):
        connection = await asyncpg.connect(dsn)
    try:
        with translated("read"):
            found = await migrations.status(connection)
            migrations.refuse_strangers(found)
        if found.pending:
            return None
        with translated("write"):
            await connection.execute(_TELL, settings.tenant, "backed_up", CLIENT, "{}")
            violations = await checker.check(connection)
    except SchemaMismatch as refused:
        return refused.line
    finally:
        await connection.close()
    if not violations:
        return None
    broken = f"it breaks {counted(len(violations), 'invariant')}, first {violations[0].detail}."
    return f"{broken} Keep an older backup, and see `memhub doctor`."


@asynccontextmanager
async def _nascent(layout: Layout) -> AsyncIterator[Path]:
    """A data folder inside the data folder, gone afterwards with the server in it."""
    with folder.naming(layout.root):
        nascent = Path(tempfile.mkdtemp(prefix=_NASCENT, dir=layout.root))
    try:
        yield nascent
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_discard, nascent)


def _publish(nascent: Path, path: Path) -> int:
    """The size of what was published."""
    sync(nascent)
    publish(nascent, path)
    return path.stat().st_size


def _discard_abandoned(layout: Layout) -> None:
    # A killed restore leaves its server running.
    for abandoned in layout.root.glob(f"{_NASCENT}*"):
        _discard(abandoned)


def _discard(nascent: Path) -> None:
    stop(nascent)
    shutil.rmtree(nascent, ignore_errors=True)


def _place(layout: Layout, nascent: Path) -> None:
    with folder.naming(layout.root), locks.exclusive(layout.lock, timeout_s=10):
        _require_empty(layout)
        folder.locate(nascent).cluster.rename(layout.cluster)
        sync(layout.root)


@contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """Held while one process restores; the kernel takes it back from a killed one."""
    with folder.naming(layout.root):
        held = locks.try_exclusive(layout.root / "restore.lock")
    if held is None:
        raise BackendBusy(f"Another restore into {layout.root} is under way.", next="Wait until it has ended.")
    try:
        yield
    finally:
        os.close(held)


def _require_embedded(settings: Settings, program: str) -> None:
    if settings.database_url is not None:
        raise ConfigurationError(
            "This is for the embedded database, and MEMHUB_DATABASE_URL names another.",
            next=f"Use {program} of its server, or unset MEMHUB_DATABASE_URL.",
        )


def _require_backup(path: Path) -> None:
    with naming(path):
        path.stat()
        magic = b""
        # Of a pipe it could not be read again.
        if path.is_file():
            with path.open("rb") as file:
                magic = file.read(len(_MAGIC))
    if magic != _MAGIC:
        raise FileRefused(f"{path}: it is no backup of memhub.", next="An export is read by `memhub import`.")


def _require_empty(layout: Layout) -> None:
    if layout.cluster.exists() and any(layout.cluster.iterdir()):
        raise ConfigurationError(
            f"There is a database in {layout.root} already; it was left untouched.",
            next=f"Set MEMHUB_DATA_DIR to an empty folder, or move {layout.cluster} away: its server ends then.",
        )


def _die_with(parent: int) -> None:
    """In the new process, before it becomes the program: killed as soon as its parent is, however that ends.

    Linux alone can do it; elsewhere the program ends with its work.
    """
    if _PRCTL is None:
        return
    _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


async def _run(program: str, *arguments: str, writing: Path) -> None:
    """One of the wheel's PostgreSQL programs. Raises FileRefused where `writing` is full, BackendUnavailable."""
    command = [str(install_for(None) / "bin" / program), "--no-password", *arguments]
    running = await asyncio.create_subprocess_exec(
        *command,
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        env=_ENVIRONMENT,
        start_new_session=True,
        preexec_fn=partial(_die_with, os.getpid()),
    )
    try:
        _, complaint = await running.communicate()
    except BaseException:
        # It would go on, and keep its locks, after a Ctrl-C, SIGTERM or SIGHUP.
        running.kill()
        await running.wait()
        raise
    if running.returncode == 0:
        return
    said = complaint.decode(errors="replace").strip()
    if "No space left on device" in said or "Disk quota exceeded" in said:
        raise FileRefused(f"{writing}: the disk is full; nothing was left there.", next="Free space or name another.")
    reason = next((line for line in said.splitlines() if "error:" in line), said or f"exit code {running.returncode}")
    raise BackendUnavailable(f"{program} failed: {reason}.", next="Mend what the message names, then run it again.")
