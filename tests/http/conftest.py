"""A server of a test module on a database of its own; tests keep apart by their tenants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.database import Databases
from tests.http.callers import ERAS, Era
from tests.http.processes import Process, serving

KEY = "the-unbound-key-of-this-server"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> Era:
    chosen: Era = request.param
    return chosen


@pytest.fixture(scope="module")
def module_database_url(databases: Databases, template: str) -> Iterator[str]:
    with databases.fresh(source=template) as url:
        yield url


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> Iterator[Process]:
    """Without any key."""
    folder: Path = tmp_path_factory.mktemp("open")
    with serving(folder, MEMHUB_DATABASE_URL=module_database_url) as process:
        yield process
