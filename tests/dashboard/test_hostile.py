"""Words that would be markup if anything let them: in every field, on every page."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import asyncpg
import pytest

from shared import api_tokens, projects
from shared.domain import Author
from shared.memories.remember import remember
from shared.memories.requests import Remember, Revise
from shared.memories.revise import revise
from tests.dashboard.sites import Site
from tests.dashboard.world import HOSTILE, World

HIDDEN = "\U000e006f\u202e"


class _Page(HTMLParser):
    """What a browser would make of a page: scripts, event handlers, inline styles and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.scripts: list[str | None] = []
        self.dangers: list[str] = []
        self.words: list[str] = []
        self.inputs: dict[str | None, str | None] = {}
        self.feed(html)
        self.text = "".join(self.words)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "input":
            self.inputs[given.get("name")] = given.get("value")
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


@pytest.mark.parametrize("path", ["/memories", "/memories/{}", "/conflicts", "/projects"])
async def test_what_hides_in_the_words_of_others_is_written_out_on_every_page(
    site: Site, connection: asyncpg.Connection, path: str
) -> None:
    # Fails without `finalize` in Renderer.
    author = Author(f"someone{HIDDEN}")
    used = await projects.use(
        connection, "local", author, project="app", aliases={}, create=True, display_name=f"App{HIDDEN}"
    )
    first = Remember(content=f"Old{HIDDEN}", tags=(f"tag{HIDDEN}",), category=f"a{HIDDEN}", source=f"b{HIDDEN}")
    old = (await remember(connection, used.project, author, first)).memory
    assert old is not None
    successor = replace(first, content=f"New{HIDDEN}", supersedes=(old.memory_id,))
    new = (await remember(connection, used.project, author, successor)).memory
    assert new is not None
    request = Revise(memory_id=new.memory_id, expected_revision=1, content=f"Newer{HIDDEN}", reason=f"so{HIDDEN}")
    await revise(connection, used.project, author, request)
    page = await site.text(path.format(new.memory_id))

    assert not set(HIDDEN) & set(page)
    assert r"\u{e006f}\u{202e}" in page


async def test_what_was_typed_into_a_field_is_sent_again_as_it_was(site: Site, guarded: Site, world: World) -> None:
    # Fails without `typed` at each of these inputs: `finalize` wrote the joiner out, and the next submit sent that.
    typed = 'a\u200db "<i>'
    given = {"q": typed, "tags": f"{typed}, b"}
    listed = _Page(await site.text("/memories", project="payments", **given))
    login = _Page((await guarded.get("/login", next=f"/memories?q={typed}")).text)

    assert {name: listed.inputs[name] for name in given} == given
    assert login.inputs["next"] == f"/memories?q={typed}"


@pytest.mark.parametrize("field", ["q", "tags", "project", "conversation", "as_of", "after", "status", "type", "mode"])
async def test_hostile_words_in_the_address_are_text(site: Site, world: World, field: str) -> None:
    query = {"project": "payments", field: HOSTILE[:60]}
    page = _Page((await site.get("/memories", **query)).text)

    assert (len(page.scripts), page.dangers) == (1, [])


async def test_hostile_words_in_the_way_back_from_a_login_are_text(guarded: Site) -> None:
    page = _Page((await guarded.get("/login", next=HOSTILE, done=HOSTILE)).text)

    assert (len(page.scripts), page.dangers) == (1, [])
