"""Opening a database as a login role that nobody has granted the role that it shall act as."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psycopg
import pytest

from shared.database import Database
from shared.errors import ConfigurationError
from shared.opening import opened, prepare
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

    assert refused.value.next == "As an administrator: GRANT memhub_server TO lone."


@pytest.mark.parametrize("rights", ["GRANT memhub_server TO lone", "REVOKE ALL ON SCHEMA memhub FROM lone"])
async def test_what_may_purge_is_granted_neither_to_the_role_of_servers_nor_to_a_stranger(
    url: str, database_url: str, rights: str
) -> None:
    # Fails where `_may_not` of shared/opening.py advises every role alike: servers were to be given the right to purge.
    await _as_owner(database_url, rights)
    with pytest.raises(ConfigurationError, match="gives lone no permission to act as memhub_operator") as refused:
        await prepare(url, own=False, role="memhub_operator")

    assert refused.value.next == "Run it with the URL of the schema's owner."


async def test_the_owner_is_told_the_grant_that_it_lacks(url: str, database_url: str) -> None:
    # Fails without `owns`: the owner was told to be the owner. A dump that is restored elsewhere brings no grants.
    await _as_owner(database_url, "ALTER SCHEMA memhub OWNER TO lone")
    with pytest.raises(ConfigurationError) as refused:
        await prepare(url, own=False, role="memhub_operator")
    await _as_owner(database_url, "ALTER SCHEMA memhub OWNER TO CURRENT_USER")

    assert refused.value.next == "As an administrator: GRANT memhub_operator TO lone."


async def test_a_role_that_inherits_nothing_reads_the_schema_as_the_one_it_was_granted(
    url: str, database_url: str
) -> None:
    # Fails without the second look of `_verify`: it was told to be granted what it was granted.
    await _as_owner(
        database_url,
        "REVOKE ALL ON ALL TABLES IN SCHEMA memhub FROM lone; REVOKE ALL ON SCHEMA memhub FROM lone;"
        "GRANT memhub_server TO lone WITH INHERIT FALSE",
    )

    async with (
        opened(Settings(database_url=url), application="test") as database,
        database.connection("read") as session,
    ):
        assert await session.fetchval("SELECT current_user") == "memhub_server"


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


async def _as_owner(database_url: str, statements: str) -> None:
    owner = await asyncpg.connect(database_url)
    await owner.execute(statements)
    await owner.close()
