import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from shared.embedding.address import EmbedderAddress
from shared.embedding.client import PAUSE_S, QUERY_CHARS_MAX, VECTORS_KEPT_MAX, QueryEmbedder
from shared.embedding.models import Absent, EmbeddingModel, Reason
from workers.embedding.serving import Endpoint, Place

Serve = Callable[[Callable[[Scope, Receive, Send], Awaitable[None]], Place], AbstractAsyncContextManager[Endpoint]]

MODEL = EmbeddingModel("tiny", 2)
GOOD = json.dumps({"model": "tiny", "data": [{"index": 0, "embedding": [3, 4]}]}).encode()


@dataclass
class Server:
    """A stand-in for any `/v1/embeddings` on the network: answers what it is told, or stalls."""

    body: bytes = GOOD
    status: int = 200
    stalls: bool = False
    inputs: list[str] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.inputs.append(json.loads((await receive())["body"])["input"])
        if self.stalls:
            assert (await receive())["type"] == "http.disconnect"
            return
        headers = [(b"content-length", str(len(self.body)).encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


@dataclass
class Clock:
    """The real clock, which a test may set forward."""

    ahead_s: float = 0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead_s


@pytest.fixture
def path(folder: Path) -> Path:
    return folder / "embedder.sock"


def asking(path: Path, *, timeout_s: float = 30, clock: Callable[[], float] = time.monotonic) -> QueryEmbedder:
    return QueryEmbedder(EmbedderAddress("http://embedder/v1/embeddings", path), timeout_s=timeout_s, clock=clock)


async def test_a_vector_comes_back_at_unit_length(path: Path, serve: Serve) -> None:
    async with serve(Server(), Place(path=path)), asking(path) as queries:
        assert await queries.embed("q", model=MODEL) == pytest.approx((0.6, 0.8))


async def test_without_an_embedder_the_answer_is_absent_at_once(path: Path) -> None:
    async with asking(path) as queries:
        assert await queries.embed("q", model=MODEL) == Absent(Reason.ABSENT)


async def test_an_embedder_that_comes_up_is_found_by_the_next_query(path: Path, serve: Serve) -> None:
    async with asking(path) as queries:
        assert await queries.embed("q", model=MODEL) == Absent(Reason.ABSENT)
        async with serve(Server(), Place(path=path)):
            assert await queries.embed("q", model=MODEL) == pytest.approx((0.6, 0.8))


async def test_a_stalled_embedder_costs_no_more_than_the_deadline(path: Path, serve: Serve) -> None:
    async with serve(Server(stalls=True), Place(path=path)), asking(path, timeout_s=0.15) as queries:
        started = time.monotonic()
        assert await queries.embed("q", model=MODEL) == Absent(Reason.SLOW)
        assert time.monotonic() - started > 0.14


async def test_after_a_stall_no_query_pays_the_deadline_again(path: Path, serve: Serve) -> None:
    server = Server(stalls=True)
    async with serve(server, Place(path=path)), asking(path, timeout_s=1) as queries:
        await queries.embed("first", model=MODEL)
        answers = [await queries.embed(f"q{number}", model=MODEL) for number in range(20)]
    assert answers == [Absent(Reason.SLOW)] * 20
    assert server.inputs == ["first"]


async def test_after_the_pause_one_query_tries_and_heals_the_rest(path: Path, serve: Serve) -> None:
    server, clock = Server(stalls=True), Clock()
    async with serve(server, Place(path=path)), asking(path, timeout_s=2, clock=clock) as queries:
        await queries.embed("first", model=MODEL)
        server.stalls = False
        clock.ahead_s = PAUSE_S
        assert await queries.embed("second", model=MODEL) == pytest.approx((0.6, 0.8))
        assert await queries.embed("third", model=MODEL) == pytest.approx((0.6, 0.8))


async def test_while_one_query_tries_the_others_go_without(path: Path, serve: Serve) -> None:
    server, clock = Server(stalls=True), Clock()
    async with serve(server, Place(path=path)), asking(path, timeout_s=1, clock=clock) as queries:
        await queries.embed("first", model=MODEL)
        clock.ahead_s = PAUSE_S
        await asyncio.gather(*(queries.embed(f"q{number}", model=MODEL) for number in range(10)))
    assert server.inputs == ["first", "q0"]


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (GOOD.replace(b"tiny", b"other"), 200, Reason.OTHER_MODEL),
        (b'{"error": {"code": "model_not_found"}}', 404, Reason.OTHER_MODEL),
        (b"no json", 200, Reason.FAILED),
        (b"[]", 200, Reason.FAILED),
        (b'{"model": "tiny", "data": []}', 200, Reason.FAILED),
        (GOOD.replace(b"[3, 4]", b"[0, 0]"), 200, Reason.FAILED),
        (GOOD.replace(b"[3, 4]", b'["a", 4]'), 200, Reason.FAILED),
        (b"busy", 503, Reason.FAILED),
        (b"moved", 302, Reason.FAILED),
    ],
)
async def test_an_answer_that_cannot_be_used_has_its_reason(
    path: Path, serve: Serve, body: bytes, status: int, reason: Reason
) -> None:
    async with serve(Server(body=body, status=status), Place(path=path)), asking(path) as queries:
        assert await queries.embed("q", model=MODEL) == Absent(reason)


async def test_an_answer_of_another_dimension_says_of_which(path: Path, serve: Serve) -> None:
    async with serve(Server(body=GOOD.replace(b"[3, 4]", b"[3, 4, 5]")), Place(path=path)), asking(path) as queries:
        assert await queries.embed("q", model=MODEL) == Absent(Reason.OTHER_MODEL, gives=3)


async def test_a_query_asked_again_costs_no_request(path: Path, serve: Serve) -> None:
    server = Server()
    async with serve(server, Place(path=path)), asking(path) as queries:
        once = await queries.embed("q", model=MODEL)
        assert await queries.embed("q", model=MODEL) is once
    assert server.inputs == ["q"]


async def test_a_vector_is_kept_for_its_own_model_only(path: Path, serve: Serve) -> None:
    async with serve(Server(), Place(path=path)), asking(path) as queries:
        await queries.embed("q", model=MODEL)
        assert await queries.embed("q", model=EmbeddingModel("next", 2)) == Absent(Reason.OTHER_MODEL)


async def test_the_oldest_vectors_are_forgotten(path: Path, serve: Serve) -> None:
    server = Server()
    async with serve(server, Place(path=path)), asking(path) as queries:
        for number in range(VECTORS_KEPT_MAX + 1):
            await queries.embed(f"q{number}", model=MODEL)
        await queries.embed("q1", model=MODEL)
        await queries.embed("q0", model=MODEL)
    assert server.inputs[VECTORS_KEPT_MAX + 1 :] == ["q0"]


async def test_a_very_long_query_is_asked_for_by_its_beginning(path: Path, serve: Serve) -> None:
    server = Server()
    async with serve(server, Place(path=path)), asking(path) as queries:
        await queries.embed("x" * 5_000, model=MODEL)
    assert server.inputs == ["x" * QUERY_CHARS_MAX]


async def test_connections_that_the_embedder_closed_are_not_used_again(path: Path, serve: Serve) -> None:
    async with asking(path) as queries:
        for query in ("first", "second"):
            async with serve(Server(), Place(path=path)):
                assert await queries.embed(query, model=MODEL) == pytest.approx((0.6, 0.8))


LIGHT = """
import sys
import mcp.server.mcpserver
before = set(sys.modules)
import shared.embedding.client, shared.embedding.address
heavy = {"numpy", "fastembed", "onnxruntime", "tokenizers", "httpx", "starlette", "uvicorn"}
print(sorted((set(sys.modules) - before) & heavy))
"""


def test_the_client_brings_no_heavy_import_into_a_server() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True, timeout=180)
    assert done.stdout.strip() == "[]"
