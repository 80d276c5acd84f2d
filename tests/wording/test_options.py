"""Options inside messages."""

from __future__ import annotations

import pytest

from onnxperf.wording.options import as_flags


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("use `time=45` here", "use --time 45 here"),
        ("`retry` goes with `resume`", "--retry goes with --resume"),
        ("`opt_level=all`", "--opt-level all"),
        ("`every=0.05`", "--every 0.05"),
        ("set them with `dims`", "set them with --dim"),
        ("`as_=svg` needs `plan`", "--as svg needs PLAN"),
        ("`batch=1` and `Conv` stay", "`batch=1` and `Conv` stay"),
    ],
)
def test_options_are_spelled_as_the_command_line_does_and_other_words_stay(text: str, shown: str) -> None:
    assert as_flags(text) == shown
