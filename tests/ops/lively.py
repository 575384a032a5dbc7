"""A database with a memory for everything that can happen to one, written by the services."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from shared import projects
from shared.domain import Author, AuthorKind, MemoryType, Scope
from tests.memories.clients import TENANT, Client

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


async def client(connection: asyncpg.Connection, slug: str = "moving") -> Client:
    author = Author("claude-code", None, "request-1")
    used = await projects.use(
        connection,
        TENANT,
        author,
        project=slug,
        aliases={"git_remote": f"example.org/{slug}", "workspace_path": f"/home/dev/{slug}"},
        create=True,
        display_name="Móving ☃",
    )
    return Client(connection, used.project, author)


async def live(speaker: Client) -> dict[str, UUID]:
    """Memories by what became of them."""
    cursor = speaker.speaking("cursor")
    revised = await speaker.saved("Deploys go out on Tuesdays.", category="release", tags=("deploy", "plan"))
    await cursor.revise(revised, 1, "Deploys go out on Thursdays.", tags=("deploy",), reason="the freeze moved")
    first = await speaker.saved("The queue is RabbitMQ.", type=MemoryType.DECISION, importance=80)
    second = await cursor.saved("The queue is Redis.", type=MemoryType.DECISION, supersedes=(first,))
    third = await speaker.saved("The queue is PostgreSQL.", type=MemoryType.DECISION, supersedes=(second,))
    await cursor.remember("the queue is postgresql", tags=("queue",), source="standup", type=MemoryType.DECISION)
    forgotten = await speaker.saved("Lunch is at noon.")
    await speaker.forget(forgotten, reason="nobody cares")
    restored = await speaker.saved("Backups run at 3.")
    await speaker.forget(restored)
    await cursor.restore(restored, reason="they still do")
    task = await speaker.saved("Rotate the certificates.", type=MemoryType.TASK, ttl_days=3)
    talk = speaker.speaking(conversation="talk-7")
    private = await talk.saved("Only said here: ☃ “quoted”\n\tand indented.", scope=Scope.CONVERSATION)
    accepted = await speaker.saved(
        f"An example key: {SECRET}", acknowledged="GitHub token", author_kind=AuthorKind.HUMAN_CONFIRMED
    )
    return {
        "revised": revised,
        "first": first,
        "second": second,
        "third": third,
        "forgotten": forgotten,
        "restored": restored,
        "task": task,
        "private": private,
        "accepted": accepted,
    }


async def employ(connection: asyncpg.Connection, *queues: str, seconds_ago: int = 1) -> None:
    """A worker that serves these queues and was heard that long ago."""
    await connection.execute(
        """WITH worker AS (INSERT INTO procrastinate_workers (last_heartbeat)
                           VALUES (now() - make_interval(secs => $1)) RETURNING id)
           INSERT INTO memhub.fleet_workers SELECT id, 'host', 1, $2, 4, now() FROM worker""",
        seconds_ago,
        list(queues),
    )
