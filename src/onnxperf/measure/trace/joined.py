"""Many short texts stored as a few long ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import overload


class JoinedTexts(Sequence[bytes]):
    """JSON objects, one per event, split on first access: they are rarely needed, and smaller when joined."""

    SEPARATOR = b"\0"
    """Not allowed in JSON."""

    def __init__(self, joined: Sequence[bytes], size: int) -> None:
        self._joined, self._size = joined, size

    @cached_property
    def _texts(self) -> tuple[bytes, ...]:
        separate = (text for joined in self._joined for text in joined.split(self.SEPARATOR))
        return tuple(text if text.startswith(b"{") else b"" for text in separate)

    def __len__(self) -> int:
        """Number of texts, without splitting them."""
        return self._size

    def __iter__(self) -> Iterator[bytes]:
        """All of them, in order."""
        return iter(self._texts)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | Sequence[bytes]:
        """The text of an event; empty if it has none."""
        return self._texts[index]

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence of the same texts."""
        return isinstance(other, Sequence) and self._texts == tuple(other)

    def __hash__(self) -> int:
        """Hash of the texts."""
        return hash(self._texts)
