"""Clients that stall: connections that begin something and never go on, opened again when the server ends them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket

LOOK_S = 0.5
AGAIN_S = 5
STALLED_S_MAX = 60

_HEAD = b"Host: 127.0.0.1\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
_WHO = b"MCP-Protocol-Version: 2026-07-28\r\nX-Memory-Tenant: soak-0\r\n"
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "stalled", "version": "1"},
}


def _post(method: str, params: dict[str, object], *more: bytes) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _META}}
    body = json.dumps(message).encode()
    named = b"Mcp-Method: %b\r\n" % method.encode() + b"".join(more)
    return b"POST /mcp HTTP/1.1\r\n%b%b%bContent-Length: %d\r\n\r\n%b" % (_HEAD, _WHO, named, len(body), body)


_LISTEN = _post("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["memory://projects"]}})
_BROWSE = _post("tools/call", {"name": "memory_search", "arguments": {"limit": 100}}, b"Mcp-Name: memory_search\r\n")
BEGINNINGS = (
    b"",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0",
    b"POST /mcp HTTP/1.1\r\n%bContent-Length: 1000\r\n\r\n{" % _HEAD,
    _LISTEN,
    _BROWSE * 100,
)
"""Silent, half a head, half a body, a stream and answers that nobody reads."""


async def stall(port: int, beginning: bytes) -> None:
    """Until it is cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setblocking(False)
            with contextlib.suppress(OSError, TimeoutError):
                await loop.sock_connect(connection, ("127.0.0.1", port))
                async with asyncio.timeout(STALLED_S_MAX):
                    await loop.sock_sendall(connection, beginning)
                    while not _is_over(connection):  # noqa: ASYNC110 - an event would read what shall stay unread
                        await asyncio.sleep(LOOK_S)
        await asyncio.sleep(AGAIN_S)


def _is_over(connection: socket.socket) -> bool:
    with contextlib.suppress(BlockingIOError):
        return connection.recv(1, socket.MSG_PEEK) == b""
    return False
