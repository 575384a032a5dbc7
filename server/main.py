"""The console script memhub-server: MCP over stdio, one process per client."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

DESCRIPTION = """\
MCP server of memhub over stdio: shared, versioned memory for AI coding clients.
An MCP client starts it; settings come from MEMHUB_* environment variables."""


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until the client is gone. Exits 0 at a clean end, 1 on bad settings, 2 on bad usage."""
    _parser().parse_args(argv)
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("memhub-server speaks MCP on stdin and stdout: an MCP client starts it. Ctrl-C ends it.\n")
    # Heavy imports wait until the protocol's descriptors are safe from whatever they print.
    from server import wire  # noqa: PLC0415

    claimed = wire.claim()
    from shared import logs, settings  # noqa: PLC0415
    from shared.errors import MemhubError  # noqa: PLC0415

    try:
        loaded = settings.load()
        logs.configure(loaded.log_level)
        from server import opening, stdio  # noqa: PLC0415

        stdio.run(loaded, wire=claimed, opener=opening.of(loaded))
    except MemhubError as refused:
        sys.stderr.write(f"memhub-server: {refused.message} {refused.next}\n")
        sys.exit(1)


def _parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(
        prog="memhub-server", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
