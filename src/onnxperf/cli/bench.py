"""`onnxperf bench`."""

from __future__ import annotations

from dataclasses import replace

from onnxperf.cli.options import AgainstFlags, InputFlags, RaceFlags, VariantFlags, keywords_of
from onnxperf.cli.present import KeptOutputFlags, command_line, present
from onnxperf.cli.sweep import ResumeFlags, shown_in


def bench(
    *models: str,
    call: str = "run",
    runtime: str = "ort",
    inputs: InputFlags = InputFlags(),
    session: VariantFlags = VariantFlags(),
    race: RaceFlags = RaceFlags(),
    against: AgainstFlags = AgainstFlags(),
    again: ResumeFlags = ResumeFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Time models, and race the ways of running them.

    The first subject is the baseline; several MODELS race each other, and their outputs are compared first.

    For example:

        onnxperf bench model.onnx --dim batch=8

        onnxperf bench model.onnx --call all --plot calls.png

        onnxperf bench old.onnx new.onnx --shape X=1000x10 --time 20

        onnxperf bench model.onnx quantised.onnx --no-check

        onnxperf bench model.onnx --runtime ort,reference --json result.json

        onnxperf bench model.onnx --threads 1,2 --option session.intra_op.allow_spinning=0,1

        onnxperf bench model.onnx --env onnxruntime==1.20.1,onnxruntime==1.31.1

        onnxperf bench model.onnx --call run,run-c --count instructions

        onnxperf bench model.onnx --variant 'usual: call=run' --variant 'lean: threads=1, arena=off, call=io-binding'

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
    from onnxperf.api._shared.requests import CaseKeywords, parse
    from onnxperf.api._shared.sweeps import run_sweep
    from onnxperf.results.bench import BenchResult

    contest = Contest(list(models), against.sources(), call, runtime, inputs.feeds())
    cells = cells_of(contest, parse(keywords_of(inputs, session, race, against), CaseKeywords))
    # Several cases are kept one by one, a single one as a whole at the end.
    several = len(cells) > 1 or again.resume is not None
    where = output.where if several else False
    return present(
        BenchResult,
        replace(output, no_store=True) if several else output,
        lambda progress: run_sweep(
            cells, progress, where, command_line(), again.resume, again.statuses, shown_in(progress)
        ),
    )
