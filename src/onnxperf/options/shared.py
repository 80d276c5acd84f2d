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
        "Set a free dimension: batch=8 by name, or X.0=8 by input and axis. May be repeated.",
        flag="--dim",
        metavar="NAME=SIZE",
        read_all=texts.pairs(texts.sizes, last=True),
    )
    batch: int | Sequence[int] | None = option(
        None,
        "Set the size of the batch dimension: the one named batch, batch_size or N, or the unnamed first one of all "
        "inputs.",
        metavar="SIZE",
        read=texts.sizes,
    )
    shapes: Mapping[str, Sequence[int]] = option(
        {},
        "Set the shape of an input: X=1000x10. May be repeated.",
        flag="--shape",
        metavar="NAME=SHAPE",
        read_all=texts.pairs(texts.shape, last=True),
    )
    feeds: Mapping[str, Any] | None = option(
        None,
        "Read an input from a file: X=file.npy (.npy, .npz or .pb). May be repeated.",
        flag="--input",
        metavar="NAME=FILE",
        read_all=texts.pairs(Path),
    )
    ranges: Mapping[str, tuple[float, float]] = option(
        {},
        "Limit the random values of an input: ids=1:8000. May be repeated.",
        flag="--range",
        metavar="NAME=LOW:HIGH",
        read_all=texts.pairs(texts.bounds, last=True),
    )
    seed: int = option(0, "Random seed.", read=texts.whole)
    cast: bool = option(False, "Cast inputs of another type inside the timed call. By default, they are refused.")


# ---------------------------------------------------------------- sessions


class Runtime(Group):
    """Session."""

    threads: int | Sequence[int] | None = option(
        None,
        "Set the number of threads of every subject.",
        shown="all usable cores",
        read=texts.one_or_several,
        several=True,
    )
    provider: str | Sequence[str] = option(
        "cpu",
        "Choose the execution provider of onnxruntime, such as cpu or cuda.",
        metavar="NAME",
        read=texts.one_or_several,
        several=True,
    )
    options: Mapping[str, Any] = option(
        {},
        "Set any option of onnxruntime: arena=off, mem_pattern=off, inter_op_threads=2, execution_mode=parallel, "
        "session.intra_op.allow_spinning=0, disabled_optimizers=GeluFusionL2, provider.KEY=VALUE. May "
        "be repeated.",
        flag="--option",
        metavar="NAME=VALUE",
        read_all=texts.settings,
    )
    options_unchecked: Mapping[str, Any] = option(
        {},
        "Set a config entry without checking its name, if it is newer than this version of onnxperf. May be repeated.",
        flag="--option-unchecked",
        metavar="NAME=VALUE",
        read_all=texts.settings,
    )
    env: str | Sequence[str] = option(
        "",
        "Run in another environment, built once and reused: onnxruntime==1.20.1, or the path of a Python interpreter."
        " Join packages with +.",
        metavar="ENVIRONMENT",
        several=True,
        read_all=texts.environments,
    )


class Level(Group):
    """Session."""

    opt_level: str | Sequence[str] = option(
        "all",
        "Set the graph optimization level of onnxruntime: disable, basic, extended, layout or all.",
        metavar="LEVEL",
        several=True,
        read=texts.one_or_several,
    )


class Variants(Group):
    """Session."""

    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = option(
        {},
        "Name a set of settings: 'lean: threads=1, arena=off, call=io-binding'. Use @tuned.settings.json to read a "
        "file that `onnxperf tune` wrote. May be repeated.",
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
        "Choose call styles: run, run-c, ort-values, io-binding, io-binding-fixed, io-binding-inplace, or all. "
        "Separate several with commas.",
        metavar="STYLE",
    )


class Runtimes(Group):
    """Subjects."""

    runtime: str | Sequence[str] | None = option(
        "ort",
        "Choose what runs the model: ort, numpy, reference or openvino. Separate several with commas.",
        metavar="NAME",
    )


class Sources(Group):
    """Source."""

    against: Any = option(
        None,
        "Compare with the source of the model: FILE.py:OBJECT, module:OBJECT, a .pt2 or .keras file, or a saved_model "
        "folder. OBJECT is a model or a function that returns one. For a zoo model, use torch, tensorflow or sklearn. "
        "NAME=SOURCE sets the name. May be repeated.",
        metavar="SOURCE",
        read_all=list,
    )
    device: str = option("cpu", "Run torch and TensorFlow on this device: cpu or cuda.", metavar="NAME")
    check_finite: bool | None = option(
        None, "Skip scikit-learn's check of inputs for NaN and infinity.", flag="--no-check-finite", switch=False
    )


class Tolerances(Group):
    """Comparison."""

    rtol: float = option(1e-3, "Set the relative tolerance of floats.", read=texts.number, check=texts.at_least(0))
    atol: float = option(
        1e-5,
        "Set the absolute tolerance of floats. If it is 1 or more, it also applies to integers of at most 16 bits "
        "(quantized outputs).",
        read=texts.number,
        check=texts.at_least(0),
    )


class Matching(Group):
    """Comparison."""

    match: Mapping[str, str | int] = option(
        {},
        "Compare an output of the source with an output of the model: pooled_output=0. May be repeated.",
        metavar="NAME=OUTPUT",
        read_all=texts.pairs(texts.place),
    )


class Checking(Group):
    """Comparison."""

    check: bool = option(True, "Skip the comparison of outputs.", flag="--no-check", switch=False)


class MaxError(Group):
    """Comparison."""

    max_error: float | str | None = option(
        None,
        "Accept outputs with errors up to this, such as 0.1% (largest difference / largest value).",
        metavar="PERCENT",
        read=texts.part,
        check=texts.at_least(0),
    )


# ---------------------------------------------------------------- races and limits


class Time(Group):
    """Race."""

    time: float | None = option(
        None,
        "Set the time budget of each race in seconds.",
        metavar="SECONDS",
        shown="9, more for slow models",
        read=texts.number,
        check=texts.above_zero("seconds"),
    )


class WholeTime(Group):
    """Search."""

    time: float | None = option(
        None,
        "Set the time budget of the whole command in seconds.",
        metavar="SECONDS",
        read=texts.number,
        check=texts.above_zero("seconds"),
    )


class Effect(Group):
    """Race."""

    min_effect: float | str = option(
        "1%",
        "Set the smallest difference that matters, such as 0.5%.",
        metavar="PERCENT",
        read=texts.part,
        check=(lambda value: 0 < value < 1, "between 0 and 1 (0.01 is 1 %)"),
    )


class Warmup(Group):
    """Race."""

    warmup: float = option(
        0.1,
        "Make untimed calls for this many seconds before measuring a subject.",
        metavar="SECONDS",
        read=texts.number,
        check=texts.at_least(0, "seconds"),
    )


class Counting(Group):
    """Race."""

    count: str | None = option(
        None, "Also count instructions after the race. This needs valgrind and a C compiler.", choices=("instructions",)
    )


class Yardstick(Group):
    """Race."""

    yardstick: bool | None = option(
        None,
        "Skip the yardstick, a small fixed model that makes later runs comparable.",
        flag="--no-yardstick",
        switch=False,
        shown="measured if the run is saved",
    )


class MaxSlowdown(Group):
    """Race."""

    max_slowdown: float | str | None = option(
        None,
        "Fail with exit code 1 if a subject is slower than the baseline by more than this, such as 5%, beyond the "
        "noise.",
        metavar="PERCENT",
        read=texts.part,
        check=texts.part_below(100, "0.05 is 5 %"),
    )


class Limits(Group):
    """Limits."""

    timeout: float = option(
        TIMEOUT_S,
        "Limit each step to this many seconds: loading a model, a block of calls, a conversion.",
        metavar="SECONDS",
        read=texts.number,
        check=texts.above_zero("seconds"),
    )
    memory_limit: int | str | None = option(
        None,
        "Limit the resident memory of a worker, such as 2GB or 512MB. A subject that needs more ends as oom.",
        metavar="SIZE",
        read=texts.amount,
        check=texts.above_zero("bytes"),
    )


# ---------------------------------------------------------------- how often, and how long


class CallCount(Group):
    """Measurement."""

    calls: int | None = option(
        None,
        "Set the number of calls.",
        read=texts.whole,
        check=texts.at_least(1),
        shown="as many as take a few seconds",
    )


class Calibration(Group):
    """Search."""

    calibrate: Any = option(
        None,
        "Calibrate with real inputs from an .npz file, one array per input. The first axis separates calls, or rows "
        "of a batch. May be repeated.",
        metavar="FILE.npz",
        is_file=True,
        read_all=list,
    )


class Place(Group):
    """Cluster."""

    on: str | None = option(
        None,
        "Run on a Ray cluster: ray (on this machine), ray://HOST:PORT, HOST:PORT or auto. Each case takes a whole "
        "node.",
        metavar="ADDRESS",
    )


class EachNode(Group):
    """Cluster."""

    each_node: bool = option(False, "Run every case on each node of the cluster, and compare the nodes.")


class Resuming(Group):
    """Store."""

    resume: str | None = option(
        None, "Resume a saved run, by its id or last. Finished cases are not repeated.", metavar="RUN"
    )


class Retrying(Group):
    """Store."""

    retry: Sequence[str] = option(
        (),
        "Repeat cases with these statuses when `resume` is used: failed,oom,timeout.",
        metavar="STATUSES",
        read=texts.names,
    )


# ---------------------------------------------------------------- saved runs


class Store(Group):
    """Store."""

    store: bool | str | Path | None = option(
        False,
        "Use this store of runs: a file or a URL.",
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
