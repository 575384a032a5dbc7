"""`memhub import`: memories from our own export, other memory servers, Markdown and plain JSON Lines."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID, uuid5

import asyncpg
import httpx2

from ops import bars, fetched
from ops.files import FileRefused, is_regular, naming
from ops.moving import importing, tables
from ops.moving.detection import Format, detect, require_ours
from ops.moving.entries import Context
from ops.moving.gathering import gathering
from ops.moving.importing import Report
from ops.moving.origins import require_one
from ops.moving.sources import Source
from ops.moving.tables import Table
from ops.moving.writer import CLOCK, Writer
from ops.operating import CLIENT, operating
from ops.shell_projects import at_shell
from ops.terminal import Terminal
from ops.words import counted
from shared import limits, projects, workspace
from shared.domain import Author
from shared.errors import MemhubError, ProjectNotFound, ProjectRequired
from shared.settings import Settings

AGAIN = "Run the same command again: what is in already is skipped."
STANDARD_INPUT = "standard input"
PROBLEMS_SHOWN = 50
GC_OBJECTS = 50_000
# Below it there is less to gain than the index costs to change.
GATHER_BYTES_MIN = 4 * 2**20
FETCH_TIMEOUT_S = 60
FETCH_BYTES_MAX = 16 * 2**30
_CHUNK_BYTES = 2**20

_TOLD = {
    "imported": ("imported", "imported"),
    "known": ("there already", "there already"),
    "continued": ("there already, and went on as it is told", "there already, and went on as they are told"),
    "changed": ("is told otherwise here and was left as it is", "are told otherwise here and were left as they are"),
    "deduplicated": ("said already by a live memory", "said already by a live memory"),
    "passed": (
        "says what was replaced or forgotten here and was left out",
        "say what was replaced or forgotten here and were left out",
    ),
    "projects": ("project made", "projects made"),
    "sensitive": (
        "looks like a credential and was left out (--accept-sensitive takes it)",
        "look like a credential and were left out (--accept-sensitive takes them)",
    ),
    "expired": ("had expired and was left out", "had expired and were left out"),
    "bad": ("could not be read", "could not be read"),
    "twice": (
        "has the id of another one in it, says something else and was left out",
        "have the id of another one in it, say something else and were left out",
    ),
    "note": ("was passed over", "were passed over"),
}
# What a dry run says otherwise.
_WOULD = {
    "imported": ("would be imported", "would be imported"),
    "continued": ("there already, and would go on as it is told", "there already, and would go on as they are told"),
    "passed": (
        "says what was replaced or forgotten here and would be left out",
        "say what was replaced or forgotten here and would be left out",
    ),
    "projects": ("project would be made", "projects would be made"),
    "sensitive": (
        "looks like a credential and would be left out (--accept-sensitive takes it)",
        "look like a credential and would be left out (--accept-sensitive takes them)",
    ),
    "expired": ("has expired and would be left out", "have expired and would be left out"),
    "twice": (
        "has the id of another one in it, says something else and would be left out",
        "have the id of another one in it, say something else and would be left out",
    ),
}


# What an error says of its own batch.
_NOTHING = ("; nothing was written.", " Nothing was written.")


class Stopped(MemhubError):
    """An import that ended in the middle: what it wrote before is in."""

    code = "IMPORT_STOPPED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for on the command line; `format` None: tell it from the file. `source` is a path, - or a URL, and
    `origin` to whom or what the memories belong there."""

    source: str | Table
    format: Format | None
    project: str | None
    origin: str | None = None
    dry_run: bool
    accept_sensitive: bool


async def import_(settings: Settings, wish: Wish) -> int:
    """Imports and tells what became of it; 1 when something of it is missing here, unread or left out."""
    async with _at_hand(wish.source, settings) as (path, found):
        format = _form(wish, path, found)
        await require_one(path, format, wish.origin, told=_told(wish.source), is_lines=_is_lines(wish))
        report = Report()
        with _counting(report, wish):
            async with operating(settings, create=True, again=AGAIN) as connection:
                await _import(connection, settings, wish, path, format, report=report)
    _tell(report, wish, format)
    return 0 if report.complete else 1


@contextmanager
def _counting(report: Report, wish: Wish) -> Iterator[None]:
    """An error says how much is in: what it was raised by wrote nothing, the batches before it did."""
    try:
        yield
    except MemhubError as failure:
        written = report.counts["imported"] + report.counts["continued"]
        if not written or wish.dry_run:
            raise
        reason = failure.message
        for untrue in _NOTHING:
            reason = reason.removesuffix(untrue)
        told = f"{reason.rstrip('.')}, after at least {counted(written, 'memory', 'memories')} came in."
        raise Stopped(told, next=failure.next if AGAIN in failure.next else f"{failure.next} {AGAIN}") from None


def _form(wish: Wish, path: Path, found: Format | None) -> Format:
    """`found` is that of what came from a database."""
    told = _told(wish.source)
    if found is not None:
        if wish.format not in (None, found):
            raise FileRefused(f"{told}: it is a database of {found}.", next=f"Give --format {found}, or none.")
        return found
    if wish.format is Format.MEMHUB:
        require_ours(path, told=told)
    return wish.format or detect(path, told=told)


def _is_lines(wish: Wish) -> bool | None:
    """True for what came from a database; None: its first line tells."""
    return isinstance(wish.source, Table) or None


def _told(source: str | Table) -> str:
    """The source as it was given: what was fetched has a name that nobody knows."""
    match source:
        case "-":
            return STANDARD_INPUT
        case str():
            return source
        case _:
            return source.name or tables.told(source.url)


async def _import(
    connection: asyncpg.Connection, settings: Settings, wish: Wish, path: Path, format: Format, *, report: Report
) -> None:
    named = wish.project or (None if format is Format.MEMHUB else settings.project or await _here(connection, settings))
    moved = named is not None
    context = Context(
        format=format,
        project_id=await _project(connection, settings.tenant, named, wish.dry_run) if named else UUID(int=0),
        now=await connection.fetchval(CLOCK),
        accept_sensitive=wish.accept_sensitive,
    )
    source = Source(path, format, context, moved=moved, origin=wish.origin, is_lines=_is_lines(wish))
    writer = Writer(connection, format=format, tenant=settings.tenant, moved=moved, dry_run=wish.dry_run)
    gathers = source.size_bytes >= GATHER_BYTES_MIN and not wish.dry_run
    async with gathering(connection) if gathers else nullcontext():
        with bars.reading("importing", source.size_bytes) as progress, _seldom_collecting():
            await importing.run(source, writer, report, progress=progress)


async def _here(connection: asyncpg.Connection, settings: Settings) -> str:
    """The project of the open folder, which is said. Raises ProjectRequired where it has none."""
    try:
        with at_shell():
            found = await projects.resolve_alias(connection, settings.tenant, workspace.aliases_here())
    except ProjectRequired:
        raise ProjectRequired(
            "A project to import into was not named, and this folder has none.",
            next="Give --project, such as my-app, or set MEMHUB_PROJECT.",
        ) from None
    Terminal(stderr=True).print(f"Into the project {found.slug}, that of this folder.", soft_wrap=True)
    return found.slug


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """An import makes objects by the million and hardly a cycle: looking for cycles was a fifth of its time."""
    thresholds = gc.get_threshold()
    gc.set_threshold(GC_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


async def _project(connection: asyncpg.Connection, tenant: str, named: str, dry_run: bool) -> UUID:
    """The project of that name, made when it is not there; a dry run only imagines it."""
    project = limits.project(named, "--project")
    assert project is not None
    try:
        return (await projects.resolve(connection, tenant, project)).project_id
    except ProjectNotFound:
        if isinstance(project, UUID):
            with at_shell():
                raise
        if dry_run:
            return uuid5(UUID(int=0), project)
    used = await projects.use(connection, tenant, Author(CLIENT), project=project, aliases={}, create=True)
    return used.project.project_id


@asynccontextmanager
async def _at_hand(source: str | Table, settings: Settings) -> AsyncIterator[tuple[Path, Format | None]]:
    """The source as a file or folder here, and of a database its form; what is fetched is gone afterwards."""
    if isinstance(source, str):
        with _local(source) as path:
            yield path, None
        return
    with fetched.passing("fetched") as path:
        found = await tables.write(
            source, path, tenant=settings.tenant, timeout_s=settings.connect_timeout_s, bytes_max=FETCH_BYTES_MAX
        )
        yield path, found


@contextmanager
def _local(source: str) -> Iterator[Path]:
    if not source.startswith(("http://", "https://")) and source != "-":
        path = Path(source).expanduser()
        with naming(path):
            readable = path.is_dir() or is_regular(path, follow=True)
        if not readable:
            raise FileRefused(f"{path}: it is neither a file nor a folder.", next="Pipe it in: memhub import -.")
        yield path
        return
    with fetched.passing(STANDARD_INPUT if source == "-" else "fetched") as here:
        with naming(here):
            path = _piped(here) if source == "-" else _fetched(source, here)
        yield path


def _piped(path: Path) -> Path:
    _keep(iter(partial(sys.stdin.buffer.read, _CHUNK_BYTES), b""), path, STANDARD_INPUT)
    if path.stat().st_size == 0:
        raise FileRefused(f"{STANDARD_INPUT} is empty.".capitalize(), next="Pipe the memories in, or name their file.")
    return path


def _fetched(url: str, path: Path) -> Path:
    try:
        with httpx2.stream("GET", url, timeout=FETCH_TIMEOUT_S, follow_redirects=True) as answer:
            if not answer.is_success:
                raise FileRefused(f"{url}: the server answered {answer.status_code}.", next="Check the address.")
            _keep(answer.iter_bytes(_CHUNK_BYTES), path, url)
    except (httpx2.HTTPError, httpx2.InvalidURL) as failure:
        reason = (str(failure) or type(failure).__name__).split("\n")[0]
        raise FileRefused(f"{url}: {reason}.", next="Check the address.") from None
    # Its name tells Markdown from JSON.
    return path.rename(path.with_name(_name(url) or path.name))


def _keep(chunks: Iterable[bytes], path: Path, source: str) -> None:
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
            if file.tell() > FETCH_BYTES_MAX:
                raise FileRefused(
                    f"{source}: it is larger than {FETCH_BYTES_MAX:,} bytes.",
                    next="Import it from a file of this machine.",
                )


def _name(url: str) -> str:
    """The last part of its path as the name of a file: any character may stand in a URL."""
    name = Path(httpx2.URL(url).path.replace("\0", "")).name
    return name if name.strip(".") else ""


def _tell(report: Report, wish: Wish, format: Format) -> None:
    problems = Terminal(stderr=True)
    # A folder has a note for nearly each of its files.
    for problem in (*report.problems, *report.notes)[:PROBLEMS_SHOWN]:
        problems.print(f"{problem.place.told}: {problem.reason}", soft_wrap=True)
    untold = (
        sum(report.counts[kind] for kind in ("bad", "twice", "sensitive", "expired", "changed", "note"))
        - PROBLEMS_SHOWN
    )
    if untold > 0:
        problems.print(f"and {untold:,} more")
    words = _TOLD | (_WOULD if wish.dry_run else {})
    told = ", ".join(counted(report.counts[name], *nouns) for name, nouns in words.items() if report.counts[name])
    begun = f"Dry run, nothing was written ({format})" if wish.dry_run else f"Import ({format})"
    Terminal().print(f"{begun}: {told or 'there was nothing in it'}.", soft_wrap=True)
