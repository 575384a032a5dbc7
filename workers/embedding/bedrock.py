"""The provider `bedrock`: Amazon Titan and Cohere embedding models through boto3, which is an extra."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from shared.errors import ConfigurationError
from workers.embedding import tokens
from workers.embedding.embedder import REMOTE_QUERIES_AT_ONCE, Purpose, Vectors, normalised
from workers.embedding.errors import EmbeddingRefused, EmbeddingUnavailable, word

ATTEMPTS_MAX = 4
WINDOW_TOKENS = 256

_COHERE_PURPOSE = {Purpose.DOCUMENT: "search_document", Purpose.QUERY: "search_query"}
_TITAN_DIMENSIONS = (256, 512, 1024)


class BedrockEmbedder:
    """A Titan or Cohere model; retries are botocore's own, ATTEMPTS_MAX in all."""

    batch_texts_max = 64
    queries_at_once = REMOTE_QUERIES_AT_ONCE  # boto3's sessions are for one thread, its clients for many
    window_tokens = WINDOW_TOKENS

    def __init__(self, *, name: str, dimension: int | None, endpoint_url: str | None, timeout_s: float) -> None:
        """Region and credentials come from the ways that boto3 knows.

        Raises ConfigurationError without boto3 or a region, for another model family, and for a dimension
        that the model does not have.
        """
        self.name = name
        self._cohere = ".cohere." in f".{name}"
        self.dimension = _dimension(name, wanted=dimension)
        self._client, self._failures = _client(endpoint_url=endpoint_url, timeout_s=timeout_s)

    def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        rows = self._cohere_rows(texts, purpose) if self._cohere else [self._titan_row(text) for text in texts]
        try:
            vectors = normalised(rows)
        except (ValueError, np.exceptions.AxisError):
            raise _unexpected(self.name) from None
        if vectors.shape != (len(texts), self.dimension):
            raise EmbeddingRefused(
                f"{self.name} answered {len(vectors)} vectors of {vectors.shape[1]} for {len(texts)} texts, "
                f"of {self.dimension} expected.",
                next="Set MEMHUB_EMBEDDING_DIM to what the model gives, or unset it.",
            )
        return vectors

    def token_starts(self, text: str) -> list[int]:
        return tokens.approximate_starts(text)

    def close(self) -> None:
        self._client.close()

    def _cohere_rows(self, texts: Sequence[str], purpose: Purpose) -> Any:
        body = {"texts": list(texts), "input_type": _COHERE_PURPOSE[purpose], "truncate": "NONE"}
        answer = self._invoke(body, texts)
        rows = answer.get("embeddings")
        return rows.get("float") if isinstance(rows, dict) else rows

    def _titan_row(self, text: str) -> Any:
        sized = {"dimensions": self.dimension, "normalize": True} if _is_titan_v2(self.name) else {}
        return self._invoke({"inputText": text, **sized}, [text]).get("embedding")

    def _invoke(self, body: dict[str, Any], texts: Sequence[str]) -> dict[str, Any]:
        try:
            answer = self._client.invoke_model(
                modelId=self.name,
                body=orjson.dumps(body),
                accept="application/json",
                contentType="application/json",
            )
            parsed = orjson.loads(answer["body"].read())
        except self._failures as failed:
            raise _translated(failed, texts) from None
        except orjson.JSONDecodeError:
            raise _unexpected(self.name) from None
        if not isinstance(parsed, dict):
            raise _unexpected(self.name)
        return parsed


def _dimension(name: str, *, wanted: int | None) -> int:
    if _is_titan_v2(name):
        return _one_of(wanted or 1024, _TITAN_DIMENSIONS)
    if "titan-embed-text-v1" in name:
        return _one_of(wanted or 1536, (1536,))
    if "cohere.embed-v4" in name:
        return _one_of(wanted or 1536, (1536,))
    if "cohere.embed-" in name:
        return _one_of(wanted or 1024, (1024,))
    raise ConfigurationError(
        f"MEMHUB_EMBEDDING_MODEL: {name!r} is neither a Titan text nor a Cohere embedding model of Bedrock.",
        next="Name for example amazon.titan-embed-text-v2:0 or cohere.embed-multilingual-v3.",
    )


def _one_of(wanted: int, possible: tuple[int, ...]) -> int:
    if wanted not in possible:
        raise ConfigurationError(
            f"MEMHUB_EMBEDDING_DIM: {wanted} is not a dimension of the model.",
            next=f"Unset it, or set it to one of {', '.join(map(str, possible))}.",
        )
    return wanted


def _is_titan_v2(name: str) -> bool:
    return "titan-embed-text-v2" in name


def _client(*, endpoint_url: str | None, timeout_s: float) -> tuple[Any, tuple[type[Exception], ...]]:
    """A client of the Bedrock runtime, and the classes of what it raises."""
    try:
        boto3 = importlib.import_module("boto3")
    except ModuleNotFoundError:
        raise ConfigurationError(
            "MEMHUB_EMBEDDING_PROVIDER: bedrock needs boto3, which is not installed.",
            next=f"Install it with: {sys.executable} -m pip install boto3",
        ) from None
    config = importlib.import_module("botocore.config").Config(
        connect_timeout=timeout_s,
        read_timeout=timeout_s,
        max_pool_connections=REMOTE_QUERIES_AT_ONCE + 1,  # and bulk; what is beyond it is closed after each call
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS_MAX},
    )
    failures = importlib.import_module("botocore.exceptions")
    try:
        client = boto3.client("bedrock-runtime", endpoint_url=endpoint_url, config=config)
    except failures.BotoCoreError as failed:
        raise ConfigurationError(
            f"MEMHUB_EMBEDDING_PROVIDER: bedrock cannot be used: {failed}",
            next="Set AWS_REGION and credentials.",
        ) from None
    return client, (failures.ClientError, failures.BotoCoreError)


def _translated(failed: Any, texts: Sequence[str]) -> EmbeddingUnavailable | EmbeddingRefused:
    """Refused for what Bedrock calls the caller's fault (4xx but throttling), else unavailable."""
    answer = getattr(failed, "response", {})
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = word(answer.get("Error", {}).get("Code"), texts) or type(failed).__name__
    if 400 <= status < 500 and status not in (408, 429):
        return EmbeddingRefused(f"Bedrock refused: {code}.", next="Check the model's name, region and access.")
    return EmbeddingUnavailable(f"Bedrock could not answer: {code}.", next="Check region, credentials and network.")


def _unexpected(name: str) -> EmbeddingRefused:
    return EmbeddingRefused(f"{name} answered something that is no embedding.", next="Check MEMHUB_EMBEDDING_MODEL.")
