"""`onnxperf bench`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from onnxperf.cli import exit_codes
from onnxperf.cli.commands.sweep import ResumeFlags, run_kept
from onnxperf.cli.options import (
    INPUTS,
    RACE,
    AgainstFlags,
    File,
    InputFlags,
    RaceFlags,
    Several,
    Switch,
    VariantFlags,
    keywords_of,
    part,
)
from onnxperf.cli.present import KeptOutputFlags, complain, present

if TYPE_CHECKING:
    from onnxperf.render.kit.progress import Progress


@Parameter(name="*", group=INPUTS)
@dataclass(frozen=True)
class CaseFlags(InputFlags):
    """Where the inputs come from, and how large they are in each case."""

    dim: Annotated[Several, Parameter(metavar="NAME=SIZE")] = field(default_factory=list)
    """Size of a free dimension: batch=8 by its name, X.0=8 by input and axis; of several sizes, batch=1,2,4, every
    combination is run. May be repeated."""


@Parameter(name="*", group=RACE)
@dataclass(frozen=True)
class LimitedRaceFlags(RaceFlags):
    """How subjects are measured and compared, and which slow-down is a failure."""

    only_here = ("fail_if_slower", "no_yardstick")

    fail_if_slower: str | None = None
    """Exit code 1 where a subject is slower than the baseline by more than this, such as 5%, beyond the noise."""
    no_yardstick: Switch = False
    """Do not measure the yardstick, a small fixed model by which later runs are compared with this one."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python functions."""
        return {**super().keywords(), "yardstick": not self.no_yardstick}

    @property
    def max_slowdown(self) -> float | None:
        """The limit as a number."""
        return None if self.fail_if_slower is None else part(self.fail_if_slower, "fail-if-slower")


def bench(
    *models: File,
    call: str = "run",
    runtime: str = "ort",
    inputs: CaseFlags = CaseFlags(),
    session: VariantFlags = VariantFlags(),
    race: LimitedRaceFlags = LimitedRaceFlags(),
    against: AgainstFlags = AgainstFlags(),
    again: ResumeFlags = ResumeFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Time models, and race the ways of running them.

    The first subject is the baseline; several MODELS race each other, and their outputs are compared first.

    For example:

        onnxperf bench model.onnx --dim batch=8

        onnxperf bench model.onnx --call all -o calls.png

        onnxperf bench old.onnx new.onnx --shape X=1000x10 --time 20

        onnxperf bench old.onnx new.onnx --fail-if-slower 5%

        onnxperf bench model.onnx quantised.onnx --no-check

        onnxperf bench model.onnx --runtime ort,reference --json result.json

        onnxperf bench model.onnx --threads 1,2 --option session.intra_op.allow_spinning=0,1

        onnxperf bench model.onnx --env onnxruntime==1.20.1,onnxruntime==1.31.1

        onnxperf bench model.onnx --call run,run-c --count instructions

        onnxperf bench model.onnx --variant 'usual: call=run' --variant 'lean: threads=1, arena=off, call=io-binding'

        onnxperf bench model.onnx --every 50ms --threads 2

        onnxperf bench model.onnx --against train.py:make_model --dim batch=1,2,4,8

        onnxperf bench zoo:tiny-bert --against torch --dim batch=1,4 --dim seq=10,50

        onnxperf bench model.onnx --dim batch=1,2,4 --on ray://head:10001 --nodes each

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

    place = again.place
    contest = Contest(list(models), against.sources(), call, runtime, inputs.feeds())
    cells = cells_of(contest, parse(keywords_of(inputs, session, race, against), CaseKeywords))
    limit = race.max_slowdown  # refused before anything is measured
    results: list[BenchResult] = []
    one_by_one = len(cells) > 1 or (place is not None and place.each)
    if one_by_one or again.resume is not None or again.statuses:
        code = run_kept(cells, again, output, results.append)
    else:  # a single case is kept as a whole at the end

        def measure(progress: "Progress") -> BenchResult:
            results.append(BenchResult(run_cells(cells, progress, place=place)))
            return results[0]

        code = present(BenchResult, output, measure)
    slower = [each for result in results for each in result.slower_than(limit)] if limit is not None else []
    for each in slower:
        complain(f"{each.name} is slower than the baseline by more than {race.fail_if_slower}, beyond the noise")
    return exit_codes.PARTIAL if slower and code == exit_codes.DONE else code
