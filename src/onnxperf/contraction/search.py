"""Searches many graphs with the same result: which ones onnxruntime distinguishes, and which are the fastest few."""

from __future__ import annotations

import hashlib
import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from onnxperf.errors import BadInput, SubjectError, WorkerLost

Progress = Callable[[float, str], None]

FINALISTS = 4
PREPARED = 0.4
"""Fraction of the time after which no more graphs are opened."""


class Stage(NamedTuple):
    """The remaining graphs are timed in `rounds` blocks; the fastest `keep` reach the next stage."""

    rounds: int
    block_ns: int
    keep: int
    end: float
    """Fraction of the search time after which the stage ends, even with fewer rounds."""


STAGES = (
    Stage(rounds=3, block_ns=1_000_000, keep=40, end=0.7),
    Stage(rounds=5, block_ns=3_000_000, keep=12, end=0.85),
    Stage(rounds=10, block_ns=6_000_000, keep=FINALISTS, end=1.0),
)


class FirstCall(Protocol):
    """A session after its first call."""

    @property
    def first_call_ns(self) -> int:
        """Time of that call."""


class Timer(Protocol):
    """The methods that the search needs of a worker."""

    def load(self) -> object:
        """Get ready."""

    def prepare(self, subject: int) -> FirstCall:
        """Open a subject's session and call it once."""

    def time_block(self, subject: int, calls: int, warm_ns: int) -> float:
        """Time several calls together; returns the time per call in the quickest piece, in ns."""


@dataclass
class Entrant:
    """A graph in the search."""

    name: str
    cost_us: float
    needed: bool = False
    """It is timed, however little time there is."""
    executed: str = ""
    """Digest of onnxruntime's optimized graph: entrants with the same digest are identical."""
    time_ns: float | None = None
    """Time per call, from the last stage in which it took part."""
    call_ns: float = 0.0
    reason: str = ""
    """Why it could not run."""


class Found(NamedTuple):
    """The result of a search."""

    finalists: list[int]
    """Numbers of the fastest entrants, fastest first."""
    distinct: int
    """Number of graphs that onnxruntime distinguishes."""
    interrupted: bool = False
    """The user stopped the search: `finalists` are the fastest of the last complete stage."""
    leaders: tuple[int, ...] = ()
    """For each entrant the one timed in its place: the first that onnxruntime turns into the same graph."""


class Deadline(NamedTuple):
    """A time limit that started with the search."""

    start_s: float
    total_s: float
    clock: Callable[[], float]

    def is_over(self, part: float = 1.0) -> bool:
        """Whether this fraction of the time has passed."""
        return self.clock() - self.start_s >= part * self.total_s


def search(
    entrants: Sequence[Entrant],
    timer: Timer,
    executed: Sequence[Path | None],
    progress: Progress,
    *,
    seconds: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
    seed: int = 0,
) -> Found:
    """Time entrants in stages, half as many or fewer each time; entrants are filled in, as far as time allows.

    If there is not enough time for all, those with the lowest estimates are used.
    """
    deadline = Deadline(clock(), seconds, clock)
    leaders: dict[str, int] = {}
    finalists: list[int] = []
    interrupted = False
    try:
        timer.load()
        for number in _prepared(entrants, timer, executed, deadline, progress):
            leaders.setdefault(entrants[number].executed or str(number), number)
        running = _cheapest_first(entrants, leaders.values())
        for index, stage in enumerate(STAGES):
            if running and (index == 0 or (len(running) > stage.keep and not deadline.is_over(stage.end))):
                _time(entrants, running, stage, timer, deadline, _of_stage(progress, index), seed + index)
                timed = [each for each in running if not entrants[each].reason and entrants[each].time_ns is not None]
                finalists = running = sorted(timed, key=lambda each: entrants[each].time_ns or 0.0)[: stage.keep]
    except KeyboardInterrupt:
        interrupted = True
    shared = tuple(leaders.get(entrant.executed or str(number), number) for number, entrant in enumerate(entrants))
    for entrant, leader in zip(entrants, shared, strict=True):
        entrant.time_ns = entrants[leader].time_ns
    return Found(finalists, len(leaders), interrupted, shared)


def _cheapest_first(entrants: Sequence[Entrant], numbers: Iterable[int]) -> list[int]:
    return sorted(numbers, key=lambda number: (not entrants[number].needed, entrants[number].cost_us))


def _prepared(
    entrants: Sequence[Entrant],
    timer: Timer,
    executed: Sequence[Path | None],
    deadline: Deadline,
    progress: Progress,
) -> list[int]:
    """Open sessions while there is time, lowest estimate first; returns the numbers of the opened ones."""
    opened = []
    for place, number in enumerate(_cheapest_first(entrants, range(len(entrants)))):
        if deadline.is_over(PREPARED) and not entrants[number].needed:
            break
        if place % 20 == 0:
            progress(0.1 * place / len(entrants), f"preparing {len(entrants)} graphs")
        _prepare(entrants[number], number, timer, executed[number])
        if not entrants[number].reason:
            opened.append(number)
    return sorted(opened)


def _prepare(entrant: Entrant, number: int, timer: Timer, executed: Path | None) -> None:
    try:
        entrant.call_ns = float(timer.prepare(number).first_call_ns)
    except WorkerLost:
        raise
    except (SubjectError, BadInput) as error:
        entrant.reason = str(error)
        return
    with suppress(OSError, DecodeError, ValueError):  # an unreadable graph counts as distinct
        entrant.executed = digest(executed) if executed is not None else ""


def _time(
    entrants: Sequence[Entrant],
    running: Sequence[int],
    stage: Stage,
    timer: Timer,
    deadline: Deadline,
    progress: Progress,
    seed: int,
) -> None:
    """Blocks in a new order each round, of which the quickest counts: other programs only ever add time.

    The first round goes from the lowest estimate to the highest, so that a lack of time skips the most costly.
    """
    shuffle = random.Random(seed).shuffle  # noqa: S311 - an experiment's design, not a secret
    quickest: dict[int, float] = {}
    for turn in range(stage.rounds):
        order = [number for number in running if not entrants[number].reason]
        if turn:
            shuffle(order)
        for number in order:
            if deadline.is_over(stage.end) and quickest and not (turn == 0 and entrants[number].needed):
                break
            time_ns = _time_block(entrants[number], number, stage, timer)
            quickest[number] = min(time_ns, quickest.get(number, math.inf))
        best = min(quickest, key=quickest.__getitem__, default=None)
        if best is not None:
            progress((turn + 1) / stage.rounds, f"{len(order)} graphs; best so far: {entrants[best].name}")
    for number, time_ns in quickest.items():
        entrants[number].time_ns = None if entrants[number].reason else time_ns


def _time_block(entrant: Entrant, number: int, stage: Stage, timer: Timer) -> float:
    """Time per call in the quickest piece of a block; infinite if it fails, with a reason."""
    calls = max(1, int(stage.block_ns / max(entrant.call_ns, 1.0)))
    try:
        entrant.call_ns = timer.time_block(number, calls, stage.block_ns // 3)
    except WorkerLost:
        raise
    except (SubjectError, BadInput) as error:
        entrant.reason = str(error)
        return math.inf
    return entrant.call_ns


def _of_stage(progress: Progress, index: int) -> Progress:
    """Progress of a stage as a fraction of the whole search."""
    return lambda done, text: progress(0.1 + 0.9 * (index + done) / len(STAGES), text)


def digest(path: Path) -> str:
    """The content of a graph, independent of the names of its tensors and nodes."""
    graph = onnx.load(path, load_external_data=True).graph
    return hashlib.sha256(_canonical(graph, {}).encode()).hexdigest()


def _canonical(graph: onnx.GraphProto, outer: dict[str, str]) -> str:
    names = dict(outer)
    for number, value in enumerate(graph.input):
        names[value.name] = f"in{len(outer)}.{number}"
    for tensor in graph.initializer:
        content = hashlib.sha256(onnx.numpy_helper.to_array(tensor).tobytes()).hexdigest()
        names[tensor.name] = f"{tensor.data_type}{list(tensor.dims)}{content}"
    lines = []
    for number, node in enumerate(graph.node):
        attributes = sorted(
            f"{each.name}={_canonical(each.g, names) if each.HasField('g') else _content(each)}"
            for each in node.attribute
        )
        inputs = [names.get(name, name) for name in node.input]
        lines.append(f"{node.domain}.{node.op_type}{inputs}{attributes}")
        names.update({name: f"{len(outer)}.{number}.{place}" for place, name in enumerate(node.output)})
    return "\n".join([*lines, str([names.get(value.name, value.name) for value in graph.output])])


def _content(attribute: onnx.AttributeProto) -> str:
    copy = onnx.AttributeProto()
    copy.CopyFrom(attribute)
    copy.ClearField("doc_string")
    return bytes(copy.SerializeToString(deterministic=True)).hex()
