"""What is told of a port that cannot be had."""

from __future__ import annotations

import errno
import os

from shared.errors import ConfigurationError

PRIVILEGED = 1024


def refused(host: str, port: int, failure: OSError) -> ConfigurationError:
    advice = "or end the process that has it"
    if failure.errno in (errno.EACCES, errno.EPERM):
        advice = f"from {PRIVILEGED} on: those below are for the administrator"
        return ConfigurationError(
            f"Port {port} of {host} cannot be bound: this user has no permission for it.",
            next=f"Choose another with --port, {advice}.",
        )
    # What `create_server` says of it names the address once more.
    reason = os.strerror(failure.errno) if failure.errno else str(failure)
    return ConfigurationError(
        f"Port {port} of {host} cannot be bound: {reason}.",
        next=f"Choose another with --port, {advice}.",
    )
