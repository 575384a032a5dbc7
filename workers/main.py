"""The console script memhub-worker: the fleet of one process."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shared import logs
from shared.errors import MemhubError
from shared.outbox import EMBED_QUEUE, QUEUES
from shared.settings import Settings, exports_traces, load, warn_of_unknown

if TYPE_CHECKING:
    from workers.embedding.serving import Place

CONCURRENCY = 4

DESCRIPTION = """\
The fleet of memhub: embeds memories, folds counters, expires and collects.
Settings come from MEMHUB_* environment variables; without MEMHUB_DATABASE_URL the
embedded database is started. SIGTERM and SIGINT stop it within MEMHUB_WORKER_STOP_S
and a few seconds; no job is lost."""


def main(argv: Sequence[str] | None = None) -> None:
    """Exits 0 at a clean end, 1 on what it explains in one line on stderr, 2 on bad usage, 130 at an early Ctrl-C."""
    arguments = _parser().parse_args(argv)
    try:
        settings = load()
        logs.configure(settings.log_level)
        warn_of_unknown()
        with _traced():
            asyncio.run(_run(arguments, settings))
    except MemhubError as refused:
        sys.stderr.write(f"memhub-worker: {refused.line}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("memhub-worker: interrupted; what it had in hand is done by another run.\n")
        sys.exit(130)


@contextmanager
def _traced() -> Iterator[None]:
    if not exports_traces():
        yield
        return
    from shared import tracing  # noqa: PLC0415 - only a process that traces pays for it

    tracing.begin("memhub-worker")
    try:
        yield
    finally:
        tracing.flush()


async def _run(arguments: argparse.Namespace, settings: Settings) -> None:
    # What is imported here costs a second: --help and a bad setting answer before it.
    from workers import supervisor  # noqa: PLC0415
    from workers.manager import Orders  # noqa: PLC0415

    orders = Orders(queues=arguments.queues, concurrency=arguments.concurrency)
    if arguments.once:
        await supervisor.once(orders, settings)
    else:
        await supervisor.run(orders, settings, place=_place(arguments, settings), detached=arguments.detached)


def _place(arguments: argparse.Namespace, settings: Settings) -> Place | None:
    from shared.embedding.address import embedder_socket  # noqa: PLC0415
    from workers.embedding.serving import Place  # noqa: PLC0415

    if arguments.endpoint is not None:
        host, port = arguments.endpoint
        return Place(host=host, port=port)
    if arguments.no_endpoint or EMBED_QUEUE not in arguments.queues:
        return None
    return Place(path=embedder_socket(settings.data_dir))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="memhub-worker", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--queues",
        type=_queues,
        default=list(QUEUES),
        metavar="NAMES",
        help=f"which queues to serve, by comma (default: {','.join(QUEUES)})",
    )
    parser.add_argument(
        "--concurrency",
        type=_positive,
        default=CONCURRENCY,
        metavar="N",
        help="jobs at a time (default: %(default)s)",
    )
    parser.add_argument("--once", action="store_true", help="drain what is due, then exit 0")
    served = parser.add_mutually_exclusive_group()
    served.add_argument(
        "--endpoint",
        type=_host_and_port,
        metavar="HOST:PORT",
        help="serve /v1/embeddings and /metrics there (default: with the queue embed, a socket in the data folder)",
    )
    served.add_argument("--no-endpoint", action="store_true", help="serve neither")
    parser.add_argument("--detached", action="store_true", help=argparse.SUPPRESS)
    return parser


def _queues(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in QUEUES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"unknown queue {', '.join(unknown)!r}: choose from {', '.join(QUEUES)}")
    return sorted(set(names))


def _positive(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 64):
        raise argparse.ArgumentTypeError("a number from 1 to 64")
    return int(text)


def _host_and_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and 0 <= int(port) <= 65_535):
        raise argparse.ArgumentTypeError("HOST:PORT, for example 127.0.0.1:8200")
    return host.strip("[]"), int(port)
