"""The options of each public function and its command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from onnxperf.options import shared as of
from onnxperf.options import texts
from onnxperf.options.base import Group, Takes, TextError, option

if TYPE_CHECKING:
    from datetime import date

_SESSION = (of.Runtime, of.Level, of.Variants)
_KEPT = (of.Store, of.Tags)

# ---------------------------------------------------------------- how fast?


class Race(Group):
    """Race."""

    baseline: str | None = option(
        None, "Choose the subject that the others are compared with.", metavar="NAME", shown="the first one"
    )
    blocks: int | None = option(
        None, "Fix the number of blocks. Use it with `calls_per_block`.", read=texts.whole, check=texts.at_least(1)
    )
    calls_per_block: int | None = option(
        None, "Fix the number of calls per block.", read=texts.whole, check=texts.at_least(1)
    )
    split: bool = option(
        False, "Split calls into preparing inputs (cast, copy, bind), computing, and fetching outputs."
    )
    every: float | str | None = option(
        None,
        "Start a call every 50ms (or 0.05s), and sleep in between. This shows the time of calls after idling, and the"
        " CPU time of spinning threads.",
        metavar="TIME",
        read=texts.seconds,
    )


_CASE = (
    of.Inputs,
    *_SESSION,
    of.Combinations,
    of.Time,
    of.Effect,
    of.Warmup,
    Race,
    of.Counting,
    of.Yardstick,
    of.Limits,
    of.Tolerances,
    of.Matching,
    of.Checking,
)
CASE = Takes(of.Calls, of.Runtimes, of.Sources, *_CASE, races=True)
"""Options that a plan of a sweep may set."""
BENCH = Takes(
    of.Calls,
    of.Runtimes,
    of.Sources,
    *_CASE,
    of.MaxSlowdown,
    of.Place,
    of.EachNode,
    of.Resuming,
    of.Retrying,
    *_KEPT,
    races=True,
)


class Sweep(Group):
    """Sweep."""

    dry_run: bool = option(
        False,
        "List the cases and estimate the time, but run nothing. Models are opened, functions are not imported.",
    )


SWEEP = Takes(
    *_SESSION,
    of.Combinations,
    of.Time,
    of.Effect,
    of.Warmup,
    of.Counting,
    of.Yardstick,
    of.Limits,
    of.Tolerances,
    of.Place,
    of.EachNode,
    of.Resuming,
    of.Retrying,
    *_KEPT,
    races=True,
)
"""Options of a case override those of the plan."""


class GateBaseline(Group):
    """Gate."""

    baseline: str | None = option(
        None,
        "Compare with a model (an ONNX file or zoo:NAME), which races now. Or compare, by the yardstick, with a "
        "record: a .json file from bench or gate, or a saved run by its id or last. Required.",
        is_file=True,
    )


class Gate(Group):
    """Gate."""

    max_memory: float | str | None = option(
        None,
        "Fail if a fresh process needs more memory than the baseline by more than this, such as 5%, beyond the noise.",
        metavar="PERCENT",
        read=texts.part,
        check=texts.part_below(100, "0.05 is 5 %"),
    )
    undecided: Literal["pass", "fail"] | None = option(
        None, "Count an undecided gate as pass or fail, if your CI has no third state.", choices=("pass", "fail")
    )
    baseline_env: str | None = option(
        None,
        "Run a baseline model in this environment, built once and reused: onnxruntime==1.20.1, or the path of a "
        "Python interpreter.",
        metavar="ENVIRONMENT",
    )
    baseline_subject: str | None = option(
        None,
        "Choose the subject of a baseline record by its name, if several have the same call style.",
        metavar="NAME",
    )


GATE = Takes(
    of.MaxSlowdown,
    Gate,
    of.MaxError,
    of.Checking,
    of.Time,
    of.Effect,
    of.Warmup,
    of.Counting,
    of.Yardstick,
    of.Calls,
    of.Inputs,
    *_SESSION,
    of.Limits,
    of.Tolerances,
    *_KEPT,
    max_slowdown="5%",
    time=20.0,
)

# ---------------------------------------------------------------- where does it go?


class Profile(Group):
    """Measurement."""

    roofline: bool = option(
        False,
        "Add operations and bytes of each node, and compare it with the peaks of this machine. Unknown peaks are "
        "measured first (about 3 s).",
    )


PROFILE = Takes(of.CallCount, Profile, of.Inputs, *_SESSION, of.Combinations, of.Limits, *_KEPT, races=True)


def gives_several(values: Mapping[str, Any]) -> bool:
    """Whether typed options mean several variants: named ones, or several values of a setting."""
    settings = [values.get(name) for group in (of.Runtime, of.Level) for name in group.declared]
    flat = [each for value in settings for each in (value.values() if isinstance(value, Mapping) else [value])]
    return len(values.get("variants") or ()) > 1 or any(isinstance(each, list) and len(each) > 1 for each in flat)


class Sampling(Group):
    """Measurement."""

    sample_every: float | str = option(
        "1ms",
        "Set the time between samples, such as 5ms. py-spy needs at least 2.5ms.",
        metavar="TIME",
        read=texts.seconds,
        check=texts.above_zero("seconds"),
    )


class Memory(Group):
    """Measurement."""

    skip_arena: bool = option(
        False, "Do not measure other settings of onnxruntime's arena if much of the memory is unexplained."
    )


MEMORY = Takes(
    of.Calls,
    of.Runtimes,
    of.CallCount,
    Sampling,
    Memory,
    of.Sources,
    of.Inputs,
    *_SESSION,
    of.Combinations,
    of.Limits,
    *_KEPT,
    races=True,
)


class Lines(Group):
    """Measurement."""

    lines: bool = option(False, "Call a function (FILE.py:function) once, and show its memory line by line.")


MEMORY_LINES = Takes(of.Limits, *_KEPT)


class Stack(Group):
    """Measurement."""

    native: bool = option(False, "Also show the busiest functions of compiled libraries, with py-spy.")
    allocations: bool = option(
        False,
        "Also show where calls allocate memory, with memray. Without `calls`, memray watches at most 1,000 calls.",
    )


class StackRows(Group):
    """Output."""

    top: int = option(15, "Show this many functions and lines.", read=texts.whole, check=texts.at_least(1))


STACK = Takes(
    of.Calls,
    of.Runtimes,
    of.CallCount,
    Sampling,
    Stack,
    of.Inputs,
    *_SESSION,
    of.Limits,
    *_KEPT,
    runtime="numpy",
    sample_every="0.5ms",
)


class Listed(Group):
    """View."""

    all: bool = option(False, "Show all nodes and initializers of a long model.")
    around: str | None = option(
        None,
        "Show only this node and its neighbors. Give its name in the listing, or a tensor that it produces.",
        metavar="NODE",
    )
    op: str | None = option(None, "Show only nodes of this operator type, such as Conv.", metavar="TYPE")
    depth: int | None = option(
        None,
        "Show this many levels of bodies and functions.",
        read=texts.whole,
        check=texts.at_least(0),
        shown="all",
    )


class View(Group):
    """View."""

    values: bool = option(False, "Include the values of all tensors (JSON only).")
    profile: Any = option(
        None, "Show the time of each node. This profiles the model now, or reads the trace named after it.", switch=True
    )
    by: Literal["time", "memory", "headroom"] = option(
        "time",
        "Choose what `profile` shows: the time of each node, the size of its results, or its headroom on this machine.",
        choices=("time", "memory", "headroom"),
    )


VIEW = Takes(Listed, View, of.Inputs, *_SESSION, of.Limits)

# ---------------------------------------------------------------- what would help?

ADVISE = Takes(
    of.WholeTime,
    of.Effect,
    of.Warmup,
    of.Inputs,
    *_SESSION,
    of.Limits,
    of.Tolerances,
    *_KEPT,
    time=60.0,
)


class Tune(Group):
    """Search."""

    goal: Literal["latency", "cpu", "memory"] = option(
        "latency",
        "Reduce the time of a call, its CPU time, or the memory of the process.",
        choices=("latency", "cpu", "memory"),
    )
    call: str | None = option(
        None,
        "Use this call style for all candidates and for the defaults.",
        metavar="STYLE",
        shown="all call styles are candidates",
    )
    allow: Literal["approx"] | None = option(
        None,
        "Also try what changes outputs slightly: 8 and 16 bits, and a faster Gelu. Their errors are shown.",
        choices=("approx",),
    )


TUNE = Takes(
    Tune,
    of.MaxError,
    of.Calibration,
    of.WholeTime,
    of.Effect,
    of.Inputs,
    *_SESSION,
    of.Limits,
    of.Tolerances,
    of.Place,
    of.Resuming,
    *_KEPT,
    time=120.0,
)
QUANTIZE = Takes(
    of.Calibration,
    of.MaxError,
    of.WholeTime,
    of.Effect,
    of.Inputs,
    *_SESSION,
    of.Limits,
    *_KEPT,
    max_error="10%",
    time=120.0,
)


class Threads(Group):
    """Session."""

    threads: int | None = option(
        None,
        "Set the number of threads of every subject.",
        read=texts.whole,
        check=texts.at_least(1),
        shown="all usable cores",
    )


class Einsum(Group):
    """Search."""

    dtype: str = option(
        "float32", "Set the element type of the operands: float16, float32, float64, int32 or int64.", metavar="TYPE"
    )
    opset: int = option(18, "Set the opset version of the graphs.", read=texts.whole, check=texts.at_least(1))
    again: bool = option(False, "Search again, even if the fastest graph is already known.")


class Graphs(Group):
    """Search."""

    portable: bool = option(False, "Use only standard operators, which other runtimes support.")
    search: bool = option(True, "Trust the cost model, and time nothing.", flag="--no-search", switch=False)


class Rewriting(Group):
    """Search."""

    rewrite: str | None = option(
        None,
        "Replace the Einsum nodes of this model. The new model is written only if a race proves that it is faster.",
        is_file=True,
    )


def _operand_shapes(given: Sequence[str]) -> Mapping[str, Sequence[int]] | Sequence[Sequence[int]]:
    """Shapes in the order of the operands, or by input name."""
    if any("=" in text for text in given):
        return texts.pairs(texts.shape, last=True)(given)
    found = []
    for text in given:
        try:
            found.append(texts.shape(text))
        except ValueError as error:
            raise TextError(text, f"{error}; expected sizes such as 20x30") from error
    return found


class Operands(Group):
    """Inputs."""

    shapes: Mapping[str, Sequence[int]] | Sequence[Sequence[int]] = option(
        (),
        "Set the shape of an operand, in their order: 20x20x20x20. With `rewrite`, set the shape of an input: X=8x16."
        " May be repeated.",
        flag="--shape",
        metavar="SHAPE",
        read_all=_operand_shapes,
    )


OPTIMIZE_EINSUM = Takes(Einsum, Graphs, of.Runtimes, of.WholeTime, Threads, of.Limits, *_KEPT, time=18.0)
EINSUM = Takes(of.Runtimes, Threads)
REWRITE_EINSUM = Takes(Graphs, of.WholeTime, of.Effect, of.Inputs, *_SESSION, of.Limits, *_KEPT)

# ---------------------------------------------------------------- same results?


class Check(Group):
    """Comparison."""

    nodes: bool = option(
        False,
        "Compare node by node, and name the first node that differs. This is always done for two models that differ.",
    )


CHECK = Takes(
    Check,
    of.Runtimes,
    of.Sources,
    of.Inputs,
    *_SESSION,
    of.Tolerances,
    of.Matching,
    of.Limits,
    *_KEPT,
    races=True,
    runtime=None,
)


class Diff(Group):
    """Comparison."""

    race: bool = option(
        True, "Skip the race without the profiler, which gives the verdict.", flag="--no-race", switch=False
    )


DIFF = Takes(of.CallCount, Diff, of.Time, of.Effect, of.Warmup, of.Inputs, *_SESSION, of.Limits, *_KEPT, races=True)
DIFF_VIEW = Takes(*_SESSION, of.Limits)


class Bisect(Group):
    """Search."""

    releases: str | Sequence[str] | None = option(
        None,
        "Search a range of releases, such as onnxruntime==1.20..1.31 (all final ones), or a list of them.",
        metavar="RANGE",
        read_all=",".join,
    )
    optimizers: bool = option(
        False, "Search the graph optimizers of onnxruntime, which are enabled one after the other."
    )
    settings: bool = option(
        False,
        "Search the settings in which two `variants` differ. Without variants, search the settings that are worth "
        "trying.",
    )
    nodes: bool = option(
        False,
        "Search the nodes of the model. The sides are two values of a setting (`env`, `opt_level`, `options`, "
        "`variants`). -o part.onnx writes the smallest part that still shows the difference, with random weights.",
    )
    by: Literal["time", "accuracy", "memory"] = option(
        "time", "Compare the time, the accuracy or the memory.", choices=("time", "accuracy", "memory")
    )
    change: Literal["any", "worse", "better"] = option(
        "any",
        "Search for any change, only a worse one (slower, more memory), or only a better one.",
        choices=("any", "worse", "better"),
    )


BISECT = Takes(
    Bisect,
    of.WholeTime,
    of.Effect,
    of.Warmup,
    of.Inputs,
    *_SESSION,
    of.Limits,
    of.Tolerances,
    *_KEPT,
    races=True,
    time=120.0,
)


class Convert(Group):
    """Conversion."""

    opset: int | None = option(
        None, "Set the opset version of the model.", read=texts.whole, check=texts.at_least(1), shown="the converter's"
    )
    input_names: Sequence[str] | None = option(
        None, "Name the inputs, in their order: ids,mask.", metavar="NAMES", read=texts.names
    )
    output_names: Sequence[str] | None = option(
        None, "Name the outputs, in their order.", metavar="NAMES", read=texts.names
    )
    dynamic: Mapping[str, str] | None = option(
        None,
        "Name free dimensions: ids.0=batch,ids.1=seq. Use none to fix all sizes.",
        metavar="AXIS=NAME",
        shown="the first axis is batch",
        read=lambda text: {} if text == "none" else texts.pairs(str)(texts.names(text)),
    )
    converter_options: Mapping[str, Any] = option(
        {},
        "Set an option of the converter (of skl2onnx for an estimator): zipmap=false. May be repeated.",
        flag="--converter-option",
        metavar="NAME=VALUE",
        read_all=texts.pairs(texts.word),
    )
    black_op: Sequence[str] | None = option(
        None, "Prevent skl2onnx from using these operators: Op1,Op2.", metavar="OPERATORS", read=texts.names
    )


class Forcing(Group):
    """Comparison."""

    force: bool = option(
        False, "Write the model even if its outputs differ from those of its source. The exit code is still 1."
    )


CONVERT = Takes(Convert, of.Checking, of.Inputs, of.Tolerances, of.Limits)
OPTIMIZE = Takes(*_SESSION, of.Limits, *_KEPT)

# ---------------------------------------------------------------- past runs, and this machine


class History(Group):
    """History."""

    group_by: Literal["version", "commit", "machine", "day"] | None = option(
        None,
        "Order and group the runs by onnxruntime version, commit or day, or compare machines.",
        choices=("version", "commit", "machine", "day"),
    )
    since: str | date | None = option(
        None, "Show only runs since a date such as 2026-11-03, or of the last days: 30d.", metavar="DATE"
    )


class Newest(Group):
    """Runs."""

    top: int | None = option(
        None,
        "Show at most this many runs, the newest first (for a history, of each series).",
        read=texts.whole,
        check=texts.at_least(1),
        shown="all",
    )


HISTORY = Takes(History, Newest, of.Effect, of.Store, store=True)


class Runs(Group):
    """Runs."""

    kind: str | None = option(
        None, "Show only runs of this kind: bench, sweep, profile, check, einsum, memory…", metavar="KIND"
    )
    about: str | None = option(None, "Show only runs with this text in the name of their model, equation or function.")


RUNS = Takes(Newest, Runs, *_KEPT, store=True)
STORED = Takes(of.Store, store=True)
"""For functions that read or change saved runs."""


class Server(Group):
    """Server."""

    host: str = option(
        "127.0.0.1",
        "Listen on this interface: an address or a name of this machine, or 0.0.0.0 for all.",
        metavar="ADDRESS",
    )
    port: int = option(
        8642,
        "Listen on this port. Use 0 to choose a free one.",
        read=texts.whole,
        check=(lambda value: 0 <= value < 2**16, "a number from 0 to 65535"),
    )
    token: str | None = option(
        None,
        "Require this token of at least 16 characters. If other machines can reach the server, one is generated and "
        "printed.",
        shown="ONNXPERF_TOKEN",
    )
    open: bool = option(False, "Open the page in a browser.")


class Doctor(Group):
    """Measurement."""

    quick: bool = option(False, "Only describe the machine, in under two seconds and without a race.")


DOCTOR = Takes(Doctor, of.Time, Threads, time=9.0, threads=1)
DEMO = Takes(*_KEPT)


class Page(Group):
    """Output."""

    output: Sequence[str] = option(
        (),
        "Write the report to this file: .html for a page, .md for a pull request. May be repeated.",
        short="-o",
        is_file=True,
        read_all=list,
        shown="report.html",
    )
    open: bool = option(False, "Open the report in a browser.")


class Completion(Group):
    """Completion."""

    shell: Literal["bash", "zsh", "fish"] | None = option(
        None, "Choose the shell.", choices=("bash", "zsh", "fish"), shown="the current shell"
    )
    output: str | None = option(
        None,
        "Only write the script to this file. Use - for standard output.",
        short="-o",
        is_file=True,
        shown="where the shell looks for it, loaded by ~/.bashrc or ~/.zshrc",
    )


LOAD = Takes(of.Calls, of.Runtimes, *_SESSION)
"""A model is loaded in the calling process, without limits of time or memory."""
