"""A whole record of every kind, bundles of them, and traps: settings that would run a program of the sender."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.analyze.judges.run_comparison import compare_runs
from onnxperf.model.load import open_model
from onnxperf.records.envs import Environment, Environments
from onnxperf.records.profiles import Profiles
from onnxperf.records.race import Bench
from onnxperf.records.runs import KeptRuns
from onnxperf.records.tune import TuneChoice, TuneRow, Tuning
from onnxperf.results.base import result_classes
from onnxperf.store import CaseRow, RunRow, whole_run, write_bundle
from tests.analyze.judges import test_gate as gates
from tests.fuzz import seeds
from tests.render import einsum_examples, gallery, history_examples, sweeps
from tests.render.advice.test_quantize_page import RECORD as QUANTIZATION
from tests.render.graph import examples as graphs
from tests.render.memory import examples as memories
from tests.render.profile import examples as profiles
from tests.render.race.test_bisect import BISECTION
from tests.render.race.test_check import CHECK, conversion
from tests.render.race.test_doctor import DOCTOR
from tests.render.race.test_runs import run as kept_run
from tests.render.race.test_tune import RECORD as TUNING
from tests.render.stack import examples as stacks
from tests.serve.conftest import race

MODEL = "linear"
"""Of `seeds.models`: the gated, tuned and benchmarked one."""
TRAP, MARK = "trap", "ran"
SCRIPT = b'#!/bin/sh\ntouch "$(dirname "$0")/ran" ran\n'
"""Leaves a mark beside itself and in the current folder."""


ENVIRONMENT = Environment(name="onnxruntime==1.20.1", python="/usr/bin/python3", python_version="3.11", packages={})


@cache
def records() -> dict[str, Struct]:
    """Records of every kind that a result has, by names of their own."""
    bench: Bench = race("m.onnx").record
    found: list[Struct] = [
        bench,
        sweeps.line([0.5, "oom", 1.2, 1.5]),
        gallery.advice(),
        BISECTION,
        CHECK,
        conversion("m", CHECK),
        profiles.profile(),
        profiles.diff(),
        profiles.optimization(),
        Profiles(model="m", variants=(profiles.profile(), profiles.profile())),
        DOCTOR,
        einsum_examples.plan(orders=einsum_examples.orders()),
        einsum_examples.rewrite(),
        Environments(environments=(ENVIRONMENT,)),
        gates.record(gates.TIME, gates.SLOW, races=bench.cases),
        history_examples.two_machines(),
        gallery.code_lines(),
        memories.memory(),
        gallery.node_memory(20, 10**8),
        replace(QUANTIZATION, layers=QUANTIZATION.layers[:1]),  # another one has an infinite error
        KeptRuns(runs=(kept_run(), kept_run(id="lonuki"))),
        compare_runs(("a", "b"), bench, bench),
        stacks.stack(),
        TUNING,
        tuning(),
        graphs.nested_view(),
    ]
    return {f"{type(each).__name__.lower()}{number}": each for number, each in enumerate(found)}


@cache
def files() -> dict[str, bytes]:
    """What commands would have written for them."""
    return {name: result_classes()[type(each)](each).to_json().encode() for name, each in records().items()}


@cache
def tuning(**settings: str) -> Tuning:
    """A tuning of the model that was interrupted and can be resumed; its candidates have these settings."""
    model = open_model(seeds.models()[MODEL])
    choices = [TuneChoice(name=name, knobs=(name.partition("=")[0],)) for name in ("threads=1", "arena=off")]
    rows = [
        TuneRow(
            choice=replace(each, settings=dict([each.name.split("=")]) | settings),
            status="ok",
            stage="longer",
            amount=5e6,
            launch_speedups=(3.0,) * 8,  # so much better that it is raced again, first
            speedup=3.0,
            speedup_low=2.9,
            speedup_high=3.1,
        )
        for each in choices
    ]
    shape: dict[str, tuple[int, ...]] = {each.name: (1, 4) for each in model.inputs}
    return Tuning(
        model=MODEL, fingerprint=model.fingerprint, shapes=shape, threads=2, rows=tuple(rows), interrupted=True
    )


# ---------------------------------------------------------------- bundles


def trapped() -> list[Tuning]:
    """Tunings whose candidates name a program of the sender."""
    return [tuning(env=f"./{TRAP}"), tuning(custom_ops=f"./{TRAP}.so"), tuning(env="onnxperf-no-such-package==0")]


@cache
def rows() -> list[list[dict[str, Any]]]:
    """The lines of a run for each record that a store keeps."""
    found = [whole_run(each, "tune" if isinstance(each, Tuning) else "bench") for each in records().values()]
    return [_lines(run, cases) for run, cases in found]


def lines_of(record: Struct) -> list[dict[str, Any]]:
    """The lines of one run, the newest of all."""
    run, cases = whole_run(record, "tune", "interrupted")
    return _lines(replace(run, started="2098-01-01T00:00:00.000000+00:00"), cases)


def _lines(run: RunRow, cases: Iterable[CaseRow]) -> list[dict[str, Any]]:
    return [json.loads(msgspec.json.encode(each)) for each in (run, *cases)]


def zipped(runs: Iterable[Iterable[Any]], /, **manifest: Any) -> bytes:
    """A bundle of such lines, whatever they are."""
    whole = io.BytesIO()
    count = write_bundle(whole, ())
    with zipfile.ZipFile(whole) as archive:
        announced = json.loads(archive.read("manifest.json"))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for count, lines in enumerate(runs, 1):
            archive.writestr(f"runs/{count:06}.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
        archive.writestr("manifest.json", json.dumps({**announced, "runs": count, **manifest}))
    return file.getvalue()
