from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.database import Databases
from tests.schema import world


@pytest.fixture(scope="module")
def owner(databases: Databases, template: str) -> Iterator[psycopg.Connection]:
    """A session of the owner on a database that holds the world; tests undo what they write."""
    with databases.fresh(source=template) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(world.script())
        yield connection
