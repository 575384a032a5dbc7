"""What every command says alike where there is no database yet, or no worker."""

from __future__ import annotations

from ops.finding import Finding
from shared.settings import Settings

NO_DATABASE_NEXT = (
    "The first client that uses it makes it, and so does `memhub up`; or set MEMHUB_DATA_DIR or MEMHUB_DATABASE_URL to"
    " the one you mean."
)


def no_database(settings: Settings) -> str:
    return f"There is no database in {settings.data_dir} yet."


def no_worker(settings: Settings) -> Finding:
    """What it means that none is running, and what to do."""
    if settings.database_url is None:
        return Finding("workers", True, "none is running; a server starts one when there is work")
    return Finding(
        "workers",
        False,
        "none is running: nothing is embedded, folded or expired",
        "Start memhub-worker, with these settings.",
    )
