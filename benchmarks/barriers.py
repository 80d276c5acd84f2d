"""Work for one thread, and for two that wait for each other again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

_MEETINGS = 40
"""Of the threads of a call."""


def pieces_of_work() -> Callable[[], object]:
    """Pieces of about 50 us, one after the other; numpy lets other threads run meanwhile."""
    data: list[Any] = []

    def work() -> None:
        if not data:
            data.extend((np.linspace(0.0, 1.0, 8_000), np.empty(8_000)))
        for _ in range(_MEETINGS):
            np.sin(data[0], out=data[1])

    return work


def meeting_pieces() -> Callable[[], object]:
    """The same pieces in each of two threads, which meet after every piece: twice the work."""
    state: list[Any] = []

    def start() -> None:
        begin, piece = threading.Barrier(2), threading.Barrier(2)
        works = [(np.linspace(0.0, 1.0, 8_000), np.empty(8_000)) for _ in range(2)]

        def pieces(number: int) -> None:
            begin.wait()
            for _ in range(_MEETINGS):
                np.sin(works[number][0], out=works[number][1])
                piece.wait()

        def forever() -> None:
            while True:
                pieces(1)

        threading.Thread(target=forever, daemon=True).start()
        state.append(pieces)

    def work() -> None:
        if not state:
            start()
        state[0](0)

    return work
