"""`onnxperf memory`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from msgspec.structs import replace

from onnxperf.cli.options import OUTPUT, AgainstFlags, InputFlags, SessionFlags, Several, Switch
from onnxperf.cli.output import INTERRUPTED, PARTIAL, command_line, make_console, make_progress, write_text
from onnxperf.cli.tables import TableFlags
from onnxperf.errors import BadOption

_WITH_LINES = frozenset(
    ("lines", "timeout", "memory_limit", "json", "csv", "plot", "quiet", "debug", "store", "no_store"),
)
"""Options that mean something for a function that is called once, as it is."""


@Parameter(name="*", group=Group("Memory", sort_key=0))
@dataclass(frozen=True)
class MemoryFlags:
    """What is called, how often, and within which limits."""

    call: str = "run"
    """Ways of calling onnxruntime, separated by commas."""
    runtime: str = "ort"
    """What executes the model, separated by commas: ort, numpy, reference."""
    against: Several = field(default_factory=list)
    """A function that returns the source (torch module, Keras model, estimator, callable), as [NAME=]FILE.py:function
    or module:function; for a zoo model torch, tensorflow or sklearn. May be repeated."""
    device: str = "cpu"
    """Where torch and TensorFlow run: cpu, cuda."""
    repeat: int | None = None
    """Calls over which growth is judged, at least 5."""
    interval: float = 0.001
    """Seconds between two samples of the curve."""
    timeout: float = 120.0
    """Seconds that one step (loading, a call) may take."""
    memory_limit: str | None = None
    """Resident memory that a worker may need, such as 2GB or 512MB; a subject that needs more ends as oom."""
    lines: Switch = False
    """Show the memory of a function line by line: FILE.py:function."""
    table: Literal["subjects", "samples", "breakdown"] = "subjects"
    """The table that --csv and --parquet write."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class MemoryFiles(TableFlags):
    """Files to write."""

    markdown: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the tables as Markdown; - is standard output."""

    def check(self, *others: str | None) -> None:
        """Refuse what could not be written, before anything is measured."""
        super().check(self.markdown, *others)
        if self.json == self.markdown == "-":
            raise BadOption("only one of --json and --markdown can write to standard output")

    @property
    def to_stdout(self) -> bool:
        """Whether standard output belongs to another program."""
        return "-" in (self.json, self.markdown)


def memory(
    model: str,
    /,
    *,
    options: MemoryFlags = MemoryFlags(),
    inputs: InputFlags = InputFlags(),
    session: SessionFlags = SessionFlags(),
    output: MemoryFiles = MemoryFiles(),
) -> int:
    """Show what a prediction needs in memory, what stays, whether it grows, and where the bytes are.

    Each subject runs in a fresh process, and the kernel's own peak is read.

    For example:

        onnxperf memory model.onnx --dim batch=300000 --runtime ort,numpy

        onnxperf memory model.onnx --input X=float64.npy --cast --plot memory.png

        onnxperf memory train.py:predict --lines

    Parameters
    ----------
    model
        An ONNX file, or with --lines a function: FILE.py:function.
    """
    output.check()
    if options.lines:
        _refuse_with_lines(options, inputs, session, output)
        return _lines(model, options, output)
    if model.rpartition(":")[0].endswith(".py"):
        raise BadOption(f"{model} is a function; add --lines to see its memory line by line")
    from onnxperf.render.memory.memory import print_memory

    result = _measured(model, options, inputs, session, output.quiet)
    result.record = replace(result.record, command=command_line())
    _show(result, print_memory, output)
    output.write(result, options.table)
    if output.markdown is not None:
        write_text(output.markdown, result.to_markdown())
    if result.interrupted:
        return INTERRUPTED
    return 0 if result.ok else PARTIAL


def _measured(model: str, options: MemoryFlags, inputs: InputFlags, session: SessionFlags, quiet: bool) -> Any:
    from onnxperf.api.memory import memory as measure

    with make_progress(quiet) as progress:
        return measure(
            model,
            call=options.call,
            runtime=options.runtime,
            feeds=inputs.feeds(),
            against=AgainstFlags(against=options.against).sources(),
            device=options.device,
            repeat=options.repeat,
            interval=options.interval,
            progress=progress,
            timeout=options.timeout,
            memory_limit=options.memory_limit,
            **inputs.keywords(),
            **session.keywords(),
        )


def _lines(source: str, options: MemoryFlags, output: MemoryFiles) -> int:
    from onnxperf.api.memory_lines import memory_lines
    from onnxperf.render.memory.lines import print_lines

    with make_progress(output.quiet) as progress:
        result = memory_lines(source, timeout=options.timeout, memory_limit=options.memory_limit, progress=progress)
    result.record = replace(result.record, command=command_line())
    _show(result, print_lines, output)
    for path in (output.csv, output.plot):
        if path is not None:
            result.save(path)
    if output.json is not None:
        write_text(output.json, result.to_json())
    return 0 if result.record.status == "ok" else PARTIAL


def _refuse_with_lines(*groups: Any) -> None:
    for flags in groups:
        usual = type(flags)()
        for each in fields(flags):
            if each.name not in _WITH_LINES and getattr(flags, each.name) != getattr(usual, each.name):
                option = each.name.replace("_", "-")
                raise BadOption(f"--{option} does not go with --lines, which calls a function once; leave it out")


def _show(result: Any, printer: Any, output: MemoryFiles) -> None:
    """Print the result, or its answer alone, and keep it."""
    from onnxperf.wording.names import visible

    console = make_console(stderr=output.to_stdout)
    if output.quiet:
        for line in result.answer.splitlines():
            console.print(visible(line, console.encoding), markup=False, soft_wrap=True)
    else:
        printer(result.record, console)
    output.keep(result.record, "memory")
