"""The official conformance suite, the Inspector and both TypeScript SDKs against the product.

`python -m tests.conformance FOLDER` takes the folder with node_modules; the exit status is 0 when all are content. The
suite runs against the product, where it must fail what product-REVISION.yml names and no more, and against the
product's server with the fixtures that the suite asks for, where it must fail nothing.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

import asyncpg
import psycopg

from shared import migrations
from tests.database import Cluster, running_cluster
from tests.http.processes import PRODUCT_HTTP, serving
from tests.ports import free_port
from tests.server.processes import PRODUCT, ROOT

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
FIXTURES = ("-m", "tests.conformance.fixtures")
REVISIONS = ("2025-11-25", "2026-07-28")
CLIENTS = ("v1", "v2-legacy", "v2-modern")
RUN_S = 300
HERE = Path(__file__).parent


def main(folder: Path) -> int:
    with running_cluster("18") as cluster, tempfile.TemporaryDirectory() as own:
        held = [*_product(folder, Path(own), _migrated(cluster, "product"))]
        held += [*_fixtures(folder, Path(own), _migrated(cluster, "fixtures"))]
    return 0 if all(held) else 1


def _product(folder: Path, own: Path, database_url: str) -> Iterator[bool]:
    with _served(own, database_url, PRODUCT_HTTP) as url:
        for revision in REVISIONS:
            yield _suite(folder, "product", url, revision, "--expected-failures", str(HERE / f"product-{revision}.yml"))
        yield _inspector(folder, "http", [url, "--transport", "http"])
        yield _inspector(folder, "stdio", _over_stdio(database_url))
        for client in CLIENTS:
            yield _every_tool(folder, url, client)


def _fixtures(folder: Path, own: Path, database_url: str) -> Iterator[bool]:
    with _served(own, database_url, FIXTURES) as url:
        for revision in REVISIONS:
            yield _suite(folder, "fixtures", url, revision)


@contextmanager
def _served(own: Path, database_url: str, program: Sequence[str]) -> Iterator[str]:
    port = free_port()
    wished = {"MEMHUB_DATABASE_URL": database_url, "MEMHUB_ALLOWED_ORIGINS": f"http://127.0.0.1:{port}"}
    with serving(own, "--port", str(port), program=program, **wished) as process:
        yield f"{process.url}/mcp"


def _suite(folder: Path, server: str, url: str, revision: str, *more: str) -> bool:
    given = ["server", "--url", url, "--requirements", revision, *more]
    return _holds(folder, f"conformance {server} {revision}", SUITE, given)


def _inspector(folder: Path, transport: str, target: list[str]) -> bool:
    given = ["--cli", "--method", "tools/list", "--strict", *target]
    return _holds(folder, f"inspector {transport}", ".bin/mcp-inspector", given)


def _every_tool(folder: Path, url: str, client: str) -> bool:
    script = shutil.copy(HERE / "every_tool.mjs", folder)
    return _holds(folder, f"every tool {client}", str(Path(script).resolve()), [client, url])


def _holds(folder: Path, name: str, program: str, given: list[str]) -> bool:
    modules = folder.resolve() / "node_modules"
    with tempfile.TemporaryDirectory() as home:
        ran = subprocess.run(
            [str(modules / ".bin" / "node"), str(modules / program), *given],
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
            env={**os.environ, "HOME": home},
            cwd=home,
        )
    _before, _summary, told = ran.stdout.partition("=== SUMMARY ===")
    print(f"{name}: {'ok' if ran.returncode == 0 else f'exit {ran.returncode}'}")
    if ran.returncode:
        print(told or ran.stdout, ran.stderr)
    return ran.returncode == 0


def _over_stdio(database_url: str) -> list[str]:
    settings = {"MEMHUB_DATABASE_URL": database_url, "PYTHONPATH": str(ROOT)}
    return [*(f"-e{name}={value}" for name, value in settings.items()), "--", sys.executable, *PRODUCT]


def _migrated(cluster: Cluster, name: LiteralString) -> str:
    with psycopg.connect(cluster.url(), autocommit=True) as admin:
        admin.execute("CREATE DATABASE " + name)
    asyncio.run(_migrate(cluster.url(name)))
    return cluster.url(name)


async def _migrate(url: str) -> None:
    connection = await asyncpg.connect(url)
    await migrations.migrate(connection, create_extension=True)
    await connection.close()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
