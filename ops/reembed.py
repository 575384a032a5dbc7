"""`memhub reembed`: moves search to another embedding model while it goes on, and watches the fleet do it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.to_thread
import asyncpg

from ops import bars, models, words
from ops.asking import asking, serves
from ops.bars import Watch
from ops.looking import looking
from ops.stalls import Stalls
from ops.terminal import Terminal
from shared import fleet, reembedding
from shared.embedding import registry
from shared.embedding.client import QueryEmbedder
from shared.embedding.registry import RegisteredModel
from shared.errors import ConfigurationError, UnknownOutcome
from shared.reembedding import Begun, Progress
from shared.settings import Settings

AGAIN = "Run it again to go on: the fleet embeds meanwhile, and search stays as it is until the switch."

LOOK_S = 0.5
CARE_EVERY = 20
LOOKS_MAX = 2_000_000


async def reembed(settings: Settings, name: str | None) -> int:
    """Registers, owes, watches and switches; a second run goes on where the first one was."""
    configured = registry.configured_name(settings)
    if configured is None:
        raise ConfigurationError(
            "MEMHUB_EMBEDDING_PROVIDER is none: these settings embed nothing, so they can move to no model.",
            next="Set it here as the workers that are to embed have it, with what it needs, and run this again.",
        )
    wanted = name or configured
    async with _connected(settings) as connection, asking(settings) as embedder:
        if wanted not in {model.name for model in await registry.models(connection) if model.state == "current"}:
            await models.check(settings, wanted)
        begun = await reembedding.begin(connection, settings, wanted)
        if begun.outcome == "building":
            await _move(connection, settings, embedder, begun.model)
            await anyio.to_thread.run_sync(_tell_switched, settings, begun.model)
        else:
            _tell_nothing_to_move(begun)
    return 0


async def show(settings: Settings) -> int:
    """Prints how far a move is."""
    console = Terminal(soft_wrap=True)
    async with _connected(settings) as connection:
        standing = await registry.standing(connection, settings)
        building = await reembedding.under_way(connection)
        if building is None:
            current = standing.current.name if standing.current else "no model yet"
            console.print(f"No move is under way; search uses {current}.")
            return 0
        seen = await reembedding.progress(connection, settings, building)
    console.print(
        f"{building.name} is being built: {_told(seen)}. `memhub reembed {building.name}` watches and switches."
    )
    return 0


async def abort(settings: Settings) -> int:
    """Leaves a move; search is as it was."""
    async with _connected(settings) as connection:
        left = await reembedding.abort(connection)
    console = Terminal(soft_wrap=True)
    if left is None:
        console.print("No move is under way; nothing was changed.")
    else:
        console.print(f"The move to {left.name} was left; search is as it was. The collector removes its vectors.")
    return 0


async def _move(
    connection: asyncpg.Connection, settings: Settings, embedder: QueryEmbedder, model: RegisteredModel
) -> None:
    stalls = Stalls(settings, embedder, model.name)
    with bars.watching(f"embedding with {model.name}") as watch:
        for look in itertools.islice(itertools.count(), LOOKS_MAX):
            seen = await _look(connection, settings, model, watch)
            if look % CARE_EVERY == 0:
                await _care(connection, settings, seen)
            if not seen.missing and await _ready(connection, settings, embedder, model):
                if await reembedding.switch(connection, settings, model):
                    return
            elif (trouble := await stalls.look(connection, seen)) is not None:
                watch.say(trouble)
            await anyio.sleep(LOOK_S)


async def _look(connection: asyncpg.Connection, settings: Settings, model: RegisteredModel, watch: Watch) -> Progress:
    seen = await reembedding.progress(connection, settings, model)
    watch.tell(seen.embedded, seen.searchable)
    if seen.refused and seen.refused == seen.missing:
        raise ConfigurationError(
            f"{model.name} gave no vectors for {words.memories(seen.refused)}: {seen.error}.",
            next="Mend that and run it again, or leave it: memhub reembed --abort",
        )
    return seen


async def _care(connection: asyncpg.Connection, settings: Settings, seen: Progress) -> None:
    """Owes what nobody owed, as writes that began before the model was there, and keeps an embedded fleet alive."""
    if seen.unowed:
        await reembedding.owe_all(connection)
    if settings.database_url is None:
        await anyio.to_thread.run_sync(fleet.ensure_worker, settings.data_dir, settings)


async def _ready(
    connection: asyncpg.Connection, settings: Settings, embedder: QueryEmbedder, model: RegisteredModel
) -> bool:
    """Whether queries are answered in the new model too; with no embedder for either, nothing can be lost."""
    known = {each.name: each for each in await registry.models(connection)}
    if await serves(embedder, known[model.name]):
        return True
    current = next((each for each in known.values() if each.state == "current"), None)
    return current is None or not await serves(embedder, current)


@asynccontextmanager
async def _connected(settings: Settings) -> AsyncIterator[asyncpg.Connection]:
    try:
        async with looking(settings) as connection:
            yield connection
    except UnknownOutcome:
        raise UnknownOutcome("The connection to the database died.", next=AGAIN) from None


def _told(seen: Progress) -> str:
    told = f"{seen.embedded:,} of {words.memories(seen.searchable)}"
    return told + (f", {seen.refused:,} refused ({seen.error})" if seen.refused else "")


def _tell_switched(settings: Settings, model: RegisteredModel) -> None:
    console = Terminal(soft_wrap=True)
    console.print(f"Search uses {model.name}. The vectors of the model before go with the collector (`memhub gc`).")
    if registry.configured_name(settings) != model.name:
        console.print(f"Set MEMHUB_EMBEDDING_MODEL={model.name} for the fleet before it restarts.")
    console.print("`memhub calibrate` measures its floor from your own memories.")


def _tell_nothing_to_move(begun: Begun) -> None:
    told = "is the first model" if begun.outcome == "first" else "is what search uses already"
    Terminal(soft_wrap=True).print(f"{begun.model.name} {told}: there is nothing to move.")
