"""What disturbs a race on this machine, in words."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.analyze.answers.doctor import warnings
from tests.render import examples

OTHERS = "Other processes used 34 % of the processors during the race: close them, or measure later."
LOAD = "Something else is running, or was a minute ago: the load is 3 on 4 cores."
HOT = "The CPU overheated during the race and lowered its clock."
AWAKE = "Idle workers cannot be frozen here, so they disturb each other a little."


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"others_share": 0.0}, []),
        ({"others_share": 0.34}, [OTHERS]),
        ({"others_share": 0.0, "load_before": 3.0, "cores": 4}, []),  # what was used counts, not the minute before
        ({"load_before": 3.0, "cores": 4}, [LOAD]),
        ({"load_before": 2.0, "cores": 4}, []),
        ({"others_share": 0.0, "throttled_before": 3, "throttled_after": 4}, [HOT]),
        ({"others_share": 0.0, "throttled_before": 3, "throttled_after": 3}, []),
        ({"others_share": 0.0, "throttled_before": None, "throttled_after": 3}, []),
        ({"others_share": 0.0, "throttled_before": 3, "throttled_after": None}, []),
        ({"others_share": 0.34, "throttled_before": 3, "throttled_after": 4, "frozen": False}, [OTHERS, HOT, AWAKE]),
    ],
)
def test_whatever_disturbs_a_race_is_a_sentence(changes: dict[str, Any], found: list[str]) -> None:
    quiet: dict[str, Any] = {
        "others_share": None,
        "load_before": None,
        "throttled_before": None,
        "throttled_after": None,
        "frozen": True,
    }
    assert warnings(examples.machine(**{**quiet, **changes})) == found
