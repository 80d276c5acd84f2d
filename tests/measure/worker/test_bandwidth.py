"""How fast arrays are moved, with arrays so small that nothing takes time."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from onnxperf.measure.messages import MoveBytes
from onnxperf.measure.worker.bandwidth import answer_move
from onnxperf.measure.worker.host import Host


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sizes", [(1,), (4096, 65536)])
def test_there_is_a_rate_for_every_size(threads: int, sizes: tuple[int, ...]) -> None:
    found = answer_move(Host(), MoveBytes(threads, sizes, 1_000_000))
    assert len(found.gb_per_s) == len(found.free) == len(sizes)
    assert min(found.gb_per_s) > 0


def test_where_the_kernel_does_not_tell_who_waited_no_round_is_known_to_be_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("onnxperf.measure.worker.bandwidth.waiting_clock", lambda: nullcontext(None))
    assert answer_move(Host(), MoveBytes(1, (4096,), 1_000, 3)).free == [False]
