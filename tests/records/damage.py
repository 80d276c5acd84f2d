"""A record of every kind, ways to damage it, and all the ways in which records are shown."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from onnxperf.analyze.judges.gate import limits_in, standings_in
from onnxperf.analyze.judges.gate_record import RecordedRun, recorded_limits, recorded_notes, sides_of
from onnxperf.analyze.judges.run_comparison import compare_runs
from onnxperf.errors import OnnxperfError
from onnxperf.records.base import Document
from onnxperf.records.check import Check, Difference, NodeDifference
from onnxperf.records.convert import Conversion
from onnxperf.records.envs import Environment, Environments
from onnxperf.records.gate import Gate, GateControl, GateLimit
from onnxperf.records.options import Signature
from onnxperf.records.profile import ModuleTime, Timeline
from onnxperf.records.profiles import Profiles
from onnxperf.records.race import Bench, Block, Measurement, Split
from onnxperf.records.runs import KeptRun, KeptRuns, RunComparison
from onnxperf.records.view import GraphView, Metrics, NodeMetric, ViewGraph, ViewNode, ViewTensor, ViewValue
from onnxperf.results.base import result_classes
from onnxperf.results.formats import Wanted
from onnxperf.store.documents import to_document
from tests.headrooms import with_limits
from tests.render import einsum_examples, examples, gallery, history_examples
from tests.render.advice.test_quantize_page import RECORD as QUANTIZATION
from tests.render.memory import examples as memories
from tests.render.profile import examples as profiles
from tests.render.race.test_bisect import BISECTION
from tests.render.race.test_check import CHECK
from tests.render.race.test_doctor import DOCTOR
from tests.render.race.test_runs import row as compared
from tests.render.race.test_tune import RECORD as TUNING
from tests.render.stack import examples as stacks


def yardstick(pace: float = 1.0) -> Measurement:
    """Launches of the yardstick, each with a few blocks."""
    blocks = tuple(
        Block(
            round=number % 4,
            position=0,
            launch=number // 4,
            calls=10,
            start_ns=1_000_000 * number,
            duration_ns=int(pace * (100_000 + 100 * (number % 3))),
            quickest_ns=pace * 10_000.0 + number % 3,
            cpu_ns=100_000,
        )
        for number in range(24)
    )
    return Measurement(name="zoo:yardstick", model="zoo:yardstick", runtime="ort", status="ok", blocks=blocks)


def bench() -> Bench:
    """Two sizes with single calls, parts of calls, instructions and a yardstick."""
    cases = []
    paces: Any = (("run", 8430.0, "baseline"), ("run-c", 7000.0, "faster"))
    for size in (1, 8):
        subjects = [
            examples.subject(
                name,
                mean,
                verdict,
                call_ns=tuple(range(8000, 8100)),
                split=Split(prepare_ns=10.0, compute_ns=80.0, fetch_ns=5.0, calls=9),
                instructions=1e6,
                instruction_ratio=1.0,
                model="bert.onnx",
                runtime="ort",
                call=name,
            )
            for name, mean, verdict in paces
        ]
        lost = examples.failed("io-binding")
        cases.append(examples.case(*subjects, lost, dims={"batch": size}, yardstick=yardstick()))
    return examples.bench(*cases)


def gate() -> Gate:
    case = bench().cases[0]
    both = tuple(replace(each, name=name) for each, name in zip(case.subjects, ("new", "control"), strict=False))
    race = replace(case, subjects=both, baseline="new")
    ends: Any = {"ratio": 1.02, "ratio_low": 1.01, "ratio_high": 1.03, "dims": {"batch": 1}}
    measures: Any = ("time", "instructions", "memory", "error")
    limits = [
        GateLimit(measure=each, limit=1.05, baseline=100.0, new=102.0, outcome="passed", **ends) for each in measures
    ]
    control = GateControl(passed=True, **ends)
    return Gate(
        model="m.onnx",
        baseline="b",
        limits=tuple(limits),
        controls=(control,),
        races=(race,),
        machine=examples.machine(),
    )


def profile() -> Any:
    nodes = (profiles.node("a", 100), profiles.node("b", 40), profiles.node("c", 60, module="encoder.0"))
    made = profiles.profile(*nodes)
    iterations = made.iterations
    module = ModuleTime(
        module="encoder",
        nodes=1,
        calls=iterations,
        self_us=(10,) * iterations,
        usual_us=10.0,
        total_us=(20,) * iterations,
        usual_total_us=20.0,
    )
    when = Timeline(
        iteration=1,
        nodes=(0, 1, 2),
        start_us=(0, 100, 150),
        duration_us=(90, 40, 60),
        threads=(0, 0, 1),
        in_use_bytes=(10, 20, None),
        held_bytes=(30, 30, 40),
        live_bytes=(5, 6, 7),
        loaded_bytes=3,
        base_bytes=4,
    )
    return with_limits(replace(made, modules=(module,), timeline=when, alike=(0,) * iterations))


def view() -> GraphView:
    node = ViewNode(index=0, key="0", label="MatMul_0", op_type="MatMul", inputs=("X", "W"), outputs=("A",), macs=640)
    body = ViewGraph(nodes=(replace(node, key="1/then_branch/0", outputs=("Y",)),))
    last = ViewNode(
        index=1,
        key="1",
        label="if",
        op_type="If",
        inputs=("A",),
        outputs=("Y",),
        depth=1,
        subgraphs={"then_branch": body},
    )
    graph = ViewGraph(
        name="g",
        inputs=(ViewValue(name="X", type="float32", shape=("batch", 4)),),
        outputs=(ViewValue(name="Y", type="float32", shape=("batch", None)),),
        initializers=(ViewTensor(name="W", dtype="float32", shape=(4, 4), size_bytes=64),),
        nodes=(node, last),
    )
    metric = NodeMetric(key="0", share=0.7, value=70.0, unit="us", lines=("70 us",))
    return GraphView(model="m.onnx", graph=graph, metrics=Metrics(by="time", title="time", nodes={"0": metric}))


def _others() -> list[Document]:
    signature = Signature(name="X", shape=("batch", 4))
    difference = Difference(
        name="Y", equal=False, elements=9, differing=1, differs_by=0.1, max_absolute=0.1, max_ulp=9.0
    )
    node = NodeDifference(index=3, name="n", operator="Add", inputs=("a",), difference=difference)
    check = Check(model="m", first="ort", second="numpy", rtol=1e-3, atol=1e-5, outputs=(difference,), node=node)
    conversion = Conversion(
        model="m.onnx",
        framework="torch",
        versions={"torch": "2.0"},
        opset=18,
        inputs=(signature,),
        outputs=(signature,),
        nodes=4,
        size_bytes=100,
        checks=(check,),
        rows=4,
        made_rows=9,
        casts={"X": ("float64", "float32")},
    )
    environment = Environment(
        name="onnxruntime==1.20.1",
        python="/e/python",
        python_version="3.12.1",
        packages={"onnxruntime": "1.20.1"},
        created="2026-01-01T10:00:00+00:00",
        used="2026-01-02T10:00:00+00:00",
        size_bytes=10**8,
    )
    run = KeptRun(
        id="abcd1234",
        kind="bench",
        record="Bench",
        command="onnxperf bench m",
        started="2026-01-01T10:00:00.000000+00:00",
        finished="2026-01-01T10:00:09.000000+00:00",
        status="ok",
        cases=1,
        cases_done=1,
        tags={"commit": "0123456789ab"},
    )
    return [check, conversion, Environments(environments=(environment,)), KeptRuns(runs=(run,))]


def records() -> list[Document]:
    """One of every kind, with every column filled."""
    found: list[Document] = [
        bench(),
        gate(),
        profile(),
        Profiles(model="m", variants=(profile(), replace(profile(), model="other"))),
        profiles.diff(),
        profiles.optimization(),
        memories.memory(memories.case(memories.subject(), memories.function(), memories.failed())),
        stacks.stack(),
        gallery.node_memory(6, 2),
        gallery.code_lines(),
        gallery.advice(),
        einsum_examples.plan(),
        einsum_examples.rewrite(),
        history_examples.two_machines(),
        view(),
        TUNING,
        BISECTION,
        CHECK,
        RunComparison(first="a1", second="b2", rows=(compared(), compared(speedup=None, reason="only in one"))),
        DOCTOR,
        QUANTIZATION,
        einsum_examples.rewrite(race=None),
    ]
    return [*found, *_others()]


# ---------------------------------------------------------------- damage

Path = tuple[str | int, ...]
_NUMBERS = (0, -1, -0.5, 10**30, 1e300, math.nan, math.inf, -math.inf)


def _changes(value: Any) -> list[Any]:
    """What a stranger may write in place of a value; what is of another type is refused in any case."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [each for each in _NUMBERS if each != value]
    if isinstance(value, list):
        return [value[:-1], [], [*value, value[-1]], value[::-1]] if value else []
    if isinstance(value, dict):
        return [{}, None] if value else []
    if isinstance(value, str):
        return ["", "x\ny\x1b[31m", "2026-99-99"]
    return [0, -1, 10**30, math.nan, "", []]  # null


def _walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _walk(item, (*path, key))


def _changed(value: Any, path: Path, change: Any) -> Any:
    if not path:
        return change
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], change)
    return copy


def damaged(record: Document) -> Iterator[tuple[str, str]]:
    """Where, and the document: every field once for each element of the outermost rows, in every way."""
    fields = json.loads(to_document(record))
    seen: set[tuple[object, ...]] = set()
    for path, value in _walk(fields):
        place = tuple("*" if isinstance(part, int) else part for part in path)
        for number, change in enumerate(_changes(value) if path else ()):
            if (place, number, value is None) not in seen:
                seen.add((place, number, value is None))
                yield f"{'.'.join(map(str, path))} = {str(change)[:60]!r}", json.dumps(_changed(fields, path, change))


# ---------------------------------------------------------------- all ways to show


def show(record: Any, charts: bool = False) -> None:
    """Show a decoded record in every way; only errors of this package are let pass."""
    result = result_classes()[type(record)](record)
    repr(result)
    result._repr_html_()
    result.to_html()
    result.to_json()
    _ = result.status, result.answer
    for suffix, each in result.formats().items():
        if suffix in (".csv", ".md", ".json", ".xml") or (charts and suffix == ".svg"):
            for table in result.table_names() if each.of == "table" else (None,):
                try:
                    each.make(result, Wanted(table))
                except OnnxperfError:
                    continue
    if isinstance(record, Bench):
        compare_runs(("one", "two"), bench(), record)
        compare_runs(("one", "two"), record, bench())
        standings_in(record.cases, 0.05)
        baseline(RecordedRun(name="r", machine=record.machine, cases=record.cases))
    if isinstance(record, Gate):
        limits_in(record.races, 0.05)
        baseline(RecordedRun(name="r", machine=record.machine, cases=record.races, limits=record.limits, is_gate=True))


def baseline(run: RecordedRun) -> None:
    """What a gate concludes from a record."""
    new = gate().races[0]
    for subject in {each.name: each for case in run.cases for each in case.subjects}:
        try:
            sides = sides_of(run, "run", "bert.onnx", subject)
        except OnnxperfError:
            continue
        recorded_limits([new], sides, examples.machine(), 0.05)
        recorded_notes((new,), sides)
