"""How fast arrays are moved, with arrays so small that nothing takes time."""

from __future__ import annotations

import pytest

from onnxperf.measure.messages import MoveBytes
from onnxperf.measure.worker.bandwidth import answer_move
from onnxperf.measure.worker.host import Host


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sizes", [(1,), (4096, 65536)])
def test_there_is_a_rate_for_every_size(threads: int, sizes: tuple[int, ...]) -> None:
    found = answer_move(Host(), MoveBytes(threads, sizes, 1_000_000)).gb_per_s
    assert len(found) == len(sizes)
    assert min(found) > 0
