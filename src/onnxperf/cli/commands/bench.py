"""`onnxperf bench`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass, field
from typing import Annotated

from cyclopts import Parameter

from onnxperf.cli.commands.sweep import ResumeFlags, run_kept
from onnxperf.cli.options import INPUTS, AgainstFlags, File, InputFlags, RaceFlags, Several, VariantFlags, keywords_of
from onnxperf.cli.present import KeptOutputFlags, present


@Parameter(name="*", group=INPUTS)
@dataclass(frozen=True)
class CaseFlags(InputFlags):
    """Where the inputs come from, and how large they are in each case."""

    dim: Annotated[Several, Parameter(metavar="NAME=SIZE")] = field(default_factory=list)
    """Size of a free dimension: batch=8 by its name, X.0=8 by input and axis; of several sizes, batch=1,2,4, every
    combination is run. May be repeated."""


def bench(
    *models: File,
    call: str = "run",
    runtime: str = "ort",
    inputs: CaseFlags = CaseFlags(),
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

        onnxperf bench model.onnx --every 50ms --threads 2

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
        What executes the models, separated by commas: ort, numpy, reference, openvino.
    """
    from onnxperf.api._shared.cells import Contest, cells_of, run_cells
    from onnxperf.api._shared.requests import CaseKeywords, parse
    from onnxperf.results.bench import BenchResult

    contest = Contest(list(models), against.sources(), call, runtime, inputs.feeds())
    cells = cells_of(contest, parse(keywords_of(inputs, session, race, against), CaseKeywords))
    if len(cells) > 1 or again.resume is not None or again.statuses:
        return run_kept(cells, again, output)
    # A single case is kept as a whole at the end.
    return present(BenchResult, output, lambda progress: BenchResult(run_cells(cells, progress)))
