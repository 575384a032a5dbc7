"""Words that would be markup if anything let them: in every field, on every page."""

from __future__ import annotations

from html.parser import HTMLParser

import asyncpg
import pytest

from shared import api_tokens
from tests.dashboard.sites import Site
from tests.dashboard.world import HOSTILE, World


class _Page(HTMLParser):
    """What a browser would make of a page: scripts, event handlers, inline styles and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.scripts: list[str | None] = []
        self.dangers: list[str] = []
        self.words: list[str] = []
        self.feed(html)
        self.text = "".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "script":
            self.scripts.append(given.get("src"))
        self.dangers += [name for name in given if name.startswith("on") or name == "style"]
        self.dangers += [tag] if tag in ("img", "iframe", "object", "style") else []
        address = (given.get("href") or "").strip().lower()
        self.dangers += [address] if address and not address.startswith(("/ops", "#")) else []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.mark.parametrize("path", ["/", "/memories", "/memories/{}", "/projects", "/conflicts", "/tokens"])
async def test_hostile_words_are_text_on_every_page(
    site: Site, world: World, path: str, connection: asyncpg.Connection
) -> None:
    # Fails without autoescape in Renderer.
    page = _Page(await site.text(path.format(world.hostile)))

    assert len(page.scripts) == 1
    assert page.dangers == []
    if path not in ("/conflicts", "/tokens"):
        assert HOSTILE in page.text


async def test_hostile_words_of_a_token_are_text(guarded: Site, connection: asyncpg.Connection) -> None:
    await api_tokens.create(connection, "local", name=HOSTILE)
    await guarded.log_in("the-key-of-this-server")
    page = _Page(await guarded.text("/tokens"))

    assert HOSTILE in page.text
    assert (len(page.scripts), page.dangers) == (1, [])


@pytest.mark.parametrize("field", ["q", "tags", "project", "conversation", "as_of", "after", "status", "type", "mode"])
async def test_hostile_words_in_the_address_are_text(site: Site, world: World, field: str) -> None:
    query = {"project": "payments", field: HOSTILE[:60]}
    page = _Page((await site.get("/memories", **query)).text)

    assert (len(page.scripts), page.dangers) == (1, [])


async def test_hostile_words_in_the_way_back_from_a_login_are_text(guarded: Site) -> None:
    page = _Page((await guarded.get("/login", next=HOSTILE, done=HOSTILE)).text)

    assert (len(page.scripts), page.dangers) == (1, [])
