"""Pages out of templates: autoescaped, with the words and numbers that all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ops.dashboard.assets import Assets
from ops.dashboard.visits import Visitor
from ops.words import counted
from shared.errors import MemhubError
from shared.text.unseen import visible

FRAGMENT_HEADER = "memhub-fragment"

# What an action did, by the word that its redirect carries: never text from outside.
NOTICES = {
    "job-retried": "The job is back in its queue.",
    "job-gone": "That job does not stand as failed any more; nothing was changed.",
    "embeddings-retried": "The failed embeddings are due again; the next sweep takes them.",
    "token-revoked": "The token is revoked; whoever uses it is out.",
    "token-gone": "There is no such token, or it was revoked before; nothing was changed.",
    "forgotten": "The memory is forgotten: no search finds it, and its words stay in its history.",
    "already-forgotten": "It was forgotten before; nothing was changed.",
    "restored": "The memory is back, as a new revision.",
    "already-active": "It is there already; nothing was changed.",
    "not-active": "It was superseded, has expired or was purged, and cannot be changed so; nothing was changed.",
    "duplicate": "Another memory says the same by now; nothing was changed.",
    "logged-out": "You are logged out.",
    "ended": "Your login ended. Log in again.",
}

_UNITS = (("y", 365 * 86_400), ("d", 86_400), ("h", 3_600), ("min", 60))


class Renderer:
    def __init__(self, assets: Assets) -> None:
        self._templates = Environment(
            loader=PackageLoader("ops.dashboard"),
            autoescape=True,
            finalize=_visible,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters.update(ago=ago, stamp=stamp, number=number, percent=percent, span=span, typed=typed)
        self._templates.globals.update(assets=assets.names, counted=counted)

    def page(
        self,
        request: Request,
        template: str,
        *,
        visitor: Visitor | None = None,
        status: int = 200,
        **shown: Any,
    ) -> Response:
        """The whole page, or its main part alone where the script asks for that."""
        base = request.scope.get("root_path", "")
        context = shown | {
            "base": base,
            "here": request.url.path.removeprefix(base) or "/",
            "layout": "fragment.html" if FRAGMENT_HEADER in request.headers else "page.html",
            "link": _linker(base),
            "notice": NOTICES.get(request.query_params.get("done", "")),
            "visitor": visitor,
        }
        return HTMLResponse(self._templates.get_template(template).render(context), status_code=status)

    def refusal(self, request: Request, refused: MemhubError, *, status: int, visitor: Visitor | None) -> Response:
        return self.page(request, "refusal.html", visitor=visitor, status=status, refused=refused)


def _visible(value: object) -> object:
    """Every text that a page shows, of whatever field; markup of ours was made of such."""
    return visible(value) if type(value) is str else value


def typed(value: str) -> Markup:
    """The value of an input, as it was typed: its form sends it again, and written out it would be another."""
    return escape(value)


def ago(moment: datetime | None) -> str:
    """How long since, in one unit; times to come are told by the nearest number: 90 days are so a second on."""
    if moment is None:
        return "never"
    passed_s = (datetime.now(UTC) - moment).total_seconds()
    return f"in {span(-passed_s, rounded=round)}" if passed_s < -1 else f"{span(passed_s)} ago"


def span(length: float | timedelta | None, *, rounded: Callable[[float], int] = math.floor) -> str:
    """A length of time in its largest unit."""
    if length is None:
        return "–"
    length_s = length.total_seconds() if isinstance(length, timedelta) else length
    for unit, unit_s in _UNITS:
        if length_s >= unit_s:
            return f"{rounded(length_s / unit_s)} {unit}"
    return f"{max(0, rounded(length_s))} s"


def stamp(moment: datetime | None) -> str:
    return "–" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:,}"


def percent(share: float) -> str:
    """Never 100 % while something is missing."""
    shown = f"{share:.1%}"
    return "99.9%" if share < 1 and shown == "100.0%" else shown.replace(".0%", "%")


def _linker(base: str) -> Any:
    def link(path: str, _more: Mapping[str, object] | None = None, **query: object) -> str:
        """The address of a page of ours; arguments that are empty are left out."""
        asked = [(name, value) for name, value in {**(_more or {}), **query}.items() if value not in (None, "", ())]
        return f"{base}{path}" + (f"?{urlencode(asked, doseq=True)}" if asked else "")

    return link
