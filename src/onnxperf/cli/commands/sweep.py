"""`onnxperf sweep`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cyclopts import Group, Parameter

from onnxperf.cli import exit_codes
from onnxperf.cli.options import File, PlaceFlags, Switch
from onnxperf.cli.present import KeptOutputFlags, command_line, complain, make_console, present
from onnxperf.errors import masked
from onnxperf.wording.numbers import count

if TYPE_CHECKING:
    from onnxperf.api._shared.cells import Cell, Seen
    from onnxperf.records.race import Case
    from onnxperf.records.sweep import NodeStep
    from onnxperf.render.kit.progress import Progress
    from onnxperf.results.bench import BenchResult

SWEEP = Group("Sweep", sort_key=0)


@Parameter(name="*", group=SWEEP)
@dataclass(frozen=True)
class ResumeFlags(PlaceFlags):
    """Where cases run, and how an earlier run is resumed."""

    resume: str | None = None
    """Resume a run of the store, by its id or last: cases that were finished are not run again."""
    retry: str = ""
    """Statuses whose cases are run again on --resume, separated by commas: failed,oom,timeout."""

    @property
    def statuses(self) -> list[str]:
        """The statuses to retry."""
        return [status for status in self.retry.split(",") if status]


def shown_in(progress: Progress) -> Seen:
    """Show the cases of a sweep as they finish, and the nodes at work, in tables above the bar."""

    def show(cases: Sequence[Case], steps: Sequence[NodeStep]) -> None:
        from onnxperf.render.kit.console import page_group
        from onnxperf.results.bench import live_page

        progress.show(lambda console: page_group(live_page(cases, steps), console))

    return show


def run_kept(
    cells: Sequence[Cell],
    again: ResumeFlags,
    output: KeptOutputFlags,
    seen: Callable[[BenchResult], None] | None = None,
) -> int:
    """Run cases that are kept one by one, and name the command that resumes them if they are interrupted.

    `seen` receives the result.
    """
    from onnxperf.api._shared.sweeps import Keeping, run_sweep
    from onnxperf.results.bench import BenchResult

    results: list[BenchResult] = []

    def measure(progress: Progress) -> BenchResult:
        shown = shown_in(progress)
        keeping = Keeping(output.where, command_line(), again.resume, again.statuses, output.tags)
        results.append(run_sweep(cells, progress, keeping, shown, again.place))
        return results[0]

    code = present(BenchResult, replace(output, no_store=True), measure)
    for result in results:
        if seen is not None:
            seen(result)
        if (result.interrupted or result.lost) and result.run:
            _name_resuming(result, len(cells))
    lost = any(result.lost for result in results)
    return exit_codes.PARTIAL if lost and code == exit_codes.DONE else code


def _name_resuming(result: BenchResult, cases: int) -> None:
    done = len(result.cases) - len(result.lost)
    total = f"{done} of {count(cases, 'case')}" if done <= cases else count(done, "case")
    complain(f"run {result.run} has {total}; resume it with: {resuming(result.run)}")


def resuming(run: str) -> str:
    """What was typed, with --resume RUN."""
    kept: list[str] = []
    arguments = iter(map(masked, sys.argv[1:]))
    for argument in arguments:
        if argument == "--resume":
            next(arguments, None)
        elif not argument.startswith("--resume="):
            kept.append(argument)
    return shlex.join(["onnxperf", *kept, "--resume", run])


def sweep(
    plan: File,
    /,
    *,
    dry_run: Switch = False,
    no_yardstick: Switch = False,
    again: ResumeFlags = ResumeFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Run the cases of a plan file, and keep each as soon as it is finished.

    For example:

        onnxperf sweep plan.toml --dry-run

        onnxperf sweep plan.toml -o all.csv -o crossover.png

        onnxperf sweep plan.toml --resume last --retry oom

        onnxperf sweep plan.toml --on ray://head:10001

    Parameters
    ----------
    plan
        A .toml file with models, dims and options; docs/sweep.md shows one.
    dry_run
        Print the cases and an estimate of the time, and run nothing: models are opened, no function is imported.
    no_yardstick
        Do not measure the yardstick, a small fixed model by which later runs are compared with this one.
    """
    from onnxperf.api._shared.plans import check_models, plan_cells

    _ = again.place  # refused before anything is opened
    cells = plan_cells(plan, listed=dry_run, yardstick=not no_yardstick)
    if dry_run:
        check_models(plan)
        from onnxperf.api._shared.estimates import estimate
        from onnxperf.render.kit.console import print_page
        from onnxperf.render.race.sweep_page import plan_page

        print_page(plan_page([cell.key for cell in cells], estimate(cells)), make_console())
        return exit_codes.DONE
    return run_kept(cells, again, output)
