"""Liveness by connecting: one PostgreSQL handshake over a unix socket, without a driver."""

from __future__ import annotations

import socket
import struct
from enum import Enum
from pathlib import Path

PROTOCOL_3_0 = 196608
ANSWER_TIMEOUT_S = 2.0
MESSAGES_MAX = 200
MESSAGE_BYTES_MAX = 65_536


class State(Enum):
    """What the socket says. BUSY: somebody is there, but starting, recovering, stopping or slow."""

    DOWN = "down"
    BUSY = "busy"
    READY = "ready"
    FOREIGN = "foreign"
    DISK_FULL = "disk full"


def ping(socket_path: Path, *, user: str, database: str, timeout_s: float = ANSWER_TIMEOUT_S) -> State:
    """Ask the server behind the socket whether it takes sessions of this user in this database.

    FOREIGN means that it runs but refuses that user or lacks that database, or is no PostgreSQL; DISK_FULL that it runs
    and has no room to begin a session.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(str(socket_path))
        except (FileNotFoundError, ConnectionRefusedError):
            return State.DOWN
        except (BlockingIOError, TimeoutError):
            return State.BUSY
        try:
            return _handshake(connection, user=user, database=database)
        except (TimeoutError, ConnectionError):
            return State.BUSY


def _handshake(connection: socket.socket, *, user: str, database: str) -> State:
    parameters = b"".join(
        part.encode() + b"\0" for part in ("user", user, "database", database, "application_name", "memhub ping")
    )
    body = struct.pack("!i", PROTOCOL_3_0) + parameters + b"\0"
    connection.sendall(struct.pack("!i", len(body) + 4) + body)
    for _ in range(MESSAGES_MAX):
        kind, payload = _message(connection)
        if kind == b"E":
            return _refusal(payload)
        if kind == b"R" and payload[:4] != b"\0\0\0\0":
            return State.FOREIGN
        if kind == b"Z":
            connection.sendall(b"X\0\0\0\4")
            return State.READY
    return State.FOREIGN


def _message(connection: socket.socket) -> tuple[bytes, bytes]:
    header = _exactly(connection, 5)
    length = int(struct.unpack("!i", header[1:])[0]) - 4
    if not 0 <= length <= MESSAGE_BYTES_MAX:
        return b"E", b""
    return header[:1], _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        part = connection.recv(count - len(received))
        if not part:
            raise ConnectionResetError
        received += part
    return received


def _refusal(payload: bytes) -> State:
    fields = {field[:1]: field[1:].decode(errors="replace") for field in payload.split(b"\0") if field}
    match fields.get(b"C", ""):
        case "53300":  # too_many_connections: it is up
            return State.READY
        case "53100":  # disk_full
            return State.DISK_FULL
        case "" | "3D000":  # no PostgreSQL, or invalid_catalog_name
            return State.FOREIGN
        case code if code.startswith(("28", "42")):  # invalid authorisation, insufficient privilege
            return State.FOREIGN
        case _:  # such as cannot_connect_now
            return State.BUSY
