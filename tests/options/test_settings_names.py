"""Settings are accepted under the names that answers show."""

from __future__ import annotations

import pytest

from onnxperf.api._shared.requests import parse
from onnxperf.errors import BadOption
from onnxperf.options.functions import BENCH


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"disable_prepacking": "1"}, "options", {"session.disable_prepacking": "1"}),
        ({"allow_spinning": "0"}, "options", {"session.intra_op.allow_spinning": "0"}),
        ({"arena": "off"}, "arena", "off"),
        ({"threads": "2"}, "threads", 2),
        ({"intra_op_num_threads": "2"}, "threads", 2),
        ({"opt_level": "basic"}, "opt_level", "basic"),
    ],
)
def test_a_setting_is_known_by_its_short_name(given: dict[str, str], field: str, value: object) -> None:
    session = parse({"options": given}, BENCH).session
    assert getattr(session, field) == value


def test_a_setting_that_is_given_twice_is_refused() -> None:
    with pytest.raises(BadOption, match="threads is given twice"):
        parse({"threads": 1, "options": {"threads": "2"}}, BENCH)
