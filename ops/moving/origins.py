"""To whom or what memories belong where they come from: one import brings those of one."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ops.files import FileRefused
from ops.moving.detection import Format
from ops.moving.sources import PARTED, origins

ORIGINS_TOLD_MAX = 20


async def require_one(path: Path, format: Format, wanted: str | None, *, told: str, is_lines: bool | None) -> None:
    """Raises FileRefused where memories belong to several there, of whom none is `wanted`: they are not to be mixed.

    `told` is what people know the source by. Reads it once, and lets the loop turn meanwhile.
    """
    if format not in PARTED:
        if wanted is not None:
            raise FileRefused(f"--from: nothing of {format} tells where it belongs.", next="Leave --from out.")
        return
    there: set[str] = set()
    for origin in origins(path, format, is_lines=is_lines):
        # After each record: a signal ends it however large the file is.
        await asyncio.sleep(0)
        if origin is not None:
            there.add(origin)
    if wanted is not None and not there:
        raise FileRefused(
            f"--from: nothing belongs to {wanted} there: no memory of {told} tells where it belongs.",
            next="Leave --from out.",
        )
    if wanted is not None and wanted not in there:
        raise FileRefused(f"--from: nothing belongs to {wanted} there.", next=f"Name one of: {_named(there)}.")
    if wanted is None and len(there) > 1:
        raise FileRefused(
            f"{told}: its memories belong to {len(there)}, which one project would mix: {_named(there)}.",
            next="Name one of them with --from, and its --project.",
        )


def _named(there: set[str]) -> str:
    return ", ".join(sorted(there)[:ORIGINS_TOLD_MAX]) + (", …" if len(there) > ORIGINS_TOLD_MAX else "")
