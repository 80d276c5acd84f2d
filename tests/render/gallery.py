"""Records of every kind that has charts: ordinary ones, long names, many rows, failures, nothing measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.records.advice import Advice, Trial, TrialOutcome, Tried
from onnxperf.records.history import History
from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.results.base import Result, result_classes
from tests.headrooms import with_limits
from tests.render import einsum_examples, examples, history_examples, sweeps
from tests.render.memory import examples as memories
from tests.render.profile import chart_examples as profiles
from tests.render.stack import examples as stacks

LONG = "encoder/layer_11/attention/self/query_key_value/projection/MatMul_fused_with_bias_and_gelu"
MB = 10**6


def measured(name: str, mean_ns: float, verdict: Any = "faster", spread: float = 0.06, **more: Any) -> Subject:
    """A subject whose mean has an interval."""
    ends = {"time_low_ns": mean_ns * (1 - spread), "time_high_ns": mean_ns * (1 + spread)}
    return examples.subject(name, mean_ns, verdict, **ends, **more)


def with_intervals(bench: Bench, spread: float = 0.08) -> Bench:
    """The same sweep, an interval around each time."""
    return replace(bench, cases=tuple(_spread(case, spread) for case in bench.cases))


def _spread(case: Case, spread: float) -> Case:
    ends = [
        replace(each, time_low_ns=each.time_ns * (1 - spread), time_high_ns=each.time_ns * (1 + spread))
        if each.time_ns
        else each
        for each in case.subjects
    ]
    return replace(case, subjects=tuple(ends))


def twenty() -> Case:
    verdicts = ("baseline", "faster", "slower", "equivalent", "undecided")
    return examples.case(
        *(measured(f"variant {n}: {LONG[: 4 * n]}", 8430.0 + 900 * n, verdicts[n and 1 + n % 4]) for n in range(20))
    )


def failures() -> Case:
    lost = [examples.failed(word, word) for word in ("failed", "timeout", "oom", "crashed", "skipped")]
    return examples.case(measured("run", 8430.0, "baseline"), measured("run-c", 7920.0, status="differs"), *lost)


def lines(subjects: int = 2, **more: Any) -> Bench:
    """So many subjects over five batches, close to each other."""
    names = ["ort", "torch", "numpy", *(f"variant {n}" for n in range(3, subjects))][:subjects]
    return examples.bench(
        *(
            sweeps.case(
                *(measured(name, batch * 1e7 * (1 + place / 3)) for place, name in enumerate(names)),
                dims={"batch": batch},
                **more,
            )
            for batch in sweeps.BATCHES
        )
    )


def node_memory(count: int, peak: int, name: str = "node") -> NodeMemories:
    """A mountain whose top is at this node."""
    nodes = [
        NodeMemory(
            name=f"{name}_{n}",
            op_name="Conv",
            in_use_bytes=(20 - abs(n - peak) % 20) * MB,
            held_bytes=(22 if n >= peak else 21) * MB,
            output_bytes=MB,
            live_bytes=(15 - abs(n - peak) % 15) * MB,
            is_peak=n == peak,
        )
        for n in range(count)
    ]
    return NodeMemories(
        model="cnn.onnx", iteration=2, loaded_bytes=2 * MB, base_bytes=4 * MB, session_peak_bytes=0, nodes=tuple(nodes)
    )


def code_lines() -> MemoryLines:
    """A function whose lines take, need and give back."""
    texts = (
        ("x = numpy.ones((1000, 1000))", 108, 8, 8, 1),
        ("for part in parts(x, count=100, overlap=True, order='C', out=None):", 108, 0, 0, 101),
        ("    y = part @ part.T + numpy.exp(part)  # the peak", 140, 32, 96, 100),
        ("del x", 132, -8, 0, 1),
        ("return y", 132, 0, 0, 1),
    )
    made = [
        LineMemory(
            number=n,
            text=text,
            occurrences=times,
            resident_bytes=after * MB,
            increment_bytes=stays * MB,
            peak_bytes=peak * MB,
        )
        for n, (text, after, stays, peak, times) in enumerate(texts, 3)
    ]
    return MemoryLines(machine=examples.machine(), function="predict", file="model.py", lines=tuple(made))


def advice(name: str = "trial", number: int = 3) -> Advice:
    """Trials that helped, did not, and failed."""
    outcomes: tuple[TrialOutcome, ...] = ("gain", "none", "untried", "undecided", "trade", "unexplained")
    tried = []
    for each in range(number):
        outcome, speedup = outcomes[each % len(outcomes)], 1.5 - 0.08 * each
        trial = Trial(name=f"{name} {each}", settings={"threads": str(each)})
        failed = outcome == "untried"
        tried.append(
            Tried(
                hazard="made",
                trial=trial,
                status="failed" if failed else "ok",
                speedup=None if failed else speedup,
                speedup_low=None if failed else speedup - 0.05,
                speedup_high=None if failed else speedup + 0.05,
                outcome=outcome,
            )
        )
    return Advice(model="cnn.onnx", tried=tuple(tried))


def failed_sweep(sizes: Sequence[int], words: Sequence[str] = ("oom", "timeout", "not run")) -> Bench:
    """Sizes at which one subject has a time and the others have these words in place of theirs."""
    return examples.bench(
        *(
            sweeps.case(
                measured("ort", 1e6 * size, "baseline"),
                *(examples.failed(f"variant {n}", word) for n, word in enumerate(words)),
                dims={"batch": size},
            )
            for size in sizes
        )
    )


def several_models(*names: str) -> Bench:
    """Each model with a race of its own."""
    return examples.bench(*(examples.case(*twenty().subjects[:3], model=name) for name in names))


RECORDS: dict[str, Callable[[], Struct]] = {
    "bench of one subject": lambda: examples.bench(examples.case(measured("run", 8430.0, "baseline"))),
    "bench of call styles": lambda: examples.bench(_spread(examples.case(*examples.case().subjects[:7]), 0.04)),
    "bench, logarithmic": lambda: examples.bench(_spread(examples.case(), 0.3)),
    "bench of 20 subjects with long names": lambda: examples.bench(twenty()),
    "bench with failures": lambda: examples.bench(failures()),
    "bench of nothing": lambda: examples.bench(examples.case(examples.failed())),
    "bench of several models": lambda: several_models("linear.onnx", "cnn.onnx", f"{LONG}.onnx"),
    "sweep over batches": lines,
    "sweep of 9 subjects": lambda: lines(9),
    "sweep with failures": lambda: with_intervals(sweeps.line([0.5, "oom", "timeout", 1.2, 1.5])),
    "sweep of one subject": lambda: lines(1),
    "sweep of two models": lambda: examples.bench(*lines(2).cases, *lines(3, model=f"{LONG}.onnx").cases),
    "sweep of a map": lambda: with_intervals(sweeps.square()),
    "sweep of failures only": lambda: failed_sweep(sweeps.BATCHES),
    "sweep of maps and lines": lambda: examples.bench(*sweeps.square().cases, *lines(2, model="cnn").cases),
    "einsum": lambda: einsum_examples.plan(orders=einsum_examples.orders(letters="abc")),
    "profile": profiles.before,
    "profile of what was fused": profiles.after,
    "profile with long names": lambda: profiles.many(14, LONG),
    "roofline": lambda: with_limits(profiles.before()),
    "roofline with long names": lambda: with_limits(profiles.many(14, LONG)),
    "roofline of many nodes": lambda: with_limits(profiles.many(200, "n", "Relu")),
    "diff": profiles.diff,
    "node memory": lambda: node_memory(12, 3),
    "node memory, peak at the start": lambda: node_memory(12, 0, LONG),
    "node memory, peak at the end": lambda: node_memory(12, 11, LONG),
    "node memory of many": lambda: node_memory(180, 90),
    "node memory of one": lambda: node_memory(1, 0),
    "memory": memories.memory,
    "memory of a leak": lambda: memories.memory(memories.case(memories.subject(growth=memories.growth("leak", 1.5)))),
    "memory with long names": lambda: memories.memory(
        memories.case(*(memories.subject(f"{LONG}_{n}") for n in range(2)), model=f"{LONG}.onnx")
    ),
    "memory line by line": code_lines,
    "stack": stacks.stack,
    "advice": advice,
    "advice with failures": lambda: advice(LONG, 12),
    "advice of nothing": lambda: Advice(model="linear.onnx"),
    "history of two machines": history_examples.two_machines,
    "history with long names": lambda: history_examples.two_machines(LONG),
    "history of nothing": lambda: History(model="linear.onnx"),
}


def result(name: str) -> Result[Any]:
    """The result of one of these records."""
    record = RECORDS[name]()
    return result_classes()[type(record)](record)
