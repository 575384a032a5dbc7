import json
import subprocess
import sys
from pathlib import Path

from tests.server.processes import INITIALIZE, ROOT, environment

HEAVY = (
    "asyncpg",
    "detect_secrets",
    "fastembed",
    "honcho",
    "jinja2",
    "numpy",
    "onnxruntime",
    "pgvector",
    "procrastinate",
    "psycopg",
    "rich",
    "structlog",
    "tokenizers",
    "typer",
)
SPY = f"""
import sys
from server import application, stdio

class Spying(application.Application):
    async def _list_tools(self, context, params):
        sys.stderr.write("loaded:" + ",".join(name for name in {HEAVY!r} if name in sys.modules) + "\\n")
        return await super()._list_tools(context, params)

stdio.Application = Spying
from server.main import main
main()
"""


def test_nothing_heavy_is_imported_before_the_tools_are_listed(tmp_path: Path) -> None:
    requests = (
        INITIALIZE,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
    )
    ran = subprocess.run(
        [sys.executable, "-c", SPY],
        input="\n".join(map(json.dumps, requests)),
        capture_output=True,
        text=True,
        env=environment(tmp_path),
        cwd=ROOT,
        timeout=180,
        check=True,
    )
    assert "loaded:" in ran.stderr.splitlines()
    assert json.loads(ran.stdout.splitlines()[-1])["id"] == 1
