"""Which job runs where, on a cluster whose nodes come and go: a fake on the real interface, and a fake clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.api._cluster import cluster_cells
from onnxperf.api._cluster.places import ClusterPlace
from onnxperf.cluster.base import Cluster, ClusterNode, Ended, Event, JobLoad, NodeJob, NodeReport
from onnxperf.cluster.dispatch import GRACE_S, Dispatcher

Step = tuple[str, str]
"""What happens, and to which node."""


@dataclass
class FakeCluster:
    """Nodes that do what a table says, a line each time that the dispatcher waits; then all jobs end."""

    present: list[str]
    steps: list[Step] = field(default_factory=list)
    stubborn: bool = False
    """Jobs do not end by themselves, nor when they are asked to."""
    jobs: dict[str, str] = field(default_factory=dict)
    lost: list[Ended] = field(default_factory=list)
    log: list[Step] = field(default_factory=list)
    released: set[str] = field(default_factory=set)
    now: float = 0.0

    @property
    def joining(self) -> bool:
        return any(what == "joins" for what, _ in self.steps)

    def alive(self) -> Sequence[ClusterNode]:
        return [ClusterNode(name, name) for name in self.present]

    def nodes(self) -> Sequence[ClusterNode]:
        return self.alive()

    def start(self, node: ClusterNode, load: JobLoad) -> None:
        assert node.name in self.present
        assert node.name not in self.jobs, "two jobs at once on one node"
        assert node.name not in self.released
        assert load.payload.decode() not in self.jobs.values(), "a job twice at once"
        self.jobs[node.name] = load.payload.decode()
        self.log.append((node.name, load.payload.decode()))

    def wait(self, seconds: float) -> Sequence[Ended]:
        self.now += seconds
        what, name = self.steps.pop(0) if self.steps else ("" if self.stubborn else "all", "")
        if what == "interrupt":
            raise KeyboardInterrupt
        if what == "joins" and name not in self.present:
            self.present.append(name)
        if what == "dies" and name in self.present:
            self.present.remove(name)
        if what == "all":
            return [self._end(each, b"done") for each in list(self.jobs)]
        if name in self.jobs and what in ("completes", "crashes", "dies"):
            return [self._end(name, b"done" if what == "completes" else None)]
        return []

    def _end(self, name: str, answer: bytes | None) -> Ended:
        del self.jobs[name]
        return Ended(ClusterNode(name, name), answer, "" if answer else "it died")

    def reports(self) -> Mapping[str, NodeReport]:
        return {}

    def release(self, node: ClusterNode) -> None:
        assert node.name not in self.jobs
        self.released.add(node.name)

    def stop(self) -> None:
        self.log.append(("", "stop"))

    def close(self) -> None:
        self.jobs.clear()


def job(key: str, node: str = "") -> NodeJob:
    return NodeJob(key, lambda: JobLoad("", key.encode(), {}), node)


def all_events(cluster: FakeCluster, jobs: Sequence[NodeJob]) -> tuple[list[Event], Dispatcher]:
    dispatcher = Dispatcher(jobs, cluster, lambda: cluster.now)
    return list(dispatcher.events()), dispatcher


def told(events: Sequence[Event]) -> list[str]:
    return [f"{event.job.key} {event.kind} {event.node.name}" for event in events]


@pytest.mark.parametrize(
    ("present", "steps", "expected", "waiting"),
    [
        ("a", [], ["1 begun a", "1 answered a", "2 begun a", "2 answered a"], []),
        ("ab", [], ["1 begun a", "2 begun b", "1 answered a", "2 answered b"], []),
        ("ab", [("completes", "b")], ["1 begun a", "2 begun b", "2 answered b", "1 answered a"], []),
        ("a", [("crashes", "a")], ["1 begun a", "1 lost a", "2 begun a", "2 answered a"], []),
        ("ab", [("dies", "a")], ["1 begun a", "2 begun b", "1 lost a", "2 answered b"], []),
        ("a", [("dies", "a")], ["1 begun a", "1 lost a"], ["2"]),
        ("a", [("joins", "b")], ["1 begun a", "2 begun b", "1 answered a", "2 answered b"], []),
        ("", [("joins", "b")], ["1 begun b", "1 answered b", "2 begun b", "2 answered b"], []),
        ("", [], [], ["1", "2"]),
    ],
    ids=[
        "one after the other",
        "side by side",
        "in any order",
        "a process dies: its node gets the next",
        "a node dies: another one goes on",
        "no node is left",
        "a node joins",
        "the first node joins late",
        "there never was a node",
    ],
)
def test_jobs_go_to_nodes_that_are_free(
    present: str, steps: list[Step], expected: list[str], waiting: list[str]
) -> None:
    events, dispatcher = all_events(FakeCluster(list(present), list(steps)), [job("1"), job("2")])
    assert told(events) == expected
    assert [each.key for each in dispatcher.waiting] == waiting


def test_a_job_of_a_certain_node_waits_for_that_node() -> None:
    cluster = FakeCluster(["a", "b"])
    events, dispatcher = all_events(cluster, [job("1", "b"), job("2", "b"), job("3", "a"), job("4", "gone")])
    begun = [(event.job.key, event.node.name) for event in events if event.kind == "begun"]
    assert sorted(begun) == [("1", "b"), ("2", "b"), ("3", "a")]
    assert [each.key for each in dispatcher.waiting] == ["4"]


def test_a_node_without_further_jobs_is_released() -> None:
    cluster = FakeCluster(["a", "b"])
    all_events(cluster, [job("1", "a"), job("2", "a")])
    assert "b" in cluster.released


def test_an_interruption_stops_jobs_and_takes_their_answers() -> None:
    cluster = FakeCluster(["a", "b"], [("interrupt", "")])
    dispatcher = Dispatcher([job("1"), job("2"), job("3")], cluster, lambda: cluster.now)
    with pytest.raises(KeyboardInterrupt):
        list(dispatcher.events())
    assert told(list(dispatcher.stop())) == ["1 answered a", "2 answered b"]
    assert ("", "stop") in cluster.log
    assert [each.key for each in dispatcher.waiting] == ["3"]


def test_a_job_that_the_interruption_itself_ends_is_not_reported_as_crashed() -> None:
    cluster = FakeCluster(["a"], [("interrupt", ""), ("crashes", "a")])
    dispatcher = Dispatcher([job("1")], cluster, lambda: cluster.now)
    with pytest.raises(KeyboardInterrupt):
        list(dispatcher.events())
    assert list(dispatcher.stop()) == []
    assert [each.key for each in dispatcher.running.values()] == ["1"]


def test_a_signal_while_the_cluster_is_left_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def interrupted_at_the_end(_on: str, _warn: object) -> Iterator[FakeCluster]:
        yield FakeCluster(["a"])
        raise KeyboardInterrupt

    monkeypatch.setattr(cluster_cells, "open_cluster", interrupted_at_the_end)
    answer = cluster_cells.run_one(ClusterPlace("ray"), "1", JobLoad("", b"1", {}), lambda _done, _text: None)
    assert answer == (b"done", "a")


def test_jobs_that_do_not_stop_in_time_are_given_up() -> None:
    cluster = FakeCluster(["a"], [("interrupt", "")], stubborn=True)
    dispatcher = Dispatcher([job("1")], cluster, lambda: cluster.now)
    with pytest.raises(KeyboardInterrupt):
        list(dispatcher.events())
    before = cluster.now
    assert list(dispatcher.stop()) == []
    assert cluster.now - before == pytest.approx(GRACE_S)
    assert [each.key for each in dispatcher.running.values()] == ["1"]


def test_the_fake_is_a_cluster() -> None:
    cluster: Cluster = FakeCluster([])
    assert cluster.alive() == []


NAMES = st.sampled_from("abc")
STEPS = st.lists(st.tuples(st.sampled_from(["completes", "crashes", "dies", "joins"]), NAMES), max_size=30)


@given(present=st.sets(NAMES), steps=STEPS, places=st.lists(st.sampled_from(["", "", "a", "b"]), max_size=12))
def test_whatever_happens_every_job_runs_at_most_once_and_never_two_at_once(
    present: set[str], steps: list[Step], places: list[str]
) -> None:
    cluster = FakeCluster(sorted(present), list(steps))
    jobs = [job(str(number), place) for number, place in enumerate(places)]
    events, dispatcher = all_events(cluster, jobs)
    begun = Counter(event.job.key for event in events if event.kind == "begun")
    ended = Counter(event.job.key for event in events if event.kind != "begun")
    assert begun == ended
    assert set(begun.values()) <= {1}
    assert begun.keys() | {each.key for each in dispatcher.waiting} == {each.key for each in jobs}
    assert not begun.keys() & {each.key for each in dispatcher.waiting}
    on_own = [event for event in events if event.job.node and event.job.node != event.node.name]
    assert on_own == []
