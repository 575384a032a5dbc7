"""What is ours in a file of a client: put in, found there, and taken out with the file back as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ops.connecting import files, hooks
from ops.connecting.clients import Client
from ops.connecting.errors import ClientFileRefused, Malformed
from ops.connecting.files import Change
from ops.connecting.rules import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`found` is ours in a text, None where nothing is; `put` writes what was found into another text.

    `dropped` is a text without ours, and `is_bare` whether what is left is nothing but the way to it.
    """

    path: Path
    found: Callable[[str], Any]
    put: Callable[[str, Any], str]
    dropped: Callable[[str], str | None]
    is_bare: Callable[[str], bool]

    @classmethod
    def of_entry(cls, path: Path, client: Client) -> Part:
        form, key = client.form, client.key
        return cls(
            path=path,
            found=lambda text: form.read(text, key),
            put=lambda text, entry: form.put(text, key, entry),
            dropped=lambda text: form.drop(text, key),
            is_bare=lambda text: form.is_bare(text, key),
        )

    @classmethod
    def of_hook(cls, path: Path) -> Part:
        return cls(path=path, found=hooks.found, put=hooks.put, dropped=hooks.removed, is_bare=hooks.is_bare)

    @classmethod
    def of_rules(cls, path: Path, rules: Rules) -> Part:
        return cls(
            path=path, found=rules.found, put=rules.put, dropped=rules.removed, is_bare=lambda text: not text.strip()
        )

    def read(self) -> Any:
        """What is ours in the file now. Raises ClientFileRefused."""
        try:
            return self.found(files.text(self.path))
        except Malformed as malformed:
            raise ClientFileRefused(self.path, str(malformed)) from None

    def check(self, edit: files.Edit) -> None:
        """Raises ClientFileRefused for what `change` would refuse."""
        files.check(self.path, edit)

    def change(self, edit: files.Edit, *, marks: bool) -> Change:
        """Raises ClientFileRefused."""
        return files.change(self.path, edit, is_ours=lambda text: self.found(text) is not None, marks=marks)

    def base(self, text: str) -> str:
        """What to put ours into: the text, or what the backup holds where ours is all that it has beside that.

        However often another is put, the text stays one that `removed` knows. Raises Malformed.
        """
        ours, before = self.found(text), self._before()
        return before if ours is not None and before is not None and self._gives(before, ours, text) else text

    def removed(self, text: str) -> str | None:
        """The text without ours, None for a file that was made for it.

        Where nothing else was changed since, it is what the backup holds, byte by byte. Raises Malformed.
        """
        if self.found(text) is None:
            return text
        if (base := self.base(text)) != text:
            return base
        left = self.dropped(text)
        return None if left is None or (self._before() is None and self.is_bare(left)) else left

    def _before(self) -> str | None:
        try:
            kept = files.kept(self.path)
            return None if kept is None or self.found(kept) is not None else kept
        except (ClientFileRefused, Malformed):
            return None

    def _gives(self, before: str, ours: Any, text: str) -> bool:
        try:
            return self.put(before, ours) == text
        except Malformed:
            return False
