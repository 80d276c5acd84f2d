"""The search for the fastest graphs: which survive, share a time, or are left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import onnx
import pytest
from onnx import numpy_helper, parser

from onnxperf.contraction.search import FINALISTS, STAGES, Entrant, Found, digest, search
from onnxperf.errors import BadInput, SubjectError, WorkerLost
from onnxperf.measure.messages import Loaded, Prepared

US = 1_000
OPENING_NS = 1e6
"""What opening a session takes."""


class FakeTimer:
    """A worker whose subjects take exactly as long as they are said to, on a clock of its own."""

    def __init__(self, call_ns: Sequence[float], failures: Mapping[int, Exception] | None = None) -> None:
        self.call_ns = call_ns
        self.failures = failures or {}
        self.drift: Callable[[int], float] = lambda _turn: 1.0
        self.now = 0.0
        self.loads = 0
        self.blocks: list[tuple[int, int, int]] = []

    def load(self) -> Loaded:
        self.loads += 1
        return Loaded(load_ns=1, conditions={})

    def prepare(self, subject: int) -> Prepared:
        if subject in self.failures:
            raise self.failures[subject]
        self.now += OPENING_NS
        return Prepared(first_call_ns=int(10 * self.call_ns[subject]))

    def time_block(self, subject: int, calls: int, warm_ns: int) -> float:
        turn = Counter(number for number, _, _ in self.blocks)[subject]
        self.blocks.append((subject, calls, warm_ns))
        call_ns = self.call_ns[subject] * self.drift(turn)
        self.now += warm_ns + calls * call_ns
        return call_ns

    @property
    def timed(self) -> set[int]:
        return {number for number, _, _ in self.blocks}


def entrants_for(call_ns: Sequence[float]) -> list[Entrant]:
    """Their estimates are what they take."""
    return [Entrant(f"graph {number}", each / US) for number, each in enumerate(call_ns)]


def silent(_done: float, _text: str) -> None:
    """No progress is shown."""


# ---------------------------------------------------------------- stages


def test_the_fastest_survive_all_stages_in_their_order() -> None:
    times = [(100 + 37 * number % 101) * US for number in range(100)]
    entrants, timer = entrants_for(times), FakeTimer(times)
    found = search(entrants, timer, [None] * 100, silent)
    assert found.finalists == sorted(range(100), key=times.__getitem__)[:FINALISTS]
    assert found.distinct == 100
    assert timer.loads == 1
    assert [entrant.time_ns for entrant in entrants] == pytest.approx(times, rel=0.01)


def test_each_stage_has_fewer_graphs_and_longer_blocks() -> None:
    times = [(100 + number) * US for number in range(60)]
    timer = FakeTimer(times)
    search(entrants_for(times), timer, [None] * 60, silent)
    rounds = Counter(number for number, _, _ in timer.blocks)
    first, second, third = STAGES
    assert rounds[59] == first.rounds
    assert rounds[first.keep - 1] == first.rounds + second.rounds
    assert rounds[0] == first.rounds + second.rounds + third.rounds
    assert {calls for number, calls, _ in timer.blocks if number == 0} == {1, 10, 30, 60}


def test_few_graphs_skip_the_stages_that_would_leave_none_out() -> None:
    times = [300.0 * US, 100.0 * US, 200.0 * US]
    timer = FakeTimer(times)
    found = search(entrants_for(times), timer, [None] * 3, silent)
    assert found.finalists == [1, 2, 0]
    assert len(timer.blocks) == 3 * STAGES[0].rounds


def test_what_slows_down_rounds_does_not_count() -> None:
    times = [(100 + number) * US for number in range(20)]
    timer = FakeTimer(times)
    timer.drift = lambda turn: (1.0, 1.5, 4.0)[turn % 3]
    found = search(entrants_for(times), timer, [None] * 20, silent)
    assert found.finalists == list(range(FINALISTS))


def test_the_order_of_blocks_changes_from_round_to_round_and_is_repeatable() -> None:
    times = [100.0 * US] * 30

    def blocks(seed: int) -> list[int]:
        timer = FakeTimer(times)
        search(entrants_for(times), timer, [None] * 30, silent, seed=seed)
        return [number for number, _, _ in timer.blocks]

    first = blocks(0)
    assert first[:30] != first[30:60]
    assert first == blocks(0) != blocks(1)


def test_progress_goes_from_nothing_to_all_and_names_the_best() -> None:
    times = [(100 + number) * US for number in range(60)]
    shown: list[tuple[float, str]] = []
    search(entrants_for(times), FakeTimer(times), [None] * 60, lambda done, text: shown.append((done, text)))
    shares = [done for done, _ in shown]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == pytest.approx(1)
    assert "preparing 60 graphs" in shown[0][1]
    assert shown[-1][1].endswith("best so far: graph 0")


# ---------------------------------------------------------------- what is not timed


def test_graphs_that_onnxruntime_cannot_tell_apart_are_timed_once_and_share_the_time(tmp_path: Path) -> None:
    perms = ["0, 1", "1, 0", "0, 1", "1, 0", "0, 1"]
    paths = [written(tmp_path / f"{number}.onnx", transposing(perm)) for number, perm in enumerate(perms)]
    times = [(200 - number) * US for number in range(5)]
    entrants, timer = entrants_for(times), FakeTimer(times)
    found = search(entrants, timer, paths, silent)
    assert found.distinct == 2
    assert timer.timed == {0, 1}
    assert found.finalists == [1, 0]
    shared = [entrant.time_ns for entrant in entrants]
    assert shared == [shared[0], shared[1], shared[0], shared[1], shared[0]]
    assert len({entrant.executed for entrant in entrants}) == 2


@pytest.mark.parametrize("error", [SubjectError("failed", "no kernel"), BadInput("no kernel")])
def test_a_graph_that_cannot_run_has_a_reason_and_the_others_go_on(error: Exception) -> None:
    times = [100.0 * US, 200.0 * US, 300.0 * US]
    entrants, timer = entrants_for(times), FakeTimer(times, {0: error})
    found = search(entrants, timer, [None] * 3, silent)
    assert found.finalists == [1, 2]
    assert found.distinct == 2
    assert (entrants[0].reason, entrants[0].time_ns) == ("no kernel", None)
    assert [entrant.reason for entrant in entrants[1:]] == ["", ""]


def test_nothing_is_found_where_no_graph_can_run() -> None:
    error = SubjectError("failed", "no kernel")
    entrants = entrants_for([100.0, 200.0])
    found = search(entrants, FakeTimer([100.0, 200.0], {0: error, 1: error}), [None, None], silent)
    assert (found.finalists, found.distinct) == ([], 0)
    assert {entrant.reason for entrant in entrants} == {"no kernel"}


def test_a_lost_worker_ends_the_search() -> None:
    timer = FakeTimer([100.0, 200.0], {1: WorkerLost("crashed", "gone")})
    with pytest.raises(WorkerLost, match="gone"):
        search(entrants_for([100.0, 200.0]), timer, [None, None], silent)


# ---------------------------------------------------------------- too little time


def within(seconds: float, entrants: Sequence[Entrant], timer: FakeTimer) -> Found:
    """A search that has so many seconds on the clock of its worker."""
    return search(entrants, timer, [None] * len(entrants), silent, seconds=seconds, clock=lambda: timer.now / 1e9)


@pytest.mark.parametrize("seconds", [0.01, 0.05, 0.1, 0.3, 1.0, 3.0])
def test_the_time_of_a_search_is_kept_to(seconds: float) -> None:
    times = [(100 + number) * US for number in range(300)]
    timer = FakeTimer(times)
    found = within(seconds, entrants_for(times), timer)
    longest_s = (OPENING_NS + 2 * STAGES[-1].block_ns) / 1e9
    assert timer.now / 1e9 <= seconds + longest_s
    assert found.finalists[0] == 0


def test_what_time_leaves_out_is_the_slowest_by_estimate_and_has_no_time() -> None:
    times = [(400 - number) * US for number in range(300)]
    entrants, timer = entrants_for(times), FakeTimer(times)
    found = within(0.25, entrants, timer)
    left_out = {number for number, entrant in enumerate(entrants) if entrant.time_ns is None}
    assert left_out == set(range(len(left_out)))
    assert 0 < len(left_out) < 290
    assert not any(entrant.reason for entrant in entrants)
    assert found.finalists[0] == 299
    assert found.distinct == 100  # so many could be opened in their part of the time


@pytest.mark.parametrize("seconds", [-1.0, 0.0, 0.001])
def test_what_is_needed_is_timed_however_little_time_there_is(seconds: float) -> None:
    times = [(100 + number) * US for number in range(50)]
    entrants, timer = entrants_for(times), FakeTimer(times)
    for number in (7, 49):
        entrants[number].needed = True
    found = within(seconds, entrants, timer)
    assert {7, 49} <= timer.timed
    assert len(timer.timed) <= 3
    assert found.finalists[-1] == 49


@pytest.mark.parametrize(
    ("blocks", "finalists", "timed"),
    [
        (0, [], 0),  # before anything was timed
        (150, [], 0),  # in the first stage
        (200, list(range(40)), 60),  # in the second: the times of the first hold
        (400, list(range(12)), 60),
    ],
)
def test_an_interrupted_search_keeps_what_complete_stages_found(blocks: int, finalists: list[int], timed: int) -> None:
    times = [(100 + number) * US for number in range(60)]
    entrants, timer = entrants_for(times), FakeTimer(times)

    def stop(_turn: int) -> float:
        if len(timer.blocks) > blocks:
            raise KeyboardInterrupt
        return 1.0

    timer.drift = stop
    found = search(entrants, timer, [None] * 60, silent)
    assert found.interrupted
    assert (found.finalists, found.distinct) == (finalists, 60)
    assert sum(entrant.time_ns is not None for entrant in entrants) == timed


# ---------------------------------------------------------------- digest


def transposing(perm: str = "1, 0", names: str = "XTY", constant: str = "1, 2", more: str = "") -> str:
    x, t, y = list(names)
    return f"""<ir_version: 9, opset_import: ["" : 18]>
    g{x} (float[2, 2] {x}) => (float[2, 2] {y}) <float[2] c{x} = {{{constant}}}>
    {{ {t} = Transpose <perm = [{perm}]> ({x}) {more} {y} = Add({t}, c{x}) }}"""


def scanning(outer: str = "XSY", inner: str = "rtp", operator: str = "Mul", factor: str = "2") -> str:
    """Every row by a constant of the body and by one outside of it."""
    x, s, y = list(outer)
    r, t, p = list(inner)
    return f"""<ir_version: 9, opset_import: ["" : 18]>
    g (float[3, 4] {x}) => (float[3, 4] {y}) <float[1] {s} = {{3}}>
    {{ {y} = Scan <num_scan_inputs = 1, body = body{r} (float[4] {r}) => (float[4] {p})
        <float[1] f{r} = {{{factor}}}>
        {{ {t} = {operator}({r}, f{r}) {p} = Mul({t}, {s}) }}> ({x}) }}"""


def written(path: Path, text: str) -> Path:
    onnx.save_model(parser.parse_model(text), path)
    return path


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (transposing(), transposing(names="abc"), True),
        (transposing(), transposing(perm="0, 1"), False),
        (transposing(), transposing(constant="1, 3"), False),
        (transposing(), transposing(more="U = Exp(X)"), False),
        (transposing(), transposing().replace("Add(T, cX)", "Add(cX, T)"), False),
        (transposing(), transposing().replace("Add(T, cX)", "Mul(T, cX)"), False),
        (transposing(), transposing().replace("Add(T, cX)", "Add(X, cX)"), False),
        (transposing(), transposing().replace("float[2] cX", "float[1, 2] cX"), False),
        (transposing(), transposing().replace("float[2] cX", "double[2] cX"), False),
        (scanning(), scanning(outer="abc"), True),
        (scanning(), scanning(inner="uvw"), True),
        (scanning(), scanning(inner="XvY"), True),
        (scanning(), scanning(operator="Add"), False),
        (scanning(), scanning(factor="5"), False),
        (scanning(), scanning().replace("{3}", "{4}"), False),
        (scanning(), scanning().replace("Mul(t, S)", "Mul(t, fr)"), False),
    ],
)
def test_a_digest_is_of_what_a_graph_does_and_not_of_its_names(
    one: str, other: str, equal: bool, tmp_path: Path
) -> None:
    digests = {digest(written(tmp_path / "a.onnx", one)), digest(written(tmp_path / "b.onnx", other))}
    assert (len(digests) == 1) == equal


def test_neither_names_of_nodes_nor_how_a_constant_is_stored_matter(tmp_path: Path) -> None:
    proto = parser.parse_model(transposing())
    plain = digest(written(tmp_path / "a.onnx", transposing()))
    tensor = proto.graph.initializer[0]
    raw = numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name)
    assert raw.raw_data
    assert not tensor.raw_data
    tensor.CopyFrom(raw)
    for node in proto.graph.node:
        node.name = f"named {node.op_type}"
        node.doc_string = "words"
        for attribute in node.attribute:
            attribute.doc_string = "words"
    onnx.save_model(proto, tmp_path / "b.onnx")
    assert digest(tmp_path / "b.onnx") == plain


def test_an_operator_of_another_domain_is_another(tmp_path: Path) -> None:
    proto = parser.parse_model(transposing())
    proto.graph.node[1].domain = "com.microsoft"
    onnx.save_model(proto, tmp_path / "b.onnx")
    assert digest(tmp_path / "b.onnx") != digest(written(tmp_path / "a.onnx", transposing()))
