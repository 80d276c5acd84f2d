"""`onnxperf bench`."""

from __future__ import annotations

from msgspec.structs import replace

from onnxperf.cli.options import AgainstFlags, InputFlags, RaceFlags, SessionFlags
from onnxperf.cli.output import OutputFlags, command_line, exit_code, make_console, make_progress, shown_in
from onnxperf.cli.sweep import ResumeFlags


def bench(
    *models: str,
    call: str = "run",
    runtime: str = "ort",
    inputs: InputFlags = InputFlags(),
    session: SessionFlags = SessionFlags(),
    race: RaceFlags = RaceFlags(),
    against: AgainstFlags = AgainstFlags(),
    again: ResumeFlags = ResumeFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    """Time models, and race the ways of running them.

    The first subject is the baseline; several MODELS race each other.

    For example:

        onnxperf bench model.onnx --dim batch=8

        onnxperf bench model.onnx --call all --plot calls.png

        onnxperf bench old.onnx new.onnx --shape X=1000x10 --time 20

        onnxperf bench model.onnx --runtime ort,reference --json result.json

        onnxperf bench model.onnx --against train.py:make_model --dim batch=1,2,4,8

        onnxperf bench zoo:tiny-bert --against torch --dim batch=1,4 --dim seq=10,50

    Parameters
    ----------
    models
        ONNX files, or zoo:NAME: resnet50, bert-base, tiny-resnet, tiny-bert, tiny-linear.
    call
        Ways of calling onnxruntime, separated by commas, or all: run, run-c, ort-values, io-binding,
        io-binding-fixed, io-binding-inplace.
    runtime
        What executes the models, separated by commas: ort, numpy, reference.
    """
    from onnxperf.api._shared.cells import Contest, cells_of
    from onnxperf.api._shared.requests import BenchKeywords, parse
    from onnxperf.api.sweep import run_sweep
    from onnxperf.render.race.console import print_bench
    from onnxperf.render.race.sweep import print_sweep
    from onnxperf.results.bench import BenchResult

    output.check()
    command = command_line()
    keywords = {**inputs.keywords(), **session.keywords(), **race.keywords(), **against.keywords()}
    contest = Contest(list(models), against.sources(), call, runtime, inputs.feeds())
    cells = cells_of(contest, parse(keywords, BenchKeywords))
    several = len(cells) > 1 or again.resume is not None
    with make_progress(output.quiet) as progress:
        where = output.where if several else False
        retry = [status for status in again.retry.split(",") if status]
        result = run_sweep(cells, progress, where, command, again.resume, retry, shown_in(progress))
    result = BenchResult(replace(result.record, command=command))
    console = make_console(stderr=output.to_stdout)
    if output.quiet:
        console.print(result.answer, markup=False, soft_wrap=True)
    elif several:
        print_sweep(result.record, console)
    else:
        print_bench(result.record, console)
    if not several:
        output.keep(result.record, "bench")
    output.write(result)
    return exit_code(result)
