"""`onnxperf.waiting_runs`: results that could not be written to their store yet."""

from __future__ import annotations

from onnxperf.store import waiting
from onnxperf.wording.numbers import count


def waiting_runs() -> list[str]:
    """A line for each store that could not be written, about what waits for it."""
    return [
        f"{count(each.results, 'result')} in {each.folder} {'waits' if each.results == 1 else 'wait'} for the store "
        f"{each.place}; the next command that writes there takes {'it' if each.results == 1 else 'them'} along"
        for each in waiting()
    ]
