"""The dashboard: server-rendered pages for people, mounted at /ops by the HTTP server or served alone on loopback."""

from __future__ import annotations

from shared.mounts import AsgiApp, Authenticate, Connections, Mount
from shared.settings import Settings

PATH = "/ops"


def _build(database: Connections, settings: Settings, authenticate: Authenticate) -> AsgiApp:
    # Who lists the mounts should not pay for templates and charts.
    from ops.dashboard.application import build  # noqa: PLC0415

    return build(database, settings, authenticate)


mount = Mount(path=PATH, build=_build)
