"""Every page in a real browser: light and dark, wide and on a phone, with and without scripts, by keyboard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

import asyncpg
import pytest

from tests.dashboard.browser import AXE, PROGRAM, Browser, chromium
from tests.dashboard.sites import KEY, Site
from tests.dashboard.world import HOSTILE, World

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine: apt-get install chromium")

PAGES = {
    "status": "/",
    "memories": "/memories?project=payments",
    "search": "/memories?project=payments&q=job+queue+postgres",
    "memory": "/memories/{revised}",
    "chain": "/memories/{newest}",
    "hostile": "/memories/{hostile}",
    "projects": "/projects",
    "conflicts": "/conflicts?project=payments",
    "tokens": "/tokens",
    "refusal": "/memories/00000000-0000-0000-0000-000000000000",
    "login": "/login",
}

# What breaks a page for someone: unlabelled controls, tables without caption or scope, one heading of the first level,
# landmarks, twice the same id, targets that are too small for a thumb.
_FAULTS = """
(() => {
  const faults = [], all = (what) => [...document.querySelectorAll(what)];
  const name = (e) => (e.getAttribute("aria-label") || (e.getAttribute("aria-labelledby") &&
    document.getElementById(e.getAttribute("aria-labelledby"))?.textContent) || e.labels?.[0]?.textContent ||
    e.textContent || "").trim();
  for (const e of all("input:not([type=hidden]), select, button, a[href], [role=group], nav, figure svg"))
    if (!name(e)) faults.push("no name: " + e.outerHTML.slice(0, 120));
  for (const e of all("input:not([type=hidden]), select")) if (!e.labels.length) faults.push("no label: " + e.id);
  for (const e of all("table")) if (!e.caption) faults.push("no caption");
  for (const e of all("table:not(.stacked)")) faults.push("not stacked: " + e.caption?.textContent);
  for (const e of all(".stacked td:not([data-label], [colspan], :has(form))"))
    if (e.textContent.trim()) faults.push("stands unnamed on a phone: " + e.textContent.trim().slice(0, 40));
  for (const e of all("th")) if (!e.scope) faults.push("no scope: " + e.textContent);
  const ids = all("[id]").map((e) => e.id);
  faults.push(...ids.filter((id, place) => ids.indexOf(id) !== place).map((id) => "twice: " + id));
  if (all("h1").length !== 1) faults.push("h1: " + all("h1").length);
  if (all("main").length !== 1 || all("header.top").length !== 1) faults.push("landmarks");
  if (!document.documentElement.lang || !document.title) faults.push("language or title");
  const levels = all("h1, h2, h3").map((e) => Number(e.localName[1]));
  levels.forEach((level, place) => { if (level > (levels[place - 1] || 0) + 1) faults.push("heading level"); });
  return faults;
})()
"""

# Contrast of all text against what is behind it (WCAG 2, 1.4.3), from the colours that the browser computed.
_PALE = """
(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const ground = parts(getComputedStyle(e).backgroundColor);
      if (ground.length < 4 || ground[3] === 1) return ground;
    }
    return [255, 255, 255];
  };
  const pale = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !e.checkVisibility() || e.closest("svg, script")) continue;
    const [one, other] = [light(parts(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) pale.push(ratio.toFixed(2) + " " + walk.currentNode.data.trim().slice(0, 40));
  }
  return [...new Set(pale)];
})()
"""

_BROKEN_RULES = """
axe.run(document, {resultTypes: ["violations"]}).then(({violations}) =>
  violations.map((rule) => rule.id + ": " + rule.nodes.map((node) => node.html.slice(0, 160)).join(" | ")))
"""

# Tables that scroll sideways, with all open that can be.
_CUT = """
(() => {
  for (const e of document.querySelectorAll("details")) e.open = true;
  return [...document.querySelectorAll(".scroll:has(table)")].filter((e) => e.scrollWidth > e.clientWidth)
    .map((e) => "cut: " + (e.getAttribute("aria-labelledby") || e.getAttribute("aria-label")));
})()
"""

_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


def address(site: Site, world: World, page: str) -> str:
    ids = {name: getattr(world, name) for name in ("revised", "newest", "hostile")}
    return f"{site.address}/ops{PAGES[page].format(**ids)}"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)], ids=str)
async def test_every_page_is_sound_and_legible(
    browser: Browser, site: Site, world: World, scheme: Literal["light", "dark"], width: int
) -> None:
    await browser.look(scheme=scheme, width=width)
    found = {}
    for page in PAGES:
        await browser.open(address(site, world, page))
        picture = await browser.shoot(f"{page}-{scheme}-{width}")
        faults = [*await browser.run(_FAULTS), *await browser.run(_PALE)]
        faults += ["wider than the window"] if await browser.run(_TOO_WIDE) > 0 else []
        found[page] = faults + (["empty"] if len(picture) < 5_000 else [])

    assert found == {page: [] for page in PAGES}
    # The page that is not there is the one thing to complain of.
    assert [told for told in browser.complaints if "404" not in told] == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)], ids=str)
async def test_no_page_breaks_a_rule_of_accessibility(
    browser: Browser, site: Site, world: World, scheme: Literal["light", "dark"], width: int
) -> None:
    if not AXE.exists():
        pytest.skip("needs axe-core (npm install --prefix build/node)")
    rules = AXE.read_text(encoding="utf-8")
    await browser.look(scheme=scheme, width=width)
    broken = {}
    for page in PAGES:
        await browser.open(address(site, world, page))
        await browser.run(rules)
        broken[page] = await browser.run(_BROKEN_RULES)

    assert broken == {page: [] for page in PAGES}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)], ids=str)
async def test_no_table_is_cut(
    browser: Browser, site: Site, world: World, scheme: Literal["light", "dark"], width: int
) -> None:
    # Fails without `.fit` in ops.css, and on a phone without `.stacked` at each table.
    await site.act("/tokens", {"name": "laptop of " + "x" * 60})
    await browser.look(scheme=scheme, width=width)
    cut = {}
    for page in PAGES:
        await browser.open(address(site, world, page))
        cut[page] = await browser.run(_CUT)
        await browser.shoot(f"{page}-open-{scheme}-{width}")

    assert cut == {page: [] for page in PAGES}


async def test_hostile_words_run_nothing(browser: Browser, site: Site, world: World) -> None:
    for page in ("hostile", "memories", "status", "projects", "conflicts"):
        await browser.open(address(site, world, page))
        assert await browser.run("document.querySelectorAll('main script, main img').length") == 0
        assert "{{7*7}}" in await browser.run("document.body.innerText") or page == "conflicts"

    assert browser.complaints == []


async def test_everything_works_without_scripts(
    browser: Browser, guarded: Site, world: World, connection: asyncpg.Connection
) -> None:
    await browser.scripts(on=False)
    await browser.open(f"{guarded.address}/ops/projects")
    await browser.follow(f"(credential.value = '{KEY}', document.querySelector('main button').click())")
    assert await browser.run("document.querySelector('h1').textContent") == "Projects"
    await browser.open(f"{guarded.address}/ops/")
    await browser.follow("document.querySelector('form[action$=retry] button').click()")

    assert "back in its queue" in await browser.run("document.querySelector('[role=status]').textContent")
    assert await connection.fetchval("SELECT count(*) FROM memhub.audit_events WHERE event = 'job_retried'") == 1
    assert browser.complaints == []


async def test_the_page_refreshes_itself_and_keeps_what_is_open(
    browser: Browser, site: Site, world: World, connection: asyncpg.Connection
) -> None:
    await browser.open(f"{site.address}/ops/")
    await browser.run("document.getElementById('activity-table').open = true")
    await connection.execute("UPDATE procrastinate_jobs SET status = 'failed' WHERE id = 1")
    await browser.until(
        "document.body.textContent.includes('Retry job 1') || document.querySelector('[action$=\"/jobs/1/retry\"]')"
    )

    assert await browser.run("document.getElementById('activity-table').open") is True
    assert browser.complaints == []


async def test_a_person_who_types_is_not_interrupted(
    browser: Browser, site: Site, world: World, connection: asyncpg.Connection
) -> None:
    # Fails without isInUse in ops.js, and without isTyped there.
    await browser.open(f"{site.address}/ops/memories?project=payments")
    await browser.run("q.value = 'half a wor', q.focus(), main.dataset.marked = 'yes', q.dataset.mine = 'yes'")
    await browser.run("window.asked = 0, window.real = fetch, window.fetch = (...all) => (asked += 1, real(...all))")
    await browser.run("document.dispatchEvent(new Event('visibilitychange'))")

    assert await browser.run("[asked, document.getElementById('q').value, q.dataset.mine]") == [0, "half a wor", "yes"]
    await browser.run("q.blur(), document.dispatchEvent(new Event('visibilitychange'))")
    assert await browser.run("[asked, document.getElementById('q').value]") == [0, "half a wor"]
    await browser.run("q.value = '', document.dispatchEvent(new Event('visibilitychange'))")
    await browser.until("asked === 1 && !document.getElementById('q').dataset.mine")


async def test_refreshing_can_be_paused_and_stays_so(browser: Browser, site: Site, world: World) -> None:
    await browser.open(f"{site.address}/ops/")
    assert await browser.run("document.querySelector('.who button').textContent") == "Live"
    await browser.run("document.querySelector('.who button').click()")
    await browser.open(f"{site.address}/ops/projects")

    assert await browser.run("document.querySelector('.who button').textContent") == "Paused"


async def test_the_keyboard_reaches_the_content_and_shows_where_it_is(
    browser: Browser, site: Site, world: World
) -> None:
    await browser.open(f"{site.address}/ops/")
    await browser.press("Tab")
    assert await browser.run("document.activeElement.textContent") == "Skip to the content"
    assert await browser.run("document.activeElement.getBoundingClientRect().top >= 0")
    await browser.press("Enter")
    await browser.until("document.activeElement.id === 'main'")
    await browser.press("Tab")

    assert await browser.run("document.getElementById('main').contains(document.activeElement)")
    assert await browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


async def test_a_picture_of_the_chain_leads_to_its_memories(browser: Browser, site: Site, world: World) -> None:
    await browser.open(address(site, world, "chain"))
    assert await browser.run("document.querySelectorAll('.chain a').length") == 4
    await browser.follow("document.querySelector('.chain a').dispatchEvent(new MouseEvent('click', {bubbles: true}))")

    assert str(world.replaced) in await browser.run("location.href")


def test_the_words_are_hostile_enough() -> None:
    assert "<script>" in HOSTILE
    assert "onerror" in HOSTILE
