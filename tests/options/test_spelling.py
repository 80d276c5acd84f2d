"""Options inside messages."""

from __future__ import annotations

import pytest

from onnxperf.options.spelling import as_flags, as_keywords, plain_flags


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("use `time=45` here", "use `--time 45` here"),
        ("`retry` goes with `resume`", "`--retry` goes with `--resume`"),
        ("`opt_level=all`", "`--opt-level all`"),
        ("`every=0.05`", "`--every 0.05`"),
        ("set them with `dims`", "set them with `--dim`"),
        ("`each_node` needs `plan`", "`--each-node` needs `PLAN`"),
        ("`rows=1` and `Conv` stay", "`rows=1` and `Conv` stay"),
    ],
)
def test_options_are_spelled_as_the_command_line_does_and_other_words_stay(text: str, shown: str) -> None:
    assert as_flags(text) == shown
    assert plain_flags(text) == shown.replace("`", "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("increase `time`", "increase `time=…`"),
        ("use `time=45` here", "use `time=45` here"),
        ("`Conv` and `onnxperf envs` stay", "`Conv` and `onnxperf envs` stay"),
    ],
)
def test_python_reads_options_as_keywords(text: str, shown: str) -> None:
    assert as_keywords(text) == shown
