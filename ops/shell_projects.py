"""Projects as people name them at a shell: what they are told names options, where a model is told of tools."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from shared.errors import MemhubError, ProjectAmbiguous, ProjectNotFound, ProjectRequired

_ARGUMENT = "project: "
_NAME = "Name one of them with --project."


@contextmanager
def at_shell() -> Iterator[None]:
    """Turns the advice of what the resolver raises inside into that of a command with --project."""
    try:
        yield
    except ProjectNotFound as refused:
        raise ProjectNotFound(_told(refused), next=_next(refused, _NAME)) from None
    except ProjectRequired as refused:
        raise ProjectRequired(_told(refused), next=_next(refused, _NAME)) from None
    except ProjectAmbiguous as refused:
        if not refused.message.startswith(_ARGUMENT):
            raise  # a command's own, which names its options
        raise ProjectAmbiguous(_told(refused), next="Name the one you mean with --project.") from None


def _told(refused: MemhubError) -> str:
    return f"--project: {refused.message.removeprefix(_ARGUMENT)}"


def _next(refused: MemhubError, advice: str) -> str:
    return advice if "Projects: " in refused.message else "A client makes one, or `memhub import --project NAME`."
