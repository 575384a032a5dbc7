import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from shared.embedding.address import EmbedderAddress
from shared.embedding.client import QueryEmbedder
from shared.embedding.models import Absent, EmbeddingModel
from shared.errors import ConfigurationError
from shared.settings import Settings
from workers.embedding import providers
from workers.embedding.embedder import REMOTE_QUERIES_AT_ONCE, Embedder, Purpose
from workers.embedding.endpoint import application
from workers.embedding.errors import EmbeddingRefused, EmbeddingUnavailable
from workers.embedding.inference import Inference
from workers.embedding.openai_compatible import ATTEMPTS_MAX
from workers.embedding.serving import Endpoint, Place

Serve = Callable[[ASGIApp, Place], AbstractAsyncContextManager[Endpoint]]

Load = Callable[[Settings], Awaitable[Embedder]]

LOOPBACK = Place(host="127.0.0.1")
MEETING_S_MAX = 5


@dataclass
class Provider:
    """A stand-in for a provider's server: answers each input with a vector, or what it is told first."""

    dimension: int = 3
    refusals: list[int] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)
    answer: Callable[[list[str]], Any] | None = None
    requests: list[tuple[str | None, dict[str, Any]]] = field(default_factory=list)
    meeting: asyncio.Barrier | None = None
    """Until as many requests are here at once, none is answered; without them, each is refused after a while."""

    def app(self) -> ASGIApp:
        return Starlette(routes=[Route("/v1/embeddings", self.embeddings, methods=["POST"])])

    async def embeddings(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.requests.append((request.headers.get("authorization"), body))
        if self.meeting is not None and not await met(self.meeting):
            return JSONResponse({}, status_code=400)
        if self.refusals:
            error = {"message": "as told", "type": "invalid_request_error", "code": "model_not_found"} | self.told
            return JSONResponse({"error": error}, status_code=self.refusals.pop(0))
        data = self.answer(body["input"]) if self.answer else self.vectors(body["input"])
        return JSONResponse({"model": body["model"], "data": data})

    def vectors(self, texts: list[str]) -> list[dict[str, Any]]:
        return [
            {"index": index, "embedding": [len(text), *[0] * (self.dimension - 1)]}
            for index, text in reversed(list(enumerate(texts)))
        ]


async def met(meeting: asyncio.Barrier) -> bool:
    try:
        async with asyncio.timeout(MEETING_S_MAX):
            await meeting.wait()
    except (TimeoutError, asyncio.BrokenBarrierError):
        return False
    return True


def openai_settings(endpoint: Endpoint, **more: Any) -> Settings:
    return Settings(
        embedding_provider="openai",
        embedding_base_url=f"http://127.0.0.1:{endpoint.port}/v1",  # type: ignore[arg-type]
        **{"embedding_model": "tiny", **more},
    )


@pytest.fixture
def load() -> Iterator[Load]:
    opened: list[Embedder] = []

    async def loading(settings: Settings) -> Embedder:
        embedder = await asyncio.to_thread(providers.load, settings)
        assert embedder is not None
        opened.append(embedder)
        return embedder

    yield loading
    for embedder in opened:
        embedder.close()


async def embed(embedder: Embedder, *texts: str) -> np.ndarray[Any, Any]:
    return await asyncio.to_thread(embedder.embed, texts, purpose=Purpose.DOCUMENT)


async def test_our_own_endpoint_is_a_provider(app: ASGIApp, embedder: Embedder, serve: Serve, load: Load) -> None:
    async with serve(app, LOOPBACK) as endpoint:
        remote = await load(openai_settings(endpoint, embedding_model=embedder.name))
        vectors = await embed(remote, "which database?", "the dark theme")
    local = embedder.embed(["which database?", "the dark theme"], purpose=Purpose.DOCUMENT)
    assert (remote.name, remote.dimension) == (embedder.name, 384)
    assert np.sum(vectors * local, axis=1) == pytest.approx(1, abs=1e-3)


async def test_a_password_in_the_url_is_in_no_error() -> None:
    # Fails when `_told` of the embedder is the URL as it was given: the error is kept with the job and shown.
    settings = Settings(
        embedding_provider="openai",
        embedding_base_url="http://me:hunter2@127.0.0.1:1/v1",  # type: ignore[arg-type]
        embedding_model="tiny",
    )
    with pytest.raises(EmbeddingUnavailable) as failed:
        await asyncio.to_thread(providers.load, settings)

    assert failed.value.message.startswith("http://127.0.0.1:1/v1/embeddings could not be reached")


async def test_vectors_come_in_the_order_of_the_texts_at_unit_length(serve: Serve, load: Load) -> None:
    provider = Provider(answer=lambda texts: [
        {"index": index, "embedding": [1.0, float(text)]} for index, text in reversed(list(enumerate(texts)))
    ] if texts != ["dimension"] else [{"index": 0, "embedding": [1.0, 0.0]}])  # fmt: skip
    async with serve(provider.app(), LOOPBACK) as endpoint:
        vectors = await embed(await load(openai_settings(endpoint)), "0", "1")
    assert vectors == pytest.approx(np.array([[1, 0], [2**-0.5, 2**-0.5]]))


def turned(texts: list[str]) -> list[dict[str, Any]]:
    """A vector for each text that is a number, and that no other number has."""
    numbers = [float(text) if text.isdigit() else 0.0 for text in texts]
    return [{"index": index, "embedding": [1.0, number]} for index, number in enumerate(numbers)]


async def test_a_provider_is_asked_as_many_queries_at_once_as_wait_and_each_gets_its_own_vector(
    folder: Path, serve: Serve, load: Load
) -> None:
    # Fails with one thread for queries in Inference, and with fewer CONNECTIONS_MAX in the client of a server.
    provider = Provider(answer=turned)
    path = folder / "embedder.sock"
    async with serve(provider.app(), LOOPBACK) as behind:
        remote = await load(openai_settings(behind))
        inference = Inference(remote)
        address = EmbedderAddress("http://embedder/v1/embeddings", path)
        provider.meeting = asyncio.Barrier(REMOTE_QUERIES_AT_ONCE)
        async with (
            serve(application({remote.name: inference}), Place(path=path)),
            QueryEmbedder(address, timeout_s=2 * MEETING_S_MAX) as server,
        ):
            model = EmbeddingModel(remote.name, remote.dimension)
            asked = [server.embed(str(number), model=model) for number in range(REMOTE_QUERIES_AT_ONCE)]
            vectors = await asyncio.gather(*asked)
        await inference.close()

    assert [round(vector[1] / vector[0]) for vector in vectors if not isinstance(vector, Absent)] == list(
        range(REMOTE_QUERIES_AT_ONCE)
    )


async def test_a_query_is_asked_beside_bulk_that_a_provider_is_slow_to_answer(serve: Serve, load: Load) -> None:
    provider = Provider(answer=turned)
    async with serve(provider.app(), LOOPBACK) as endpoint:
        inference = Inference(await load(openai_settings(endpoint)))
        provider.meeting = asyncio.Barrier(2)
        bulk, query = await asyncio.gather(
            inference.embed(["1"], purpose=Purpose.DOCUMENT), inference.embed(["2"], purpose=Purpose.QUERY)
        )
        await inference.close()
    assert (len(bulk), len(query)) == (1, 1)


async def test_a_long_list_goes_in_bounded_batches(serve: Serve, load: Load) -> None:
    provider = Provider()
    async with serve(provider.app(), LOOPBACK) as endpoint:
        inference = Inference(await load(openai_settings(endpoint)))
        vectors = await inference.embed(["text"] * 150, purpose=Purpose.DOCUMENT)
        await inference.close()
    assert vectors.shape == (150, 3)
    assert [len(body["input"]) for _, body in provider.requests[1:]] == [64, 64, 22]


async def test_the_key_goes_as_a_bearer(serve: Serve, load: Load) -> None:
    provider = Provider()
    async with serve(provider.app(), LOOPBACK) as endpoint:
        await load(openai_settings(endpoint, embedding_api_key="the-key"))
    assert provider.requests[0][0] == "Bearer the-key"


async def test_a_busy_provider_is_asked_again(serve: Serve, load: Load) -> None:
    provider = Provider()
    async with serve(provider.app(), LOOPBACK) as endpoint:
        embedder = await load(openai_settings(endpoint))
        provider.refusals = [429, 503]
        assert (await embed(embedder, "text")).shape == (1, 3)
    assert len(provider.requests) == 4


async def test_a_provider_that_stays_busy_is_given_up(serve: Serve, load: Load) -> None:
    provider = Provider()
    async with serve(provider.app(), LOOPBACK) as endpoint:
        embedder = await load(openai_settings(endpoint))
        provider.refusals = [503] * 10
        with pytest.raises(EmbeddingUnavailable, match="503"):
            await embed(embedder, "text")
    assert len(provider.requests) == 1 + ATTEMPTS_MAX


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({}, "model_not_found, invalid_request_error"),
        ({"code": 404, "type": "NotFoundError"}, "404, NotFoundError"),
        ({"code": None, "type": "same"}, "same"),
        ({"code": "Our text", "type": "e" * 65}, "no reason given"),
        ({"code": "hunter2", "type": ["x"]}, "no reason given"),
        ({"code": "\x1b[2J", "type": ""}, "no reason given"),
    ],
)
async def test_a_refusal_is_not_repeated_and_tells_the_providers_codes(
    serve: Serve, load: Load, told: dict[str, Any], reason: str
) -> None:
    provider = Provider(told=told)
    async with serve(provider.app(), LOOPBACK) as endpoint:
        embedder = await load(openai_settings(endpoint))
        provider.refusals = [401]
        with pytest.raises(EmbeddingRefused) as refused:
            await embed(embedder, "Our text: Hunter2.")
    assert refused.value.message.endswith(f"/v1/embeddings refused with 401: {reason}.")
    assert len(provider.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_a_refusal_at_the_start_is_a_bad_setting(serve: Serve, load: Load, status: int) -> None:
    async with serve(Provider(refusals=[status]).app(), LOOPBACK) as endpoint:
        with pytest.raises(ConfigurationError, match=str(status)):
            await load(openai_settings(endpoint))


async def test_another_dimension_than_set_is_refused_at_the_start(serve: Serve, load: Load) -> None:
    async with serve(Provider(dimension=3).app(), LOOPBACK) as endpoint:
        with pytest.raises(ConfigurationError, match="MEMHUB_EMBEDDING_DIM: 4"):
            await load(openai_settings(endpoint, embedding_dim=4))


async def test_a_model_that_changes_its_dimension_is_refused(serve: Serve, load: Load) -> None:
    provider = Provider(dimension=3)
    async with serve(provider.app(), LOOPBACK) as endpoint:
        embedder = await load(openai_settings(endpoint))
        provider.dimension = 4
        with pytest.raises(EmbeddingRefused, match="of 3 expected"):
            await embed(embedder, "text")


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: [],
        lambda texts: [{"index": 0}],
        lambda texts: [{"index": 0, "embedding": "AAAA"}],
        lambda texts: [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1, 2, 3]}],
        lambda texts: None,
        lambda texts: [{"index": 0, "embedding": 3}],
        # Fails, these three, without the check in `normalised`: a vector of zeros is near to everything.
        lambda texts: [{"index": 0, "embedding": [0, 0, 0]}],
        lambda texts: [{"index": 0, "embedding": [0.0, -0.0, 1e-320]}],
        lambda texts: [{"index": 0, "embedding": [1e300, 1e300, 1]}],
    ],
)
async def test_an_answer_that_is_no_list_of_vectors_is_refused(
    serve: Serve, load: Load, answer: Callable[[list[str]], Any]
) -> None:
    provider = Provider()
    async with serve(provider.app(), LOOPBACK) as endpoint:
        embedder = await load(openai_settings(endpoint))
        provider.answer = answer
        with pytest.raises(EmbeddingRefused):
            await embed(embedder, "text")


def test_a_worker_without_a_base_url_is_told_the_setting_also_where_a_server_needs_none() -> None:
    url: Any = "http://127.0.0.1:9"
    with pytest.raises(ConfigurationError, match="MEMHUB_EMBEDDING_BASE_URL"):
        providers.load(Settings(embedding_provider="openai", embedding_model="tiny", embedder_url=url))
