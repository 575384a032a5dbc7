"""tests/schema.sql: what the migrations add up to. `python -m tests.schema.dump` writes it anew."""

from __future__ import annotations

import asyncio
import re
import subprocess
from pathlib import Path

import asyncpg

from shared import migrations
from tests.database import installation, running_cluster

COMMITTED = Path(__file__).parents[1] / "schema.sql"

_NOISE = re.compile(r"^(--.*|SET .*|SELECT pg_catalog\.set_config\(.*|\\(un)?restrict .*)\n", re.MULTILINE)


def dump(url: str, *, version: str) -> str:
    """The schema memhub of that database, without comments, settings, owners and versions."""
    command = [str(installation(version) / "bin" / "pg_dump"), "--schema-only", "--schema=memhub", "--no-owner", url]
    dumped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.sub(r"\n{3,}", "\n\n", _NOISE.sub("", dumped)).strip() + "\n"


async def _migrate(url: str) -> None:
    connection = await asyncpg.connect(url)
    await migrations.migrate(connection, create_extension=True)
    await connection.close()


def main() -> None:
    with running_cluster("18") as cluster:
        asyncio.run(_migrate(cluster.url()))
        COMMITTED.write_text(dump(cluster.url(), version="18"), encoding="utf-8")


if __name__ == "__main__":
    main()
