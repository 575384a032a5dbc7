"""The ASGI app that answers OpenAI's `/v1/embeddings` with the models of this process."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from workers.embedding.embedder import Purpose, Vectors
from workers.embedding.errors import EmbeddingRefused, EmbeddingStopped, EmbeddingUnavailable
from workers.embedding.inference import Inference

BODY_BYTES_MAX = 4 * 1024 * 1024
INPUTS_MAX = 256
INPUT_CHARS_MAX = 40_000


def application(models: Mapping[str, Inference], *routes: Route) -> Starlette:
    """The app; `models` by name is read at every request, so models may come and go while it serves.

    Beside OpenAI's fields it takes `input_type` (`query`, the default, or `document`).
    """

    async def embeddings(request: Request) -> Response:
        try:
            asked = _parsed(await _body(request))
            inference = _model(models, asked.model)
            return await _answer(asked, inference)
        except _Refusal as refusal:
            return refusal.response()
        except EmbeddingRefused as refused:
            return _Refusal(502, refused.message).response()
        except (EmbeddingUnavailable, EmbeddingStopped) as away:
            return _Refusal(503, away.message).response()
        except ClientDisconnect:
            return Response(status_code=400)

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok", "models": sorted(models)})

    return Starlette(
        routes=[
            Route("/v1/embeddings", embeddings, methods=["POST"]),
            Route("/healthz", health, methods=["GET"]),
            *routes,
        ]
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    model: str
    texts: list[str]
    purpose: Purpose
    base64: bool
    dimensions: int | None


class _Refusal(Exception):
    """An answer that is no vector, in the form that OpenAI's clients read."""

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = {
            "message": message,
            "type": "invalid_request_error" if status < 500 else "server_error",
            "param": param,
            "code": code,
        }

    def response(self) -> Response:
        return JSONResponse({"error": self.error}, status_code=self.status)


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > BODY_BYTES_MAX:
            raise _Refusal(413, f"The body is larger than {BODY_BYTES_MAX} bytes.")
    return bytes(body)


def _parsed(body: bytes) -> _Asked:
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as failed:
        raise _Refusal(400, f"The body is not JSON: {failed.msg}.") from None
    if not isinstance(fields, dict):
        raise _Refusal(400, "The body is not a JSON object.")
    if not isinstance(fields.get("model"), str):
        raise _Refusal(400, "model: a string is required.", param="model")
    dimensions = fields.get("dimensions")
    if not (dimensions is None or isinstance(dimensions, int)):
        raise _Refusal(400, "dimensions: a whole number is required.", param="dimensions")
    return _Asked(
        model=fields["model"],
        texts=_texts(fields.get("input")),
        purpose=Purpose(_one_of(fields, "input_type", tuple(Purpose), default=Purpose.QUERY)),
        base64=_one_of(fields, "encoding_format", ("float", "base64"), default="float") == "base64",
        dimensions=dimensions,
    )


def _texts(given: Any) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _Refusal(400, "input: a string or a list of strings is required.", param="input")
    if not 1 <= len(texts) <= INPUTS_MAX:
        raise _Refusal(400, f"input: 1 to {INPUTS_MAX} strings are taken.", param="input")
    if not all(1 <= len(text) <= INPUT_CHARS_MAX for text in texts):
        raise _Refusal(400, f"input: each string has 1 to {INPUT_CHARS_MAX} characters.", param="input")
    return texts


def _one_of(fields: dict[str, Any], name: str, values: tuple[str, ...], *, default: str) -> str:
    value = fields.get(name)
    if value is None:
        return default
    if value not in values:
        raise _Refusal(400, f"{name}: one of {', '.join(values)}.", param=name)
    return str(value)


def _model(models: Mapping[str, Inference], name: str) -> Inference:
    inference = models.get(name)
    if inference is None:
        raise _Refusal(
            404,
            f"The model {name!r} is not served here; {', '.join(sorted(models)) or 'none'} is.",
            param="model",
            code="model_not_found",
        )
    return inference


async def _answer(asked: _Asked, inference: Inference) -> Response:
    dimension = inference.embedder.dimension
    if asked.dimensions not in (None, dimension):
        raise _Refusal(400, f"dimensions: the model gives {dimension}.", param="dimensions")
    vectors = await inference.embed(asked.texts, purpose=asked.purpose)
    tokens = await inference.count_tokens(asked.texts)
    answer = {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": embedding}
            for index, embedding in enumerate(_encoded(vectors, as_base64=asked.base64))
        ],
        "model": asked.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
    return Response(orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")


def _encoded(vectors: Vectors, *, as_base64: bool) -> list[Any]:
    if as_base64:
        return [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in vectors]
    return [np.ascontiguousarray(row) for row in vectors]
