"""The pace of calls with pauses: read, and refused where no race could hold it."""

from __future__ import annotations

import math

from onnxperf.errors import BadOption
from onnxperf.measure.plan import block_seconds
from onnxperf.records.options import RaceOptions, WorkerLimits
from onnxperf.wording.numbers import significant

_EXPECTED = "a time such as 50ms or 0.05s"


def check_pace(race: RaceOptions, limits: WorkerLimits) -> None:
    """Refuse a pace at which calls cannot be timed, before every subject ends in a timeout."""
    every = race.every
    if every is None:
        return
    if not 0 < every < math.inf:
        raise BadOption(option="every", value=every, expected=_EXPECTED)
    if race.split:
        raise BadOption("the parts of calls are timed without pauses; leave out `split`", option="every", value=every)
    block_s = block_seconds(race)
    if block_s >= limits.timeout:
        takes = f"a block of calls takes {significant(block_s)} s, and `timeout={significant(limits.timeout)}` ends it"
        raise BadOption(takes, option="every", value=every, expected="a shorter time, or a longer timeout")
