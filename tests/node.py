"""Where `make test` put what the tests need of npm."""

from __future__ import annotations

import os
from pathlib import Path

MODULES = Path(
    os.environ.get("MEMHUB_TEST_NODE_MODULES", Path(__file__).parents[1] / "build" / "node" / "node_modules")
)
