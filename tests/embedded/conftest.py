"""A data folder per test, its server stopped and the folder removed afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared import embedded


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder of mode 0700 with a short path."""
    made = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def empty_dir(folder: Path) -> Iterator[Path]:
    """A data folder that does not exist yet."""
    chosen = folder / "data"
    yield chosen
    embedded.stop(chosen)


@pytest.fixture(scope="session")
def stopped() -> Iterator[Path]:
    """A data folder whose database was made once and stopped."""
    made = Path(tempfile.mkdtemp(prefix="mh-", dir="/tmp"))
    embedded.ensure_running(made)
    embedded.stop(made)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def data_dir(empty_dir: Path, stopped: Path) -> Path:
    """A data folder with a stopped database, copied: making one costs ten times as much."""
    empty_dir.mkdir(mode=0o700)
    subprocess.run(["cp", "-a", stopped / "postgres", empty_dir / "postgres"], check=True)
    return empty_dir


@pytest.fixture
def as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
