"""Real worker processes, and a model server for them that counts, waits and refuses as a test wants."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from tests.workers.fake import FakeEmbedder
from workers.embedding.endpoint import application
from workers.embedding.inference import Inference
from workers.embedding.serving import Endpoint, Place

ROOT = Path(__file__).parents[2]
EXIT_S = 120

_BOOT = "import sys; sys.path.insert(0, sys.argv.pop(1)); from workers.main import main; main()"

# Nothing in a test waits for the pace of a deployment, but a slow worker is not taken for a dead one.
QUICK = {
    "MEMHUB_SWEEP_EVERY_S": "1",
    "MEMHUB_TEND_EVERY_S": "1",
    "MEMHUB_FOLD_EVERY_S": "1",
    "MEMHUB_WORKER_HEARTBEAT_S": "0.2",
    "MEMHUB_WORKER_SILENCE_S": "120",
    "MEMHUB_EMBEDDING_LEASE_S": "120",
    "MEMHUB_JOB_BACKOFF_S": "0.1",
}
# Where one dies and another takes up what it had, and where it harms nothing that two do the same.
SOON_FORGOTTEN = {
    "MEMHUB_WORKER_SILENCE_S": "1.5",
    "MEMHUB_EMBEDDING_LEASE_S": "1.5",
    "MEMHUB_JOB_ATTEMPTS_MAX": "100",
    "MEMHUB_EMBEDDING_ATTEMPTS_MAX": "100",
}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-c", _BOOT, str(ROOT), *arguments]


def ran(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The worker, waited for."""
    return subprocess.run(
        command(*arguments), env=environment, capture_output=True, text=True, timeout=2 * EXIT_S, check=False
    )


@contextmanager
def worker(
    *arguments: str, environment: Mapping[str, str], log: Path = Path(os.devnull)
) -> Iterator[subprocess.Popen[bytes]]:
    """A running worker, killed at the end of the block if it still lives."""
    with log.open("ab") as stderr:
        process = subprocess.Popen(command(*arguments), env=environment, stderr=stderr)
    try:
        yield process
    finally:
        process.kill()
        process.wait(EXIT_S)


async def stopped(process: subprocess.Popen[bytes]) -> int:
    """The exit status after a SIGTERM."""
    process.send_signal(signal.SIGTERM)
    return await asyncio.to_thread(process.wait, EXIT_S)


def environment(database_url: str, data_dir: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMHUB_")}
    return kept | QUICK | {"MEMHUB_DATABASE_URL": database_url, "MEMHUB_DATA_DIR": str(data_dir)} | more


@asynccontextmanager
async def model_server(fake: FakeEmbedder, *others: FakeEmbedder) -> AsyncIterator[dict[str, str]]:
    """The fakes behind /v1/embeddings, in the settings of a worker that asks the first one."""
    models = {each.name: Inference(each) for each in (fake, *others)}
    endpoint = Endpoint(application(models), place=Place(host="127.0.0.1", port=0))
    stop = asyncio.Event()
    serving = asyncio.create_task(endpoint.run(stop))
    await asyncio.wait_for(endpoint.serving.wait(), EXIT_S)
    try:
        yield {
            "MEMHUB_EMBEDDING_PROVIDER": "openai",
            "MEMHUB_EMBEDDING_MODEL": fake.name,
            "MEMHUB_EMBEDDING_BASE_URL": f"http://127.0.0.1:{endpoint.port}/v1",
            "MEMHUB_EMBEDDING_REQUEST_TIMEOUT_S": "120",
        }
    finally:
        stop.set()
        for each in (fake, *others):
            each.gate.set()
            await models[each.name].close()
        await serving
