"""PostgreSQL's log: one file of bounded size and the one before it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LOG_BYTES_MAX = 4 * 1024 * 1024
TAIL_BYTES_MAX = 64 * 1024


def open_for_append(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def is_overgrown(path: Path) -> bool:
    try:
        return path.stat().st_size > LOG_BYTES_MAX
    except FileNotFoundError:
        return False


def rotate(path: Path) -> None:
    """Keep the log as `.1` and begin again; a running server goes on writing to the same file."""
    kept = path.with_name(f"{path.name}.1")
    shutil.copyfile(path, kept, follow_symlinks=False)
    kept.chmod(0o600)
    os.truncate(path, 0)


def written_since(path: Path, offset: int) -> str:
    """What was logged after the offset, its last part if it is long."""
    with path.open("rb") as log:
        end = log.seek(0, os.SEEK_END)
        log.seek(max(offset, end - TAIL_BYTES_MAX))
        return log.read(TAIL_BYTES_MAX).decode(errors="replace")
