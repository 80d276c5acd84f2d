"""Document 004: is onnxruntime faster than TensorFlow and PyTorch, over batch sizes and lengths, with equal results?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pandas import read_csv

import onnxperf
from examples.documents.step import Sizes, Step, expect, expect_picture, record

BASELINES = {"tensorflow": "tensorflow saved_model", "torch": "torch"}
TENSORFLOW = [f"tensorflow {way}" for way in ("call", "predict", "predict_on_batch", "saved_model")]


def numbers(text: str) -> list[int]:
    """Sizes as the command line takes them."""
    return [int(each) for each in text.split(",")]


def race(model: str, framework: str, sizes: Sizes, **shorter: Any) -> onnxperf.BenchResult:
    """A model and its framework at every combination of sizes."""
    dims = {"batch": numbers(sizes.batches)}
    if model == sizes.bert:
        dims["seq"] = numbers(sizes.lengths)
    return onnxperf.bench(model, against=framework, dims=dims, baseline=BASELINES[framework], **shorter)


def seen_grid(name: str, frameworks: list[str]) -> Callable[[Path], str]:
    """What the files of a race over sizes say."""

    def seen(folder: Path) -> str:
        flat = read_csv(folder / f"{name}.flat.csv")
        subjects = [*frameworks, "ort"]
        expect(set(subjects) <= set(flat), f"columns are {list(flat)}")
        expect(flat[subjects].notna().all(axis=None), "cells are blank")
        cases = record(folder / f"{name}.json")["cases"]
        expect(len(cases) == len(flat), f"{len(cases)} cases, {len(flat)} rows")
        wrong = {each["name"]: each["status"] for case in cases for each in case["subjects"] if each["status"] != "ok"}
        expect(not wrong, f"not all are ok: {wrong}")
        expect_picture(folder / f"{name}.png")
        ours = [each for case in cases for each in case["subjects"] if each["name"] == "ort"]
        decided = [each["speedup"] for each in ours if each["verdict"] != "undecided"]
        range_ = (
            f"{min(decided):.2f}x to {max(decided):.2f}x as fast as {frameworks[-1]}" if decided else "not compared"
        )
        undecided = len(ours) - len(decided)
        return f"{len(cases)} cases of {len(subjects)} subjects, outputs equal: ort {range_}, {undecided} undecided"

    return seen


def seen_check(folder: Path) -> str:
    result = record(folder / "discrepancies.json")
    outputs = result["outputs"]
    expect(all(output["equal"] for output in outputs), f"they differ: {outputs}")
    worst = max(output["max_absolute"] for output in outputs)
    within = f"rtol {result['rtol']:g}, atol {result['atol']:g}"
    return f"{len(outputs)} outputs agree within {within}: largest difference {worst:.1e}"


def seen_oom(folder: Path) -> str:
    (case,) = record(folder / "oom.json")["cases"]
    statuses = {each["name"]: each["status"] for each in case["subjects"]}
    expect("oom" in statuses.values(), f"statuses are {statuses}")
    reason = next(each["reason"] for each in case["subjects"] if each["status"] == "oom")
    return f"{', '.join(f'{name} {status}' for name, status in statuses.items())}: {reason}"


STEPS = (
    Step(
        *("004", "ResNet, TensorFlow", "Four ways of Keras and onnxruntime over batch sizes."),
        lambda sizes, **shorter: race(sizes.resnet, "tensorflow", sizes, **shorter),
        "bench {resnet} --against tensorflow --baseline 'tensorflow saved_model' --dim batch={batches} "
        "-o tf_resnet.json -o tf_resnet.flat.csv -o tf_resnet.png",
        seen_grid("tf_resnet", TENSORFLOW),
        {"time": 1.0},
    ),
    Step(
        *("004", "BERT, TensorFlow", "The same over batch sizes and lengths."),
        lambda sizes, **shorter: race(sizes.bert, "tensorflow", sizes, **shorter),
        "bench {bert} --against tensorflow --baseline 'tensorflow saved_model' --dim batch={batches} "
        "--dim seq={lengths} -o tf_bert.json -o tf_bert.flat.csv -o tf_bert.png",
        seen_grid("tf_bert", TENSORFLOW),
        {"time": 1.0},
    ),
    Step(
        *("004", "ResNet, PyTorch", "PyTorch and onnxruntime over batch sizes."),
        lambda sizes, **shorter: race(sizes.resnet, "torch", sizes, **shorter),
        "bench {resnet} --against torch --baseline torch --dim batch={batches} -o torch_resnet.json "
        "-o torch_resnet.flat.csv -o torch_resnet.png",
        seen_grid("torch_resnet", ["torch"]),
        {"time": 1.0},
    ),
    Step(
        *("004", "BERT, PyTorch", "The same over batch sizes and lengths."),
        lambda sizes, **shorter: race(sizes.bert, "torch", sizes, **shorter),
        "bench {bert} --against torch --baseline torch --dim batch={batches} --dim seq={lengths} -o torch_bert.json "
        "-o torch_bert.flat.csv -o torch_bert.png",
        seen_grid("torch_bert", ["torch"]),
        {"time": 1.0},
    ),
    Step(
        *("004", "discrepancies", "How far are the outputs of model and framework apart?"),
        lambda sizes: onnxperf.check(sizes.bert, against="torch", dims={"batch": 2, "seq": 16}),
        "check {bert} --against torch --dim batch=2 --dim seq=16 -o discrepancies.json",
        seen_check,
    ),
    Step(
        *("004", "out of memory", "What becomes of a case that does not fit into memory?"),
        lambda sizes, **shorter: onnxperf.bench(
            sizes.bert,
            against="torch",
            dims={"batch": sizes.largest_batch, "seq": sizes.largest_length},
            memory_limit=sizes.limit_mb * 1_000_000,
            **shorter,
        ),
        "bench {bert} --against torch --dim batch={largest_batch} --dim seq={largest_length} "
        "--memory-limit {limit_mb}MB -o oom.json",
        seen_oom,
        {"time": 1.0},
        exit_code=1,
    ),
)
