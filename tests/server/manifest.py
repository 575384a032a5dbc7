"""What a client is told before any database exists; run as a module, it accepts a reviewed change."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.server.processes import INITIALIZE, PRODUCT, running

SNAPSHOT = Path(__file__).with_name("manifest.json")
LISTINGS = ("tools/list", "resources/list", "resources/templates/list")


def told(folder: Path) -> tuple[dict[str, Any], int]:
    """The answers to the listings and the handshake, and the bytes of the tools/list answer."""
    with running(folder, PRODUCT) as raw:
        raw.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        raw.send(*({"jsonrpc": "2.0", "id": method, "method": method} for method in LISTINGS))
        answers: dict[str, Any] = {method: raw.result(method) for method in LISTINGS}
        handshake = raw.result("init")
        tools_line = next(line for line in raw.lines if json.loads(line)["id"] == "tools/list")
    kept = {name: handshake[name] for name in ("instructions", "capabilities")}
    return {**kept, **answers}, len(tools_line)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        SNAPSHOT.write_text(json.dumps(told(Path(folder))[0], indent=1, sort_keys=True) + "\n")
