"""The entry that comes of what is asked and of what stands: what nobody asked to change stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import urlsplit

from ops.connecting.servers import (
    AUTHORIZATION,
    BEARER_VARIABLE,
    PROJECT,
    PROJECT_HEADER,
    SERVER_PROGRAM,
    TENANT_HEADER,
    Local,
    Remote,
)
from shared.settings import PREFIX

_URLS = ("url", "serverUrl")
_HEADERS = ("headers", "http_headers")
_OF_LOCAL = frozenset({"command", "args", "env", "envFile", "env_vars", "cwd"})
_OF_REMOTE = frozenset({*_URLS, *_HEADERS, BEARER_VARIABLE, "env_http_headers", "headersHelper", "oauth", "auth"})
_STARTUP = ("startup_timeout_sec", "startup_timeout_ms")


@dataclass(frozen=True, slots=True)
class Standing:
    """What memhub's entry says already; nothing where there is none."""

    entry: Mapping[str, Any]

    @classmethod
    def of(cls, found: Any) -> Standing:
        return cls(found if isinstance(found, dict) else {})

    @property
    def url(self) -> str | None:
        return next((url for name in _URLS if isinstance(url := self.entry.get(name), str)), None)

    @property
    def command(self) -> str | None:
        command = self.entry.get("command")
        return command if isinstance(command, str) else None

    @property
    def environment(self) -> dict[str, str]:
        return _texts(self.entry.get("env"))

    @property
    def settings(self) -> dict[str, str]:
        """Those of memhub in its environment."""
        return {name: value for name, value in self.environment.items() if name.startswith(PREFIX)}

    @property
    def project(self) -> str | None:
        """The memhub project of calls that name none."""
        return self.environment.get(PROJECT) if self.url is None else self._header(PROJECT_HEADER)

    @property
    def tenant(self) -> str | None:
        return self._header(TENANT_HEADER)

    @property
    def has_token(self) -> bool:
        return self._header(AUTHORIZATION) is not None or BEARER_VARIABLE in self.entry

    @property
    def starts_another(self) -> bool:
        """Whether it starts a program of the user's own, which may start ours in turn."""
        return self.command is not None and not _is_ours(self.command)

    def _header(self, wanted: str) -> str | None:
        headers = {name: value for part in _HEADERS for name, value in _texts(self.entry.get(part)).items()}
        return next((value for name, value in headers.items() if name.casefold() == wanted.casefold()), None)


def merged(standing: Standing, fresh: Mapping[str, Any], server: Local | Remote) -> dict[str, Any]:
    """The entry as the client is to have it; `fresh` is the server as this client writes it down."""
    kept = _kept(standing, fresh, server)
    for name, value in fresh.items():
        if name in kept and isinstance(value, dict):
            kept[name] = _joined(kept[name], value)
        elif not _stands(name, kept, server):
            kept[name] = value
    return kept


def dropped(standing: Standing, entry: Mapping[str, Any]) -> list[str]:
    """What of the standing entry is not in this one, by name: a value may be a secret."""
    told = []
    for name, value in standing.entry.items():
        inner = entry.get(name)
        if isinstance(value, dict):
            gone = [key for key in value if not isinstance(inner, dict) or key not in inner]
            told += [f"{name} ({', '.join(gone)})"] if gone else []
        elif name not in entry or (name in ("command", "args") and standing.starts_another and value != inner):
            told.append(name)
    return told


def is_same_origin(one: str | None, other: str) -> bool:
    """Whether two URLs lead to one server, so that a token of the one may be shown to the other."""
    return one is not None and _origin(one) == _origin(other)


def without_secrets(url: str) -> str:
    """The URL to be told: without a name, a password and a query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _kept(standing: Standing, fresh: Mapping[str, Any], server: Local | Remote) -> dict[str, Any]:
    away = {name.casefold() for name in server.without}
    gone = {*(name for name in _URLS if name not in fresh)}
    if isinstance(server, Local):
        gone |= _OF_REMOTE | ({"args"} if server.replaces and standing.starts_another else set())
        gone |= {"type"} if standing.url is not None else set()
    else:
        gone |= _OF_LOCAL | (set() if is_same_origin(standing.url, server.url) else _OF_REMOTE)
        gone |= {"type"} if standing.url is None else set()
    kept: dict[str, Any] = {}
    for name, value in standing.entry.items():
        if name in gone or name.casefold() in away:
            continue
        if name not in ("env", *_HEADERS) or not isinstance(value, dict):
            kept[name] = value
        elif left := {key: inner for key, inner in value.items() if key.casefold() not in away}:
            kept[name] = left
    return kept


def _stands(name: str, kept: Mapping[str, Any], server: Local | Remote) -> bool:
    """Whether it stays as the user has it, whatever ours is."""
    if name in _STARTUP:
        return any(one in kept for one in _STARTUP)
    if name != "command":
        return name == "args" and name in kept
    return name in kept and not _is_ours(str(kept[name])) and isinstance(server, Local) and not server.replaces


def _joined(kept: Any, value: Mapping[str, Any]) -> dict[str, Any]:
    """Names of headers differ by their case in no way that a server sees."""
    if not isinstance(kept, dict):
        return dict(value)
    folded = {name.casefold() for name in value}
    return {name: old for name, old in kept.items() if name in value or name.casefold() not in folded} | dict(value)


def _is_ours(command: str) -> bool:
    names = {PurePosixPath(command).name, PureWindowsPath(command).name}
    return not names.isdisjoint({SERVER_PROGRAM, f"{SERVER_PROGRAM}.exe"})


def _texts(value: Any) -> dict[str, str]:
    return {name: text for name, text in value.items() if isinstance(text, str)} if isinstance(value, dict) else {}


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
