"""Whether a name of an embedding model can be loaded at all, as far as these settings can tell."""

from __future__ import annotations

import difflib
import json
import subprocess
import sys

import anyio.to_thread
import httpx2

from ops.terminal import Terminal
from shared.embedding.address import embeddings_url
from shared.embedding.models import PACKAGED_MODEL
from shared.errors import ConfigurationError
from shared.settings import Settings

# What a provider says of a model that it does not have, or of a request that it cannot serve with it.
_REFUSALS = (400, 404, 422)

LIST_S_MAX = 60
# In a process of its own: none but the embedder holds fastembed, and the command may watch a move for hours. It reports
# to nobody, see workers.embedding.
_LIST = """
import json, os
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
from fastembed import TextEmbedding
print(json.dumps([model["model"] for model in TextEmbedding.list_supported_models()]))
"""


class UnknownModel(ConfigurationError):
    """A name that fastembed does not know; `known` are those that it does, the nearest first."""

    def __init__(self, name: str, known: list[str]) -> None:
        self.known = known
        super().__init__(
            f"fastembed knows no model {name}.",
            next="For a model of another provider set MEMHUB_EMBEDDING_PROVIDER and what it needs, here as for the"
            " workers. fastembed knows, the nearest name first:\n  " + "\n  ".join(known),
        )


async def check(settings: Settings, name: str) -> None:
    """Raises ConfigurationError for a model that no worker with these settings could ever load.

    A provider that does not answer, or that is asked by workers alone, is no reason: the move then waits for it.
    """
    if name == PACKAGED_MODEL:
        return
    if settings.embedding_provider == "fastembed":
        await anyio.to_thread.run_sync(_check_known, name)
    elif settings.embedding_provider == "openai" and settings.embedding_base_url is not None:
        await _check_served(settings, str(settings.embedding_base_url), name)


def _check_known(name: str) -> None:
    try:
        listed = subprocess.check_output([sys.executable, "-P", "-c", _LIST], text=True, timeout=LIST_S_MAX)  # noqa: S603
    except subprocess.SubprocessError as failure:
        Terminal(stderr=True).print(f"{_unchecked(failure)}: whether it knows {name} was not checked.", soft_wrap=True)
        return
    known: list[str] = json.loads(listed)
    if name.lower() not in {each.lower() for each in known}:
        raise UnknownModel(name, _nearest_first(name, [PACKAGED_MODEL, *known]))


def _unchecked(failure: subprocess.SubprocessError) -> str:
    match failure:
        case subprocess.CalledProcessError(returncode=status):
            return f"fastembed could not list its models (exit status {status})"
        case _:
            return f"fastembed did not list its models within {LIST_S_MAX} s"


def _nearest_first(name: str, known: list[str]) -> list[str]:
    def likeness(other: str) -> float:
        return difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()

    return sorted(known, key=likeness, reverse=True)


async def _check_served(settings: Settings, base_url: str, name: str) -> None:
    key = settings.embedding_api_key
    headers = {"authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    url = embeddings_url(base_url)
    try:
        async with httpx2.AsyncClient(headers=headers, timeout=settings.embedding_request_timeout_s) as client:
            answer = await client.post(url, json={"model": name, "input": ["known"], "encoding_format": "float"})
    except httpx2.HTTPError:
        return
    if answer.status_code in _REFUSALS:
        raise ConfigurationError(
            f"{url} refuses the model {name} with {answer.status_code}.",
            next="Name a model that it serves, or correct MEMHUB_EMBEDDING_BASE_URL.",
        )
