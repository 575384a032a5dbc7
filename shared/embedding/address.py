"""Where vectors of queries are asked for: the fleet's socket in the data folder, or a URL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from shared.errors import ConfigurationError
from shared.settings import Settings

# The shortest limit of the systems we know: 104 bytes with the closing NUL (macOS); 108 on Linux.
SOCKET_PATH_BYTES_MAX = 103

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
    """The socket of the embedder actor under that data folder.

    Raises ConfigurationError where no socket can have so long a path.
    """
    path = data_dir / "run" / "embedder.sock"
    if len(str(path).encode()) > SOCKET_PATH_BYTES_MAX:
        raise ConfigurationError(
            f"MEMHUB_DATA_DIR: a socket in it would have a path of more than {SOCKET_PATH_BYTES_MAX} bytes.",
            next="Name a shorter folder.",
        )
    return path


def embeddings_url(base: str) -> str:
    """The embeddings route under a base URL written as host, as `.../v1`, or as the route itself."""
    base = base.rstrip("/")
    if base.endswith("/embeddings"):
        return base
    return f"{base}/embeddings" if _VERSIONED.search(base) else f"{base}/v1/embeddings"
