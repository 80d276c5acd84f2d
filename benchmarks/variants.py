"""Settings, releases of onnxruntime and engines on ResNet-50 and BERT: each a race of variants, with its verdicts.

usage: python -m benchmarks.variants [model ...]
models: resnet50, bert-base, tiny-resnet, tiny-bert; without one, the first two
"""

from __future__ import annotations

import sys
from typing import Any

import onnxperf
from benchmarks.kept import keep
from onnxperf.wording.numbers import NOTHING

SIZES: dict[str, dict[str, int]] = {
    "resnet50": {},
    "bert-base": {"seq": 32},
    "tiny-resnet": {},
    "tiny-bert": {"seq": 32},
}
RACES: dict[str, dict[str, Any]] = {
    "threads and levels": {"threads": [1, 2], "opt_level": ["disable", "all"]},
    "releases": {"env": ["onnxruntime==1.20.1", "onnxruntime==1.31.1"]},
    "engines": {"runtime": "ort,openvino"},
}


def raced(model: str) -> list[str]:
    """A row for every variant of every race."""
    rows = []
    for title, variants in RACES.items():
        result = onnxperf.bench(f"zoo:{model}", dims={"batch": 1, **SIZES.get(model, {})}, **variants)
        for subject in result.subjects:
            low, high = subject.speedup_low, subject.speedup_high
            within = NOTHING if low is None or high is None else f"{low:.3f} to {high:.3f}"
            times = NOTHING if subject.median_ns is None else f"{subject.median_ns / 1e6:.2f} ms"
            speedup = NOTHING if subject.speedup is None else f"{subject.speedup:.3f}"
            verdict = subject.verdict or f"{subject.status}: {subject.reason}"
            rows.append(f"| {model} | {title} | {subject.name} | {times} | {speedup} | {within} | {verdict} |")
    return rows


def main() -> None:
    """Race the models that are named."""
    models = sys.argv[1:] or ["resnet50", "bert-base"]
    head = ["| model | race | variant | median | speedup | 95 % interval | verdict |", "|---|---|---|---|---|---|---|"]
    keep("variants", [*head, *(row for model in models for row in raced(model))])


if __name__ == "__main__":
    main()
