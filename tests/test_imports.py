"""What the request path really loads, beside what the import contracts read in the source."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_IMPORT_ALL_OF_SERVER = """
import importlib, pkgutil, sys
import server

for module in pkgutil.walk_packages(server.__path__, "server."):
    importlib.import_module(module.name)
heavy = {"fastembed", "numpy", "onnxruntime", "procrastinate", "psycopg", "tokenizers"}
print(sorted(sys.modules.keys() & heavy))
"""


def test_the_server_loads_no_model_no_array_library_and_no_queue_library() -> None:
    # The contract cannot see what another library imports in turn.
    command = [sys.executable, "-c", _IMPORT_ALL_OF_SERVER]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])

    assert ran.stdout == "[]\n"
