"""Asks the fleet for the vector of a query, under a deadline, and says why when there is none."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import httpx2
import orjson

from shared.embedding.address import EmbedderAddress
from shared.embedding.models import Absent, EmbeddingModel, Reason, Vector

# 1,000 characters are 60 ms of the packaged model and say what a query is about; 512 word pieces are 170 ms.
QUERY_CHARS_MAX = 1_000
VECTORS_KEPT_MAX = 256
PAUSE_S = 1.0
# As many queries as a worker asks a provider at once; those of the packaged model wait in the worker, not here.
CONNECTIONS_MAX = 16
IDLE_S = 30


class QueryEmbedder:
    """Vectors of queries. An embedder that costs time and gives nothing is left alone for PAUSE_S.

    After the pause one query tries again while the others still go without; its success ends the pause.
    """

    def __init__(
        self,
        address: EmbedderAddress,
        *,
        timeout_s: float,
        api_key: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = address.url
        self._timeout_s = timeout_s
        self._clock = clock
        self._kept: OrderedDict[tuple[EmbeddingModel, str], Vector] = OrderedDict()
        self._paused_until = -math.inf
        self._paused_for = Reason.ABSENT
        headers = {"content-type": "application/json"}
        if api_key:
            headers["authorization"] = f"Bearer {api_key}"
        self._http = httpx2.AsyncClient(
            transport=_transport(address),
            headers=headers,
            timeout=None,
            trust_env=False,
            follow_redirects=False,
        )

    async def embed(self, query: str, *, model: EmbeddingModel) -> Vector | Absent:
        """The unit vector of the query in that model, or why there is none; back within the deadline."""
        text = query[:QUERY_CHARS_MAX]
        kept = self._kept.get((model, text))
        if kept is not None:
            self._kept.move_to_end((model, text))
            return kept
        if self._clock() < self._paused_until:
            return Absent(self._paused_for)
        if math.isfinite(self._paused_until):
            self._paused_until = self._clock() + PAUSE_S
        answer = await self._ask(text, model)
        if not isinstance(answer, Absent):
            self._keep((model, text), answer)
        return answer

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _ask(self, text: str, model: EmbeddingModel) -> Vector | Absent:
        started = self._clock()
        answer = await self._answer_in_time(text, model)
        # Only a failure that cost time is worth a pause: a refused connection takes a millisecond, and asking
        # again at once finds a fleet that has just come up.
        if isinstance(answer, Absent) and self._clock() - started > self._timeout_s / 2:
            self._paused_until = self._clock() + PAUSE_S
            self._paused_for = answer.reason
        else:
            self._paused_until = -math.inf
        return answer

    async def _answer_in_time(self, text: str, model: EmbeddingModel) -> Vector | Absent:
        body = orjson.dumps({"model": model.name, "input": text, "encoding_format": "float"})
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await self._http.post(self._url, content=body)
        except TimeoutError:
            return Absent(Reason.SLOW)
        except httpx2.ConnectError:
            return Absent(Reason.ABSENT)
        except httpx2.HTTPError:
            return Absent(Reason.FAILED)
        if response.status_code == 404:
            return Absent(Reason.OTHER_MODEL)
        if response.status_code != 200:
            return Absent(Reason.FAILED)
        return _vector(response.content, model)

    def _keep(self, key: tuple[EmbeddingModel, str], vector: Vector) -> None:
        self._kept[key] = vector
        self._kept.move_to_end(key)
        if len(self._kept) > VECTORS_KEPT_MAX:
            self._kept.popitem(last=False)


def _transport(address: EmbedderAddress) -> httpx2.AsyncHTTPTransport:
    return httpx2.AsyncHTTPTransport(
        uds=str(address.socket) if address.socket else None,
        verify=address.url.startswith("https:"),
        limits=httpx2.Limits(max_connections=CONNECTIONS_MAX, keepalive_expiry=IDLE_S),
    )


def _vector(body: bytes, model: EmbeddingModel) -> Vector | Absent:
    try:
        answer: dict[str, Any] = orjson.loads(body)
        name = answer["model"]
        numbers = [float(number) for number in answer["data"][0]["embedding"]]
    except (ValueError, KeyError, IndexError, TypeError):
        return Absent(Reason.FAILED)
    if name != model.name:
        return Absent(Reason.OTHER_MODEL)
    if len(numbers) != model.dimension:
        return Absent(Reason.OTHER_MODEL, gives=len(numbers))
    length = math.hypot(*numbers)
    if not (length > 0 and math.isfinite(length)):
        return Absent(Reason.FAILED)
    return tuple(number / length for number in numbers)
