"""`onnxperf sweep`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from onnxperf.caller import caller
from onnxperf.cli import exit_codes
from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import make_console, present, print_notice
from onnxperf.options.functions import SWEEP, Sweep
from onnxperf.wording.numbers import count, plain

if TYPE_CHECKING:
    from onnxperf.render.kit.progress import Progress
    from onnxperf.results.bench import BenchResult


def present_cases(typed: Typed, measure: Callable[[Progress], BenchResult]) -> int:
    """Run cases and show them; report those that are too slow, and the command that resumes an interrupted run."""
    from onnxperf.results.bench import SHOW

    results: list[BenchResult] = []

    def measured(progress: Progress) -> BenchResult:
        results.append(measure(progress))
        return results[0]

    code = present(SHOW, typed.output, measured)
    for result in results:
        for each in result.exceeding:
            limit = plain(100 * (result.max_slowdown or 0.0))
            print_notice(f"{each.name} is slower than the baseline by more than {limit}%, beyond the noise")
        if (result.interrupted or result.lost) and result.run and (len(result.cases) > 1 or "resume" in typed.keywords):
            _name_resuming(result)
    lost = any(result.lost for result in results)
    return exit_codes.PARTIAL if lost and code == exit_codes.DONE else code


def _name_resuming(result: BenchResult) -> None:
    cases = len(result.cases)
    done = cases - len(result.lost)
    print_notice(f"run {result.run} has {done} of {count(cases, 'case')}; resume it with: {resuming(result.run)}")


def resuming(run: str) -> str:
    """The typed command with --resume RUN."""
    words: list[str] = []
    typed = iter(shlex.split(caller().command))
    for word in typed:
        if word == "--resume":
            next(typed, None)
        elif not word.startswith("--resume="):
            words.append(word)
    return shlex.join([*words, "--resume", run])


@command(SWEEP, Sweep, *KEPT, common=("dry_run", "resume", "retry", "time", "output"))
def sweep(plan: File, /, *, typed: Typed) -> int:
    """Run all cases of a plan file, and save each case when it is finished.

    Examples
    --------
    # List the cases, and estimate the time
    onnxperf sweep plan.toml --dry-run
    # Run them, and write a table and a chart
    onnxperf sweep plan.toml -o all.csv -o crossover.png
    # Continue after an interruption, and repeat what ran out of memory
    onnxperf sweep plan.toml --resume last --retry oom
    # Run on a cluster
    onnxperf sweep plan.toml --on ray://head:10001

    Parameters
    ----------
    plan
        A .toml file with models, dims and options (see docs/sweep.md).
    """
    if typed.own["dry_run"]:
        from onnxperf.api.sweep import planned
        from onnxperf.render.kit.console import print_page
        from onnxperf.render.race.sweep import plan_page

        print_page(plan_page(*planned(plan, typed.keywords)), make_console())
        return exit_codes.DONE
    import onnxperf

    return present_cases(typed, lambda progress: onnxperf.sweep(plan, progress=progress, **typed.keywords))
