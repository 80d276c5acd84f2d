"""Document 001: where does the time of a CNN go, and what did onnxruntime's optimizer change?"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pandas import read_excel

import onnxperf
from examples.documents.step import Step, expect, expect_picture, expect_sum, record

LEVELS = ["disable", "all"]


def seen_optimized(folder: Path) -> str:
    result = record(folder / "optimized.json")
    before, after = (sum(result[side].values()) for side in ("before", "after"))
    kinds = Counter(group["kind"] for group in result["groups"])
    executed = sum(len(group["executed"]) for group in result["groups"])
    expect(executed == after, f"groups have {executed} nodes, the model has {after}")
    expect((folder / "optimized.onnx").stat().st_size > 0, "no model was written")
    return f"{before} nodes became {after}: {kinds['fused']} groups fused, {kinds['inserted']} nodes inserted"


def seen_events(folder: Path) -> str:
    tables = read_excel(folder / "prof_base.xlsx", sheet_name=None)
    events, nodes = tables["events"], tables["nodes"]
    expect({"cat", "op_name", "duration_us", "inputs", "outputs", "provider"} <= set(events), "columns are missing")
    iterations = len(tables["iterations"])
    kernels = (events["cat"] == "Node").sum()
    expect(nodes["calls"].iloc[-1] >= kernels, "nodes have fewer calls than the trace has kernels")
    return f"{len(events)} events of the first of its processes, {len(nodes) - 1} nodes, {iterations} iterations"


def seen_profile(folder: Path) -> str:
    result = record(folder / "profile.json")
    sums = [
        expect_sum((row["usual_us"] for row in result[kind]), result["nodes_us"], kind)
        for kind in ("operators", "nodes", "sources")
    ]
    expect_picture(folder / "profile.png")
    first = sum(row["self_us"][0] for row in result["nodes"])
    return f"{result['nodes_us'] / 1000:.2f} ms; {', '.join(sums)}; first iteration {first / result['nodes_us']:.1f}x"


def seen_diff(folder: Path) -> str:
    result = record(folder / "diff.json")
    sides = Counter(row["side"] for row in result["rows"])
    for side in ("before", "after"):
        times = [row[f"{side}_usual_us"] for row in result["rows"] if row[f"{side}_usual_us"]]
        expect_sum(times, result[side]["nodes_us"], f"rows {side}")
    expect_picture(folder / "side_by_side.png")
    ours = next(each for each in result["race"]["subjects"] if each["verdict"] != "baseline")
    return (
        f"{sides['=']} equal, {sides['-']} gone, {sides['+']} new; rows add up on both sides; "
        f"all {ours['speedup']:.2f}x as fast as disable, {ours['verdict']}"
    )


def seen_labels(folder: Path) -> str:
    tables = read_excel(folder / "merged.xlsx", sheet_name=None)
    labels = tables["labels"]["label"][:-1]
    expect(set(labels.str[:2]) == {"[=", "[-", "[+"}, f"the labels are {list(labels)}")
    expect(len(tables["merged"]) == len(tables["labels"]), "the tables have different rows")
    return f"{len(labels)} labels, such as {labels.iloc[0]}"


def seen_cuda(folder: Path) -> str:
    said = (folder / "error.txt").read_text(encoding="utf-8").strip().splitlines()[-1]
    expect("cuda" in said and "cpu" in said, said)
    return f"refused in one line: {said.removeprefix('onnxperf: ')}"


def compared(**options: object) -> onnxperf.DiffResult:
    """The same model, as it is and optimized."""
    return onnxperf.diff("small.onnx", opt_level=LEVELS, **options)  # type: ignore[arg-type]


STEPS = (
    Step(
        *("001", "optimize", "Which model does onnxruntime really execute?"),
        lambda _: onnxperf.optimize("small.onnx", "optimized.onnx"),
        "optimize small.onnx -o optimized.onnx -o optimized.json",
        seen_optimized,
    ),
    Step(
        *("001", "events", "Every event of the model as it is, as an Excel file."),
        lambda _, **shorter: onnxperf.profile("small.onnx", opt_level="disable", **shorter),
        "profile small.onnx --opt-level disable -o prof_base.xlsx",
        seen_events,
        {"calls": 12},
    ),
    Step(
        *("001", "profile", "How much time per operator, per node, and per node of the original model?"),
        lambda _, **shorter: onnxperf.profile("small.onnx", **shorter),
        "profile small.onnx -o profile.json -o profile.png",
        seen_profile,
        {"calls": 33},
    ),
    Step(
        *("001", "diff", "What did the optimizer change, and did it help?"),
        lambda _, **shorter: compared(**shorter),
        "diff small.onnx --opt-level disable,all -o diff.json -o side_by_side.png",
        seen_diff,
        {"calls": 33, "time": 3.0},
    ),
    Step(
        *("001", "merged profiles", "Both profiles joined node by node, with labels."),
        lambda _, **shorter: compared(race=False, **shorter),
        "diff small.onnx --opt-level disable,all -o merged.xlsx",
        seen_labels,
        {"calls": 12},
    ),
    Step(
        *("001", "CUDA", "The same on a GPU, if there is one."),
        lambda _: compared(provider="cuda"),
        "diff small.onnx --opt-level disable,all --provider cuda",
        seen_cuda,
        exit_code=2,
    ),
)
