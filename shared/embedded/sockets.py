"""Where clients find the socket: in the cluster's folder, or through a short private link to it."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from shared.embedded.folder import ELSEWHERE
from shared.errors import ConfigurationError

PORT = 5432
# sockaddr_un holds 108 bytes on Linux and 104 on macOS, with the closing NUL.
SOCKET_PATH_BYTES_MAX = 103


def socket_path(socket_dir: Path) -> Path:
    return socket_dir / f".s.PGSQL.{PORT}"


def client_folder(cluster: Path) -> Path:
    """The folder to give to a driver as its host.

    The socket itself always lies in the cluster's folder: a folder under /run is removed at logout and
    would take a socket with it, a link is simply made again by the next process.
    """
    return cluster if _fits(cluster) else _linked(cluster)


def _fits(folder: Path) -> bool:
    # Drivers split their host at commas.
    return len(os.fsencode(socket_path(folder))) <= SOCKET_PATH_BYTES_MAX and "," not in str(folder)


def _linked(cluster: Path) -> Path:
    name = hashlib.sha256(os.fsencode(cluster)).hexdigest()[:16]
    for base in _bases():
        if _fits(base / name) and is_private(base):
            _point(base / name, cluster)
            return base / name
    raise ConfigurationError(
        f"The path of {cluster} is too long for a socket and no private short folder could be made: "
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
    passing = link.with_name(f"{link.name}.{os.getpid()}")
    passing.unlink(missing_ok=True)
    passing.symlink_to(target)
    passing.replace(link)
