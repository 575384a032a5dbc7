"""What the pages tell, and what their forms do."""

from __future__ import annotations

import random
from collections.abc import Sequence
from uuid import UUID

import asyncpg
import pytest

from ops import purging
from shared import api_tokens
from shared.domain import Author, ProjectScope, Scope
from shared.memories.remember import remember
from shared.memories.requests import Remember, Revise
from shared.memories.revise import revise
from shared.overview.projects import projects
from shared.overview.views import View
from shared.projects import use
from tests.dashboard import many
from tests.dashboard.sites import KEY, Site
from tests.dashboard.world import CONVERSATION, World


async def test_status_tells_of_fleet_queues_errors_runs_and_latency(site: Site, world: World) -> None:
    shown = await site.text("/")

    for told in (
        "eu-central-1.compute.internal:4001",
        "3 min ago, silent",
        "embed / embed_revision",
        "EMBEDDING_REFUSED",
        "BACKEND_BUSY",
        "memory_search",
        '<td class="num" data-label="p50 ≤ ms">8</td>',
        "minilm-l6-int8",
    ):
        assert told in shown, told


async def test_coverage_counts_what_search_may_find(site: Site, world: World) -> None:
    # Of six one has no vector; one that expired still has its own, and so has one of a conversation.
    assert "83.3%" in await site.text("/projects")


async def test_what_a_conversation_remembers_is_no_sign_of_life_of_its_project(
    world: World, connection: asyncpg.Connection
) -> None:
    # Fails without the scope_key of `newest` in `projects` of overview.sql.
    said = Remember(content="Only said here too.", scope=Scope.CONVERSATION)
    await remember(connection, world.other, Author("cursor", CONVERSATION), said)
    payments, website = await projects(connection, View("local", None))

    assert (payments.slug, website.slug) == ("payments", "website")
    assert (website.searchable, website.remembered_at) == (0, None)


@pytest.mark.parametrize("chosen", ["", "month", "quarter", "years", "nonsense"])
async def test_activity_is_told_over_each_range(site: Site, world: World, chosen: str) -> None:
    shown = await site.text("/", range=chosen)

    assert "Writes of the last" in shown
    assert shown.count('role="img"') == 2


async def test_a_failed_job_is_retried_with_an_audit_row(
    site: Site, world: World, connection: asyncpg.Connection
) -> None:
    answer = await site.act(f"/jobs/{world.job_id}/retry")

    assert "The job is back in its queue." in answer.text
    assert (
        await connection.fetchval("SELECT status::text FROM procrastinate_jobs WHERE id = $1", world.job_id) == "todo"
    )
    audited = await connection.fetchrow("SELECT tenant, client FROM memhub.audit_events WHERE event = 'job_retried'")
    assert audited is not None
    assert tuple(audited) == ("local", "dashboard")


async def test_a_job_that_did_not_fail_is_left_alone(site: Site, world: World, connection: asyncpg.Connection) -> None:
    answer = await site.act("/jobs/1/retry")

    assert "nothing was changed" in answer.text
    assert await connection.fetchval("SELECT count(*) FROM memhub.audit_events WHERE event = 'job_retried'") == 0


@pytest.mark.parametrize("job", [0, 2**63, 10**400])
async def test_what_is_no_id_of_a_job_is_refused(site: Site, world: World, job: int) -> None:
    # Fails without JOB_MAX in retry_job.
    assert (await site.act(f"/jobs/{job}/retry")).status_code in (400, 404)


@pytest.mark.parametrize("path", ["/memories", "/conflicts"])
@pytest.mark.parametrize("project", ["nul\x00", "\x00", "x" * 5_000, "No Slug"])
async def test_what_is_no_slug_is_refused(site: Site, world: World, path: str, project: str) -> None:
    # Fails without limits.slug in `project` of visits.
    assert (await site.get(path, project=project)).status_code == 400


async def test_embeddings_that_were_given_up_are_due_again(
    site: Site, world: World, connection: asyncpg.Connection
) -> None:
    await site.act("/embeddings/retry")

    work = await connection.fetchrow("SELECT attempts, error, leased_until FROM memhub.embedding_work")
    assert work is not None
    assert tuple(work) == (0, None, None)
    assert (
        await connection.fetchval("SELECT details->>'revisions' FROM memhub.audit_events ORDER BY id DESC LIMIT 1")
        == "1"
    )


async def test_memories_are_listed_by_what_became_of_them(site: Site, world: World) -> None:
    told = {
        "active": "Refunds above 500 EUR",
        "superseded": "Redis with RQ",
        "forgotten": "The staging password",
        "expired": "The freeze holds until noon.",
    }
    for standing in told:
        shown = await site.text("/memories", project="payments", status=standing)
        assert [text in shown for text in told.values()] == [each == standing for each in told], standing


async def test_memories_are_filtered_by_type_and_all_of_their_tags(site: Site, world: World) -> None:
    shown = await site.text("/memories", project="payments", type="DECISION", tags="queue, postgresql")

    assert "1 of 1 active" in shown
    assert "procrastinate" in shown


async def test_a_search_finds_as_a_client_would_and_says_why(site: Site, world: World) -> None:
    shown = await site.text("/memories", project="payments", q="job queue postgres")

    assert "procrastinate" in shown
    assert "Redis with RQ" not in shown
    assert "terms matched" in shown
    assert "confidence" in shown


@pytest.mark.parametrize(
    "query",
    [
        {"status": "gone"},
        {"type": "NONSENSE"},
        {"after": "%%%"},
        {"after": "WyJub3ciLCAxXQ"},
        {"tags": "x" * 100},
        {"as_of": "yesterday"},
        {"conversation": "with space"},
        {"q": "x" * 20_000},
        {"q": "nul\x00"},
    ],
)
async def test_what_no_client_could_ask_is_refused_by_name(site: Site, world: World, query: dict[str, str]) -> None:
    answer = await site.get("/memories", project="payments", **query)

    assert answer.status_code == 400
    assert "INVALID_ARGUMENT" in answer.text


async def test_one_memory_shows_its_revisions_with_their_changes(site: Site, world: World) -> None:
    shown = await site.text(f"/memories/{world.revised}")

    assert "<del>HMAC-SHA256</del><ins>Ed25519</ins>" in shown
    assert "<ins>Acme-</ins>" in shown
    assert "“key rotation, agreed with the partners”" in shown
    assert "tags added: signing" in shown


async def test_a_memory_is_forgotten_and_brought_back_with_its_reason_and_an_audit_row(
    site: Site, world: World, connection: asyncpg.Connection
) -> None:
    page = f"/memories/{world.newest}"
    forgotten = await site.act(f"{page}/forget", {"reason": "the queue is gone"}, page=page)
    assert "The memory is forgotten" in forgotten.text
    assert 'class="standing forgotten"' in forgotten.text
    again = await site.act(f"{page}/forget", page=page)
    assert "It was forgotten before; nothing was changed." in again.text
    restored = await site.act(f"{page}/restore", {"reason": "it is not"}, page=page)
    assert "The memory is back, as a new revision." in restored.text
    assert "“it is not”" in restored.text

    audited = await connection.fetch(
        "SELECT event, client, details->>'reason' FROM memhub.audit_events WHERE memory_id = $1"
        " AND event IN ('forgotten', 'restored') ORDER BY id",
        world.newest,
    )
    assert [tuple(row) for row in audited] == [
        ("forgotten", "dashboard", "the queue is gone"),
        ("restored", "dashboard", "it is not"),
    ]


async def test_what_was_superseded_is_not_brought_back(site: Site, world: World) -> None:
    page = f"/memories/{world.replaced}"
    assert "Bring this memory back" not in await site.text(page)

    assert "nothing was changed" in (await site.act(f"{page}/restore")).text
    assert 'class="standing superseded"' in await site.text(page)


async def test_a_memory_of_a_conversation_is_forgotten_with_that_conversation_named(site: Site, world: World) -> None:
    # Fails without the conversation in `_author`.
    page = f"/memories/{world.conversational}"
    assert (await site.act(f"{page}/forget")).status_code == 404
    answer = await site.act(f"{page}/forget", {"conversation": CONVERSATION})

    assert "The memory is forgotten" in answer.text


async def test_a_credential_in_the_reason_is_refused_and_nothing_done(site: Site, world: World) -> None:
    # Fails without `screening.screen` in `_reason`.
    page = f"/memories/{world.newest}"
    answer = await site.act(f"{page}/forget", {"reason": "password: hunter2secret"})

    assert (answer.status_code, "SENSITIVE_CONTENT" in answer.text) == (400, True)
    assert 'class="standing active"' in await site.text(page)


async def test_a_memory_of_one_revision_says_its_words_once(site: Site, world: World) -> None:
    shown = await site.text(f"/memories/{world.newest}")

    assert shown.count('<div class="content" dir="auto">Job queue: procrastinate') == 1


async def test_a_purged_memory_is_told_as_gone_for_ever(
    site: Site, world: World, connection: asyncpg.Connection
) -> None:
    # Fails without its case in memory.html: it was forgotten by a client, and a tool was said to bring it back.
    assert "Bring this memory back" in await site.text(f"/memories/{world.forgotten}")
    await connection.execute("SET ROLE memhub_operator")
    await purging.destroy(connection, [world.forgotten])
    shown = await site.text(f"/memories/{world.forgotten}")

    assert "by <code>memhub purge</code>. Its words were destroyed, and nothing brings them back." in shown
    assert "Bring this memory back" not in shown
    assert 'class="standing purged"' in shown


async def test_one_memory_shows_its_chain_both_ways(site: Site, world: World) -> None:
    oldest, newest = await site.text(f"/memories/{world.replaced}"), await site.text(f"/memories/{world.newest}")

    assert "Chain of 3 memories" in oldest
    assert "stands in its place" in oldest
    assert "Chain of 4 memories" in newest


async def test_old_revisions_are_a_page_away(site: Site, connection: asyncpg.Connection) -> None:
    await many.fill(connection, memories=20)
    memory_id = await connection.fetchval("SELECT memory_id FROM memhub.memory_revisions WHERE revision_no = 200")
    shown = await site.text(f"/memories/{memory_id}")
    older = await site.text(f"/memories/{memory_id}", up_to=180)

    assert "up_to=180" in shown
    assert 'aria-label="Revision 181"' in shown
    assert 'aria-label="Revision 180"' not in shown
    assert 'aria-label="Revision 180"' in older


async def revised_often(connection: asyncpg.Connection, scope: ProjectScope, contents: Sequence[str]) -> UUID:
    author = Author("cursor")
    made = await remember(connection, scope, author, Remember(content=contents[0]))
    assert made.memory is not None
    memory_id = made.memory.memory_id
    for revision, content in enumerate(contents[1:], start=1):
        await revise(
            connection, scope, author, Revise(memory_id=memory_id, expected_revision=revision, content=content)
        )
    return memory_id


async def test_the_differences_of_all_revisions_of_a_page_share_one_budget(
    site: Site, world: World, connection: asyncpg.Connection
) -> None:
    # Fails without one Budget for the page in _told: each of the twenty would be told word by word.
    mixed = random.Random(7)
    contents = [" ".join(mixed.choices("abcd", k=300)) for _ in range(20)]
    memory_id = await revised_often(connection, world.scope, contents)
    articles = (await site.text(f"/memories/{memory_id}")).split("<article")[1:]

    assert articles[0].count("<ins>") > 1
    assert f"<del>{contents[0]}</del><ins>{contents[1]}</ins>" in articles[-2]


async def test_revisions_that_are_long_stand_on_more_pages(
    site: Site, world: World, connection: asyncpg.Connection
) -> None:
    # Fails without CHARS_SHOWN_MAX: seven of 32,000 would stand on one page.
    memory_id = await revised_often(connection, world.scope, [f"{number} {'<' * 31_000}" for number in range(8)])
    newest = await site.text(f"/memories/{memory_id}")
    older = await site.text(f"/memories/{memory_id}", up_to=2)

    assert newest.count("<article") == 6
    assert "up_to=2" in newest
    assert older.count("<article") == 2


@pytest.mark.parametrize("up_to", ["0", "00", "-1", "x", "9999999999", "²"])
async def test_a_revision_that_is_none_is_refused(
    site: Site, world: World, connection: asyncpg.Connection, up_to: str
) -> None:
    # Fails without any of the looks of _revision: no revision is before the first, ² is a digit and no number, and the
    # page was an error of ours.
    memory_id = await revised_often(connection, world.scope, ["One", "Two"])
    assert (await site.get(f"/memories/{memory_id}", up_to=up_to)).status_code == 400


@pytest.mark.parametrize("path", ["/memories", "/conflicts"])
async def test_pages_open_with_the_project_that_was_written_to_last(
    site: Site, world: World, connection: asyncpg.Connection, path: str
) -> None:
    # Fails where projects are in order of their names: it was one that nobody had written to.
    author = Author("claude-code")
    await use(connection, "local", author, project="aaa", aliases={}, create=True)
    before = await site.text(path)
    await remember(connection, world.other, author, Remember(content="The website is static."))
    after = await site.text(path)

    assert "<option selected>payments</option>" in before
    assert "<option selected>website</option>" in after


async def test_conflicts_show_what_stands_instead_and_who_did_it(site: Site, world: World) -> None:
    shown = await site.text("/conflicts", project="payments")

    assert "3 of 3 superseded memories" in shown
    assert "superseded <time" in shown
    assert "docs/decisions/0007.md" in shown
    assert "0 of 0" in await site.text("/conflicts", project="payments", by="judge")


async def test_every_memory_is_reached_by_paging_once(site: Site, connection: asyncpg.Connection) -> None:
    # Fails without the id in the key of `active`: memories of one instant would be skipped.
    await many.fill(connection, memories=400)
    seen: list[str] = []
    after = ""
    for _ in range(20):
        shown = await site.text("/memories", project="large", after=after)
        seen += [part.partition('"')[0].partition("?")[0] for part in shown.split('href="/ops/memories/')[1:]]
        after = shown.partition("after=")[2].partition('"')[0]
        if not after:
            break

    assert sorted(seen) == sorted(
        str(row["memory_id"]) for row in await connection.fetch("SELECT memory_id FROM memhub.searchable_memories")
    )


async def test_a_token_is_made_shown_once_and_revoked(guarded: Site, connection: asyncpg.Connection) -> None:
    await guarded.log_in(KEY)
    made = await guarded.act("/tokens", {"name": "ci", "lifetime": "30 days", "project": "", "read_only": "yes"})
    secret = made.text.partition("mh_")[2].partition("<")[0]
    listed = await guarded.text("/tokens")

    assert len(secret) == 43
    assert secret not in listed
    token = (await api_tokens.listed(connection, "local"))[0]
    assert (token.name, token.read_only) == ("ci", True)
    assert "revoked" in (await guarded.act(f"/tokens/{token.id}/revoke")).text
    assert (await guarded.act(f"/tokens/{token.id}/revoke")).text.count("nothing was changed") == 1
    events = await connection.fetch("SELECT event FROM memhub.audit_events ORDER BY id")
    assert [row["event"] for row in events] == ["token_created", "token_revoked"]


async def test_a_token_of_another_tenant_is_not_revoked_here(guarded: Site, connection: asyncpg.Connection) -> None:
    # Fails without $2 in `revoke` of api_tokens.sql.
    issued = await api_tokens.create(connection, "acme", name="theirs")
    await guarded.log_in(KEY)
    await guarded.act(f"/tokens/{issued.token.id}/revoke")

    assert (await api_tokens.listed(connection, "acme"))[0].revoked_at is None
    assert await connection.fetchval("SELECT count(*) FROM memhub.audit_events WHERE event = 'token_revoked'") == 0


async def test_of_many_tokens_the_newest_are_listed_and_each_is_revoked(
    guarded: Site, connection: asyncpg.Connection
) -> None:
    # Fails without DESC in `list` of api_tokens.sql, and the last line with a look into that list before a revoke.
    oldest = (await api_tokens.create(connection, "local", name="the oldest")).token
    await many.tokens(connection, api_tokens.LISTED_MAX - 1)
    await guarded.log_in(KEY)
    assert "the oldest" in await guarded.text("/tokens")
    newest = (await api_tokens.create(connection, "local", name="the newest")).token
    shown = await guarded.text("/tokens")

    assert shown.index("the newest") < shown.index("token 999")
    assert "The newest 1,000." in shown
    assert "the oldest" not in shown
    for token in (newest, oldest):
        assert "The token is revoked" in (await guarded.act(f"/tokens/{token.id}/revoke")).text


async def test_a_token_of_a_project_is_listed_behind_many_of_others(
    guarded: Site, world: World, connection: asyncpg.Connection
) -> None:
    # Fails without $2 in `list` of api_tokens.sql.
    issued = await api_tokens.create(connection, "local", name="of the website", project="website")
    await many.tokens(connection, api_tokens.LISTED_MAX)
    await guarded.log_in(issued.secret)

    assert "of the website" in await guarded.text("/tokens")


async def test_an_empty_database_has_pages_too(site: Site) -> None:
    for path in ("/", "/memories", "/projects", "/conflicts", "/tokens"):
        await site.text(path)


async def test_the_script_is_given_the_main_part_alone(site: Site, world: World) -> None:
    answer = await site.client.get("/ops/", headers={"Memhub-Fragment": "main"})

    assert "<html" not in answer.text
    assert "<h1>Status</h1>" in answer.text


async def test_static_files_are_cached_for_ever_under_their_hash(site: Site) -> None:
    path = (await site.text("/")).partition('rel="stylesheet" href="/ops')[2].partition('"')[0]
    answer = await site.get(path)

    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/css")


async def test_a_project_that_is_not_there_is_told_with_a_way_for_people(site: Site) -> None:
    # Fails without `_for_people`: the page advised a call of project_use.
    answer = await site.get("/memories", project="nowhere")

    assert answer.status_code == 404
    assert "There is no project nowhere." in answer.text
    assert "The page Projects lists what there is." in answer.text
    assert "project_use" not in answer.text


async def test_a_page_that_is_not_there_says_so(site: Site) -> None:
    answer = await site.get("/nothing")

    assert answer.status_code == 404
    assert "There is no such page." in answer.text
    assert "PAGE_NOT_FOUND" in answer.text
    assert "Go on from the links above." in answer.text
    assert 'href="/ops/memories"' in answer.text


async def test_a_page_that_is_not_there_shows_a_stranger_no_way(guarded: Site) -> None:
    # Fails when `not_found` does not ask who visits.
    answer = await guarded.get("/nothing")

    assert answer.status_code == 404
    assert "links above" not in answer.text
    assert 'aria-label="Pages"' not in answer.text


async def test_the_first_token_closes_the_page_that_tells_it(site: Site) -> None:
    # Fails without `access` of api_tokens.html.
    made = await site.act("/tokens", {"name": "ci", "lifetime": "90 days", "project": ""})

    assert "open to this machine" not in made.text
    assert "closed from now on: log in with a token" in made.text
    assert "in 90 d" in made.text


async def test_the_audit_of_a_memory_leads_to_what_it_names(site: Site, world: World) -> None:
    newest, replaced = await site.text(f"/memories/{world.newest}"), await site.text(f"/memories/{world.replaced}")

    audit = newest.partition('id="audit-h"')[2]
    assert audit.count('<a href="/ops/memories/') == 2
    assert '<a href="/ops/memories/' in replaced.partition('id="audit-h"')[2]
