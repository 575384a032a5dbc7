"""The console script memhub: hooks at once, everything else through the command line."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130


def main() -> None:
    """Ctrl-C is told, also when it comes before the command has begun."""
    try:
        _main()
    except KeyboardInterrupt:
        # An impatient second one would be a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stderr.write("memhub: interrupted.\n")
        sys.exit(INTERRUPTED)


def _main() -> None:
    # A hook runs at every start of a session: it does not pay for the imports of the command line (0.3 s).
    if sys.argv[1:] == ["hook", "session-start"]:
        from ops import hook  # noqa: PLC0415

        hook.main()
    else:
        from ops import cli  # noqa: PLC0415

        cli.main()


if __name__ == "__main__":
    main()
