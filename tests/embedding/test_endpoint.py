import asyncio
import base64
import struct
from collections.abc import AsyncIterator
from datetime import date

import httpx2
import numpy as np
import pytest
from starlette.types import ASGIApp

from shared.domain import MemoryType
from workers.embedding.embedder import Embedder, Purpose
from workers.embedding.endpoint import BODY_BYTES_MAX, INPUTS_MAX
from workers.embedding.errors import EmbeddingStopped, EmbeddingUnavailable
from workers.embedding.inference import QUERIES_WAITING_MAX, Inference
from workers.embedding.texts import RevisionText, embedded_texts

MODEL = "memhub/minilm-int8"


@pytest.fixture
async def http(app: ASGIApp) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://embedder") as client:
        yield client


async def test_one_string_is_answered_in_openais_form(http: httpx2.AsyncClient, embedder: Embedder) -> None:
    answer = (await http.post("/v1/embeddings", json={"model": MODEL, "input": "job queue"})).json()
    assert answer["object"] == "list"
    assert answer["model"] == MODEL
    assert answer["usage"] == {"prompt_tokens": 2, "total_tokens": 2}
    (item,) = answer["data"]
    assert (item["object"], item["index"]) == ("embedding", 0)
    assert item["embedding"] == pytest.approx(embedder.embed(["job queue"], purpose=Purpose.QUERY)[0].tolist())


async def test_many_strings_are_answered_in_their_order(http: httpx2.AsyncClient, embedder: Embedder) -> None:
    texts = [f"{'word ' * (30 - number)}number {number}" for number in range(30)]
    body = {"model": MODEL, "input": texts, "input_type": "document"}
    data = (await http.post("/v1/embeddings", json=body)).json()["data"]
    assert [item["index"] for item in data] == list(range(30))
    alone = np.concatenate([embedder.embed([text], purpose=Purpose.DOCUMENT) for text in texts])
    cosines = np.sum(alone * np.array([item["embedding"] for item in data]), axis=1)
    assert cosines.min() > 0.99


async def test_base64_holds_the_same_numbers_as_little_endian_float32(http: httpx2.AsyncClient) -> None:
    body = {"model": MODEL, "input": ["job queue"]}
    floats = (await http.post("/v1/embeddings", json=body)).json()["data"][0]["embedding"]
    coded = (await http.post("/v1/embeddings", json={**body, "encoding_format": "base64"})).json()
    raw = base64.b64decode(coded["data"][0]["embedding"])
    assert struct.unpack("<384f", raw) == pytest.approx(floats)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"input": "x"}, "model"),
        ({"model": MODEL}, "input"),
        ({"model": MODEL, "input": ""}, "input"),
        ({"model": MODEL, "input": []}, "input"),
        ({"model": MODEL, "input": [1, 2]}, "input"),
        ({"model": MODEL, "input": ["x"] * (INPUTS_MAX + 1)}, "input"),
        ({"model": MODEL, "input": "x" * 40_001}, "input"),
        ({"model": MODEL, "input": "x", "encoding_format": "hex"}, "encoding_format"),
        ({"model": MODEL, "input": "x", "dimensions": 64}, "dimensions"),
        ({"model": MODEL, "input": "x", "input_type": "poem"}, "input_type"),
    ],
)
async def test_a_bad_field_is_refused_by_name(http: httpx2.AsyncClient, body: dict[str, object], param: str) -> None:
    response = await http.post("/v1/embeddings", json=body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["param"], error["type"]) == (param, "invalid_request_error")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'"x"'])
async def test_a_body_that_is_no_object_is_refused(http: httpx2.AsyncClient, body: bytes) -> None:
    response = await http.post("/v1/embeddings", content=body)
    assert response.status_code == 400
    assert "JSON" in response.json()["error"]["message"]


async def test_a_body_over_the_bound_is_refused(http: httpx2.AsyncClient) -> None:
    response = await http.post("/v1/embeddings", content=b" " * (BODY_BYTES_MAX + 1))
    assert response.status_code == 413


async def test_another_model_is_not_found(http: httpx2.AsyncClient) -> None:
    response = await http.post("/v1/embeddings", json={"model": "other", "input": "x"})
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "model_not_found"


async def test_health_names_the_models(http: httpx2.AsyncClient) -> None:
    assert (await http.get("/healthz")).json() == {"status": "ok", "models": [MODEL]}


async def test_a_query_overtakes_a_long_bulk(inference: Inference) -> None:
    bulk = asyncio.create_task(inference.embed(["a sentence about nothing " * 30] * 120, purpose=Purpose.DOCUMENT))
    await asyncio.sleep(0)
    await inference.embed(["which database?"], purpose=Purpose.QUERY)
    assert not bulk.done()
    bulk.cancel()


async def test_more_waiting_queries_than_the_bound_are_refused(inference: Inference) -> None:
    asked = [
        asyncio.create_task(inference.embed(["which database?"], purpose=Purpose.QUERY))
        for _ in range(QUERIES_WAITING_MAX + 1)
    ]
    *_, last = await asyncio.gather(*asked, return_exceptions=True)
    assert isinstance(last, EmbeddingUnavailable)
    assert (await inference.embed(["again"], purpose=Purpose.QUERY)).shape == (1, 384)


async def test_closing_ends_a_bulk_before_its_end_and_refuses_what_comes(embedder: Embedder) -> None:
    inference = Inference(embedder)
    bulk = asyncio.create_task(inference.embed(["a sentence about nothing " * 30] * 400, purpose=Purpose.DOCUMENT))
    await inference.embed(["the bulk has begun"], purpose=Purpose.QUERY)
    await inference.close()
    with pytest.raises(EmbeddingStopped):
        await bulk
    with pytest.raises(EmbeddingStopped):
        await inference.embed(["late"], purpose=Purpose.QUERY)


async def test_revisions_get_the_vectors_of_their_own_chunks(inference: Inference, embedder: Embedder) -> None:
    revisions = [
        RevisionText(content=content, type=MemoryType.FACT, category=None, tags=(), written_on=date(2026, 1, 2))
        for content in ("short", "A sentence of some words. " * 60, "last")
    ]
    vectors = await inference.embed_revisions(revisions)
    for revision, own in zip(revisions, vectors, strict=True):
        texts = embedded_texts(revision, embedder=embedder)
        assert own.shape == (len(texts), 384)
        assert own[-1] @ embedder.embed(texts[-1:], purpose=Purpose.DOCUMENT)[0] > 0.99


async def test_no_revisions_give_no_vectors(inference: Inference) -> None:
    assert await inference.embed_revisions([]) == []
