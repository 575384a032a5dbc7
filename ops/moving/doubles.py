"""Which memories an import has told of so far, in a space that does not grow with them."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from uuid import UUID

_BITS = 2**25
_HASHES = 7
_HASH_BYTES = 4


class Told:
    """A Bloom filter (CACM 13:7, 1970) of 4 MiB: what was added is in it, and after a million about ten of a million
    others are too. `said` is a digest."""

    def __init__(self) -> None:
        self._bits = bytearray(_BITS // 8)

    def add(self, key: tuple[UUID, UUID], said: bytes) -> None:
        for told in (b"", said):
            for place in _places(key, told):
                self._bits[place >> 3] |= 1 << (place & 7)

    def otherwise(self, key: tuple[UUID, UUID], said: bytes) -> bool:
        """Whether the memory was told, and never so."""
        return self._holds(key, b"") and not self._holds(key, said)

    def _holds(self, key: tuple[UUID, UUID], said: bytes) -> bool:
        return all(self._bits[place >> 3] & 1 << (place & 7) for place in _places(key, said))


def _places(key: tuple[UUID, UUID], said: bytes) -> Iterator[int]:
    digest = blake2b(key[0].bytes + key[1].bytes + said, digest_size=_HASHES * _HASH_BYTES).digest()
    for start in range(0, len(digest), _HASH_BYTES):
        yield int.from_bytes(digest[start : start + _HASH_BYTES], "big") % _BITS
