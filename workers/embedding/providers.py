"""Which embedder the settings ask for."""

from __future__ import annotations

from typing import assert_never

from shared.embedding.models import PACKAGED_MODEL
from shared.errors import ConfigurationError
from shared.settings import Settings
from workers.embedding.embedder import Embedder, Purpose
from workers.embedding.errors import EmbeddingRefused


def load(settings: Settings, *, name: str | None = None) -> Embedder | None:
    """The embedder of the settings, loaded and checked; None with the provider `none`. Blocks.

    `name` loads another model of the same provider, as while search moves from one model to the next.
    Raises ConfigurationError naming the setting, and EmbeddingUnavailable while a remote provider is away.
    """
    own = name is None or name == settings.embedding_model
    wanted = settings.embedding_dim if own else None
    try:
        embedder = _load(settings, name=name or settings.embedding_model, dimension=wanted)
    except EmbeddingRefused as refused:
        raise ConfigurationError(refused.message, next=refused.next) from None
    if embedder is not None and wanted not in (None, embedder.dimension):
        embedder.close()
        raise ConfigurationError(
            f"MEMHUB_EMBEDDING_DIM: {wanted}, but {embedder.name} gives vectors of {embedder.dimension}.",
            next=f"Unset it or set it to {embedder.dimension}.",
        )
    return embedder


def _load(settings: Settings, *, name: str | None, dimension: int | None) -> Embedder | None:
    # Imported where they are chosen: fastembed alone costs half a second and 75 MB.
    if name == PACKAGED_MODEL and settings.embedding_provider != "none":
        # It is at hand whatever the provider: a move away from it, or back to it, finds both ends in one process.
        from workers.embedding import local  # noqa: PLC0415

        return local.load(name, cache=settings.data_dir / "models", threads=settings.embedding_threads)
    match settings.embedding_provider:
        case "fastembed":
            from workers.embedding import local  # noqa: PLC0415

            return local.load(name, cache=settings.data_dir / "models", threads=settings.embedding_threads)
        case "openai":
            return _openai(settings, name)
        case "bedrock":
            return _bedrock(settings, name, dimension=dimension)
        case "none":
            return None
        case unknown:
            assert_never(unknown)


def _openai(settings: Settings, name: str | None) -> Embedder:
    from workers.embedding.openai_compatible import OpenAICompatibleEmbedder  # noqa: PLC0415

    if settings.embedding_base_url is None:
        raise ConfigurationError(
            "MEMHUB_EMBEDDING_BASE_URL: the provider openai needs the URL of a server.",
            next="Set it; the URL of OpenAI itself is https://api.openai.com/v1",
        )
    key = settings.embedding_api_key
    return OpenAICompatibleEmbedder(
        name=_named(name, example="text-embedding-3-small"),
        base_url=str(settings.embedding_base_url),
        api_key=key.get_secret_value() if key else None,
        timeout_s=settings.embedding_request_timeout_s,
    )


def _bedrock(settings: Settings, name: str | None, *, dimension: int | None) -> Embedder:
    from workers.embedding.bedrock import BedrockEmbedder  # noqa: PLC0415

    base_url = settings.embedding_base_url
    embedder = BedrockEmbedder(
        name=_named(name, example="amazon.titan-embed-text-v2:0"),
        dimension=dimension,
        endpoint_url=str(base_url) if base_url else None,
        timeout_s=settings.embedding_request_timeout_s,
    )
    try:
        embedder.embed(["access"], purpose=Purpose.DOCUMENT)
    except BaseException:
        embedder.close()
        raise
    return embedder


def _named(name: str | None, *, example: str) -> str:
    if name is None:
        raise ConfigurationError(
            "MEMHUB_EMBEDDING_MODEL: this provider has no default model.",
            next=f"Set it, for example to {example}.",
        )
    return name
