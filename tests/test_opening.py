"""Opening a database as a login role that nobody has granted the role of servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from shared.database import Database
from shared.errors import ConfigurationError
from shared.opening import opened
from shared.settings import Settings
from tests.workers.processes import QUICK, ran

ROLE = "lone"


@pytest.fixture
def url(database_url: str, admin: psycopg.Connection) -> Iterator[str]:
    """Of a role that may read the schema and act as no other."""
    admin.execute(f"CREATE ROLE {ROLE} LOGIN")
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(f"GRANT USAGE ON SCHEMA memhub TO {ROLE}")
        owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA memhub TO {ROLE}")
        yield database_url.replace("//postgres@", f"//{ROLE}@")
        owner.execute(f"DROP OWNED BY {ROLE}")
    admin.execute(f"DROP ROLE {ROLE}")


async def test_a_server_is_told_what_to_grant(url: str) -> None:
    # Fails without act_as in prepare.
    with pytest.raises(ConfigurationError, match="memhub_server") as refused:
        async with opened(Settings(database_url=url), application="test"):
            pass

    assert "GRANT memhub_server" in refused.value.next


async def test_a_connection_of_a_role_that_lost_its_grant_is_told_so(url: str) -> None:
    # Fails without InsufficientPrivilegeError in Database._acquire: it was told as a bug of memhub.
    database = await Database.open(url, Settings(database_url=url), application="test")
    with pytest.raises(ConfigurationError, match="memhub_server"):
        async with database.connection("read"):
            pass
    await database.aclose()


def test_a_worker_ends_and_says_what_to_grant(url: str, tmp_path: Path) -> None:
    # Fails without act_as in prepare: it tried again for ever.
    environment = {**QUICK, "MEMHUB_DATABASE_URL": url, "MEMHUB_DATA_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ended = ran("--no-endpoint", environment=environment | {"MEMHUB_EMBEDDING_PROVIDER": "none"})

    assert ended.returncode == 1
    assert "GRANT memhub_server" in ended.stderr
