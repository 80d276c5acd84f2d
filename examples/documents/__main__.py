"""Do every step of the five documents, in Python and on the command line, and print what was seen.

usage: python -m examples.documents [--full] [--only 000,002] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from examples.documents import document_000, document_001, document_002, document_003, document_004
from examples.documents.prepare import prepare
from examples.documents.step import FULL, SMALL, WAYS, Outcome, done

STEPS = (
    *document_000.STEPS,
    *document_001.STEPS,
    *document_002.STEPS,
    *document_003.STEPS,
    *document_004.STEPS,
)
COLUMNS = "{:<8}  {:<18}  {:<7}  {:>7}  {:<6}  {}"


def main() -> int:
    """Prepare, do, show; 1 where a step failed."""
    options = parsed()
    sizes = FULL if options.full else SMALL
    folder = options.folder or Path(tempfile.mkdtemp(prefix="onnxperf-documents-"))
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["ONNXPERF_STORE"] = str(folder / "runs.sqlite")
    started = perf_counter()
    prepare(folder, sizes)
    print(COLUMNS.format("document", "step", "how", "seconds", "status", "what was seen"))
    outcomes = []
    for step in STEPS:
        if step.document in options.only:
            for how in WAYS:
                outcomes.append(done(step, how, folder, sizes))
                print(row(outcomes[-1]), flush=True)
    failed = sum(not outcome.ok for outcome in outcomes)
    minutes = (perf_counter() - started) / 60
    print(f"\n{len(outcomes)} rows in {minutes:.1f} minutes, {failed} failed; the files are in {folder}")
    return 1 if failed else 0


def row(outcome: Outcome) -> str:
    """A line of the table."""
    step, status = outcome.step, "ok" if outcome.ok else "failed"
    return COLUMNS.format(step.document, step.name, outcome.how, f"{outcome.seconds:.1f}", status, outcome.seen)


def parsed() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.documents", description="Do the five documents again.")
    parser.add_argument("--full", action="store_true", help="the documents' own sizes, which take hours")
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=sorted({step.document for step in STEPS}),
        metavar="000,002",
    )
    parser.add_argument("--folder", type=Path, help="where the files go; a temporary folder by default")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
