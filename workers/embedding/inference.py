"""Runs one embedder for two kinds of callers: queries, which somebody waits for, and bulk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from workers.embedding.embedder import Embedder, Purpose, Vectors
from workers.embedding.errors import EmbeddingStopped, EmbeddingUnavailable
from workers.embedding.texts import RevisionText, embedded_texts

QUERIES_WAITING_MAX = 32

_T = TypeVar("_T")


class Inference:
    """Threads for queries, as many as the model can use, and one for bulk, all on the same loaded model.

    A query never waits behind a batch, nor behind another query that a remote provider is slow to answer. A priority
    queue before one thread would let it wait for the batch that runs, up to 500 ms; side by side a query takes 8 ms
    while bulk runs, 6 ms alone, on two cores.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._stopping = threading.Event()
        self._queries = ThreadPoolExecutor(embedder.queries_at_once, thread_name_prefix="embed-query")
        self._bulk = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed-bulk")
        self._queries_waiting = 0

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """float32[n, dim] in the order of the texts.

        Queries of no more than one batch overtake all else. Raises EmbeddingStopped after `close`,
        EmbeddingUnavailable while QUERIES_WAITING_MAX wait already, and what the embedder raises.
        """
        if self._lane(texts, purpose) is self._bulk:
            return await self._run(self._bulk, lambda halt: self._embed(texts, purpose, halt))
        if self._queries_waiting >= QUERIES_WAITING_MAX:
            raise EmbeddingUnavailable("Too many queries wait for the model.", next="Try again in a moment.")
        self._queries_waiting += 1
        try:
            return await self._run(self._queries, lambda halt: self._embed(texts, purpose, halt))
        finally:
            self._queries_waiting -= 1

    async def embed_revisions(self, revisions: Sequence[RevisionText]) -> list[Vectors]:
        """For each revision the vectors of its chunks, float32[chunks, dim], in the order of the content.

        Ends within a batch when cancelled or closed. Raises as `embed` does.
        """
        return await self._run(self._bulk, lambda halt: self._embed_revisions(revisions, halt))

    async def count_tokens(self, texts: Sequence[str]) -> int:
        """How many tokens the texts are, without special ones; beside the lanes, so that nobody waits twice."""
        return await asyncio.to_thread(lambda: sum(len(self.embedder.token_starts(text)) for text in texts))

    async def close(self) -> None:
        """Ends what runs within a batch, refuses the rest, and closes the embedder."""
        self._stopping.set()
        for lane in (self._queries, self._bulk):
            await asyncio.to_thread(lane.shutdown)
        self.embedder.close()

    def _lane(self, texts: Sequence[str], purpose: Purpose) -> ThreadPoolExecutor:
        small = len(texts) <= self.embedder.batch_texts_max
        return self._queries if small and purpose is Purpose.QUERY else self._bulk

    async def _run(self, lane: ThreadPoolExecutor, work: Callable[[Callable[[], bool]], _T]) -> _T:
        abandoned = threading.Event()

        def halt() -> bool:
            return abandoned.is_set() or self._stopping.is_set()

        def unless_halted() -> _T:
            if halt():
                raise _stopped()
            return work(halt)

        if self._stopping.is_set():
            raise _stopped()
        try:
            return await asyncio.get_running_loop().run_in_executor(lane, unless_halted)
        finally:
            abandoned.set()

    def _embed(self, texts: Sequence[str], purpose: Purpose, halt: Callable[[], bool]) -> Vectors:
        vectors = np.empty((len(texts), self.embedder.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for start in range(0, len(order), self.embedder.batch_texts_max):
            if halt():
                raise _stopped()
            batch = order[start : start + self.embedder.batch_texts_max]
            vectors[batch] = self.embedder.embed([texts[index] for index in batch], purpose=purpose)
        return vectors

    def _embed_revisions(self, revisions: Sequence[RevisionText], halt: Callable[[], bool]) -> list[Vectors]:
        if not revisions:
            return []
        texts = [embedded_texts(revision, embedder=self.embedder) for revision in revisions]
        vectors = self._embed([text for chunks in texts for text in chunks], Purpose.DOCUMENT, halt)
        return np.split(vectors, np.cumsum([len(chunks) for chunks in texts])[:-1])


def _stopped() -> EmbeddingStopped:
    return EmbeddingStopped("The embedder is stopping.", next="Try again; another worker takes over.")
