"""The console script memhub-server: MCP over stdio, one process per client, or over HTTP, one for many."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

DESCRIPTION = """\
MCP server of memhub: shared, versioned memory for AI coding clients.
Over stdio an MCP client starts it; with --http one process serves many clients on http://HOST:PORT/mcp.
Settings come from MEMHUB_* environment variables."""

HOST = "127.0.0.1"
PORT = 3000


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until the client is gone, or over HTTP until a signal.

    Exits 0 at a clean end, 1 on bad settings, 2 on bad usage, 130 at a Ctrl-C before it serves.
    """
    try:
        _main(argv)
    except KeyboardInterrupt:
        sys.stderr.write("memhub-server: interrupted before it served.\n")
        sys.exit(130)


def _main(argv: Sequence[str] | None) -> None:
    given = _parsed(argv)
    if not given.http and sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("memhub-server speaks MCP on stdin and stdout: an MCP client starts it. Ctrl-C ends it.\n")
    # Heavy imports wait until the protocol's descriptors are safe from whatever they print.
    from server import wire  # noqa: PLC0415

    claimed = None if given.http else wire.claim()
    from shared import logs, settings  # noqa: PLC0415
    from shared.errors import MemhubError  # noqa: PLC0415

    try:
        loaded = settings.load()
        logs.configure(loaded.log_level)
        settings.warn_of_unknown()
        from server import opening  # noqa: PLC0415
        from shared import tracing  # noqa: PLC0415

        if settings.exports_traces():
            tracing.begin("memhub-server")
        if claimed is None:
            from server.http import serving  # noqa: PLC0415

            serving.run(loaded, host=given.host or HOST, port=given.port, opener=opening.of(loaded))
        else:
            from server import stdio  # noqa: PLC0415

            stdio.run(loaded, wire=claimed, opener=opening.of(loaded))
    except MemhubError as refused:
        sys.stderr.write(f"memhub-server: {refused.line}\n")
        sys.exit(1)


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="memhub-server", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--http", action="store_true", help="serve MCP over Streamable HTTP")
    parser.add_argument("--host", help=f"with --http: the address to listen on (default {HOST}, this machine only)")
    parser.add_argument("--port", type=_port, help=f"with --http: the port (default {PORT}; 0: any free one)")
    given = parser.parse_args(argv)
    if not given.http and (given.host is not None or given.port is not None):
        parser.error("--host and --port belong to --http")
    given.port = PORT if given.port is None else given.port
    return given


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65_535:
        raise argparse.ArgumentTypeError("must be 0 to 65535")
    return int(text)
