"""What a provider says when it refuses: it may quote what it was sent, so that its words are kept nowhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shared import logs
from shared.database import Database
from shared.settings import Settings
from tests.workers.conftest import Write
from workers.embedder import EmbedderActor
from workers.embedding.serving import Endpoint, Place
from workers.shelf import Shelf

SECRET = "zebra-quokka-7391"
SAID = f"The launch code is {SECRET}"
EVERYTHING = """
SELECT string_agg(told, ' ') FROM (
    SELECT to_jsonb(work)::text FROM memhub.embedding_work AS work
    UNION ALL SELECT to_jsonb(run)::text FROM memhub.fleet_runs AS run
    UNION ALL SELECT to_jsonb(job)::text FROM memhub.job_errors AS job) AS kept (told)"""


async def echoing(request: Request) -> Response:
    """Refuses the secret, and repeats it in every part of its answer."""
    texts = json.loads(await request.body())["input"]
    if not any(SECRET in text for text in texts):
        data = [{"index": place, "embedding": [1, len(text), 0]} for place, text in enumerate(texts)]
        return JSONResponse({"data": data})
    error: dict[str, Any] = {"message": f"I cannot embed {texts}", "type": SECRET, "code": SAID, "param": texts[0]}
    return JSONResponse({"error": error}, status_code=400, headers={"x-error": SECRET})


@pytest.fixture
async def provider() -> AsyncIterator[Endpoint]:
    stop = asyncio.Event()
    app = Starlette(routes=[Route("/v1/embeddings", echoing, methods=["POST"])])
    endpoint = Endpoint(app, place=Place(host="127.0.0.1"))
    running = asyncio.create_task(endpoint.run(stop))
    await asyncio.wait_for(endpoint.serving.wait(), 30)
    yield endpoint
    stop.set()
    await running


async def test_a_provider_that_repeats_the_content_gets_it_into_no_table_and_no_log(
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    connection: asyncpg.Connection,
    database: Database,
    write: Write,
    provider: Endpoint,
    settings: Settings,
) -> None:
    # Fails without `word` in `_reason` of openai_compatible.py.
    caplog.set_level("DEBUG", logger="memhub")
    logs.event("logged")
    asking: Any = {
        "embedding_provider": "openai",
        "embedding_model": "tiny",
        "embedding_base_url": f"http://127.0.0.1:{provider.port}/v1",
    }
    remote = Settings(data_dir=settings.data_dir, job_backoff_s=0.01, **asking)
    shelf = Shelf(remote)
    await shelf.open()
    await shelf.refresh(database)
    await write(SAID)
    await EmbedderActor(database, remote, shelf).sweep()
    await shelf.close()

    kept = await connection.fetchval(EVERYTHING)
    assert "EMBEDDING_REFUSED" in kept
    assert "refused with 400: no reason given." in kept
    assert SECRET not in kept
    logged = capfd.readouterr().err
    assert "logged" in logged
    assert SECRET not in logged
