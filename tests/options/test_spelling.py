"""Options inside messages."""

from __future__ import annotations

import pytest

from onnxperf.options.spelling import as_flags


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("use `time=45` here", "use --time 45 here"),
        ("`retry` goes with `resume`", "--retry goes with --resume"),
        ("`opt_level=all`", "--opt-level all"),
        ("`every=0.05`", "--every 0.05"),
        ("set them with `dims`", "set them with --dim"),
        ("`each_node` needs `plan`", "--each-node needs PLAN"),
        ("`rows=1` and `Conv` stay", "`rows=1` and `Conv` stay"),
    ],
)
def test_options_are_spelled_as_the_command_line_does_and_other_words_stay(text: str, shown: str) -> None:
    assert as_flags(text) == shown
