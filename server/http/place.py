"""Where a request says that it belongs: tenant, project and conversation, read from its headers."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from starlette.datastructures import Headers

from shared import limits
from shared.errors import Forbidden, InvalidArgument, TenantRequired
from shared.principal import Principal

TENANT, TENANT_FALLBACK = "X-Memory-Tenant", "X-Tenant-Id"
PROJECT = "X-Memory-Project"
CONVERSATION = "X-Conversation-Id"


@dataclass(frozen=True, slots=True)
class Place:
    tenant: str
    project: UUID | str | None
    conversation: str | None


def read(headers: Headers, principal: Principal) -> Place:
    """The place that the headers name, inside what the credential is bound to.

    Raises InvalidArgument naming the header that is malformed or sent twice, TenantRequired, and Forbidden where
    a header names another tenant than the credential's.
    """
    return Place(
        tenant=_tenant(headers, principal.tenant),
        project=_project(headers),
        conversation=_conversation(headers),
    )


def _tenant(headers: Headers, bound: str | None) -> str:
    named = {header: _tenant_of(headers, header) for header in (TENANT, TENANT_FALLBACK)}
    if bound is None:
        tenant = named[TENANT] or named[TENANT_FALLBACK]
        if tenant is None:
            raise TenantRequired(
                f"{TENANT}: this request names no tenant.",
                next=f"Send the header {TENANT} with every request: `memhub connect CLIENT --http URL --tenant NAME` "
                "writes it. A token of `memhub token create --tenant NAME` is bound to a tenant and needs no header.",
            )
        return tenant
    for header, tenant in named.items():
        if tenant not in (None, bound):
            raise Forbidden(
                f"{header}: this credential belongs to another tenant.",
                next=f"Leave {header} out, or use a credential of that tenant.",
            )
    return bound


def _tenant_of(headers: Headers, header: str) -> str | None:
    value = _single(headers, header)
    return limits.tenant(value, header) if value is not None and value.strip() else None


def _project(headers: Headers) -> UUID | str | None:
    return limits.project(_single(headers, PROJECT), PROJECT)


def _conversation(headers: Headers) -> str | None:
    value = _single(headers, CONVERSATION)
    return None if value is None else limits.conversation(value, CONVERSATION)


def _single(headers: Headers, header: str) -> str | None:
    values = headers.getlist(header)
    if len(values) > 1:
        raise InvalidArgument(header, "is sent more than once", next=f"Send {header} once.")
    return values[0] if values else None
