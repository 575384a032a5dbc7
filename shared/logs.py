"""JSON lines on stderr: one line an event, names and numbers only, never what a user wrote."""

from __future__ import annotations

import logging
import os
import select
import sys
import warnings
from collections.abc import MutableMapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

STDERR = 2
LINE_BYTES_MAX = select.PIPE_BUF
"""A pipe that polls as writable takes this much without blocking."""

_FRAMES_MAX = 8
_LEVELS = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARNING": logging.WARNING, "ERROR": logging.ERROR}


def configure(level: str) -> None:
    """Send memhub's events from `level` up, and everyone else's from WARNING up, to stderr as JSON lines.

    Other people's records are reduced to their template and the place that made them: their arguments,
    like the texts of exceptions and warnings, may quote a memory.
    """
    root = logging.getLogger()
    root.handlers[:] = [_ForeignHandler()]
    root.setLevel(logging.WARNING)
    warnings.showwarning = _warned
    sys.excepthook = _crashed
    _events().setLevel(_LEVELS[level])


def event(name: str, *, level: str = "INFO", **fields: object) -> None:
    """Write one event. Fields are names, numbers, codes and outcomes; the caller keeps user text out."""
    if _events().isEnabledFor(_LEVELS[level]):
        getattr(_logger(), level.lower())(name, **fields)


def failure(name: str, error: BaseException, **fields: object) -> None:
    """Write an unexpected exception: its type and where it was raised, never its text."""
    event(name, level="ERROR", error=type(error).__qualname__, at=_frames(error.__traceback__), **fields)


def _events() -> logging.Logger:
    return logging.getLogger("memhub")


@cache
def _logger() -> Any:
    # Imported with the first event: structlog pulls in rich, 50 ms that no start should wait for.
    import structlog  # noqa: PLC0415

    return structlog.wrap_logger(
        _Stderr(),
        processors=[structlog.processors.add_log_level, _stamped, _rendered],
        wrapper_class=structlog.BoundLogger,
        cache_logger_on_first_use=True,
    )


class _Stderr:
    """Writes a line only where it cannot block: a client that never reads stderr must not stop the server."""

    def __getattr__(self, _level: str) -> Any:
        return _write


def _stamped(_logger: object, _method: str, fields: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"event": fields.pop("event"), "timestamp": moment, **fields}


def _rendered(_logger: object, _method: str, fields: MutableMapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(fields, default=str, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return orjson.dumps({key: ascii(value) for key, value in fields.items()}, option=orjson.OPT_APPEND_NEWLINE)


def _write(line: bytes) -> None:
    if len(line) > LINE_BYTES_MAX:
        line = orjson.dumps({"event": "log_line_too_long", "bytes": len(line)}, option=orjson.OPT_APPEND_NEWLINE)
    try:
        poll = select.poll()
        poll.register(STDERR, select.POLLOUT)
        if poll.poll(0):
            os.write(STDERR, line)
    except OSError:
        return


class _ForeignHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        fields: dict[str, object] = {"logger": record.name, "at": f"{record.module}:{record.lineno}"}
        if record.exc_info and record.exc_info[1] is not None:
            fields |= {"error": type(record.exc_info[1]).__qualname__, "raised": _frames(record.exc_info[2])}
        level = record.levelname if record.levelname in _LEVELS else "ERROR"
        event("library", level=level, template=str(record.msg).split("\n", 1)[0][:200], **fields)


def _warned(  # noqa: PLR0917
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: object = None,
    line: str | None = None,
) -> None:
    event("warning", level="WARNING", category=category.__name__, at=f"{Path(filename).name}:{lineno}")


def _crashed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        failure("crashed", error.with_traceback(trace))


def _frames(trace: TracebackType | None) -> list[str]:
    frames: list[str] = []
    while trace is not None:
        frames.append(f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return frames[-_FRAMES_MAX:]
