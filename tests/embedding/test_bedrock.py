import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from shared.errors import ConfigurationError
from shared.settings import Settings
from workers.embedding import bedrock, providers
from workers.embedding.bedrock import BedrockEmbedder
from workers.embedding.embedder import REMOTE_QUERIES_AT_ONCE, Purpose
from workers.embedding.errors import EmbeddingRefused, EmbeddingUnavailable
from workers.embedding.inference import Inference
from workers.embedding.serving import Endpoint, Place

Serve = Callable[[ASGIApp, Place], AbstractAsyncContextManager[Endpoint]]

Made = Callable[..., BedrockEmbedder]

TITAN = "amazon.titan-embed-text-v2:0"
COHERE = "cohere.embed-multilingual-v3"


@dataclass
class Runtime:
    """A stand-in for the Bedrock runtime's HTTP interface."""

    status: int = 200
    code: str | None = None
    answer: bytes | None = None
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    meeting: asyncio.Barrier | None = None
    """Until as many requests are here at once, none is answered; without them, each is refused after a while."""

    def app(self) -> ASGIApp:
        return Starlette(routes=[Route("/model/{model:path}/invoke", self.invoke, methods=["POST"])])

    async def invoke(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.requests.append((request.path_params["model"], body))
        if self.meeting is not None:
            try:
                await asyncio.wait_for(self.meeting.wait(), 30)
            except (TimeoutError, asyncio.BrokenBarrierError):
                return JSONResponse({}, status_code=400)
        if self.status != 200:
            told = {"message": "as told"} | ({} if self.code is None else {"__type": self.code})
            return JSONResponse(told, status_code=self.status)
        if self.answer is not None:
            return Response(self.answer, media_type="application/json")
        if "inputText" in body:
            return JSONResponse({"embedding": [3.0, 4.0] + [0.0] * (body["dimensions"] - 2)})
        lengths = [float(len(text)) for text in body["texts"]]
        return JSONResponse({"embeddings": [[1.0, length] + [0.0] * 1022 for length in lengths]})


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3", reason="the extra `bedrock` is not installed")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA" + "X" * 16)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")


@pytest.fixture
def made(aws: None) -> Iterator[Made]:
    opened: list[BedrockEmbedder] = []

    def making(endpoint: Endpoint, *, name: str, dimension: int | None = None) -> BedrockEmbedder:
        url = f"http://127.0.0.1:{endpoint.port}"
        opened.append(BedrockEmbedder(name=name, dimension=dimension, endpoint_url=url, timeout_s=60))
        return opened[-1]

    yield making
    for embedder in opened:
        embedder.close()


async def test_titan_embeds_one_text_a_call_in_the_dimension_that_is_set(serve: Serve, made: Made) -> None:
    runtime = Runtime()
    async with serve(runtime.app(), Place(host="127.0.0.1")) as endpoint:
        embedder = made(endpoint, name=TITAN, dimension=256)
        vectors = await asyncio.to_thread(embedder.embed, ["one", "two"], purpose=Purpose.DOCUMENT)
    assert vectors.shape == (2, 256)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1)
    assert runtime.requests == [
        (TITAN, {"inputText": text, "dimensions": 256, "normalize": True}) for text in ("one", "two")
    ]


async def test_cohere_is_told_whether_it_reads_a_query(serve: Serve, made: Made) -> None:
    runtime = Runtime()
    async with serve(runtime.app(), Place(host="127.0.0.1")) as endpoint:
        embedder = made(endpoint, name=COHERE)
        for purpose in Purpose:
            vectors = await asyncio.to_thread(embedder.embed, ["one", "two"], purpose=purpose)
            assert vectors.shape == (2, 1024)
    assert [body["input_type"] for _, body in runtime.requests] == ["search_document", "search_query"]


async def test_queries_of_many_threads_are_asked_at_once_and_each_gets_its_own_vector(
    serve: Serve, made: Made, caplog: pytest.LogCaptureFixture
) -> None:
    # Fails with one thread for queries in Inference; without max_pool_connections botocore says that it discards some.
    runtime = Runtime()
    async with serve(runtime.app(), Place(host="127.0.0.1")) as endpoint:
        inference = Inference(made(endpoint, name=COHERE))
        runtime.meeting = asyncio.Barrier(REMOTE_QUERIES_AT_ONCE)
        asked = [inference.embed(["x" * n], purpose=Purpose.QUERY) for n in range(REMOTE_QUERIES_AT_ONCE)]
        vectors = np.concatenate(await asyncio.gather(*asked))
        await inference.close()
    assert (vectors[:, 1] / vectors[:, 0]).round().tolist() == list(range(REMOTE_QUERIES_AT_ONCE))
    assert "Connection pool is full" not in caplog.text


@pytest.mark.parametrize(
    ("status", "error"), [(400, EmbeddingRefused), (403, EmbeddingRefused), (503, EmbeddingUnavailable)]
)
async def test_what_bedrock_answers_is_translated(
    serve: Serve, made: Made, status: int, error: type[Exception]
) -> None:
    runtime = Runtime(status=status)
    async with serve(runtime.app(), Place(host="127.0.0.1")) as endpoint:
        embedder = made(endpoint, name=COHERE)
        with pytest.raises(error):
            await asyncio.to_thread(embedder.embed, ["one"], purpose=Purpose.DOCUMENT)
    assert len(runtime.requests) == (bedrock.ATTEMPTS_MAX if status == 503 else 1)


@pytest.mark.parametrize("status", [408, 429])
async def test_what_may_pass_later_is_no_refusal(serve: Serve, made: Made, status: int) -> None:
    # Fails without the throttling in `_translated`: each text would spend its attempts.
    async with serve(Runtime(status=status).app(), Place(host="127.0.0.1")) as endpoint:
        embedder = made(endpoint, name=COHERE)
        with pytest.raises(EmbeddingUnavailable):
            await asyncio.to_thread(embedder.embed, ["one"], purpose=Purpose.DOCUMENT)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("ValidationException", "ValidationException"),
        ("AccessDeniedException", "AccessDeniedException"),
        ("Our text is one", "ClientError"),
        ("E" * 65, "ClientError"),
        ("hunter2", "ClientError"),
        (None, "400"),
    ],
)
async def test_a_refusal_tells_the_code_and_nothing_that_may_be_the_text(
    serve: Serve, made: Made, code: str | None, told: str
) -> None:
    # Fails without `word` in `_translated`, "hunter2" without the texts there: reasons are kept and shown.
    async with serve(Runtime(status=400, code=code).app(), Place(host="127.0.0.1")) as endpoint:
        for name in (COHERE, TITAN):
            embedder = made(endpoint, name=name)
            with pytest.raises(EmbeddingRefused) as refused:
                await asyncio.to_thread(embedder.embed, ["Our text: Hunter2."], purpose=Purpose.DOCUMENT)
            assert refused.value.message == f"Bedrock refused: {told}."


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "answered something that is no embedding"),
        (b"no JSON", "answered something that is no embedding"),
        (b"[[1]]", "answered something that is no embedding"),
        (b"{}", "answered something that is no embedding"),
        (b'{"embeddings": [[1, 0], [1]]}', "answered something that is no embedding"),
        (b'{"embeddings": [["x"]]}', "answered something that is no embedding"),
        (b'{"embeddings": [[0, 0]]}', "answered something that is no embedding"),
        (b'{"embeddings": [[1, 0]]}', "answered 1 vectors of 2 for 1 texts, of 1024 expected"),
        (b'{"embeddings": {"float": [[1, 0, 0]]}}', "answered 1 vectors of 3 for 1 texts, of 1024 expected"),
    ],
)
async def test_an_answer_that_is_no_vector_of_each_text_is_refused(
    serve: Serve, made: Made, answer: bytes, told: str
) -> None:
    # Fails without the looks at what came in `embed` and in `_invoke`.
    async with serve(Runtime(answer=answer).app(), Place(host="127.0.0.1")) as endpoint:
        embedder = made(endpoint, name=COHERE)
        with pytest.raises(EmbeddingRefused, match=told):
            await asyncio.to_thread(embedder.embed, ["one"], purpose=Purpose.DOCUMENT)


async def test_fewer_vectors_than_texts_are_refused(serve: Serve, made: Made) -> None:
    # Fails when `embed` asks for the dimension alone: vectors would go to the wrong texts.
    answer = json.dumps({"embeddings": [[1.0] * 1024]}).encode()
    async with serve(Runtime(answer=answer).app(), Place(host="127.0.0.1")) as endpoint:
        embedder = made(endpoint, name=COHERE)
        with pytest.raises(EmbeddingRefused, match="answered 1 vectors of 1024 for 2 texts"):
            await asyncio.to_thread(embedder.embed, ["one", "two"], purpose=Purpose.DOCUMENT)


@pytest.mark.usefixtures("aws")
async def test_a_refusal_at_the_start_is_a_bad_setting(serve: Serve) -> None:
    async with serve(Runtime(status=403).app(), Place(host="127.0.0.1")) as endpoint:
        url: Any = f"http://127.0.0.1:{endpoint.port}"
        settings = Settings(embedding_provider="bedrock", embedding_model=COHERE, embedding_base_url=url)
        with pytest.raises(ConfigurationError):
            await asyncio.to_thread(providers.load, settings)


def bare(name: str, dimension: int | None) -> BedrockEmbedder:
    return BedrockEmbedder(name=name, dimension=dimension, endpoint_url=None, timeout_s=60)


def test_a_dimension_that_the_model_lacks_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="MEMHUB_EMBEDDING_DIM: 300"):
        bare(TITAN, 300)


def test_a_model_of_another_family_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="MEMHUB_EMBEDDING_MODEL"):
        bare("anthropic.claude", None)


def test_without_boto3_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)  # what an import finds where it is not installed
    with pytest.raises(ConfigurationError, match="boto3") as refused:
        bare(TITAN, None)
    assert "pip install boto3" in refused.value.next
