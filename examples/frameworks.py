"""Is onnxruntime faster than the framework that a model comes from? ResNet-50 and BERT, TensorFlow and PyTorch.

Prints four tables, in seconds per 1000 calls, over batch sizes and sequence lengths. Every case is a race of all its
subjects on the same inputs and with the same threads, after a check that their outputs agree. The speedup is that of
onnxruntime over the framework, with its 95 % interval. The last row of BERT is given too little memory, and says so.

The models have random weights and are built on first use, which takes some minutes; nothing is downloaded.

usage: python examples/frameworks.py
"""

from __future__ import annotations

from collections.abc import Iterator

from pandas import DataFrame, concat, isna

import onnxperf
from onnxperf import BenchResult
from onnxperf.records.race import Subject

RESNET = "zoo:resnet50"
BERT = "zoo:bert-base"
RESNET_SIZES = {"batch": [1, 2, 4]}
BERT_SIZES = {"batch": [1, 4], "seq": [10, 50, 100]}
LARGE_SIZES = {"batch": [16], "seq": [500]}
MEMORY_LIMIT = 1_500_000_000
TIMES_S = {"tensorflow": 12.0, "torch": 4.0}
"""Seconds of measuring in each race: TensorFlow has five subjects, torch two."""
ORT = "ort"
BASELINES = {"tensorflow": "tensorflow saved_model", "torch": "torch"}
"""What onnxruntime is compared with, where a framework has several ways."""


def main() -> None:
    """Race, show."""
    for framework, baseline in BASELINES.items():
        for model, sizes in ((RESNET, RESNET_SIZES), (BERT, BERT_SIZES)):
            results = [measured(model, framework, sizes)]
            if (model, framework) == (BERT, "torch"):
                results.append(measured(model, framework, LARGE_SIZES, MEMORY_LIMIT))
            print(f"### {model} with {framework}: seconds per 1000 calls, and {ORT} over {baseline}\n")
            print("\n".join(markdown(concat([table(result) for result in results]))))
            print("\n".join(["", *(reason for result in results for reason in blanks(result))]), flush=True)


def measured(model: str, framework: str, sizes: dict[str, list[int]], memory_limit: int | None = None) -> BenchResult:
    """Race a model of the zoo against its framework, at every combination of sizes."""
    baseline, time = BASELINES[framework], TIMES_S[framework]
    return onnxperf.bench(model, against=framework, dims=sizes, baseline=baseline, time=time, memory_limit=memory_limit)


def table(result: BenchResult) -> DataFrame:
    """A row per case: its sizes, the time of every subject, and how many times as fast onnxruntime is."""
    names = {subject.name: None for case in result.cases for subject in case.subjects if subject.name != ORT}
    frame = result.flat(per_1000=True)[[*result.cases[0].dims, *names, ORT]]
    ours = [next(subject for subject in case.subjects if subject.name == ORT) for case in result.cases]
    frame["speedup"] = [subject.speedup for subject in ours]
    frame["95 % interval"] = [interval(subject) for subject in ours]
    frame["verdict"] = [subject.verdict for subject in ours]
    return frame


def interval(subject: Subject) -> str | None:
    """How sure the speedup is; blank where there were too few rounds to tell."""
    low, high = subject.speedup_low, subject.speedup_high
    return f"{low:.2f} to {high:.2f}" if low is not None and high is not None and low < high else None


def markdown(frame: DataFrame) -> Iterator[str]:
    """The lines of a table; a cell without a value is blank."""
    rows = [list(frame.columns), ["---"] * len(frame.columns)]
    rows += [[shown(value) for value in row] for row in frame.itertuples(index=False)]
    yield from (f"| {' | '.join(row)} |" for row in rows)


def shown(value: object) -> str:
    """A cell as text."""
    if value is None or (isinstance(value, float) and isna(value)):
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def blanks(result: BenchResult) -> Iterator[str]:
    """Why cells are blank."""
    for case in result.cases:
        sizes = ", ".join(f"{name}={size}" for name, size in case.dims.items())
        for subject in case.subjects:
            if subject.status != "ok":
                yield f"- {sizes}: {subject.name}: {subject.status}, {subject.reason}\n"


if __name__ == "__main__":
    main()
