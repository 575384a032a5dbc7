"""Runs PostgreSQL's programs on a cluster: as the right user, in a session of their own, off our pipes."""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.embedded import logfile
from shared.embedded.account import Account
from shared.embedded.sockets import PORT

INIT_TIMEOUT_S = 120.0
PROGRAM_GRACE_S = 5.0

# Statements' own errors go to the client that sent them and are not logged: they would carry content.
_OPTIONS = {
    "listen_addresses": "",
    "unix_socket_directories": ".",
    "unix_socket_permissions": "0700",
    "port": str(PORT),
    "max_connections": "100",
    "shared_buffers": "64MB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "io_method": "sync",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
}


@dataclass(frozen=True)
class Programs:
    """The programs of one installation, run as `account` or, when it is None, as this user."""

    install: Path
    account: Account | None

    def initdb(self, cluster: Path, *, superuser: str, ctype: str) -> subprocess.CompletedProcess[str]:
        options = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        options += ["--lc-collate=C", f"--lc-ctype={ctype}", "--lc-messages=C"]
        options += [f"--username={superuser}", "--auth-local=peer", "--auth-host=reject", "--no-instructions"]
        return self._run("initdb", "-D", self._seen(cluster), *options, cluster=cluster)

    def execute_alone(self, cluster: Path, *, database: str, statements: str) -> subprocess.CompletedProcess[str]:
        """Run statements, one a line, in single-user mode on a cluster that no server has open."""
        options = ("-c", "exit_on_error=true", "-c", "log_checkpoints=off")
        return self._run(
            *("postgres", "--single", "-D", self._seen(cluster), *options, database),
            cluster=cluster,
            text=statements,
        )

    def write(self, cluster: Path, name: str, text: str) -> None:
        """Write a file of the cluster as the cluster's user, so that no link in it can lead root astray."""
        subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", 'umask 077; cat > "$0.new" && mv -f "$0.new" "$0"', name],
            input=text,
            text=True,
            check=True,
            timeout=INIT_TIMEOUT_S,
            **self._surroundings(cluster),
        )

    def start(self, cluster: Path, *, log: Path, timeout_s: float) -> bool:
        """Start a detached server that writes to the log; False when it ended or was not ready in time."""
        settings = shlex.join(part for name, value in _OPTIONS.items() for part in ("-c", f"{name}={value}"))
        wait = ("-w", "-t", str(max(1, int(timeout_s))), "-s")
        command = [self._program("pg_ctl"), "start", *wait, "-D", self._seen(cluster), "-o", settings]
        descriptor = logfile.open_for_append(log)
        try:
            done = subprocess.run(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                check=False,
                timeout=timeout_s + PROGRAM_GRACE_S,
                **self._surroundings(cluster),
            )
        except subprocess.TimeoutExpired:
            return False
        finally:
            os.close(descriptor)
        return done.returncode == 0

    def _run(self, program: str, *arguments: str, cluster: Path, text: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603
            [self._program(program), *arguments],
            input=text,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=INIT_TIMEOUT_S,
            **self._surroundings(cluster),
        )

    def _program(self, name: str) -> str:
        return str(self.install / "bin" / name)

    def _seen(self, cluster: Path) -> str:
        """The cluster as its server names it.

        Root's runtime user may enter the cluster but none of its parents. It need not: its processes start
        there and stay there, and /proc/self/cwd leads to where a process is without a walk through parents.
        """
        return str(cluster) if self.account is None else "/proc/self/cwd"

    def _surroundings(self, cluster: Path) -> dict[str, Any]:
        common: dict[str, Any] = {
            "cwd": cluster,
            "env": {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C"},
            "start_new_session": True,
        }
        if self.account is None:
            return common
        return common | {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}
