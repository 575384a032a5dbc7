import asyncio
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import httpx2
import pytest
from starlette.types import ASGIApp

from shared.embedding.address import EmbedderAddress, embedder_address, embedder_socket, embeddings_url
from shared.embedding.client import QueryEmbedder
from shared.embedding.models import Absent, EmbeddingModel, Reason
from shared.settings import Settings
from tests.ports import free_port
from workers.embedding.serving import Endpoint, Place

Serve = Callable[[ASGIApp, Place], AbstractAsyncContextManager[Endpoint]]

WAIT_S = 30
MINILM = EmbeddingModel("memhub/minilm-int8", 384)


def over(path: Path) -> QueryEmbedder:
    return QueryEmbedder(EmbedderAddress("http://embedder/v1/embeddings", path), timeout_s=30)


async def test_a_query_is_answered_over_the_socket_in_the_data_folder(app: ASGIApp, folder: Path, serve: Serve) -> None:
    address = embedder_address(Settings(data_dir=folder))
    async with (
        serve(app, Place(path=embedder_socket(folder))),
        QueryEmbedder(address, timeout_s=60) as queries,
    ):
        vector = await queries.embed("which database?", model=MINILM)
    assert not isinstance(vector, Absent)
    assert len(vector) == 384
    assert sum(number * number for number in vector) == pytest.approx(1)


async def test_a_query_is_answered_over_tcp(app: ASGIApp, serve: Serve) -> None:
    async with serve(app, Place(host="127.0.0.1")) as endpoint:
        url = f"http://127.0.0.1:{endpoint.port}"
        address = embedder_address(Settings(embedder_url=url))  # type: ignore[arg-type]
        async with QueryEmbedder(address, timeout_s=60) as queries:
            assert not isinstance(await queries.embed("which database?", model=MINILM), Absent)


async def test_only_the_owner_reaches_the_socket(app: ASGIApp, folder: Path, serve: Serve) -> None:
    path = embedder_socket(folder)
    path.parent.mkdir(mode=0o755)
    async with serve(app, Place(path=path)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_stale_socket_is_replaced(app: ASGIApp, folder: Path, serve: Serve) -> None:
    path = folder / "embedder.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    async with serve(app, Place(path=path)), over(path) as queries:
        assert not isinstance(await queries.embed("which database?", model=MINILM), Absent)


async def test_a_stop_takes_the_socket_away(app: ASGIApp, folder: Path, serve: Serve) -> None:
    path = folder / "embedder.sock"
    async with serve(app, Place(path=path)):
        assert path.exists()
    assert not path.exists()


async def test_a_stop_is_not_held_up_by_an_idle_connection(app: ASGIApp, folder: Path, serve: Serve) -> None:
    path = folder / "embedder.sock"
    async with over(path) as queries:
        async with asyncio.timeout(1.5), serve(app, Place(path=path)):
            assert not isinstance(await queries.embed("which database?", model=MINILM), Absent)
        assert await queries.embed("another", model=MINILM) == Absent(Reason.ABSENT)


@pytest.mark.parametrize("kind", ["socket", "port"])
async def test_the_second_worker_goes_without_and_takes_over(
    app: ASGIApp, folder: Path, serve: Serve, kind: str
) -> None:
    place = Place(path=folder / "embedder.sock") if kind == "socket" else Place(host="127.0.0.1", port=free_port())
    stop = asyncio.Event()
    second = Endpoint(app, place=place, claim_interval_s=0.02)
    async with serve(app, place):
        running = asyncio.create_task(second.run(stop))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(second.serving.wait(), 0.2)
    await asyncio.wait_for(second.serving.wait(), WAIT_S)
    if place.path:
        async with over(place.path) as queries:
            assert not isinstance(await queries.embed("which database?", model=MINILM), Absent)
    stop.set()
    await running


async def test_a_worker_that_waits_for_the_place_stops_at_once(app: ASGIApp, folder: Path, serve: Serve) -> None:
    place = Place(path=folder / "embedder.sock")
    async with serve(app, place):
        stop = asyncio.Event()
        second = asyncio.create_task(Endpoint(app, place=place, claim_interval_s=60).run(stop))
        await asyncio.sleep(0)
        stop.set()
        await asyncio.wait_for(second, WAIT_S)
        assert place.path is not None
        assert place.path.exists()


HOLDER = """
import asyncio, sys
from pathlib import Path
from workers.embedding.endpoint import application
from workers.embedding.serving import Endpoint, Place
async def main():
    endpoint = Endpoint(application({}), place=Place(path=Path(sys.argv[1])))
    running = asyncio.create_task(endpoint.run(asyncio.Event()))
    await endpoint.serving.wait()
    print("serving", flush=True)
    await running
asyncio.run(main())
"""


async def test_a_killed_worker_is_followed(app: ASGIApp, folder: Path, serve: Serve) -> None:
    path = folder / "embedder.sock"
    holder = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLDER, str(path), stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert b"serving" in await asyncio.wait_for(holder.stdout.readline(), WAIT_S)
    holder.kill()
    await holder.wait()
    assert path.exists()
    async with serve(app, Place(path=path)), over(path) as queries:
        assert not isinstance(await queries.embed("which database?", model=MINILM), Absent)


async def test_the_signal_handlers_of_the_worker_stay(app: ASGIApp, folder: Path, serve: Serve) -> None:
    before = signal.getsignal(signal.SIGTERM)
    async with serve(app, Place(path=folder / "embedder.sock")):
        assert signal.getsignal(signal.SIGTERM) is before


async def test_a_foreign_client_gets_an_answer_over_the_socket(app: ASGIApp, folder: Path, serve: Serve) -> None:
    path = folder / "embedder.sock"
    transport = httpx2.AsyncHTTPTransport(uds=str(path))
    async with serve(app, Place(path=path)), httpx2.AsyncClient(transport=transport, timeout=WAIT_S) as client:
        assert (await client.get("http://embedder/healthz")).status_code == 200
        assert (await client.get("http://embedder/nowhere")).status_code == 404


async def test_a_folder_too_long_for_a_socket_is_reached_through_a_link(
    app: ASGIApp, folder: Path, serve: Serve
) -> None:
    # Fails without `reachable` in embedder_socket, and without `resolve` in _claimed_file: nobody made the folder yet.
    data_dir = folder / ("long" * 20) / ("path" * 20)
    path = embedder_socket(data_dir)
    async with (
        serve(app, Place(path=path)),
        QueryEmbedder(embedder_address(Settings(data_dir=data_dir)), timeout_s=60) as queries,
    ):
        assert not isinstance(await queries.embed("which database?", model=MINILM), Absent)
        assert (data_dir / "run" / "embedder.sock").is_socket()
    path.parents[1].unlink()


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://host:8080", "http://host:8080/v1/embeddings"),
        ("http://host:8080/", "http://host:8080/v1/embeddings"),
        ("https://api.example/v1", "https://api.example/v1/embeddings"),
        ("https://api.example/v1beta/", "https://api.example/v1beta/embeddings"),
        ("http://host/proxy", "http://host/proxy/v1/embeddings"),
        ("http://host/v1/embeddings", "http://host/v1/embeddings"),
    ],
)
def test_a_base_url_leads_to_the_embeddings_route(base: str, url: str) -> None:
    assert embeddings_url(base) == url
