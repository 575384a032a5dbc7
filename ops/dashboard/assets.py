"""Style sheet, script and icon: served under the hash of their content, so that they are cached for ever."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@dataclass(frozen=True, slots=True)
class Asset:
    name: str
    media_type: str
    body: bytes


class Assets:
    """Read once, when the dashboard is built."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._served: dict[str, Asset] = {}
        for file in (resources.files("ops.dashboard") / "static").iterdir():
            stem, _, ending = file.name.rpartition(".")
            if ending in _TYPES:
                self._add(stem, ending, file.read_bytes())

    async def answer(self, request: Request) -> Response:
        asset = self._served.get(request.path_params["name"])
        if asset is None:
            return Response("Not found", status_code=404, media_type="text/plain")
        return Response(asset.body, media_type=asset.media_type, headers=_FOR_EVER)

    def _add(self, stem: str, ending: str, body: bytes) -> None:
        served = f"{stem}.{hashlib.sha256(body).hexdigest()[:12]}.{ending}"
        self.names[f"{stem}.{ending}"] = served
        self._served[served] = Asset(served, _TYPES[ending], body)
