"""Work that several threads do at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Thread


def in_threads(work: Callable[[int], None], numbers: Iterable[int]) -> None:
    """Run `work` once for each number, all at the same time."""
    threads = [Thread(target=work, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
