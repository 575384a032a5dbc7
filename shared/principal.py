"""Who a request comes from, as its credential says."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """`tenant` and `project_id` are what the credential is bound to, None where it is bound to nothing.

    `identity` names the credential without giving it away, and a session belongs to the one that opened it; None is a
    caller without a credential.
    """

    identity: str | None = None
    tenant: str | None = None
    project_id: UUID | None = None
    read_only: bool = False


KEY_IDENTITY = "key"

ANYONE = Principal()
