"""`onnxperf.load`: a model ready to predict, whatever runtime is behind it."""

from __future__ import annotations

from typing import Unpack

from msgspec.structs import replace

from onnxperf.api.crews import Source
from onnxperf.api.options import LoadKeywords, check_keywords, session_options
from onnxperf.measure.machine import usable_cores
from onnxperf.model.load import open_model
from onnxperf.runtimes.base import Runner, check_call, runtime_module


def load(model: Source, *, runtime: str = "ort", call: str = "run", **keywords: Unpack[LoadKeywords]) -> Runner:
    """Load a model in this process; `runner.run({"X": X})` returns its outputs by name."""
    check_keywords(keywords, LoadKeywords)
    module = runtime_module(runtime)
    check_call(module, call)
    options = session_options(keywords)
    opened = open_model(model)
    session = module.open_session(opened.path, replace(options, threads=options.threads or usable_cores()))
    return Runner(session, opened, runtime, call)
