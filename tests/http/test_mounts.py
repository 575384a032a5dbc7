"""What other packages hang into the server: found by entry point, behind its credentials, with their own origin."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import asyncpg
import httpx2
import pytest
from starlette.requests import Request

from server.http import root
from shared import api_tokens, mounts
from shared.mounts import Mount
from tests.http.callers import client
from tests.http.conftest import KEY
from tests.http.processes import PRODUCT_HTTP, Process, serving
from tests.workers.waiting import until

ROOT = Path(__file__).parents[2]
GROUP = "[memhub.mounts]\nops = ops.dashboard:mount\n"


def installed(folder: Path) -> Path:
    """A folder for the path in which a distribution offers the dashboard, whether memhub is installed or not."""
    metadata = folder / "offering-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(GROUP)
    return folder


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("mounted")
    path = os.pathsep.join([str(installed(folder / "path")), str(ROOT)])
    with serving(
        folder,
        program=PRODUCT_HTTP,  # of its own: PYTHONPATH is read at a start
        MEMHUB_DATABASE_URL=module_database_url,
        MEMHUB_API_KEY=KEY,
        MEMHUB_STATS_FLUSH_S="0.1",
        PYTHONPATH=path,
    ) as process:
        yield process


def browser(process: Process) -> httpx2.Client:
    return httpx2.Client(base_url=process.url, timeout=60)


def test_the_distribution_offers_the_dashboard() -> None:
    offered = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][mounts.GROUP]
    mount = EntryPoint(name="ops", value=offered["ops"], group=mounts.GROUP).load()

    assert isinstance(mount, Mount)
    assert mount.path == "/ops"


def test_what_is_offered_twice_is_mounted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        monkeypatch.syspath_prepend(str(installed(tmp_path / name)))

    assert [mount.path for mount in mounts.discover()] == ["/ops"]


def test_the_dashboard_asks_for_the_credentials_of_the_server(locked: Process) -> None:
    with browser(locked) as person:
        assert person.get("/ops").headers["location"].endswith("/ops/")
        assert person.get("/ops/").headers["location"].startswith("/ops/login")
        answer = person.post("/ops/login", data={"credential": KEY}, headers={"Origin": locked.url})
        shown = person.get("/ops/")

    assert answer.status_code == 303
    assert "<h1>Status</h1>" in shown.text


def test_a_bearer_of_the_server_opens_no_page_without_a_login(locked: Process) -> None:
    # A browser that is tricked into a request brings no header; a page must not open by one either.
    with browser(locked) as person:
        assert person.get("/ops/", headers={"Authorization": f"Bearer {KEY}"}).status_code == 303


def test_forms_of_another_origin_and_other_names_of_the_host_are_refused(locked: Process) -> None:
    with browser(locked) as person:
        form = {"credential": KEY}
        assert person.post("/ops/login", data=form, headers={"Origin": "https://evil.example"}).status_code == 403
        assert person.get("/ops/", headers={"Host": "evil.example"}).status_code == 421


def test_the_rest_of_the_server_still_refuses_a_browser_page(locked: Process) -> None:
    # Fails with MountMiddleware around `/mcp` too.
    with browser(locked) as person:
        for path in ("/mcp", "/metrics", "/opsx", "/ops.evil"):
            answer = person.get(path, headers={"Origin": locked.url, "Authorization": f"Bearer {KEY}"})
            assert answer.status_code == 403, path


async def test_pages_of_a_token_are_counted_among_its_calls(tmp_path: Path, module_database_url: str) -> None:
    # Fails without `admit` in _Door. One call in a hundred seconds: no machine is so slow that the next comes in time.
    connection = await asyncpg.connect(module_database_url)
    secret = (await api_tokens.create(connection, "local", name="test")).secret
    await connection.close()
    settings = {"MEMHUB_DATABASE_URL": module_database_url, "MEMHUB_API_KEY": KEY, "MEMHUB_RATE_LIMIT_PER_S": "0.01"}
    path = os.pathsep.join([str(installed(tmp_path / "path")), str(ROOT)])
    with serving(tmp_path, program=PRODUCT_HTTP, PYTHONPATH=path, **settings) as process, browser(process) as person:
        person.post("/ops/login", data={"credential": secret}, headers={"Origin": process.url})
        refused = person.get("/ops/")
        called = person.post("/mcp", headers={"Authorization": f"Bearer {secret}"})
        with browser(process) as operator:
            operator.post("/ops/login", data={"credential": KEY}, headers={"Origin": process.url})
            shown = [operator.get("/ops/").status_code for _ in range(3)]

    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert "This credential calls too often" in refused.text
    assert called.status_code == 429
    assert shown == [200, 200, 200]


async def test_how_long_a_tool_took_is_seen_there(locked: Process, module_database_url: str) -> None:
    # Fails without `timed.run` in the lifespan.
    async with client(locked.url, "2026-07-28", key=KEY, tenant="local") as raw:
        await raw.use("memory_remember", content="Said over HTTP.")
    connection = await asyncpg.connect(module_database_url)
    await until(connection, "SELECT EXISTS (SELECT FROM memhub.tool_timings WHERE tool = 'memory_remember')")
    await connection.close()
    with browser(locked) as person:
        person.post("/ops/login", data={"credential": KEY}, headers={"Origin": locked.url})
        shown = person.get("/ops/").text

    assert "memory_remember" in shown


@pytest.mark.parametrize(
    ("accept", "mounted", "status", "location"),
    [
        ("text/html,*/*", ["/ops"], 307, "ops/"),
        ("application/json", ["/ops"], 200, None),
        ("text/html,*/*", ["/other"], 200, None),
    ],
)
async def test_the_root_leads_a_browser_to_a_dashboard_that_is_mounted(
    accept: str, mounted: list[str], status: int, location: str | None
) -> None:
    asked = Request({"type": "http", "headers": [(b"accept", accept.encode())]})
    answer = await root.answering("/mcp", mounted)(asked)
    assert (answer.status_code, answer.headers.get("location")) == (status, location)
