"""Makes a cluster: complete under its final name, or not there at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from shared.embedded import folder
from shared.embedded.account import client_name
from shared.embedded.binaries import MAJOR_VERSION
from shared.embedded.folder import Layout
from shared.embedded.programs import Programs
from shared.errors import BackendUnavailable, ConfigurationError, MemhubError

ROLE = "memhub"
DATABASE = "memhub"

_NASCENT = "postgres.new-"
# With ctype C the text search parser takes typographic quotes and dashes for letters.
_CTYPE = "C.UTF-8"
_CTYPE_EVERYWHERE = "C"
# One line per statement. CREATE DATABASE copies template1, so the extension comes along.
_STATEMENTS = f"CREATE EXTENSION vector\nCREATE DATABASE {DATABASE}\n"
_HBA = "local all all peer map=memhub\n"


def prepare(layout: Layout, programs: Programs) -> None:
    """See to it that the folder holds a cluster of ours that may be started. The caller holds the lock.

    Makes one where none is. Raises ConfigurationError, and changes nothing, when what is there is not ours
    or of another major version.
    """
    if not layout.cluster.exists() or _is_empty(layout.cluster):
        _make(layout, programs)
    _require_ours(layout, programs)
    # At every start: the folder may have been handed to another user or login name.
    _write_if_other(layout.cluster, "pg_hba.conf", _HBA, programs)
    _write_if_other(layout.cluster, "pg_ident.conf", f'memhub "{client_name()}" {ROLE}\n', programs)


def _is_empty(cluster: Path) -> bool:
    return cluster.is_dir() and not any(cluster.iterdir())


def _make(layout: Layout, programs: Programs) -> None:
    _discard_abandoned(layout)
    # A name per attempt, so that such an initdb never writes into a cluster of ours.
    nascent = Path(tempfile.mkdtemp(prefix=_NASCENT, dir=layout.root))
    try:
        if programs.account is not None:
            os.chown(nascent, programs.account.uid, programs.account.gid, follow_symlinks=False)
        _initialise(nascent, programs, layout)
        nascent.rename(layout.cluster)
        _discard_abandoned(layout)
    except (OSError, subprocess.SubprocessError, MemhubError):
        shutil.rmtree(nascent, ignore_errors=True)
        raise
    _sync(layout.root)


def _discard_abandoned(layout: Layout) -> None:
    # The initdb of a killed process may still be at work there: it fails, and what it leaves goes next time.
    for abandoned in layout.root.glob(f"{_NASCENT}*"):
        shutil.rmtree(abandoned, ignore_errors=True)


def _initialise(nascent: Path, programs: Programs, layout: Layout) -> None:
    done = programs.initdb(nascent, superuser=ROLE, ctype=_CTYPE)
    if done.returncode != 0 and "locale" in done.stderr:
        done = programs.initdb(nascent, superuser=ROLE, ctype=_CTYPE_EVERYWHERE)
    _require_success(done, layout)
    _require_success(programs.execute_alone(nascent, database="template1", statements=_STATEMENTS), layout)


def _require_success(done: subprocess.CompletedProcess[str], layout: Layout) -> None:
    if done.returncode == 0:
        return
    if "No space left on device" in done.stderr or "Disk quota exceeded" in done.stderr:
        raise folder.disk_full(layout.root)
    problems = [line for line in done.stderr.splitlines() if "error:" in line or "FATAL:" in line]
    reason = (problems or done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
    raise BackendUnavailable(
        f"The database could not be made in {layout.root}: {reason.strip()}",
        next="Mend what the message names, then call again; nothing was left behind.",
    )


def _require_ours(layout: Layout, programs: Programs) -> None:
    status = layout.cluster.lstat()
    owner = os.geteuid() if programs.account is None else programs.account.uid
    if status.st_uid != owner:
        name = owner if programs.account is None else programs.account.name
        raise ConfigurationError(
            f"{layout.cluster} belongs to user id {status.st_uid}, but PostgreSQL runs as {name}.",
            next=f"Run `chown -R {name} {layout.cluster}`, or {folder.ELSEWHERE}.",
        )
    try:
        version = (layout.cluster / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        raise ConfigurationError(
            f"{layout.cluster} is not empty and is not a PostgreSQL database; it was left untouched.",
            next=f"Restore it from a backup or move it away, or {folder.ELSEWHERE}.",
        ) from None
    if version != MAJOR_VERSION:
        raise ConfigurationError(
            f"{layout.cluster} is of PostgreSQL {version}, not {MAJOR_VERSION}; it was left untouched.",
            next=f"Export it with the memhub that made it and move it away, or {folder.ELSEWHERE}.",
        )


def _write_if_other(cluster: Path, name: str, text: str, programs: Programs) -> None:
    try:
        same = (cluster / name).read_text() == text
    except (FileNotFoundError, UnicodeDecodeError):
        same = False
    if not same:
        programs.write(cluster, name, text)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
