"""The provider `openai`: any server that answers OpenAI's `/v1/embeddings`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx2
import numpy as np
import orjson
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from shared.embedding.address import embeddings_url, without_credentials
from workers.embedding import tokens
from workers.embedding.embedder import REMOTE_QUERIES_AT_ONCE, Purpose, Vectors, normalised
from workers.embedding.errors import EmbeddingRefused, EmbeddingUnavailable, word

ATTEMPTS_MAX = 4
WAIT_S_MAX = 8
WINDOW_TOKENS = 256


class OpenAICompatibleEmbedder:
    """A model behind HTTP. Busy and broken answers are tried again, ATTEMPTS_MAX times in all."""

    batch_texts_max = 64
    queries_at_once = REMOTE_QUERIES_AT_ONCE  # client and retrying are for threads: what they keep of a call is its own
    # By the estimate of `tokens`; a quarter of what small models read, so that a worse tokenizer still fits.
    window_tokens = WINDOW_TOKENS

    def __init__(self, *, name: str, base_url: str, api_key: str | None, timeout_s: float) -> None:
        """Embeds one word, so that a wrong key or model shows at the start, and to learn the dimension.

        Raises EmbeddingUnavailable, EmbeddingRefused.
        """
        self.name = name
        self.dimension = 0
        self._url = embeddings_url(base_url)
        self._told = without_credentials(self._url)
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.Client(headers=headers, timeout=timeout_s)
        self._retrying = Retrying(
            retry=retry_if_exception_type(EmbeddingUnavailable),
            stop=stop_after_attempt(ATTEMPTS_MAX),
            wait=wait_random_exponential(multiplier=0.25, max=WAIT_S_MAX),
            reraise=True,
        )
        try:
            self.dimension = self.embed(["dimension"], purpose=Purpose.DOCUMENT).shape[1]
        except BaseException:
            self.close()
            raise

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return self._retrying(self._ask, list(texts))

    def token_starts(self, text: str) -> list[int]:
        return tokens.approximate_starts(text)

    def close(self) -> None:
        self._client.close()

    def _ask(self, texts: list[str]) -> Vectors:
        body = orjson.dumps({"model": self.name, "input": texts, "encoding_format": "float"})
        try:
            response = self._client.post(self._url, content=body, headers={"content-type": "application/json"})
        except httpx2.TransportError as failed:
            raise EmbeddingUnavailable(
                f"{self._told} could not be reached: {type(failed).__name__}.", next=_CHECK_URL
            ) from None
        if response.status_code in (408, 409, 425, 429) or response.status_code >= 500:
            raise EmbeddingUnavailable(f"{self._told} answered {response.status_code}.", next=_CHECK_URL)
        if response.status_code != 200:
            raise EmbeddingRefused(
                f"{self._told} refused with {response.status_code}: {_reason(response, texts)}.", next=_CHECK_SETTINGS
            )
        return self._vectors(response, count=len(texts))

    def _vectors(self, response: httpx2.Response, *, count: int) -> Vectors:
        try:
            data: list[dict[str, Any]] = orjson.loads(response.content)["data"]
            rows = [item["embedding"] for item in sorted(data, key=lambda item: int(item["index"]))]
            vectors = normalised(rows)
        except (ValueError, KeyError, TypeError, np.exceptions.AxisError):
            raise EmbeddingRefused(f"{self._told} answered 200, but no list of embeddings.", next=_CHECK_URL) from None
        if len(vectors) != count or (self.dimension and vectors.shape[1] != self.dimension):
            raise EmbeddingRefused(
                f"{self._told} answered {len(vectors)} vectors of {vectors.shape[1]} for {count} texts, "
                f"of {self.dimension or 'any'} expected.",
                next="Check that one model answers at MEMHUB_EMBEDDING_BASE_URL under that name.",
            )
        return vectors


_CHECK_URL = "Check MEMHUB_EMBEDDING_BASE_URL and that the server behind it is up."
_CHECK_SETTINGS = "Check MEMHUB_EMBEDDING_MODEL, MEMHUB_EMBEDDING_API_KEY and MEMHUB_EMBEDDING_BASE_URL."


def _reason(response: httpx2.Response, texts: Sequence[str]) -> str:
    try:
        error = orjson.loads(response.content)["error"]
        told = dict.fromkeys(word(error.get(part), texts) for part in ("code", "type"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return "no reason given"
    return ", ".join(filter(None, told)) or "no reason given"
