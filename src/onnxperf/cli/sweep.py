"""`onnxperf sweep`."""

from __future__ import annotations

from dataclasses import dataclass

from cyclopts import Group, Parameter

from onnxperf.cli.options import Switch
from onnxperf.cli.output import OutputFlags, command_line, exit_code, make_console, make_progress, shown_in

SWEEP = Group("Sweep", sort_key=0)


@Parameter(name="*", group=SWEEP)
@dataclass(frozen=True)
class ResumeFlags:
    """How an earlier run is gone on with."""

    resume: str | None = None
    """Go on with a run of the store, by its id or last: cases that were finished are not run again."""
    retry: str = ""
    """Statuses whose cases are run again on --resume, separated by commas: failed,oom,timeout."""


def sweep(
    plan: str,
    /,
    *,
    dry_run: Switch = False,
    again: ResumeFlags = ResumeFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    """Run the cases of a plan file, and keep each as soon as it is finished.

    For example:

        onnxperf sweep plan.toml --dry-run

        onnxperf sweep plan.toml --csv all.csv --plot crossover.png

        onnxperf sweep plan.toml --resume last --retry oom

    Parameters
    ----------
    plan
        A .toml file with models, dims and options; docs/sweep.md shows one.
    dry_run
        Print the cases and an estimate of the time, and run nothing.
    """
    from onnxperf.api.sweep import estimate_s, plan_cells, run_sweep
    from onnxperf.render.race.sweep import print_cells, print_sweep

    output.check()
    cells = plan_cells(plan)
    console = make_console(stderr=output.to_stdout)
    if dry_run:
        print_cells([cell.key for cell in cells], estimate_s(cells), console)
        return 0
    command = command_line()
    retry = [status for status in again.retry.split(",") if status]
    with make_progress(output.quiet) as progress:
        result = run_sweep(cells, progress, output.where, command, again.resume, retry, shown_in(progress))
    if output.quiet:
        console.print(result.answer, markup=False, soft_wrap=True)
    else:
        print_sweep(result.record, console)
    output.write(result)
    return exit_code(result)
