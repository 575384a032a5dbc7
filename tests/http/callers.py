"""Clients of a server over HTTP that say exactly which headers they send, in either era of the protocol."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2

Era = Literal["2025-11-25", "2026-07-28"]
ERAS: tuple[Era, ...] = ("2025-11-25", "2026-07-28")
HeaderList = Sequence[tuple[str, str | bytes]]

_NAMES = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
_WHO = {"name": "raw-client", "version": "1"}


@dataclass
class RawClient:
    """Speaks one era; `headers` go with every request, a session's id is added by itself."""

    http: httpx2.AsyncClient
    era: Era
    headers: HeaderList = ()
    session: str | None = None
    _last_id: int = field(default=0)

    async def open(self) -> httpx2.Response:
        """The handshake of the older era; a listing in the newer one, which has none."""
        if self.era == "2026-07-28":
            return await self.request("tools/list", {})
        params = {"protocolVersion": self.era, "capabilities": {}, "clientInfo": _WHO}
        answer = await self.request("initialize", params)
        self.session = answer.headers.get("mcp-session-id")
        if answer.status_code == 200:
            await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def request(self, method: str, params: Mapping[str, Any], *, headers: HeaderList = ()) -> httpx2.Response:
        message, own = self.message(method, params)
        return await self.post(message, headers=[*own, *headers])

    async def call(self, tool: str, *, headers: HeaderList = (), **arguments: Any) -> dict[str, Any]:
        """The result of a tool call, refused or not."""
        answer = await self.request("tools/call", {"name": tool, "arguments": arguments}, headers=headers)
        assert answer.status_code == 200, answer.text
        result: dict[str, Any] = answer.json()["result"]
        return result

    async def use(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of a call that must succeed."""
        result = await self.call(tool, **arguments)
        assert "structuredContent" in result, result
        content: dict[str, Any] = result["structuredContent"]
        return content

    async def refused(self, tool: str, *, headers: HeaderList = (), **arguments: Any) -> dict[str, Any]:
        """The error of a call that must be refused."""
        result = await self.call(tool, headers=headers, **arguments)
        assert result.get("isError") is True, result
        error: dict[str, Any] = json.loads(result["content"][0]["text"])
        return error

    async def read(self, uri: str, *, headers: HeaderList = ()) -> dict[str, Any]:
        """The answer to a read: a JSON-RPC response with `result` or `error`."""
        answer: dict[str, Any] = (await self.request("resources/read", {"uri": uri}, headers=headers)).json()
        return answer

    async def post(self, message: Mapping[str, Any], *, headers: HeaderList = ()) -> httpx2.Response:
        return await self.http.post("/mcp", content=json.dumps(message), headers=self.all_headers(headers))

    def message(self, method: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], HeaderList]:
        self._last_id += 1
        own: list[tuple[str, str | bytes]] = []
        if self.era == "2026-07-28":
            prefix = "io.modelcontextprotocol"
            meta = {
                f"{prefix}/protocolVersion": self.era,
                f"{prefix}/clientCapabilities": {},
                f"{prefix}/clientInfo": _WHO,
            }
            params = {**params, "_meta": meta}
            own.append(("Mcp-Method", method))
            if (key := _NAMES.get(method)) is not None:
                own.append(("Mcp-Name", str(params[key])))
        return {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}, own

    def all_headers(self, headers: HeaderList = ()) -> list[tuple[bytes, bytes]]:
        own: list[tuple[str, str | bytes]] = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ]
        if self.era == "2026-07-28" or self.session is not None:
            own.append(("MCP-Protocol-Version", self.era))
        if self.session is not None:
            own.append(("Mcp-Session-Id", self.session))
        return [(name.encode(), _encoded(value)) for name, value in (*own, *self.headers, *headers)]


def plain(url: str, *, address: str | None = None) -> httpx2.AsyncClient:
    """Without the certificates of the machine, whose reading costs 55 ms a client; from an `address` of loopback."""
    transport = httpx2.AsyncHTTPTransport(verify=False, local_address=address)
    return httpx2.AsyncClient(base_url=url, timeout=60, transport=transport)


@asynccontextmanager
async def raw_client(
    url: str, era: Era, *, headers: HeaderList = (), address: str | None = None
) -> AsyncIterator[RawClient]:
    async with plain(url, address=address) as http:
        yield RawClient(http=http, era=era, headers=headers)


@asynccontextmanager
async def client(
    url: str, era: Era, *, tenant: str | None = None, key: str | None = None, headers: HeaderList = ()
) -> AsyncIterator[RawClient]:
    """A client that is through its handshake."""
    place: list[tuple[str, str | bytes]] = [*headers]
    if tenant is not None:
        place.append(("X-Memory-Tenant", tenant))
    if key is not None:
        place.append(("Authorization", f"Bearer {key}"))
    async with raw_client(url, era, headers=place) as raw:
        opened = await raw.open()
        assert opened.status_code == 200, opened.text
        yield raw


def _encoded(value: str | bytes) -> bytes:
    return value.encode("latin-1") if isinstance(value, str) else value
