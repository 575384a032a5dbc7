"""A scratch home with the programs as an installation has them, and the databases that memories move between."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import pytest

from shared.settings import Settings
from tests import forked
from tests.database import Databases
from tests.memories.clients import TENANT, Client
from tests.ops import lively

ROOT = Path(__file__).parents[2]
WAIT_S = 120
ENTRIES = {"memhub": "ops.main", "memhub-server": "server.main", "memhub-worker": "workers.main"}

Ran = subprocess.CompletedProcess[str]


@dataclass(frozen=True, slots=True)
class Installation:
    """A folder of programs, the home of their user and the folder that is open."""

    programs: Path
    home: Path
    project: Path

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMHUB_", "XDG_", "CLAUDE"))}
        return kept | {"HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"} | dict(extra or {})

    def run(self, *arguments: str, environment: Mapping[str, str] | None = None, stdin: str = "") -> Ran:
        """Run memhub to its end in the open folder."""
        return forked.run(
            ENTRIES["memhub"],
            [str(self.programs / "memhub"), *arguments],
            env=self.environment(environment),
            cwd=self.project,
            timeout=WAIT_S,
            stdin=stdin,
        )


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    made = Installation(tmp_path / "bin", tmp_path / "home", tmp_path / "project")
    for folder in (made.programs, made.home, made.project):
        folder.mkdir()
    for name, module in ENTRIES.items():
        program = made.programs / name
        program.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom {module} import main\nmain()\n"
        )
        program.chmod(0o755)
    return made


@pytest.fixture
def memhub(installation: Installation) -> Callable[..., Ran]:
    return installation.run


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks an endpoint in the process of the test waits for its answer."""
    monkeypatch.setattr("ops.asking.ASKED_MAX_S", 60.0)


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(database_url=database_url, data_dir=tmp_path / "data", tenant=TENANT)


@pytest.fixture
async def speaker(server_connection: asyncpg.Connection) -> Client:
    return await lively.client(server_connection)


@pytest.fixture
def other_url(databases: Databases, template: str) -> Iterator[str]:
    """A second migrated database: what is moved goes there."""
    with databases.fresh(source=template) as url:
        yield url


@pytest.fixture
def other(other_url: str, tmp_path: Path) -> Settings:
    return Settings(database_url=other_url, data_dir=tmp_path / "data", tenant=TENANT)


@pytest.fixture
async def there(other_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A session of the owner on the second database."""
    connection = await asyncpg.connect(other_url)
    yield connection
    await connection.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small tmpfs can be mounted by root alone")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
