"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from onnxperf.options import texts
from onnxperf.options.base import Group, option
from onnxperf.records.timeouts import TIMEOUT_S

STATUSES = ("failed", "oom", "timeout", "crashed", "differs", "skipped")

# ---------------------------------------------------------------- inputs


class Inputs(Group):
    """Inputs."""

    dims: Mapping[str, int | Sequence[int]] = option(
        {},
        "Size of a free dimension: batch=8 by its name, X.0=8 by input and axis. May be repeated.",
        flag="--dim",
        metavar="NAME=SIZE",
        read_all=texts.pairs(texts.sizes, last=True),
    )
    batch: int | Sequence[int] | None = option(
        None,
        "Size of the batch dimension: the one named batch, batch_size or N, or an unnamed first one of all inputs.",
        metavar="SIZE",
        read=texts.sizes,
    )
    shapes: Mapping[str, Sequence[int]] = option(
        {},
        "Shape of an input: X=1000x10. May be repeated.",
        flag="--shape",
        metavar="NAME=SHAPE",
        read_all=texts.pairs(texts.shape, last=True),
    )
    feeds: Mapping[str, Any] | None = option(
        None,
        "Real data for an input: X=file.npy (.npy, .npz or .pb). May be repeated.",
        flag="--input",
        metavar="NAME=FILE",
        read_all=texts.pairs(Path),
    )
    ranges: Mapping[str, tuple[float, float]] = option(
        {},
        "Smallest and largest random value of an input: ids=1:8000. May be repeated.",
        flag="--range",
        metavar="NAME=LOW:HIGH",
        read_all=texts.pairs(texts.bounds, last=True),
    )
    seed: int = option(0, "Random seed.", read=texts.whole)
    cast: bool = option(False, "Cast inputs of another type inside the timed call, instead of refusing them.")


# ---------------------------------------------------------------- sessions


class Runtime(Group):
    """Session."""

    threads: int | Sequence[int] | None = option(
        None, "Threads of every subject.", shown="all usable cores", read=texts.one_or_several, several=True
    )
    provider: str | Sequence[str] = option(
        "cpu", "Execution provider of onnxruntime.", read=texts.one_or_several, several=True
    )
    options: Mapping[str, Any] = option(
        {},
        "Any setting of onnxruntime: session.intra_op.allow_spinning=0, arena=off, mem_pattern=off, "
        "inter_op_threads=2, execution_mode=parallel, disabled_optimizers=GeluFusionL2+ReshapeFusion, "
        "provider.KEY=VALUE. May be repeated.",
        flag="--option",
        metavar="NAME=VALUE",
        read_all=texts.settings,
    )
    options_unchecked: Mapping[str, Any] = option(
        {},
        "A config entry that is newer than this version of onnxperf: KEY=VALUE. May be repeated.",
        flag="--option-unchecked",
        metavar="NAME=VALUE",
        read_all=texts.settings,
    )
    env: str | Sequence[str] = option(
        "",
        "Environment of the workers, built once and reused: onnxruntime==1.20.1, or the path of a Python interpreter. "
        "Join packages with +.",
        metavar="ENVIRONMENT",
        several=True,
        read_all=texts.environments,
    )


class Level(Group):
    """Session."""

    opt_level: str | Sequence[str] = option(
        "all",
        "Graph optimization level of onnxruntime: disable, basic, extended, layout or all.",
        metavar="LEVEL",
        several=True,
        read=texts.one_or_several,
    )


class Variants(Group):
    """Session."""

    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = option(
        {},
        "Settings under a name: 'lean: threads=1, arena=off, call=io-binding'; or a file that `onnxperf tune` wrote: "
        "@tuned.settings.json. May be repeated.",
        flag="--variant",
        metavar="'NAME: SETTING=VALUE'",
        read_all=texts.variants,
    )


class Combinations(Group):
    """Session."""

    all_combinations: bool = option(False, "Allow more than 32 combinations of settings.")


# ---------------------------------------------------------------- what is run, and against what


class Calls(Group):
    """Subjects."""

    call: str | Sequence[str] = option(
        "run",
        "Call styles of onnxruntime: run, run-c, ort-values, io-binding, io-binding-fixed, io-binding-inplace, or all. "
        "Separate them with commas.",
    )


class Runtimes(Group):
    """Subjects."""

    runtime: str | Sequence[str] | None = option(
        "ort", "What executes the model: ort, numpy, reference, openvino. Separate them with commas."
    )


class Sources(Group):
    """Against."""

    against: Any = option(
        None,
        "What the model was converted from: [NAME=]FILE.py:function or module:function, which return a model (torch, "
        "Keras, estimator, callable) or a model and a sample; the name of a model there; a .pt2 or .keras file; a "
        "saved_model folder; for a zoo model torch, tensorflow or sklearn. May be repeated.",
        metavar="SOURCE",
        read_all=list,
    )
    device: str = option("cpu", "Where torch and TensorFlow run: cpu, cuda.")
    check_finite: bool | None = option(
        None, "Do not let scikit-learn check its inputs for NaN and infinity.", flag="--no-check-finite", switch=False
    )


class Tolerances(Group):
    """Comparison."""

    rtol: float = option(1e-3, "Relative tolerance of floats.", read=texts.number, check=texts.at_least(0))
    atol: float = option(
        1e-5,
        "Absolute tolerance of floats; if 1 or more, also of integers of at most 16 bits (quantized outputs).",
        read=texts.number,
        check=texts.at_least(0),
    )


class Matching(Group):
    """Comparison."""

    match: Mapping[str, str | int] = option(
        {},
        "Output of the source to compare with an output of the model: pooled_output=0. May be repeated.",
        metavar="NAME=OUTPUT",
        read_all=texts.pairs(texts.place),
    )


class Checking(Group):
    """Comparison."""

    check: bool = option(True, "Do not compare outputs.", flag="--no-check", switch=False)


class MaxError(Group):
    """Comparison."""

    max_error: float | str | None = option(
        None,
        "Largest error of an output that is accepted, such as 0.1%: largest difference / largest value.",
        metavar="PART",
        read=texts.part,
        check=texts.at_least(0),
    )


# ---------------------------------------------------------------- races and limits


class Time(Group):
    """Race."""

    time: float | None = option(
        None,
        "Time budget in seconds, for each case.",
        metavar="SECONDS",
        shown="9, more for slow models",
        read=texts.number,
        check=texts.above_zero("seconds"),
    )


class WholeTime(Group):
    """Search."""

    time: float | None = option(
        None,
        "Time budget in seconds for the whole command.",
        metavar="SECONDS",
        read=texts.number,
        check=texts.above_zero("seconds"),
    )


class Effect(Group):
    """Race."""

    min_effect: float | str = option(
        "1%",
        "Smallest difference that matters, such as 0.5%.",
        metavar="PART",
        read=texts.part,
        check=(lambda value: 0 < value < 1, "between 0 and 1 (0.01 is 1 %)"),
    )


class Warmup(Group):
    """Race."""

    warmup: float = option(
        0.1,
        "Seconds of untimed calls before a subject is measured.",
        metavar="SECONDS",
        read=texts.number,
        check=texts.at_least(0, "seconds"),
    )


class Counting(Group):
    """Race."""

    count: str | None = option(
        None, "Also count instructions after the race (needs valgrind and a C compiler).", choices=("instructions",)
    )


class Yardstick(Group):
    """Race."""

    yardstick: bool | None = option(
        None,
        "Do not measure the yardstick, a small fixed model by which later runs are compared with this one.",
        flag="--no-yardstick",
        switch=False,
        shown="measured if the run is saved",
    )


class MaxSlowdown(Group):
    """Race."""

    max_slowdown: float | str | None = option(
        None,
        "Fail if a subject is slower than the baseline by more than this, such as 5%, beyond the noise (exit code 1).",
        metavar="PART",
        read=texts.part,
        check=texts.part_below(100, "0.05 is 5 %"),
    )


class Limits(Group):
    """Limits."""

    timeout: float = option(
        TIMEOUT_S,
        "Maximum seconds for one step: loading a model, a block of calls, a conversion.",
        metavar="SECONDS",
        read=texts.number,
        check=texts.above_zero("seconds"),
    )
    memory_limit: int | str | None = option(
        None,
        "Resident memory that a worker may use, such as 2GB or 512MB; a subject that needs more ends as oom.",
        metavar="SIZE",
        read=texts.amount,
        check=texts.above_zero("bytes"),
    )


# ---------------------------------------------------------------- how often, and how long


class CallCount(Group):
    """Measurement."""

    calls: int | None = option(
        None, "Number of calls.", read=texts.whole, check=texts.at_least(1), shown="as many as take a few seconds"
    )


class Calibration(Group):
    """Search."""

    calibrate: Any = option(
        None,
        "Real inputs for calibration: a .npz file with an array for each input, calls or rows of a batch along the "
        "first axis. May be repeated.",
        metavar="FILE.npz",
        is_file=True,
        read_all=list,
    )


class Place(Group):
    """Cluster."""

    on: str | None = option(
        None,
        "Run on a cluster: ray on this machine, ray://HOST:PORT, HOST:PORT or auto. Each case takes a whole node.",
    )


class EachNode(Group):
    """Cluster."""

    each_node: bool = option(False, "Run every case on each node of the cluster, and compare the nodes.")


class Resuming(Group):
    """Store."""

    resume: str | None = option(None, "Resume a saved run, by its id or last; finished cases are not repeated.")


class Retrying(Group):
    """Store."""

    retry: Sequence[str] = option(
        (), "Statuses whose cases are repeated with --resume: failed,oom,timeout.", read=texts.names
    )


# ---------------------------------------------------------------- saved runs


class Store(Group):
    """Store."""

    store: bool | str | Path | None = option(
        False,
        "File or URL of the store of runs.",
        is_file=True,
        shown="ONNXPERF_STORE, or a file in the user's data directory",
    )


class Tags(Group):
    """Store."""

    tags: Mapping[str, str] | None = option(
        None,
        "Tag of a run, such as commit=1a2b3c. May be repeated.",
        flag="--tag",
        metavar="NAME=VALUE",
        read_all=texts.pairs(str),
    )
