"""Whom PostgreSQL runs as: this user, or for root (which PostgreSQL refuses) a system user of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import dataclass

from shared.errors import ConfigurationError

# Not `memhub`: a deployment may well run the servers under that name, and they must not share root's data.
ACCOUNT_NAME = "memhub-postgres"
ADD_TIMEOUT_S = 30.0

_ADD = (
    ("useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"),
    ("adduser", "-S", "-D", "-H", "-h", "/nonexistent"),
)


@dataclass(frozen=True)
class Account:
    """An unprivileged user with its own group."""

    name: str
    uid: int
    gid: int


def client_name() -> str:
    """The login name that PostgreSQL sees behind this process's connections."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise ConfigurationError(
            f"User id {os.geteuid()} has no name on this system, and the embedded PostgreSQL needs one.",
            next="Add the user to /etc/passwd, or set MEMHUB_DATABASE_URL.",
        ) from None


def runtime_account() -> Account | None:
    """None: PostgreSQL runs as this user. For root: the system user, made when it is missing."""
    if os.geteuid() != 0:
        return None
    if not sys.platform.startswith("linux"):
        raise _refused("The embedded PostgreSQL cannot run for root on this system.")
    account = _find() or _add()
    if account.uid == 0:
        raise _refused(f"The user {ACCOUNT_NAME} has root's id.")
    return account


def _find() -> Account | None:
    try:
        entry = pwd.getpwnam(ACCOUNT_NAME)
    except KeyError:
        return None
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid)


def _add() -> Account:
    problem = "neither useradd nor adduser is there"
    for command in _ADD:
        program = shutil.which(command[0], path="/usr/sbin:/sbin:/usr/bin:/bin")
        if program is None:
            continue
        shell = ("--shell" if command[0] == "useradd" else "-s", "/usr/sbin/nologin")
        done = subprocess.run(  # noqa: S603
            [program, *command[1:], *shell, ACCOUNT_NAME],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=ADD_TIMEOUT_S,
            check=False,
        )
        # Found although the command failed: another root process was first.
        if account := _find():
            return account
        problem = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    raise _refused(f"PostgreSQL does not run as root and the user {ACCOUNT_NAME} could not be made: {problem}.")


def _refused(message: str) -> ConfigurationError:
    return ConfigurationError(
        message,
        next=f"Run as an ordinary user, make the system user {ACCOUNT_NAME}, or set MEMHUB_DATABASE_URL.",
    )
