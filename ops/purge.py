"""`memhub purge`: shows what would be destroyed, and with --yes destroys it."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from ops import purging
from ops.operating import operating
from ops.purging import Remains
from ops.terminal import Terminal
from shared import limits
from shared.settings import Settings

BEGINNING_CHARACTERS_MAX = 80
AGAIN = "Run the same command again: what is destroyed already stays so."


async def purge(settings: Settings, memory_ids: Sequence[str], *, yes: bool, rewrite: bool) -> int:
    """Tells, and with `yes` destroys; 0, or an error that says what is left."""
    ids = list(dict.fromkeys(limits.memory_id(memory_id, "MEMORY_ID") for memory_id in memory_ids))
    console = Terminal(soft_wrap=True)
    async with operating(settings, again=AGAIN) as connection:
        found = await purging.remains(connection, ids)
        others = await purging.also_said(connection, ids)
        for memory in found:
            console.print(_told(memory))
            if not yes:
                console.print(_beginning(memory))
        _warn(console, others)
        if not yes:
            console.print("Nothing was destroyed. This cannot be undone: give --yes to do it.")
            return 0
        transaction = await purging.destroy(connection, ids)
        if rewrite:
            await purging.rewrite(connection, transaction)
    done = "and the files of the tables were rewritten" if rewrite else "the files of the tables still hold traces"
    had_words = any(memory.contents for memory in found)
    console.print(
        f"{'Destroyed in the database' if had_words else 'Nothing was left to destroy in the database'}, {done}."
    )
    console.print(
        "Out of reach: backups, exports, replicas and the write-ahead log. Destroy those that are older than this."
    )
    return 0


def _told(memory: Remains) -> str:
    words = f"{memory.content_bytes:,} bytes" if memory.contents else "purged before"
    since = memory.created_at.isoformat(timespec="minutes")
    return (
        f"{memory.memory_id} of {memory.slug}, {memory.status}, from {since}: "
        f"revisions {memory.revisions} ({words}), attestations {memory.attestations}, vectors {memory.vectors}, "
        f"stored answers {memory.responses}"
    )


def _beginning(memory: Remains) -> str:
    """So that a mistaken id is noticed; what was destroyed is not left standing in a terminal."""
    line = next((line for line in (memory.beginning or "").splitlines() if line.strip()), "")
    shown = "".join(character if character.isprintable() else " " for character in line.strip())
    return f"    {shown[:BEGINNING_CHARACTERS_MAX]}" if shown else "    (no words are left)"


def _warn(console: Terminal, others: Sequence[UUID]) -> None:
    if others:
        told = ", ".join(map(str, others))
        console.print(f"The very same content is also in these, which are not touched: {told}")
