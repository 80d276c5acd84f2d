"""Many graphs for the same result: which of them onnxruntime tells apart, and which are the fastest few."""

from __future__ import annotations

import hashlib
import random
import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from onnxperf.errors import BadInput, SubjectError, WorkerLost

Progress = Callable[[float, str], None]

FINALISTS = 4
FIRST_STAGE_NS = 4e9
"""Time that looking at every graph may take; beyond it only the cheapest by estimate are looked at."""
_OVERHEAD_NS = 150_000


class Stage(NamedTuple):
    """The graphs that are left are timed in `rounds` blocks; the fastest `keep` reach the next stage."""

    rounds: int
    block_ns: int
    keep: int


STAGES = (
    Stage(rounds=3, block_ns=1_000_000, keep=40),
    Stage(rounds=5, block_ns=3_000_000, keep=12),
    Stage(rounds=10, block_ns=6_000_000, keep=FINALISTS),
)


class FirstCall(Protocol):
    """A session that was opened and called once."""

    @property
    def first_call_ns(self) -> int:
        """Time of that call."""


class Timer(Protocol):
    """What the search needs of a worker."""

    def load(self) -> object:
        """Get ready."""

    def prepare(self, subject: int) -> FirstCall:
        """Open a subject's session and call it once."""

    def time_block(self, subject: int, calls: int, warm_ns: int) -> tuple[int, int]:
        """Time calls together; returns start and duration in ns."""


@dataclass
class Entrant:
    """A graph in the search."""

    name: str
    cost_us: float
    executed: str = ""
    """Digest of what onnxruntime makes of it: entrants with the same one are the same."""
    time_ns: float | None = None
    """Time of a call, as the last stage that it was in has it."""
    call_ns: float = 0.0
    reason: str = ""
    """Why it could not run."""


class Found(NamedTuple):
    """What the search found."""

    finalists: list[int]
    """Numbers of the fastest entrants, the fastest first."""
    distinct: int
    """Graphs that onnxruntime tells apart."""
    interrupted: bool = False
    """The user stopped the search: `finalists` are the fastest of the last complete stage."""


def search(
    entrants: Sequence[Entrant], timer: Timer, executed: Sequence[Path | None], progress: Progress, seed: int = 0
) -> Found:
    """Time entrants in stages, half as many or fewer each time; entrants are filled in, as far as Ctrl-C lets it."""
    leaders: dict[str, int] = {}
    finalists: list[int] = []
    interrupted = False
    try:
        timer.load()
        _prepare_all(entrants, timer, executed, progress)
        for number, entrant in enumerate(entrants):
            if not entrant.reason:
                leaders.setdefault(entrant.executed or str(number), number)
        running = _affordable(entrants, list(leaders.values()))
        for index, stage in enumerate(STAGES):
            if running and (index == 0 or len(running) > stage.keep):
                _time(entrants, running, stage, timer, _of_stage(progress, index), seed + index)
                running = [number for number in running if not entrants[number].reason]
                running = sorted(running, key=lambda number: entrants[number].time_ns or 0.0)[: stage.keep]
                finalists = running
    except KeyboardInterrupt:
        interrupted = True
    for number, entrant in enumerate(entrants):
        leader = entrants[leaders.get(entrant.executed or str(number), number)]
        entrant.time_ns = leader.time_ns
    return Found(finalists, len(leaders), interrupted)


def _prepare_all(
    entrants: Sequence[Entrant], timer: Timer, executed: Sequence[Path | None], progress: Progress
) -> None:
    for number, entrant in enumerate(entrants):
        if number % 20 == 0:
            progress(0.1 * number / len(entrants), f"preparing {len(entrants)} graphs")
        _prepare(entrant, number, timer, executed[number])


def _prepare(entrant: Entrant, number: int, timer: Timer, executed: Path | None) -> None:
    try:
        entrant.call_ns = float(timer.prepare(number).first_call_ns)
    except WorkerLost:
        raise
    except (SubjectError, BadInput) as error:
        entrant.reason = str(error)
        return
    with suppress(OSError, DecodeError, ValueError):  # what cannot be read is taken for a graph of its own
        entrant.executed = digest(executed) if executed is not None else ""


def _affordable(entrants: Sequence[Entrant], numbers: list[int]) -> list[int]:
    """All of them, or as many of the cheapest by estimate as can be looked at in time."""
    stage = STAGES[0]
    taken: list[int] = []
    spent = 0.0
    for number in sorted(numbers, key=lambda each: entrants[each].cost_us):
        call_ns = entrants[number].cost_us * 1e3
        spent += stage.rounds * (2 * max(call_ns, stage.block_ns / 2) + _OVERHEAD_NS)
        if spent > FIRST_STAGE_NS and len(taken) > 2 * FINALISTS:
            break
        taken.append(number)
    return taken


def _time(
    entrants: Sequence[Entrant], running: Sequence[int], stage: Stage, timer: Timer, progress: Progress, seed: int
) -> None:
    """Blocks in a new order each round; what the whole round was slowed down by is divided out."""
    shuffle = random.Random(seed).shuffle  # noqa: S311 - an experiment's design, not a secret
    rounds: list[dict[int, float]] = []
    for turn in range(stage.rounds):
        order = list(running)
        shuffle(order)
        rounds.append({})
        for number in order:
            _time_block(entrants[number], number, stage, timer, rounds[-1])
        running = [number for number in running if not entrants[number].reason]
        if not running:
            return
        best = min(running, key=lambda number: statistics.median(times[number] for times in rounds))
        progress((turn + 1) / stage.rounds, f"{len(running)} graphs; best so far: {entrants[best].name}")
    levels = [statistics.median(times.values()) for times in rounds]
    level = statistics.median(levels)
    for number in running:
        ratios = [times[number] / own for times, own in zip(rounds, levels, strict=True)]
        entrants[number].time_ns = statistics.median(ratios) * level


def _time_block(entrant: Entrant, number: int, stage: Stage, timer: Timer, times: dict[int, float]) -> None:
    calls = max(1, int(stage.block_ns / max(entrant.call_ns, 1.0)))
    try:
        _, duration = timer.time_block(number, calls, stage.block_ns // 3)
    except WorkerLost:
        raise
    except (SubjectError, BadInput) as error:
        entrant.reason = str(error)
        return
    times[number] = entrant.call_ns = duration / calls


def _of_stage(progress: Progress, index: int) -> Progress:
    """The part of the whole search that a stage is."""
    return lambda done, text: progress(0.1 + 0.9 * (index + done) / len(STAGES), text)


def digest(path: Path) -> str:
    """What a graph does, whatever its tensors and nodes are called."""
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
