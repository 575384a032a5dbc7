"""Which pages may call and by which names a server is called, on every path."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from server.http.origin import Hosts
from tests.http.callers import Era, client, plain
from tests.http.processes import Process, serving

APP = "https://app.example.com"
PATHS = ["/mcp", "/livez", "/readyz", "/health", "/none"]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory, module_database_url: str) -> Iterator[Process]:
    """Knows an origin and a host name."""
    with serving(
        tmp_path_factory.mktemp("known"),
        MEMHUB_DATABASE_URL=module_database_url,
        MEMHUB_ALLOWED_ORIGINS=f"{APP}, http://localhost:8080",
        MEMHUB_ALLOWED_HOSTS="memory.example.com",
    ) as process:
        yield process


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", ["null", "https://evil.example.com", "https://app.example.com.evil.com", ""])
async def test_a_foreign_origin_is_refused_on_every_path(known: Process, path: str, origin: str) -> None:
    async with plain(known.url) as http:
        answer = await http.post(path, headers={"Origin": origin}, content=b"{}")
    assert answer.status_code == 403
    assert answer.json()["message"].startswith("Origin:")


async def test_without_configuration_not_even_the_own_origin_may_call(server: Process) -> None:
    async with plain(server.url) as http:
        assert (await http.get("/livez", headers={"Origin": server.url})).status_code == 403


async def test_an_allowed_origin_beside_a_foreign_one_is_refused(known: Process) -> None:
    async with plain(known.url) as http:
        answer = await http.get("/livez", headers=[("Origin", APP), ("Origin", "null")])
    assert answer.status_code == 403


async def test_an_allowed_page_may_ask_first_and_reads_the_answer(known: Process, era: Era) -> None:
    asked = {"Origin": APP, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    async with plain(known.url) as http:
        preflight = await http.options("/mcp", headers=asked)
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (200, APP)
    async with client(known.url, era, tenant="page", headers=[("Origin", APP)]) as page:
        answer = await page.request("tools/list", {})
    assert answer.headers["access-control-allow-origin"] == APP
    assert "Mcp-Session-Id" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("host", ["evil.example.com", "localhost.evil.com", "10.0.0.7", ""])
async def test_a_foreign_host_is_refused_on_every_path(known: Process, path: str, host: str) -> None:
    async with plain(known.url) as http:
        answer = await http.post(path, headers={"Host": host}, content=b"{}")
    assert answer.status_code == 421
    assert answer.json()["message"].startswith("Host:")


@pytest.mark.parametrize("host", ["memory.example.com", "MEMORY.example.com:8443", "localhost:3000", "127.0.0.1"])
async def test_a_known_host_is_served(known: Process, host: str) -> None:
    async with plain(known.url) as http:
        assert (await http.get("/livez", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    ("bound", "host", "allowed"),
    [
        ("127.0.0.1", "[::1]:3000", True),
        ("127.0.0.1", "192.168.1.5:3000", False),
        ("0.0.0.0", "192.168.1.5:3000", True),
        ("0.0.0.0", "[fe80::1]:3000", True),
        ("0.0.0.0", "evil.example.com:3000", False),
        ("memory.internal", "memory.internal:3000", True),
        ("memory.internal", "other.internal:3000", False),
        ("0.0.0.0", "127.0.0.1.evil.com", False),
    ],
)
def test_a_literal_address_cannot_be_rebound_and_is_taken_beyond_loopback(bound: str, host: str, allowed: bool) -> None:
    assert Hosts(bound=bound).allow(host) is allowed
