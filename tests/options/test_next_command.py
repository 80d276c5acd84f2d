"""Commands that a reader can paste."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from onnxperf.options.next_command import given, next_command


@pytest.mark.parametrize(
    ("model", "feeds", "keywords", "command"),
    [
        ("m.onnx", {}, {}, "onnxperf tune m.onnx"),
        (Path("my models/m.onnx"), {}, {}, "onnxperf tune 'my models/m.onnx'"),
        ("m.onnx", {}, {"dims": {"batch": 8, "seq": 32}}, "onnxperf tune m.onnx --dim batch=8 --dim seq=32"),
        ("m.onnx", {}, {"shapes": {"X": (1000, 10)}}, "onnxperf tune m.onnx --shape X=1000x10"),
        ("m.onnx", {}, {"ranges": {"ids": (1, 8000)}}, "onnxperf tune m.onnx --range ids=1:8000"),
        ("m.onnx", {"X": Path("x y.npy")}, {"cast": True}, "onnxperf tune m.onnx --input 'X=x y.npy' --cast"),
        ("m.onnx", {}, {"threads": 4, "opt_level": "basic"}, "onnxperf tune m.onnx --threads 4 --opt-level basic"),
        (
            "m.onnx",
            {},
            {"options": {"arena": "off"}, "roofline": True},
            "onnxperf tune m.onnx --option arena=off --roofline",
        ),
        ("m.onnx; rm -r x", {}, {}, "onnxperf tune 'm.onnx; rm -r x'"),
        (b"bytes", {}, {"dims": {"batch": 8}}, "onnxperf.tune(model, dims={'batch': 8})"),
        ("m.onnx", {"X": [1.0]}, {}, "onnxperf.tune(model, feeds=feeds)"),
    ],
)
def test_a_command_is_spelled_with_what_was_given(
    model: object, feeds: dict[str, object], keywords: dict[str, object], command: str
) -> None:
    assert next_command("tune", model, feeds, keywords) == command
    if command.startswith("onnxperf "):
        assert shlex.split(command)[2] == str(model)


def test_defaults_are_not_repeated() -> None:
    usual: dict[str, object] = {
        "threads": None,
        "provider": "cpu",
        "options": {},
        "env": "",
        "opt_level": "all",
        "seed": 0,
        "cast": False,
    }
    assert given(usual) == {}
    assert given(usual | {"threads": 2, "provider": "cuda"}) == {"threads": 2, "provider": "cuda"}
