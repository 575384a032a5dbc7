"""Finding and making projects: the one that was named, or none."""

from __future__ import annotations

import asyncio
from uuid import UUID, uuid4

import asyncpg
import pytest

from shared import projects
from shared.domain import Aliases, Author, ProjectScope, Used
from shared.errors import InvalidArgument, ProjectAmbiguous, ProjectNotFound, ProjectRequired

AUTHOR = Author(client="test")
REMOTE: Aliases = {"git_remote": "host.test/acme/old-app"}
FOLDER: Aliases = {"workspace_path": "/src/new"}


async def use(
    connection: asyncpg.Connection,
    project: UUID | str | None = None,
    *,
    aliases: Aliases | None = None,
    create: bool = False,
) -> Used:
    return await projects.use(connection, "acme", AUTHOR, project=project, aliases=aliases or {}, create=create)


async def made(connection: asyncpg.Connection, slug: str, aliases: Aliases | None = None) -> ProjectScope:
    used = await use(connection, slug, aliases=aliases or {}, create=True)
    assert used.outcome == "created"
    return used.project


async def aliases_of(connection: asyncpg.Connection) -> dict[str, UUID]:
    rows = await connection.fetch("SELECT value, project_id FROM memhub.project_aliases")
    return {row["value"]: row["project_id"] for row in rows}


@pytest.fixture
async def old(server_connection: asyncpg.Connection) -> ProjectScope:
    return await made(server_connection, "old-app", REMOTE)


async def test_a_project_is_found_by_slug_id_and_alias(
    server_connection: asyncpg.Connection, old: ProjectScope
) -> None:
    for found in (
        await use(server_connection, "old-app"),
        await use(server_connection, old.project_id),
        await use(server_connection, aliases=REMOTE),
        await use(server_connection, "old-app", aliases=REMOTE, create=True),
    ):
        assert found == Used(outcome="resolved", project=old)


async def test_a_new_name_with_the_aliases_of_another_project_makes_and_ties_nothing(
    server_connection: asyncpg.Connection, old: ProjectScope
) -> None:
    # Fails without _elsewhere in use: the answer was old-app, and the folder was tied to it.
    with pytest.raises(ProjectAmbiguous, match=r"new-app .* old-app \(" + str(old.project_id)):
        await use(server_connection, "new-app", aliases={**REMOTE, **FOLDER}, create=True)

    assert await aliases_of(server_connection) == {REMOTE["git_remote"]: old.project_id}
    assert len(await projects.listed(server_connection, "acme")) == 1


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("named", ["typo", uuid4()], ids=["slug", "id"])
async def test_what_is_not_there_is_never_answered_by_an_alias(
    server_connection: asyncpg.Connection, old: ProjectScope, named: UUID | str, create: bool
) -> None:
    # Fails without _elsewhere in use.
    with pytest.raises((ProjectNotFound, ProjectAmbiguous), match="old-app") as refused:
        await use(server_connection, named, aliases=REMOTE, create=create)

    assert str(named) in refused.value.message
    assert isinstance(refused.value, ProjectAmbiguous) == (create and named == "typo")


async def test_names_of_two_projects_are_refused_and_both_are_listed(
    server_connection: asyncpg.Connection, old: ProjectScope
) -> None:
    new = await made(server_connection, "new-app", FOLDER)
    both: Aliases = {**REMOTE, **FOLDER}
    given: list[tuple[str | None, Aliases]] = [("new-app", REMOTE), (None, both)]
    for project, aliases in given:
        for create in (False, True):
            with pytest.raises(ProjectAmbiguous) as refused:
                await use(server_connection, project, aliases=aliases, create=create)
            assert all(str(scope.project_id) in refused.value.message for scope in (old, new))
    with pytest.raises(ProjectAmbiguous):
        await projects.resolve_alias(server_connection, "acme", both)


async def test_an_alias_leads_to_its_project_in_its_own_tenant_only(
    server_connection: asyncpg.Connection, old: ProjectScope
) -> None:
    assert await projects.resolve_alias(server_connection, "acme", REMOTE) == old
    with pytest.raises(ProjectRequired, match="no projects yet"):
        await projects.resolve_alias(server_connection, "other", REMOTE)
    with pytest.raises(ProjectNotFound):
        await projects.resolve(server_connection, "other", old.project_id)


async def test_new_aliases_are_linked_to_the_project_that_was_named(
    server_connection: asyncpg.Connection, old: ProjectScope
) -> None:
    await use(server_connection, "old-app", aliases=FOLDER)

    assert await projects.resolve_alias(server_connection, "acme", FOLDER) == old


@pytest.mark.parametrize(
    ("aliases", "slug"),
    [
        ({"git_remote": "github.com/Acme/Billing_API.git"}, "billing_api"),
        ({"git_remote": "host.test/a/b--c d"}, "b--c-d"),
        ({"workspace_path": "/home/ada/My App/"}, "my-app"),
        ({"workspace_path": "C:\\work\\.dotted."}, "dotted"),
        ({"git_remote": "host.test/remote", "workspace_path": "/folder"}, "remote"),
    ],
)
async def test_a_slug_is_made_of_the_remote_or_the_folder(
    server_connection: asyncpg.Connection, aliases: Aliases, slug: str
) -> None:
    assert (await use(server_connection, aliases=aliases, create=True)).project.slug == slug


async def test_what_makes_no_slug_is_refused(server_connection: asyncpg.Connection) -> None:
    with pytest.raises(InvalidArgument, match="no slug"):
        await use(server_connection, aliases={"workspace_path": "/ß"}, create=True)
    with pytest.raises(InvalidArgument, match="UUID is issued"):
        await use(server_connection, uuid4(), create=True)
    with pytest.raises(ProjectRequired):
        await use(server_connection, create=True)


async def test_a_slug_that_is_taken_is_not_entered_by_aliases_that_do_not_lead_there(
    server_connection: asyncpg.Connection, old: ProjectScope
) -> None:
    # Fails without _slug_taken.
    with pytest.raises(InvalidArgument, match="old-app is a project already"):
        await use(server_connection, aliases={"git_remote": "elsewhere.test/other/old-app"}, create=True)

    assert await aliases_of(server_connection) == {REMOTE["git_remote"]: old.project_id}


async def test_of_many_that_make_one_project_at_once_one_does(database_url: str) -> None:
    # Fails without ON CONFLICT in `create` of projects.sql.
    connections = [await asyncpg.connect(database_url) for _ in range(4)]
    for connection in connections:
        await connection.execute("SET ROLE memhub_server")
    told = await asyncio.gather(*(use(connection, "app", aliases=FOLDER, create=True) for connection in connections))
    for connection in connections:
        connection.terminate()

    assert sorted(used.outcome for used in told) == ["created", "resolved", "resolved", "resolved"]
    assert len({used.project.project_id for used in told}) == 1


async def test_a_second_repository_that_a_name_led_to_a_project_is_told_whose_it_is_too(
    server_connection: asyncpg.Connection, old: ProjectScope
) -> None:
    """Fails without `_others`: two unrelated repositories were one project, and nobody was told."""
    second: Aliases = {"git_remote": "host.test/acme/second", "workspace_path": "/src/second"}
    for _ in range(2):
        used = await use(server_connection, "old-app", aliases=second, create=True)
        assert (used.outcome, used.others) == ("resolved", ("host.test/acme/old-app",))
    assert (await use(server_connection, aliases=REMOTE)).others == ("host.test/acme/second", "/src/second")
    assert (await use(server_connection, "old-app", aliases=FOLDER)).others == (
        "host.test/acme/old-app",
        "host.test/acme/second",
        "/src/second",
    )


async def test_another_clone_of_a_repository_and_one_that_was_given_a_remote_are_the_same_work(
    server_connection: asyncpg.Connection, old: ProjectScope
) -> None:
    assert (await use(server_connection, "old-app", aliases={**REMOTE, **FOLDER})).others == ()
    clone: Aliases = {**REMOTE, "workspace_path": "/src/clone"}
    assert (await use(server_connection, "old-app", aliases=clone)).others == ()
    # Before it had a remote it was known by its folder, as one and as the other.
    await made(server_connection, "late", {"git_remote": "/src/late", "workspace_path": "/src/late"})
    given: Aliases = {"git_remote": "host.test/acme/late", "workspace_path": "/src/late"}
    assert (await use(server_connection, "late", aliases=given)).others == ()


async def test_a_folder_of_a_project_with_many_is_no_stranger_to_it(
    server_connection: asyncpg.Connection, old: ProjectScope
) -> None:
    """Fails without the order by `asked` in `aliases_of`: beyond ALIASES_READ_MAX it was told of all the others."""
    for number in range(projects.ALIASES_READ_MAX):
        await use(server_connection, "old-app", aliases={"workspace_path": f"/src/{number:03}"})
    last: Aliases = {"workspace_path": "/src/last"}
    assert len((await use(server_connection, "old-app", aliases=last)).others) == projects.ALIASES_READ_MAX
    assert (await use(server_connection, "old-app", aliases=last)).others == ()
    assert (await use(server_connection, aliases=last)).others == ()
