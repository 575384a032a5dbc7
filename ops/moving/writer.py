"""Lives written in batches, each a transaction of set-based statements: whole, without a double, or told why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import asyncpg
import orjson

from ops.moving import continuing, rows
from ops.moving.continuing import Continuation
from ops.moving.declared import Declared
from ops.moving.detection import Format
from ops.moving.lives import Event, Life, Problem, Project
from ops.moving.planning import TO_COME, Plan, Planner, Twin, Written
from ops.operating import CLIENT
from shared import outbox, statements
from shared.domain import Status
from shared.memories import races

# A job claims its own revision and a batch of others beside it; the fleet's sweep is the backstop.
REVISIONS_PER_JOB = 32

_SQL = statements.load("moving")
CLOCK = _SQL["clock"]
_ADD_MEMORIES = _SQL["add_memories"]
_ADD_REVISIONS = _SQL["add_revisions"]
_ADD_LIVE = _SQL["add_live"]
_ADD_ATTESTATIONS = _SQL["add_attestations"]
_ATTESTED = _SQL["attested"]
_ADD_EVENTS = _SQL["add_events"]
_ADD_PROJECT = _SQL["add_project"]
_STANDING_PROJECT = _SQL["standing_project"]
_ADD_ALIASES = _SQL["add_aliases"]
_DEFER = _SQL["defer"]
_COUNT_AGAIN = _SQL["count_again"]

_HOMELESS = "its project has no line before it, and is not here"

# By the schema, or by the driver, whose error is a ValueError: a number too large for its column does not even leave.
_REFUSED = (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError, ValueError)


class Writer:
    """Writes on a connection that acts as the operator and is in no transaction; with `dry_run` it only looks."""

    def __init__(
        self, connection: asyncpg.Connection, *, format: Format, tenant: str, moved: bool, dry_run: bool
    ) -> None:
        """`moved` says that all goes to one project, and the projects of an export are passed over; of `tenant` a
        project may be meant by its id alone."""
        self._moved = moved
        self._tenant = tenant
        self._connection = connection
        self._format = format
        self._dry_run = dry_run
        self._planner = Planner(connection, dry_run=dry_run)
        # By the id that a file gives a project: the id here, or why its memories go nowhere.
        self._homes: Declared[UUID | str] = Declared()
        self._undeclared: dict[UUID, UUID | str] = {}

    async def project(self, project: Project) -> Written:
        """Makes the project with its aliases and events, unless it stands already; commits."""
        written = Written()
        if self._moved:
            return written
        try:
            await races.run(lambda _number: self._project(project, written))
        except _REFUSED as refused:
            self._refuse(project, _reason(refused), written)
        written.problems += project.left
        return written

    def _refuse(self, project: Project, reason: str, written: Written) -> None:
        written.problems.append(Problem(project.place, reason))
        self._homes.tell(project.project_id, project.place, f"its project was refused: {reason}")

    async def _project(self, project: Project, written: Written) -> None:
        async with self._connection.transaction():
            home = await self._placed(project)
        if isinstance(home, str):
            self._refuse(project, home, written)
            return
        # A dry run made none, and may be told of it again.
        was_told = isinstance(self._homes.at(project.project_id, project.place), UUID)
        written.counts["projects"] += home is None and not was_told
        self._homes.tell(project.project_id, project.place, home or project.project_id)

    async def _placed(self, project: Project) -> UUID | str | None:
        """The id of a project that stands here, None where it is made, or why it is not. Raises Raced."""
        standing = await self._connection.fetchrow(_STANDING_PROJECT, project.project_id, project.tenant, project.slug)
        if standing is not None and standing["tenant"] != project.tenant:
            return "another tenant has one of this id"
        if project.newest() > await self._connection.fetchval(CLOCK):
            return TO_COME
        if standing is None and not self._dry_run:
            await self._make(project)
        return None if standing is None else standing["id"]

    def wait_no_longer(self) -> bool:
        """What was held back for what is about to go is held no more; False when nothing was."""
        return self._planner.wait_no_longer()

    async def write(self, lives: Sequence[Life]) -> Written:
        """The batch in one transaction; what the schema refuses is found by halving, and told.

        Raises BackendBusy when other clients kept writing the same.
        """
        written, placed = Written(), []
        for life in lives:
            match await self._home(life):
                case str(reason):
                    written.problems.append(Problem(life.place, reason))
                case project_id:
                    placed.append(life if project_id == life.project_id else replace(life, project_id=project_id))
        if placed:
            written.add(await self._write(placed))
        return written

    async def _home(self, life: Life) -> UUID | str:
        """A project that no line told of is the one of that id here, where its tenant is the one that imports.

        Of another's nobody may say even that it is here.
        """
        project_id = life.project_id
        if self._moved:
            return project_id
        told = self._homes.at(project_id, life.place)
        if told is not None:
            return told
        if project_id not in self._undeclared:
            standing = await self._connection.fetchrow(_STANDING_PROJECT, project_id, "", "")
            is_own = standing is not None and standing["tenant"] == self._tenant
            self._undeclared[project_id] = project_id if is_own else _HOMELESS
        return self._undeclared[project_id]

    async def _write(self, lives: Sequence[Life]) -> Written:
        try:
            return await races.run(lambda _number: self._attempt(lives))
        except _REFUSED as refused:
            if len(lives) == 1:
                return Written(problems=[Problem(lives[0].place, _reason(refused))])
        middle = len(lives) // 2
        written = await self._write(lives[:middle])
        written.add(await self._write(lives[middle:]))
        return written

    async def _attempt(self, lives: Sequence[Life]) -> Written:
        async with self._connection.transaction():
            now: datetime = await self._connection.fetchval(CLOCK)
            plan = await self._planner.plan(lives, now)
            if not self._dry_run:
                await self._carry_out(plan, now)
        self._planner.settle(lives, plan, now)
        return plan.written

    async def _carry_out(self, plan: Plan, now: datetime) -> None:
        kept = [_superseded(life, twin, now) for life, twin in plan.twins if life.keeps]
        continued = [told if twin is None else _ended(told, twin, now) for told, twin in plan.continued]
        await continuing.leave(self._connection, continued)
        await self._insert([*plan.born, *kept], continued)
        await self._attest([(life, twin) for life, twin in plan.twins if not life.keeps], now)
        if self._format is Format.MEMHUB:
            await self._audit([*plan.born, *kept, *(told.life for told in continued)], now)

    async def _insert(self, born: list[Life], continued: list[Continuation]) -> None:
        """The memories with their revisions, and of what goes on what is new."""
        moving = [told for told in continued if told.moves]
        if born:
            await self._connection.execute(_ADD_MEMORIES, *rows.memories(born))
        await continuing.close(self._connection, moving)
        written = [*born, *(told.new for told in moving)]
        if written:
            await self._connection.execute(_ADD_REVISIONS, *rows.revisions(written))
        await continuing.move(self._connection, moving)
        await self._tell(born, continued)
        if written:
            await self._offer([life.key for life in written])

    async def _tell(self, born: list[Life], continued: list[Continuation]) -> None:
        said = [(life.key, attestation) for life in born for attestation in life.attestations]
        said += [(told.life.key, attestation) for told in continued for attestation in told.attestations]
        if said:
            await self._connection.execute(_ADD_ATTESTATIONS, *rows.attestations(said))
        events = [(*life.key, event) for life in born for event in life.events]
        events += [(*told.life.key, event) for told in continued for event in told.events]
        if events:
            await self._connection.execute(_ADD_EVENTS, *rows.events(events))

    async def _offer(self, keys: list[tuple[UUID, UUID]]) -> None:
        """To search, with the jobs for their vectors."""
        owed = await self._connection.fetch(_ADD_LIVE, *rows.columns(keys, 2))
        await self._connection.execute(_COUNT_AGAIN, sorted({project_id for project_id, _ in keys}))
        jobs = [
            outbox.embed_job(project_id=row["project_id"], memory_id=row["memory_id"], revision=row["revision_no"])
            for row in owed[::REVISIONS_PER_JOB]
        ]
        if jobs:
            await self._connection.execute(_DEFER, outbox.encode(*jobs))

    async def _attest(self, twins: list[tuple[Life, Twin]], now: datetime) -> None:
        """One attestation for each client and source that says what a live memory says."""
        said = {
            (life.project_id, twin[0], life.head.author_client, life.head.source): (life, twin) for life, twin in twins
        }
        if not said:
            return
        before = await self._connection.fetch(_ATTESTED, *rows.columns(list(said), 4))
        told = {row["place"] - 1 for row in before}
        new = [pair for place, pair in enumerate(said.values()) if place not in told]
        attestations = [
            ((life.project_id, twin[0]), replace(attestation, revision=twin[1], created_at=now))
            for life, twin in new
            for attestation in life.attestations
        ]
        await self._connection.execute(_ADD_ATTESTATIONS, *rows.attestations(attestations))
        events = [
            (life.project_id, twin[0], replace(event, revision=twin[1])) for life, twin in new for event in life.events
        ]
        await self._connection.execute(_ADD_EVENTS, *rows.events(events))

    async def _audit(self, lives: list[Life], now: datetime) -> None:
        """Our own export brings its events along: what the import itself did is told of its projects."""
        counts = Counter(life.project_id for life in lives)
        events = [
            (project_id, None, _event("imported", {"format": self._format, "memories": count}, now))
            for project_id, count in counts.items()
        ]
        await self._connection.execute(_ADD_EVENTS, *rows.events(events))

    async def _make(self, project: Project) -> None:
        made = await self._connection.fetchval(
            _ADD_PROJECT, project.project_id, project.tenant, project.slug, project.display_name, project.created_at
        )
        if made is None:
            raise races.Raced
        aliases = [(alias.kind, alias.value, alias.created_at) for alias in project.aliases]
        await self._connection.execute(_ADD_ALIASES, project.project_id, project.tenant, *rows.columns(aliases, 3))
        events = [(project.project_id, None, event) for event in project.events]
        await self._connection.execute(_ADD_EVENTS, *rows.events(events))


def _ended(told: Continuation, twin: Twin, now: datetime) -> Continuation:
    """What went on until it said what a live memory says."""
    life = _superseded(told.life, twin, now)
    return replace(told, life=life, events=(*told.events, life.events[-1]))


def _superseded(life: Life, twin: Twin, now: datetime) -> Life:
    """A history that ends in what a live memory says: kept, superseded by that memory."""
    event = _event("superseded", {"superseded_by": str(twin[0])}, now)
    return replace(
        life,
        status=Status.SUPERSEDED,
        superseded_by=twin[0],
        retired_at=now,
        retired_by="client",
        revisions=(*life.revisions[:-1], replace(life.head, valid_to=now)),
        events=(*life.events, replace(event, revision=life.head.revision, scope_key=life.scope_key)),
    )


def _event(event: str, details: dict[str, object], now: datetime) -> Event:
    return Event(
        event=event,
        revision=None,
        scope_key="",
        client=CLIENT,
        request_id=None,
        details=orjson.dumps(details).decode(),
        at=now,
    )


def _reason(refused: Exception) -> str:
    """Which rule it breaks: never the row, which PostgreSQL puts into its detail."""
    constraint = getattr(refused, "constraint_name", None)
    return f"the schema refuses it ({constraint or type(refused).__name__})"
