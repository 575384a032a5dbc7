"""`memhub dashboard`: serves the pages alone, says where, and ends cleanly."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
from pathlib import Path

import httpx2

ROOT = Path(__file__).parents[2]
WAIT_S = 60
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
    async with httpx2.AsyncClient() as client:
        shown = await client.get(address[0])
        home = await client.get(address[0].removesuffix("ops/"))
    process.send_signal(signal.SIGINT)
    told, _ = await asyncio.wait_for(process.communicate(), WAIT_S)

    assert shown.status_code == 200
    assert home.headers["location"] == "/ops/"
    assert b"No key is set" in told
    assert process.returncode in (0, 130)


async def test_a_port_that_is_taken_is_told_in_one_line(database_url: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = await started(database_url, tmp_path, "--port", str(taken.getsockname()[1]))
        _, complaint = await asyncio.wait_for(process.communicate(), WAIT_S)

    assert process.returncode == 1
    assert b"cannot be bound" in complaint
    assert complaint.count(b"\n") == 1


async def test_without_a_database_it_says_so_in_one_line(tmp_path: Path) -> None:
    process = await started("postgresql://127.0.0.1:1/none", tmp_path, "--port", "0")
    _, complaint = await asyncio.wait_for(process.communicate(), WAIT_S)

    assert process.returncode == 1
    assert complaint.count(b"\n") == 1
