"""Where vectors of queries are asked for: the fleet's socket in the data folder, or a URL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from shared.embedded.sockets import reachable
from shared.settings import Settings

SOCKET = "run/embedder.sock"

_VERSIONED = re.compile(r"/v\d+[a-z0-9]*$")


@dataclass(frozen=True, slots=True)
class EmbedderAddress:
    """`url` is the whole address of the embeddings route; `socket` the file to reach it by, None over TCP."""

    url: str
    socket: Path | None = None


def embedder_address(settings: Settings) -> EmbedderAddress:
    """MEMHUB_EMBEDDER_URL if it is set, else the socket of the fleet that shares our data folder."""
    if settings.embedder_url is not None:
        return EmbedderAddress(embeddings_url(str(settings.embedder_url)))
    return EmbedderAddress("http://embedder/v1/embeddings", embedder_socket(settings.data_dir))


def embedder_socket(data_dir: Path) -> Path:
    """The socket of the embedder actor under that data folder, however long its path. Raises ConfigurationError."""
    return reachable(data_dir, SOCKET) / SOCKET


def embeddings_url(base: str) -> str:
    """The embeddings route under a base URL written as host, as `.../v1`, or as the route itself."""
    base = base.rstrip("/")
    if base.endswith("/embeddings"):
        return base
    return f"{base}/embeddings" if _VERSIONED.search(base) else f"{base}/v1/embeddings"


def without_credentials(url: str) -> str:
    """The URL as it may be told to people and kept: no user, password, query or fragment."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
