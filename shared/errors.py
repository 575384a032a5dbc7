"""The one tree of errors that callers of memhub see, each with a stable code and its data."""

from __future__ import annotations

import math
from typing import ClassVar, Self


class MemhubError(Exception):
    """What the caller did wrong or the backend could not do; `next` says what to do about it."""

    code: ClassVar[str]
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, next: str) -> None:
        super().__init__(message)
        self.message = message
        self.next = next

    @property
    def line(self) -> str:
        """What happened and what to do, as one line for a person."""
        stop = "" if self.message.endswith((".", "!", "?", ":")) else "."
        return f"{self.message}{stop} {self.next}"


class InvalidArgument(MemhubError):
    """An argument breaks its bound; the message names the argument and the bound."""

    code = "INVALID_ARGUMENT"

    def __init__(self, argument: str, problem: str, *, next: str) -> None:
        super().__init__(f"{argument}: {problem}", next=next)
        self.argument = argument


class ProjectRequired(MemhubError):
    code = "PROJECT_REQUIRED"


class ProjectNotFound(MemhubError):
    code = "PROJECT_NOT_FOUND"


class ProjectAmbiguous(MemhubError):
    code = "PROJECT_AMBIGUOUS"


class MemoryNotFound(MemhubError):
    code = "MEMORY_NOT_FOUND"

    @classmethod
    def anywhere(cls, memory_id: object) -> Self:
        """For an id that is in no project that the caller may see."""
        return cls(f"memory_id: there is no memory {memory_id}.", next="Take ids from memory_search.")


class TenantRequired(MemhubError):
    code = "TENANT_REQUIRED"


class ConversationRequired(MemhubError):
    code = "CONVERSATION_REQUIRED"


class Forbidden(MemhubError):
    code = "FORBIDDEN"


class Unauthorized(MemhubError):
    """The credential is missing, unknown, expired or revoked; only HTTP has credentials."""

    code = "UNAUTHORIZED"


class RateLimited(MemhubError):
    """Too many calls of one credential, or too many unknown ones from one address; `wait_s` until the next."""

    code = "RATE_LIMITED"
    retryable = True

    def __init__(self, message: str, *, wait_s: float) -> None:
        super().__init__(message, next="Call again after the seconds in Retry-After.")
        self.wait_s = wait_s

    @property
    def retry_after_s(self) -> int:
        return math.ceil(self.wait_s)


class SensitiveContent(MemhubError):
    """What was said under `argument` looks like a credential; `detector` is named, the secret never."""

    code = "SENSITIVE_CONTENT"

    def __init__(self, detector: str, message: str, *, next: str, argument: str = "content") -> None:
        super().__init__(message, next=next)
        self.detector = detector
        self.argument = argument


class IdempotencyKeyReused(MemhubError):
    code = "IDEMPOTENCY_KEY_REUSED"


class BackendUnavailable(MemhubError):
    """No connection was had; nothing ran."""

    code = "BACKEND_UNAVAILABLE"
    retryable = True


class BackendBusy(MemhubError):
    """No room for this now, or another writer was in the way; nothing was written."""

    code = "BACKEND_BUSY"
    retryable = True


class UnknownOutcome(MemhubError):
    """The connection died while a write was under way."""

    code = "UNKNOWN_OUTCOME"


class DeadlineExceeded(MemhubError):
    """The statement was cancelled; nothing was written."""

    code = "DEADLINE_EXCEEDED"


class SchemaMismatch(MemhubError):
    """The database is behind or ahead of this program."""

    code = "SCHEMA_MISMATCH"


class ConfigurationError(MemhubError):
    """Settings that cannot work, each bad one named; a process ends on it at its start."""

    code = "CONFIGURATION"
