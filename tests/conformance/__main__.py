"""The official conformance suite against the product: what fails must be what product-REVISION.yml names, and no more.

`python -m tests.conformance FOLDER` takes the folder with node_modules; the exit status is 0 when both revisions hold.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg
import psycopg

from shared import migrations
from tests.database import Cluster, running_cluster
from tests.http.processes import Process, serving

REVISIONS = ("2025-11-25", "2026-07-28")
RUN_S = 300
HERE = Path(__file__).parent


def main(folder: Path) -> int:
    port = _free_port()
    with (
        running_cluster("18") as cluster,
        tempfile.TemporaryDirectory() as own,
        serving(
            Path(own),
            "--port",
            str(port),
            MEMHUB_DATABASE_URL=_migrated(cluster),
            MEMHUB_ALLOWED_ORIGINS=f"http://127.0.0.1:{port}",
        ) as process,
    ):
        return max(_run(folder, process, revision) for revision in REVISIONS)


def _run(folder: Path, process: Process, revision: str) -> int:
    modules = folder / "node_modules"
    command = [
        str(modules / ".bin" / "node"),
        str(modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"),
        "server",
        *("--url", f"{process.url}/mcp"),
        *("--requirements", revision),
        *("--expected-failures", str(HERE / f"product-{revision}.yml")),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)
    _before, _summary, result = ran.stdout.partition("=== SUMMARY ===")
    print(f"{revision}: exit {ran.returncode}{result or ran.stdout}{ran.stderr}")
    return ran.returncode


def _migrated(cluster: Cluster) -> str:
    with psycopg.connect(cluster.url(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE product")
    asyncio.run(_migrate(cluster.url("product")))
    return cluster.url("product")


async def _migrate(url: str) -> None:
    connection = await asyncpg.connect(url)
    await migrations.migrate(connection, create_extension=True)
    await connection.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
