"""A data folder per test, its server stopped and the folder removed afterwards."""

from __future__ import annotations

import os
import shutil
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
def data_dir(folder: Path) -> Iterator[Path]:
    """A data folder that does not exist yet."""
    chosen = folder / "data"
    yield chosen
    embedded.stop(chosen)


@pytest.fixture
def as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to become another user")
