"""What a call is told that found no project works as it is written."""

from __future__ import annotations

from uuid import uuid4

import asyncpg
import pytest

from shared import projects
from shared.domain import Aliases, Author
from shared.errors import ProjectNotFound, ProjectRequired

AUTHOR = Author("cursor")
HERE: Aliases = {"git_remote": "example.org/acme/billing", "workspace_path": "/srv/billing"}


async def test_in_a_fresh_folder_the_hint_makes_the_project_and_the_next_call_needs_no_name(
    server_connection: asyncpg.Connection,
) -> None:
    with pytest.raises(ProjectRequired) as required:
        await projects.resolve_alias(server_connection, "fresh", HERE)
    # Fails where an example of a slug is spelled out: two repositories under it are one project.
    assert required.value.next == (
        "Call project_use with create=true, git_remote=example.org/acme/billing and workspace_path=/srv/billing: "
        "it makes a project named after them and ties this folder to it."
    )
    made = await projects.use(server_connection, "fresh", AUTHOR, project=None, aliases=HERE, create=True)
    assert made.project.slug == "billing"
    assert (await projects.resolve_alias(server_connection, "fresh", HERE)) == made.project
    with pytest.raises(ProjectRequired) as elsewhere:
        await projects.resolve_alias(server_connection, "fresh", {"workspace_path": "/srv/other"})
    assert "Projects: billing." in elsewhere.value.message
    assert elsewhere.value.next.startswith("Call project_use with create=true, workspace_path=/srv/other: it makes")
    assert elsewhere.value.next.endswith(", or give one of them as project in each call, if it is of the same work.")


async def test_a_name_that_leads_nowhere_is_made_by_the_call_that_the_hint_spells(
    server_connection: asyncpg.Connection,
) -> None:
    with pytest.raises(ProjectNotFound) as missing:
        await projects.resolve(server_connection, "fresh", "nope")
    assert missing.value.next == "Call project_use with project=nope and create=true to make it."
    with pytest.raises(ProjectNotFound) as unissued:
        await projects.resolve(server_connection, "fresh", uuid4())
    assert unissued.value.next == "Call project_use with a slug as project and create=true to make it."
