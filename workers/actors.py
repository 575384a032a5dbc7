"""Which actors serve which queue, and how they are put on a procrastinate app."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from procrastinate import App

from shared import outbox
from shared.database import Database
from shared.settings import Settings
from workers.collector import CollectorActor
from workers.embedder import EmbedderActor
from workers.folder import FolderActor
from workers.frequencies import FrequenciesActor
from workers.reaper import ReaperActor
from workers.shelf import Shelf
from workers.tender import TenderActor


class Actor(Protocol):
    def register(self, app: App) -> None: ...

    async def start(self) -> None:
        """What the actor owes from the time when no worker ran; run once, before the first job."""
        ...


def enlist(app: App, queues: Sequence[str], *, database: Database, settings: Settings, shelf: Shelf) -> list[Actor]:
    """The actors of these queues, their tasks registered on the app; the tender first."""
    actors: list[Actor] = []
    if outbox.RETENTION_QUEUE in queues:
        actors += [TenderActor(database, settings), ReaperActor(database, settings)]
        actors += [CollectorActor(database, settings)]
    if outbox.COUNTERS_QUEUE in queues:
        actors += [FolderActor(database, settings), FrequenciesActor(database, settings)]
    if outbox.EMBED_QUEUE in queues:
        actors += [EmbedderActor(database, settings, shelf)]
    for actor in actors:
        actor.register(app)
    return actors
