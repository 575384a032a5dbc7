"""`memhub dashboard`: serves the pages alone, says where, and ends cleanly."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
from pathlib import Path

import asyncpg
import httpx2

from shared import api_tokens

ROOT = Path(__file__).parents[2]
WAIT_S = 120
_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from ops.main import main; main()"


async def started(database_url: str, folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMHUB_")}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", _BOOT, str(ROOT), "dashboard", "--no-open", *arguments,
        env=kept | {"MEMHUB_DATABASE_URL": database_url, "MEMHUB_DATA_DIR": str(folder)},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def test_it_says_where_it_is_and_ends_with_ctrl_c(database_url: str, tmp_path: Path) -> None:
    process = await started(database_url, tmp_path, "--port", "0")
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), WAIT_S)).decode()
    address = re.search(r"http://127\.0\.0\.1:\d+/ops/", line)
    assert address is not None, line
    async with httpx2.AsyncClient(timeout=WAIT_S) as client:
        shown = await client.get(address[0])
        home = await client.get(address[0].removesuffix("ops/"))
    process.send_signal(signal.SIGINT)
    told, complaint = await asyncio.wait_for(process.communicate(), WAIT_S)

    assert shown.status_code == 200
    assert home.headers["location"] == "/ops/"
    assert b"No key is set" in told
    assert process.returncode == 0
    assert complaint == b""


async def test_it_says_that_a_token_is_asked_for_once_there_is_one(
    connection: asyncpg.Connection, database_url: str, tmp_path: Path
) -> None:
    await api_tokens.create(connection, "acme", name="first")
    process = await started(database_url, tmp_path, "--port", "0")
    assert process.stdout is not None
    lines = [(await asyncio.wait_for(process.stdout.readline(), WAIT_S)).decode() for _ in range(2)]
    address = re.search(r"http://127\.0\.0\.1:\d+/ops/", lines[0])
    assert address is not None, lines
    async with httpx2.AsyncClient(timeout=WAIT_S) as client:
        missing = await client.get(f"{address[0]}nowhere")
    process.send_signal(signal.SIGINT)
    _, complaint = await asyncio.wait_for(process.communicate(), WAIT_S)

    assert lines[1].startswith("It asks for a token")
    assert (missing.status_code, process.returncode, complaint) == (404, 0, b"")


async def test_a_port_that_is_taken_is_told_in_one_line(database_url: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = await started(database_url, tmp_path, "--port", str(taken.getsockname()[1]))
        _, complaint = await asyncio.wait_for(process.communicate(), WAIT_S)

    assert process.returncode == 1
    assert b"of 127.0.0.1 cannot be bound: Address already in use. Choose another" in complaint
    assert complaint.count(b"\n") == 1


async def test_without_a_database_it_says_so_in_one_line(tmp_path: Path) -> None:
    process = await started("postgresql://127.0.0.1:1/none", tmp_path, "--port", "0")
    _, complaint = await asyncio.wait_for(process.communicate(), WAIT_S)

    assert process.returncode == 1
    assert complaint.count(b"\n") == 1
