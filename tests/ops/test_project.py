"""`memhub project`: what leads to a project, how it is taken away, and another name for it."""

from __future__ import annotations

import json
from pathlib import Path

import asyncpg
import psycopg
import pytest

from shared import projects
from shared.domain import Aliases, Author
from shared.errors import ProjectNotFound, ProjectRequired
from tests.ops import memhub

TENANT = "acme"
AUTHOR = Author("claude-code")


async def _tie(url: str, slug: str, aliases: Aliases) -> None:
    connection = await asyncpg.connect(url)
    await projects.use(connection, TENANT, AUTHOR, project=slug, aliases=aliases, create=True)
    await connection.close()


async def test_what_was_tied_to_the_wrong_project_is_untied_and_tied_anew(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Fails without the DELETE granted to memhub_operator in migrations/0008_privileges.sql.
    remote = "github.com/acme/payments"
    await _tie(database_url, "payments", {"workspace_path": str(tmp_path), "git_remote": remote})
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://{remote}.git\n')
    untied = memhub.run("project", "untie", ".", MEMHUB_DATABASE_URL=database_url, MEMHUB_TENANT=TENANT)

    # Fails without `_still`: the folder led there all the same, and nothing said so.
    still = f"Its repository {remote} leads to payments, from every clone: `memhub project untie {remote}` ends that."
    assert (untied.returncode, untied.stderr) == (0, "")
    assert untied.stdout == f"{tmp_path} leads to payments no more; what is remembered there stays.\n{still}\n"
    again = memhub.run("project", "untie", ".", MEMHUB_DATABASE_URL=database_url, MEMHUB_TENANT=TENANT)
    assert (again.returncode, still in again.stderr) == (1, True)
    connection = await asyncpg.connect(database_url)
    with pytest.raises(ProjectRequired):
        await projects.resolve_alias(connection, TENANT, {"workspace_path": str(tmp_path)})
    assert (await projects.resolve_alias(connection, TENANT, {"git_remote": remote})).slug == "payments"

    memhub.run(
        "project",
        "untie",
        f"git@{remote.replace('/', ':', 1)}.git",
        "--tenant",
        TENANT,
        MEMHUB_DATABASE_URL=database_url,
    )
    await _tie(database_url, "ledger", {"workspace_path": str(tmp_path), "git_remote": remote})
    assert (await projects.resolve_alias(connection, TENANT, {"git_remote": remote})).slug == "ledger"
    removed = await connection.fetch(
        "SELECT details FROM memhub.audit_events WHERE event = 'alias_removed' ORDER BY id"
    )
    assert [json.loads(row["details"])["kind"] for row in removed] == ["workspace_path", "git_remote"]
    await connection.close()


async def test_a_remote_is_quoted_in_the_command_that_unties_it(database_url: str, tmp_path: Path) -> None:
    # Fails without `shlex.quote` in `_still`.
    remote = "/srv/r&d/payments"
    await _tie(database_url, "payments", {"workspace_path": str(tmp_path), "git_remote": remote})
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {remote}.git\n')
    untied = memhub.run("project", "untie", str(tmp_path), MEMHUB_DATABASE_URL=database_url, MEMHUB_TENANT=TENANT)

    assert untied.stdout.endswith(f"from every clone: `memhub project untie '{remote}'` ends that.\n")


async def test_what_leads_nowhere_is_told_and_another_tenant_keeps_its_own(database_url: str, tmp_path: Path) -> None:
    await _tie(database_url, "payments", {"workspace_path": str(tmp_path)})
    ran = memhub.run("project", "untie", str(tmp_path), "--tenant", "other", MEMHUB_DATABASE_URL=database_url)

    assert ran.returncode == 1
    assert f"no project of tenant other is known by {tmp_path}" in ran.stderr
    listed = memhub.run("project", "list", "--json", MEMHUB_DATABASE_URL=database_url, MEMHUB_TENANT=TENANT)
    (told,) = json.loads(listed.stdout)
    assert (told["slug"], told["aliases"]) == ("payments", [f"workspace_path:{tmp_path}"])
    shown = memhub.run("project", "list", MEMHUB_DATABASE_URL=database_url, MEMHUB_TENANT=TENANT)
    assert f"workspace_path:{tmp_path}" in shown.stdout


def test_a_server_may_not_untie(database_url: str) -> None:
    with psycopg.connect(database_url) as session:
        session.execute("SET ROLE memhub_server")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("DELETE FROM memhub.project_aliases")


async def test_a_renamed_project_keeps_what_leads_to_it_and_its_old_name_leads_to_the_new_one(
    database_url: str, tmp_path: Path
) -> None:
    # Fails without the UPDATE (slug) granted to memhub_operator in migrations/0008_privileges.sql.
    await _tie(database_url, "payments", {"workspace_path": str(tmp_path)})
    settings = {"MEMHUB_DATABASE_URL": database_url, "MEMHUB_TENANT": TENANT}
    ran = memhub.run("project", "rename", "payments", "billing", "--display-name", "Billing", **settings)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("payments is billing (Billing) now")
    assert "memhub connect CLIENT --memory-project billing" in ran.stdout
    connection = await asyncpg.connect(database_url)
    renamed = await projects.resolve_alias(connection, TENANT, {"workspace_path": str(tmp_path)})
    assert (renamed.slug, renamed.display_name) == ("billing", "Billing")
    # Fails without `_RENAMED` in `_not_found`: the advice would be to make an empty project under the old name.
    with pytest.raises(ProjectNotFound, match="payments: it was renamed to billing") as told:
        await projects.resolve(connection, TENANT, "payments")
    assert told.value.next == f"Give project=billing ({renamed.project_id})."
    # Fails without `audited` in the statement.
    (event,) = await connection.fetch(
        "SELECT project_id, client, details FROM memhub.audit_events WHERE event = 'project_renamed'"
    )
    assert (event["project_id"], event["client"]) == (renamed.project_id, "memhub")
    assert json.loads(event["details"]) == {
        "slug": {"from": "payments", "to": "billing"},
        "display_name": {"from": None, "to": "Billing"},
    }
    again = memhub.run("project", "rename", "billing", "billing", **settings)
    assert (again.returncode, again.stdout) == (0, "billing is named so already.\n")
    assert await connection.fetchval("SELECT count(*) FROM memhub.audit_events WHERE event = 'project_renamed'") == 1
    await connection.close()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["payments", "ledger"], 2, "NEW-SLUG: ledger is another project of tenant acme"),
        (["payments", "Not A Slug"], 2, "NEW-SLUG: must be a slug"),
        (["payments", "00000000-0000-4000-8000-000000000001"], 2, "NEW-SLUG: must be a slug"),
        (["payments"], 2, "NEW-SLUG, --display-name or both are needed"),
        (["payments", "--display-name", "password: hunter2hunter2"], 1, "display_name: line 1 looks like a credential"),
        (["nowhere", "billing"], 1, "SLUG: there is no project nowhere. Projects: ledger, payments."),
        (
            ["payments", "billing", "--tenant", "other"],
            1,
            "SLUG: there is no project payments. There are no projects yet.",
        ),
    ],
)
async def test_a_name_that_cannot_be_given_is_told_and_changes_nothing(
    database_url: str, arguments: list[str], code: int, told: str
) -> None:
    for slug in ("payments", "ledger"):
        await _tie(database_url, slug, {})
    ran = memhub.run("project", "rename", *arguments, MEMHUB_DATABASE_URL=database_url, MEMHUB_TENANT=TENANT)

    assert (ran.returncode, told in ran.stderr) == (code, True), ran.stderr
    with psycopg.connect(database_url) as session:
        rows = session.execute("SELECT slug, display_name FROM memhub.projects ORDER BY slug").fetchall()
    assert rows == [("ledger", None), ("payments", None)]


def test_that_calls_without_a_project_make_another_default_is_told(database_url: str) -> None:
    with psycopg.connect(database_url) as session:
        session.execute(
            "INSERT INTO memhub.projects (id, tenant, slug, created_at)"
            " VALUES (gen_random_uuid(), 'local', 'default', now())"
        )
    ran = memhub.run("project", "rename", "default", "shop", MEMHUB_DATABASE_URL=database_url)
    assert "Calls over HTTP that name no project make a new default" in ran.stdout


def test_a_server_may_not_rename(database_url: str) -> None:
    with psycopg.connect(database_url) as session:
        session.execute("SET ROLE memhub_server")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute("UPDATE memhub.projects SET slug = 'other'")
