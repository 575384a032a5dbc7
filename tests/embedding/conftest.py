"""The packaged model, loaded once, and an endpoint that serves it."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from starlette.types import ASGIApp

from shared.settings import Settings
from workers.embedding import providers
from workers.embedding.embedder import Embedder
from workers.embedding.endpoint import application
from workers.embedding.inference import Inference
from workers.embedding.serving import Endpoint, Place

Serve = Callable[[ASGIApp, Place], AbstractAsyncContextManager[Endpoint]]


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    loaded = providers.load(Settings())
    assert loaded is not None
    return loaded


@pytest.fixture
async def inference(embedder: Embedder) -> AsyncIterator[Inference]:
    inference = Inference(embedder)
    yield inference
    await inference.close()


@pytest.fixture
def app(inference: Inference) -> ASGIApp:
    return application({inference.embedder.name: inference})


@pytest.fixture
def folder() -> Iterator[Path]:
    """Shorter than tmp_path, whose name leaves no room for a socket."""
    with tempfile.TemporaryDirectory(prefix="mh-") as name:
        yield Path(name)


@pytest.fixture
def serve() -> Serve:
    @asynccontextmanager
    async def serving(app: ASGIApp, place: Place) -> AsyncIterator[Endpoint]:
        stop = asyncio.Event()
        endpoint = Endpoint(app, place=place, claim_interval_s=0.02)
        running = asyncio.create_task(endpoint.run(stop))
        await asyncio.wait_for(endpoint.serving.wait(), 30)
        try:
            yield endpoint
        finally:
            stop.set()
            await running

    return serving
