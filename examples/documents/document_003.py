"""Document 003: what does a prediction cost in memory and in Python?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pandas import read_csv

import onnxperf
from examples.documents.prepare import source_of
from examples.documents.step import Step, expect, expect_picture, expect_shares, record

RUNTIMES = ["ort", "numpy"]
ANY_MEMORY_BYTES = 8_000_000
"""By which two measurements of memory may differ: pools of libraries grow in steps of megabytes."""


def load(file: str) -> dict[str, Any]:
    """The only input of the models here."""
    return {"X": np.load(file)}


def seen_tree(name: str) -> Any:
    """What the files of a call tree say."""

    def seen(folder: Path) -> str:
        result = record(folder / f"{name}.json")
        expect((folder / f"{name}.txt").stat().st_size > 0, "there is no tree")
        shares, functions = expect_shares(result), result["functions"]
        expect(sum(each["share"] for each in functions) < 1 + 1e-9, "functions take more than everything")
        most = max(functions, key=lambda each: each["share"])
        return (
            f"{result['calls']} calls of {result['call_ns'] / 1e6:.3g} ms: {shares['python']:.0%} Python, "
            f"{shares['kernels']:.0%} kernels; most in {most['function'].split('.')[-1]} ({most['share']:.0%})"
        )

    return seen


def seen_split(folder: Path) -> str:
    subjects = record(folder / "split.json")["cases"][0]["subjects"]
    shares = {}
    for each in subjects:
        expect(each["status"] == "ok", f"{each['name']} is {each['status']}: {each['reason']}")
        parts = [each["split"][f"{part}_ns"] for part in ("prepare", "compute", "fetch")]
        shares[each["name"]] = parts[0] / sum(parts)
    return "the cast takes " + ", ".join(f"{share:.0%} of a call of {name}" for name, share in shares.items())


def seen_scores(folder: Path) -> str:
    outputs = record(folder / "scores.json")["outputs"]
    expect(len(outputs) == 2 and all(output["equal"] for output in outputs), f"they differ: {outputs}")
    return f"label and scores equal, largest difference {max(output['max_absolute'] for output in outputs):.1e}"


def needs(path: Path) -> dict[str, float]:
    """Peaks of a steady call above what was resident before the first one, in bytes."""
    frame = read_csv(path, index_col="name")
    expect((frame["status"] == "ok").all(), f"not all are ok: {frame['status'].to_dict()}")
    return {str(name): float(needed) for name, needed in frame["needed_bytes"].items()}


def seen_skl(folder: Path) -> str:
    (needed,) = needs(folder / "skl.csv").values()
    expect_picture(folder / "skl.png")
    return f"predict needs {needed / 1e6:.1f} MB above its data"


def seen_float32(folder: Path) -> str:
    expect_picture(folder / "float32.png")
    return ", ".join(f"{name} needs {each / 1e6:.1f} MB" for name, each in needs(folder / "float32.csv").items())


def seen_cast(folder: Path) -> str:
    copy = (folder / "large.npy").stat().st_size / 2
    more = {name: each - needs(folder / "float32.csv")[name] for name, each in needs(folder / "cast.csv").items()}
    for name, each in more.items():
        expect(
            abs(each - copy) < ANY_MEMORY_BYTES, f"the cast of {name} adds {each:.0f} bytes, the copy has {copy:.0f}"
        )
    expect_picture(folder / "cast.png")
    return f"the copy has {copy / 1e6:.1f} MB: " + ", ".join(
        f"{name} {each / 1e6:+.1f} MB" for name, each in more.items()
    )


def seen_lines(folder: Path) -> str:
    lines = [each for each in record(folder / "lines.json")["lines"] if each["occurrences"]]
    expect(len(lines) == 1, f"{len(lines)} lines were executed")
    (line,) = lines
    return f"line {line['number']}, {line['text'].strip()}: peak {line['peak_bytes'] / 1e6:.1f} MB"


SHORT_TREE = {"calls": 60, "sample_every": "5ms"}
STEPS = (
    Step(
        *("003", "tree of predict", "Where does scikit-learn spend the time of a large prediction?"),
        lambda _, **shorter: onnxperf.stack(source_of("large.py")["predict"], **shorter),
        "stack large.py:predict -o tree_skl.json -o tree_skl.txt",
        seen_tree("tree_skl"),
        SHORT_TREE,
    ),
    Step(
        *("003", "tree with the cast", "And the numpy runtime, which casts float64 in every call?"),
        lambda _, **shorter: onnxperf.stack("large.onnx", load("large.npy"), cast=True, **shorter),
        "stack large.onnx --input X=large.npy --cast -o tree_cast.json -o tree_cast.txt",
        seen_tree("tree_cast"),
        SHORT_TREE,
    ),
    Step(
        *("003", "share of the cast", "How much of the time is that cast?"),
        lambda _, **shorter: onnxperf.bench(
            "large.onnx", feeds=load("large.npy"), cast=True, split=True, runtime=RUNTIMES, **shorter
        ),
        "bench large.onnx --input X=large.npy --cast --split --runtime ort,numpy -o split.json",
        seen_split,
        {"time": 2.0},
    ),
    Step(
        *("003", "scores", "Does the tiny classifier compute the same scores?"),
        lambda _: onnxperf.check("sgd.onnx", against=source_of("iris.py")["make_model"]()[0], feeds=load("iris.npy")),
        "check sgd.onnx --against iris.py:make_model --input X=iris.npy -o scores.json",
        seen_scores,
    ),
    Step(
        *("003", "tiny calls", "What do 20,000 tiny calls spend in Python?"),
        lambda sizes: onnxperf.stack("sgd.onnx", load("iris.npy"), calls=sizes.calls),
        "stack sgd.onnx --input X=iris.npy --calls {calls} -o tree_sgd.json -o tree_sgd.txt",
        seen_tree("tree_sgd"),
    ),
    Step(
        *("003", "memory of predict", "How much memory does predict take?"),
        lambda _, **shorter: onnxperf.memory({"predict": source_of("large.py")["predict"]}, **shorter),
        "memory large.py:predict -o skl.csv -o skl.png",
        seen_skl,
        {"calls": 5},
    ),
    Step(
        *("003", "memory of float32", "And the runtimes, from float32?"),
        lambda sizes, **shorter: onnxperf.memory(
            "large.onnx", dims={"X.0": sizes.tested_rows}, runtime=RUNTIMES, **shorter
        ),
        "memory large.onnx --dim X.0={tested_rows} --runtime ort,numpy -o float32.csv -o float32.png",
        seen_float32,
        {"calls": 5, "skip_arena": True},
    ),
    Step(
        *("003", "memory of the cast", "And with the cast in the call?"),
        lambda _, **shorter: onnxperf.memory(
            "large.onnx", feeds=load("large.npy"), cast=True, runtime=RUNTIMES, **shorter
        ),
        "memory large.onnx --input X=large.npy --cast --runtime ort,numpy -o cast.csv -o cast.png",
        seen_cast,
        {"calls": 5, "skip_arena": True},
    ),
    Step(
        *("003", "memory by line", "Which line takes the memory?"),
        lambda _: onnxperf.memory_lines("large.py:run_cast"),
        "memory large.py:run_cast --lines -o lines.json",
        seen_lines,
    ),
)
