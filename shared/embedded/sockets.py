"""Where clients find a socket: in its own folder, or through a short private link to that."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from shared.embedded.folder import ELSEWHERE
from shared.errors import ConfigurationError

PORT = 5432
# sockaddr_un holds 108 bytes on Linux and 104 on macOS, with the closing NUL.
SOCKET_PATH_BYTES_MAX = 103
LEFT_BEHIND_AFTER_S = 24 * 60 * 60


def socket_path(socket_dir: Path) -> Path:
    return socket_dir / f".s.PGSQL.{PORT}"


def client_folder(cluster: Path) -> Path:
    """The folder to give to a driver as its host."""
    return reachable(cluster, socket_path(cluster).name)


def reachable(folder: Path, socket: str) -> Path:
    """The folder by a name under which the socket in it can be bound and found.

    The socket itself always lies in the folder: one under /run is removed at logout and would take a socket with it, a
    link is simply made again by the next process. Raises ConfigurationError where no private place is left for it.
    """
    return folder if _fits(folder, socket) else _linked(folder, socket)


def _fits(folder: Path, socket: str) -> bool:
    # Drivers split their host at commas.
    return len(os.fsencode(folder / socket)) <= SOCKET_PATH_BYTES_MAX and "," not in str(folder)


def _linked(folder: Path, socket: str) -> Path:
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    for base in _bases():
        if _fits(base / name, socket) and is_private(base):
            _point(base / name, folder)
            return base / name
    raise ConfigurationError(
        f"The path of {folder} is too long for a socket and no private short folder could be made: "
        f"{_bases()[-1]} is not a folder of mode 0700 of this user.",
        next=f"Remove that folder, or {ELSEWHERE}.",
    )


def _bases() -> list[Path]:
    user = os.geteuid()
    runtime = [Path("/run")] if user == 0 else [Path(f"/run/user/{user}")]
    return [folder / f"memhub-{user}" for folder in (*runtime, Path(tempfile.gettempdir()), Path("/tmp"))]  # noqa: S108


def is_private(folder: Path) -> bool:
    """Make the folder if it can be made; true when it is a real folder of ours that only we can enter.

    In a folder that all may write, another user can be first with a link or a folder of their own.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return False
    closed = not stat.S_IMODE(status.st_mode) & 0o077
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and closed


def _point(link: Path, target: Path) -> None:
    if link.is_symlink() and os.readlink(link) == str(target):
        return
    _tidy(link.parent)
    passing = link.with_name(f"{link.name}.{os.getpid()}")
    passing.unlink(missing_ok=True)
    passing.symlink_to(target)
    passing.replace(link)


def _tidy(base: Path) -> None:
    """Takes away links to what is gone; a fresh one may be to what its process is about to make."""
    old = time.time() - LEFT_BEHIND_AFTER_S
    for link in base.iterdir():
        # Others tidy here too.
        with suppress(FileNotFoundError):
            if not link.exists() and link.lstat().st_mtime < old:
                link.unlink()
