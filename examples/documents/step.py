"""A step of a document, and what was seen when it was done."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, NamedTuple

import onnxperf

How = Literal["python", "command"]
WAYS: tuple[How, ...] = ("python", "command")
COMMAND_TIMEOUT_S = 3600


class Sizes(NamedTuple):
    """What the steps work on: of the documents themselves, or reduced."""

    rows: int
    """Of the large regression, a tenth of them to train."""
    points: int
    """For KMeans."""
    image: int
    """Width and height."""
    letter: int
    """Size of every letter of the equation."""
    calls: int
    """Of the tiny classifier."""
    iterations: int
    """Of the KMeans."""
    resnet: str
    bert: str
    batches: str
    lengths: str
    largest_batch: int
    largest_length: int
    limit_mb: int
    """Memory that the largest case exceeds."""

    @property
    def tested_rows(self) -> int:
        """Rows of the large regression that are predicted."""
        return self.rows - self.rows // 10


FULL = Sizes(
    rows=300_000,
    points=100_000,
    image=112,
    letter=20,
    calls=20_000,
    iterations=111,
    resnet="zoo:resnet50",
    bert="zoo:bert-base",
    batches="1,2,4,8,16",
    lengths="10,50,100,200,300,400,500",
    largest_batch=16,
    largest_length=500,
    limit_mb=1500,
)
SMALL = Sizes(
    rows=6_000,
    points=5_000,
    image=56,
    letter=20,
    calls=2_000,
    iterations=40,
    resnet="zoo:tiny-resnet",
    bert="zoo:tiny-bert",
    batches="1,2",
    lengths="4,16",
    largest_batch=2,
    largest_length=8,
    limit_mb=100,
)


class Step(NamedTuple):
    """One question of a document: how it is asked in Python and on the command line, and what the files then say."""

    document: str
    name: str
    asked: str
    call: Callable[..., Any]
    """Asks in Python: takes the sizes and what shortens it; returns a result, which is saved in the command's files."""
    command: str
    """Asks on the command line, after `onnxperf`; sizes in braces."""
    seen: Callable[[Path], str]
    """Reads the files of either; returns what they say, and raises an error where it cannot be right."""
    shorter: Mapping[str, object] = {}
    """Options for reduced sizes, by their names in Python."""
    exit_code: int = 0

    def line(self, sizes: Sizes) -> str:
        """What a user types."""
        return "onnxperf " + self.command.format(**sizes._asdict(), tested_rows=sizes.tested_rows)

    def files(self) -> list[str]:
        """What the command writes."""
        return re.findall(r"-o (\S+)", self.command)


class Outcome(NamedTuple):
    """A step that was done."""

    step: Step
    how: How
    seconds: float
    seen: str
    ok: bool


def done(step: Step, how: How, folder: Path, sizes: Sizes) -> Outcome:
    """Do a step in a folder; whatever fails is part of the outcome."""
    started = perf_counter()
    try:
        for file in step.files():
            (folder / file).unlink(missing_ok=True)
        in_python(step, folder, sizes) if how == "python" else on_the_command_line(step, folder, sizes)
        seconds = perf_counter() - started
        return Outcome(step, how, seconds, step.seen(folder), ok=True)
    except Exception as error:  # a step that fails must not lose the others
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return Outcome(step, how, perf_counter() - started, reason, ok=False)


def in_python(step: Step, folder: Path, sizes: Sizes) -> None:
    """Call the public function, and save its result."""
    with chdir(folder):
        try:
            result = step.call(sizes, **({} if sizes == FULL else step.shorter))
        except onnxperf.OnnxperfError as error:
            expect(step.exit_code != 0, str(error))
            (folder / "error.txt").write_text(str(error), encoding="utf-8")
            return
        for file in step.files():
            if not Path(file).exists():  # `optimize` writes its model itself
                result.save(file)


def on_the_command_line(step: Step, folder: Path, sizes: Sizes) -> None:
    """Type the command, in a process of its own."""
    words = shlex.split(step.line(sizes))[1:] + ([] if sizes == FULL else list(options(step.shorter)))
    done = subprocess.run(
        [sys.executable, "-m", "onnxperf", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(onnxperf.__file__).parents[1])},
        capture_output=True,
        encoding="utf-8",
        timeout=COMMAND_TIMEOUT_S,
        check=False,
    )
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    expect(done.returncode == step.exit_code, f"exit code {done.returncode}: {' '.join(last)}")
    (folder / "error.txt").write_text(done.stderr, encoding="utf-8")


def options(keywords: Mapping[str, object]) -> Iterator[str]:
    """Keywords of Python as options."""
    for name, value in keywords.items():
        yield f"--{name.replace('_', '-')}"
        if value is not True:
            yield str(value)


# ---------------------------------------------------------------- what files say


def expect(condition: object, otherwise: str) -> None:
    """Fail the step unless this holds; it must hold on a busy machine too."""
    if not condition:
        raise ValueError(otherwise)


def record(path: Path) -> Any:
    """The whole of a result, from its .json file."""
    return json.loads(path.read_text(encoding="utf-8"))


def expect_picture(path: Path) -> None:
    """A chart was drawn."""
    expect(path.read_bytes().startswith((b"\x89PNG", b"<svg", b"<?xml")), f"{path.name} is no picture")


def expect_sum(parts: Iterable[float], whole: float, of: str) -> str:
    """Parts add up to the whole, but for rounding; says so."""
    values = list(parts)
    difference = abs(math.fsum(values) - whole)
    expect(difference < 1e-6 * whole, f"{of} are {math.fsum(values)}, their total is {whole}")
    return f"sum of {len(values)} {of} = total"


def expect_shares(stack: Any) -> dict[str, float]:
    """Python, compiled code and what nobody knows are everything."""
    shares: dict[str, float] = stack["shares"]
    expect_sum((shares[part] for part in ("python", "compiled", "unknown")), 1.0, "shares")
    return shares
