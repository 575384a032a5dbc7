"""`memhub project`: what leads to a project, and how it is taken away."""

from __future__ import annotations

import json
from pathlib import Path

import asyncpg
import psycopg
import pytest

from shared import projects
from shared.domain import Aliases, Author
from shared.errors import ProjectRequired
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
