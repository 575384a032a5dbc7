"""What is told of a port that cannot be had."""

from __future__ import annotations

import errno

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
    return ConfigurationError(
        f"Port {port} of {host} cannot be bound: {failure.strerror or failure}.",
        next=f"Choose another with --port, {advice}.",
    )
