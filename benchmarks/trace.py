"""How fast is a large trace read and summed up per operator, and in how much memory? Ours and three other ways.

usage: python -m benchmarks.trace [--print] [--quick]
       --print shows the figures without keeping them
       --quick leaves out onnx-array-api (half a minute or more) and the trace of a million events

Linux only. The others are no dependencies: pip install onnx-array-api polars
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.kept import keep

EVENTS, FULL = 200_000, 1_000_000
OPERATORS = ("Conv", "Relu", "MatMul", "Add", "Mul", "Softmax", "Transpose", "Gather", "LayerNormalization", "Reshape")
LOOPS = 20
"""Runs of a loop's body."""
SIZES = (1, 3, 12, 64, 128, 768, 3072)

Sums = dict[str, int]
"""Microseconds per operator."""


# ---------------------------------------------------------------- ways to read, each alone in a process


def ours() -> Callable[[Path], Sums]:
    """Read with onnxperf: iterations, nesting and self times, then the sums per node and operator."""
    from onnxperf.analyze.trace.events import lay_out
    from onnxperf.analyze.trace.profile import summarise
    from onnxperf.measure.trace.read import read_trace

    def run(path: Path) -> Sums:
        trace = read_trace(path)
        layout = lay_out(trace)
        profile = summarise(trace, layout, path.name)
        return {operator.op_name: sum(operator.total_us) for operator in profile.operators}

    return run


def onnx_array_api() -> Callable[[Path], Sums]:
    """What its ort_profile does with a trace, line by line."""
    from onnx_array_api.ort.ort_profile import post_process_df_profile
    from pandas import DataFrame

    def run(path: Path) -> Sums:
        rows = json.loads(path.read_text())
        for row in rows:
            if "args" in row and isinstance(row["args"], dict):
                for key, value in row["args"].items():
                    row[f"args_{key}"] = value
                del row["args"]
            for suffix in ("_kernel_time", "_fence_before", "_fence_after"):
                if row["name"].endswith(suffix):
                    row["op_name"] = row["name"][: -len(suffix)]
                    break
        summed = post_process_df_profile(DataFrame(rows), agg=True).groupby(level="args_op_name")["dur"].sum()
        return {str(name): int(sum_us) for name, sum_us in summed.items() if name}

    return run


def json_and_pandas() -> Callable[[Path], Sums]:
    """Python's json, one column per argument."""
    from pandas import DataFrame

    def run(path: Path) -> Sums:
        with path.open(encoding="utf-8") as file:
            frame = DataFrame([event | event["args"] for event in json.load(file)])
        summed = frame.groupby("op_name")["dur"].sum()
        return {str(name): int(sum_us) for name, sum_us in summed.items()}

    return run


def polars() -> Callable[[Path], Sums]:
    """Polars' own reader."""
    import polars as pl

    def run(path: Path) -> Sums:
        frame = pl.read_json(path, infer_schema_length=None)
        operators = frame.select("dur", pl.col("args").struct.field("op_name")).drop_nulls()
        return dict(operators.group_by("op_name").agg(pl.col("dur").sum()).iter_rows())

    return run


class Reader(NamedTuple):
    """A way to read, and how often to try it."""

    prepare: Callable[[], Callable[[Path], Sums]]
    repeats: int


READERS = {
    "onnxperf": Reader(ours, 3),
    "polars": Reader(polars, 3),
    "json + pandas": Reader(json_and_pandas, 3),
    "onnx-array-api": Reader(onnx_array_api, 1),  # half a minute or more
}


class Measured(NamedTuple):
    """One reading."""

    seconds: float
    peak_bytes: int
    sums: Sums


def _memory(entry: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split(f"{entry}:")[1].split()[0]) * 1024


def read_here(name: str, path: Path) -> Measured:
    """Read in this process; its imports count neither as time nor as memory."""
    run = READERS[name].prepare()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts again from here
    before, start = _memory("VmRSS"), time.perf_counter()
    sums = run(path)
    return Measured(time.perf_counter() - start, _memory("VmHWM") - before, sums)


def read_in_child(name: str, path: Path) -> Measured:
    """Read in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.trace", "--child", name, str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Measured(*json.loads(done.stdout))


# ---------------------------------------------------------------- a trace like those of version 1.31


class Node(NamedTuple):
    """What does not change between the events of a node."""

    name: str
    operator: str
    place: int
    inputs: str
    outputs: str
    body: tuple[Node, ...] = ()


def _shape(rng: random.Random) -> str:
    sizes = ",".join(str(rng.choice(SIZES)) for _ in range(rng.randint(1, 4)))
    return f'{{"float":[{sizes}]}}'


def _node(rng: random.Random, index: int, scope: str, body: tuple[Node, ...] = ()) -> Node:
    operator = "Loop" if body else rng.choice(OPERATORS)
    inputs = ",".join(_shape(rng) for _ in range(rng.randint(1, 3)))
    return Node(f"{scope}{operator}_{index}", operator, index, f"[{inputs}]", f"[{_shape(rng)}]", body)


def _model(rng: random.Random) -> list[Node]:
    """About 200 nodes; some are loops, so that a fifth of the events are runs of a body, short ones."""
    nodes = [_node(rng, i, f"/encoder/layer.{i // 16}/") for i in range(190)]
    for at in range(20, 190, 20):
        nodes[at] = _node(rng, at, "/decoder/", tuple(_node(rng, i, "/decoder/body/") for i in range(2)))
    return nodes


def _line(category: str, name: str, start: int, end: int, arguments: str = "") -> str:
    return (
        f'{{"cat" : "{category}","pid" :4711,"tid" :4711,"dur" :{end - start},"ts" :{start},"ph" : "X",'
        f'"name" :"{name}","args" : {{{arguments}}}}}'
    )


def _arguments(rng: random.Random, node: Node) -> str:
    run, held = rng.randint(0, 900), rng.randint(10**5, 10**7)
    pool = (
        '{"main_thread": {"thread_pool_name": "session-1-intra-op", "thread_id": "139946327575424", '
        f'"block_size": [{rng.randint(1, 4096)}], "core": 1, "Distribution": {run % 3}, "DistributionEnqueue": 0, '
        f'"Run": {run}, "Wait": {run // 7}, "WaitRevoke": 0}}, '
        f'"sub_threads": {{"139946124900032": {{"num_run": {run % 5}, "core": 0}}}}}}'
    )
    arguments = [
        f'"op_name" : "{node.operator}"',
        '"provider" : "CPUExecutionProvider"',
        f'"node_index" : "{node.place}"',
        f'"input_type_shape" : {node.inputs}',
        f'"output_type_shape" : {node.outputs}',
        f'"activation_size" : "{held // 3}"',
        f'"parameter_size" : "{node.place * 512}"',
        f'"output_size" : "{held // 5}"',
        f'"mem_bytes_in_use" : "{held}"',
        f'"mem_in_use_delta" : "{held // 4 - 10**6}"',
        f'"mem_in_use_peak" : "{held + 65536}"',
        f'"mem_bytes_requested_in_use" : "{held - 77}"',
        f'"mem_requested_in_use_delta" : "{held // 6}"',
        '"mem_arena_held" : "31498720"',
        '"mem_arena_held_delta" : "0"',
        f'"thread_scheduling_stats" : {pool}',
    ]
    rng.shuffle(arguments)  # as onnxruntime does, since its table of arguments has no order
    return ",".join(arguments)


def _run(rng: random.Random, nodes: tuple[Node, ...], now: int) -> tuple[list[str], int]:
    """The events of one execution of a graph, each written when it ends, and the time then."""
    lines, begin = [], now
    for node in nodes:
        start, now = now + 2, now + 3 + rng.randint(0, 400)
        for _ in range(LOOPS if node.body else 0):
            inner, now = _run(rng, node.body, now)
            lines += inner
        lines.append(_line("Node", f"{node.name}_kernel_time", start, now, _arguments(rng, node)))
    return [*lines, _line("Session", "SequentialExecutor::Execute", begin, now + 1)], now + 2


def _iterations(rng: random.Random) -> Iterator[list[str]]:
    nodes, now = tuple(_model(rng)), 50_000
    yield [_line("Session", "model_loading_uri", 10, 3000), _line("Session", "session_initialization", 3010, 40_000)]
    while True:
        lines, end = _run(rng, nodes, now)
        yield [*lines, _line("Session", "model_run", now - 5, end)]
        now = end + 50


def write_trace(path: Path, events: int, seed: int = 0) -> int:
    """Write a trace of about so many events, at least as many, all inferences complete; returns how many."""
    iterations = _iterations(random.Random(seed))
    with path.open("w", encoding="utf-8") as file:
        first = next(iterations)
        file.write("[\n" + ",\n".join(first))
        written = len(first)
        while written < events:
            lines = next(iterations)
            file.writelines(f",\n{line}" for line in lines)
            written += len(lines)
        file.write("\n]\n")
    return written


# ---------------------------------------------------------------- the race


def race(path: Path, names: list[str]) -> dict[str, Measured]:
    """Read with each in turn, as often as it may; medians."""
    found: dict[str, list[Measured]] = {name: [] for name in names}
    for turn in range(max(READERS[name].repeats for name in names)):
        for name in names:
            if turn < READERS[name].repeats:
                found[name].append(read_in_child(name, path))
                print(f"{name}: {found[name][-1][:2]}", file=sys.stderr, flush=True)
    first = found[names[0]][0].sums
    wrong = [name for name, all_of in found.items() if any(one.sums != first for one in all_of)]
    if wrong:
        raise SystemExit(f"different sums: {', '.join(wrong)}")
    return {
        name: Measured(
            statistics.median(one.seconds for one in all_of),
            int(statistics.median(one.peak_bytes for one in all_of)),
            first,
        )
        for name, all_of in found.items()
    }


def _goal(met: bool) -> str:
    return "met" if met else "MISSED"


def figures(folder: Path, quick: bool) -> list[str]:
    """The lines of the report."""
    path = folder / "trace.json"
    events = write_trace(path, EVENTS)
    size = path.stat().st_size
    results = race(path, [name for name in READERS if not (quick and name == "onnx-array-api")])
    own = results["onnxperf"]
    lines = [f"{events:,} events, {size / 1e6:.0f} MB: load and sum up per operator.", ""]
    lines += ["| reader | time | relative | peak memory | relative to the file |", "|---|---|---|---|---|"]
    lines += [
        f"| {name} | {one.seconds:.2f} s | {one.seconds / own.seconds:.1f}x | {one.peak_bytes / 1e6:.0f} MB "
        f"| {one.peak_bytes / size:.1f}x |"
        for name, one in results.items()
    ]
    lines += [
        "",
        f"- at most 1 s: {_goal(own.seconds <= 1)}",
        f"- at most 4x the file: {_goal(own.peak_bytes <= 4 * size)}",
    ]
    if quick:
        return lines
    ratio = results["onnx-array-api"].seconds / own.seconds
    lines.append(f"- at least 50 times as fast as onnx-array-api: {ratio:.0f}, {_goal(ratio >= 50)} (one run of it)")
    events = write_trace(path, FULL)
    full = race(path, ["onnxperf"])["onnxperf"]
    size = path.stat().st_size
    told = f"{full.seconds:.1f} s, {full.peak_bytes / 1e6:.0f} MB ({full.peak_bytes / size:.1f}x the file)"
    return [*lines, f"- {events:,} events, {size / 1e6:.0f} MB: {told}"]


def main() -> None:
    """Print the figures and keep them, or read as a child."""
    options = sys.argv[1:]
    if options[:1] == ["--child"]:
        print(json.dumps(read_here(options[1], Path(options[2]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        lines = figures(Path(folder), "--quick" in options)
    if "--print" in options:
        print("\n".join(lines))
    else:
        keep("trace", lines)


if __name__ == "__main__":
    main()
