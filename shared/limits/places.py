"""Bounds of what names a place: tenant, conversation, project, git remote and workspace folder."""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath
from urllib.parse import SplitResult, unquote, urlsplit
from uuid import UUID

from shared.environment import CONVERSATION_PATTERN, SLUG_PATTERN, TENANT_PATTERN, UUID_PATTERN
from shared.errors import InvalidArgument
from shared.limits.texts import text

GIT_REMOTE_BYTES_MAX = 1_000
WORKSPACE_PATH_BYTES_MAX = 1_024

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_HELPER = re.compile(r"[A-Za-z0-9+.-]+::")
_HOST = re.compile(r"[a-z0-9](?:[\w.-]*\w)?|\[[0-9a-f:.]+\]")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_REMOTE_HINT = "Send the remote as git prints it, for example https://host/owner/repository.git."
_DEFAULT_PORTS = {
    "https": 443,
    "http": 80,
    "git": 9418,
    "ssh": 22,
    "git+ssh": 22,
    "ssh+git": 22,
    "git+https": 443,
    "git+http": 80,
}


def tenant(value: object, argument: str = "X-Memory-Tenant") -> str:
    if not isinstance(value, str) or not TENANT_PATTERN.fullmatch(value):
        raise InvalidArgument(
            argument,
            "must be 1 to 128 characters, first a letter or digit, then letters, digits, '.', '_' or '-'",
            next="Send a tenant of this form.",
        )
    return value


def conversation(value: object, argument: str = "X-Conversation-Id") -> str:
    if not isinstance(value, str) or not CONVERSATION_PATTERN.fullmatch(value):
        raise InvalidArgument(
            argument,
            "must be 1 to 512 printable ASCII characters without spaces",
            next="Send an id of this form, or leave it out.",
        )
    return value


def project(value: object, argument: str = "project") -> UUID | str | None:
    """A project's UUID, or else its slug; None when left out."""
    if value is None:
        return None
    if isinstance(value, str) and UUID_PATTERN.fullmatch(value):
        return UUID(value)
    return slug(value, argument)


def slug(value: object, argument: str = "project") -> str:
    """A slug that no UUID can be mistaken for."""
    if not isinstance(value, str) or not SLUG_PATTERN.fullmatch(value) or UUID_PATTERN.fullmatch(value):
        raise InvalidArgument(
            argument,
            "must be a slug: 2 to 64 of a-z, 0-9, '.', '_' and '-', first and last a letter or digit",
            next="Write it in lower case, for example billing-api, or send the project's UUID.",
        )
    return value


def git_remote(value: object) -> str | None:
    return None if value is None else canonical_git_remote(text("git_remote", value, GIT_REMOTE_BYTES_MAX))


def workspace_path(value: object) -> str | None:
    if value is None:
        return None
    return canonical_workspace_path(text("workspace_path", value, WORKSPACE_PATH_BYTES_MAX))


def canonical_git_remote(remote: str) -> str:
    """`host/path` for every spelling of one remote; credentials, queries and fragments never survive.

    A port that is not its protocol's own stays, with the protocol; a local remote stays an absolute path.
    Raises InvalidArgument, which does not repeat the remote: it may hold a token.
    """
    given = remote.strip()
    if _CONTROL.search(given) or _HELPER.match(given):
        raise _bad_remote("is not the address of a git repository")
    scheme = _SCHEME.match(given)
    if scheme and scheme[1].lower() == "file":
        return _local(unquote(_split(given).path))
    if given.startswith("/") or _DRIVE.match(given):
        return _local(given)
    if scheme:
        return _from_url(_split(given))
    return _from_scp(given)


def canonical_workspace_path(path: str) -> str:
    """The absolute folder with forward slashes, without doubled or closing ones; file URIs are taken too."""
    given = path.strip()
    if given.lower().startswith("file://"):
        given = re.sub(r"^/(?=[A-Za-z]:)", "", unquote(_split(given, "workspace_path").path))
    folder = PurePosixPath(given) if given.startswith("/") else PureWindowsPath(given)
    if not folder.is_absolute() or _CONTROL.search(given):
        raise InvalidArgument(
            "workspace_path", "must be an absolute path", next="Send the whole path of the workspace's folder."
        )
    if folder == type(folder)(folder.anchor) and not folder.drive.startswith("\\"):
        raise InvalidArgument(
            "workspace_path",
            "is the root of the machine, which belongs to no one project",
            next="Send the folder that is worked in, or give project in each call.",
        )
    if isinstance(folder, PurePosixPath):
        return "/" + folder.as_posix().lstrip("/")
    return folder.drive.upper().replace("\\", "/") + folder.as_posix()[len(folder.drive) :]


def _from_url(url: SplitResult) -> str:
    try:
        port = url.port
    except ValueError:
        raise _bad_remote("has a port that is none") from None
    address = _host(url.hostname)
    path = _path(url.path)
    if url.scheme not in _DEFAULT_PORTS:
        return f"{url.scheme}://{address}{f':{port}' if port else ''}/{path}"
    if port in (None, _DEFAULT_PORTS[url.scheme]):
        return f"{address}/{path}"
    return f"{url.scheme}://{address}:{port}/{path}"


def _from_scp(given: str) -> str:
    head, slash, tail = given.partition("/")
    address = head.rpartition("@")[2] + slash + tail
    host = re.match(r"\[[^\]]*\]|[^:/]*", address)
    assert host is not None
    path = re.split("[?#]", address[host.end() :].removeprefix(":"))[0]
    return f"{_host(host[0].strip('[]'))}/{_path(path)}"


def _host(name: str | None) -> str:
    host = (name or "").lower().rstrip(".")
    host = f"[{host}]" if ":" in host else host
    if not _HOST.fullmatch(host):
        raise _bad_remote("names no host")
    return host


def _path(path: str) -> str:
    # An @ behind the host is a password with an unescaped slash more often than a folder.
    kept = _kept(path)
    if not kept or "@" in kept:
        raise _bad_remote("names no repository")
    return kept


def _local(path: str) -> str:
    given = path.replace("\\", "/") if _DRIVE.match(path) else path
    drive = given[:2].upper() if _DRIVE.match(given) else ""
    kept = _kept(given[len(drive) :])
    if not kept or _CONTROL.search(kept):
        raise _bad_remote("names no repository")
    return f"{drive}/{kept}"


def _kept(path: str) -> str:
    kept = "/".join(filter(None, map(str.strip, path.split("/"))))
    while kept.endswith(".git"):
        kept = kept.removesuffix(".git").rstrip("/").rstrip()
    return kept


def _split(given: str, argument: str = "git_remote") -> SplitResult:
    try:
        return urlsplit(given)
    except ValueError:
        raise InvalidArgument(argument, "is not a well-formed URL", next=_REMOTE_HINT) from None


def _bad_remote(problem: str) -> InvalidArgument:
    return InvalidArgument("git_remote", problem, next=_REMOTE_HINT)
