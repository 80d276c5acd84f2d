"""The cases of a bench or a sweep on the nodes of a cluster; only this process writes to the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_fields
from functools import partial

import msgspec
from msgspec.structs import replace

from onnxperf.api._cluster.parcels import CaseAnswer, Files, pack
from onnxperf.api._cluster.places import ClusterPlace
from onnxperf.api._keeping.run_recorder import CaseRecorder
from onnxperf.api._shared.cells import Cell, Seen, unfinished
from onnxperf.cluster.base import Cluster, ClusterNode, Event, JobLoad, NodeJob
from onnxperf.cluster.dispatch import Dispatcher
from onnxperf.cluster.ray_cluster import open_cluster
from onnxperf.errors import BadInput, BadOption, WorkerLost
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.race import Progress
from onnxperf.records.base import Machine
from onnxperf.records.race import Bench, Case
from onnxperf.records.sweep import NodeStep
from onnxperf.render.kit.complaints import complain
from onnxperf.wording.numbers import count


def run_on_cluster(
    cells: Sequence[Cell], progress: Progress, recorder: CaseRecorder | None, seen: Seen, place: ClusterPlace
) -> Bench:
    """Run every case on a node of its own, on as many nodes at once as there are."""
    machine = machines.describe_machine()
    progress(0.0, "connecting to the cluster")
    done = False
    try:
        with open_cluster(place.on, complain) as cluster:
            placed = _on_each(cells, cluster.alive()) if place.each else {cell.key: (cell, "") for cell in cells}
            if recorder is not None:
                recorder.plan(list(placed), machine)
            sweep = _Sweep(placed, progress, recorder, seen, cluster)
            sweep.run()
            done = True
    except KeyboardInterrupt:
        if not done:  # else it came while the cluster was left, and costs nothing that was measured
            raise
    after = machines.after_the_race(sweep.machine(machine))
    kept = recorder.result(sweep.cases, after) if recorder is not None else None
    return kept or Bench(machine=after, command="onnxperf.bench", cases=tuple(sweep.cases))


def run_one(place: ClusterPlace, key: str, load: JobLoad, progress: Progress) -> tuple[bytes, str]:
    """The answer of a single job, and the name of its node; an interruption brings what it has until then."""
    events: list[Event] = []
    try:
        with open_cluster(place.on, complain) as cluster:
            dispatcher = Dispatcher([NodeJob(key, lambda: load)], cluster)
            try:
                events = list(dispatcher.events(partial(_show_one, cluster, progress)))
            except KeyboardInterrupt:
                events = list(dispatcher.stop())
                if not events:
                    raise
    except KeyboardInterrupt:
        if not events:  # else it came while the cluster was left
            raise
    for event in events:
        if event.kind == "answered":
            return event.answer, event.node.name
        if event.kind == "lost":
            raise WorkerLost("crashed", f"{event.reason}; run it again")
    raise BadOption("no node of the cluster can run it", option="on", value=place.on)


def _show_one(cluster: Cluster, progress: Progress) -> None:
    for report in cluster.reports().values():
        progress(report.done, report.text)


def _on_each(cells: Sequence[Cell], nodes: Sequence[ClusterNode]) -> dict[str, tuple[Cell, str]]:
    """Every case on every node, the nodes of a case side by side."""
    return {
        f"{cell.key} @{node.name}": (with_fields(cell, label=f"{cell.label} @{node.name}"), node.name)
        for cell in cells
        for node in nodes
    }


class _Sweep:
    """The way of cases through a cluster, and what became of them."""

    def __init__(
        self,
        placed: dict[str, tuple[Cell, str]],
        progress: Progress,
        recorder: CaseRecorder | None,
        seen: Seen,
        cluster: Cluster,
    ) -> None:
        self.cases: list[Case] = []
        self._machines: list[Machine] = []
        self._cells = placed
        self._progress, self._recorder, self._seen, self._cluster = progress, recorder, seen, cluster
        files, several = Files(), len(placed) > 1
        wanted = {key: each for key, each in placed.items() if recorder is None or recorder.wanted(key)}
        self._before = len(placed) - len(wanted)
        jobs = [NodeJob(key, partial(pack, cell, files, several), node) for key, (cell, node) in wanted.items()]
        self._dispatcher = Dispatcher(jobs, cluster)

    def run(self) -> None:
        """Run all cases; an interruption keeps what is finished, and what is left waits."""
        try:
            for event in self._dispatcher.events(self._look):
                self._take(event)
        except KeyboardInterrupt:
            for event in self._dispatcher.stop():
                self._take(event)
            self._leave_rest(interrupted=True)
            if self._recorder is None and not any(case.subjects for case in self.cases):
                raise
            return
        if self._dispatcher.waiting:
            self._leave_rest(interrupted=False)

    def machine(self, here: Machine) -> Machine:
        """Where the cases ran: the first of the nodes, with the processors of all."""
        if not self._machines:
            return here
        return replace(self._machines[0], cpu=" / ".join(dict.fromkeys(each.cpu for each in self._machines)))

    def _take(self, event: Event) -> None:
        key = event.job.key
        cell, _ = self._cells[key]
        if event.kind == "begun":
            if self._recorder is not None:
                self._recorder.begin(key)
        elif event.kind == "lost":
            lost = Case(model=cell.label, dims=cell.dims, status="crashed", answer=event.reason, node=event.node.name)
            self.cases.append(lost)
            if self._recorder is not None:
                self._recorder.give_up(key, lost)
        else:
            self._keep(key, cell, event)
        self._seen(self.cases, self._steps())

    def _keep(self, key: str, cell: Cell, event: Event) -> None:
        answer = msgspec.json.decode(event.answer, type=CaseAnswer)
        if answer.case is None and len(self._cells) == 1 and self._recorder is None:
            raise BadInput(answer.error)
        failed = Case(model=cell.label, dims=cell.dims, status="failed", answer=answer.error)
        case = replace(answer.case or failed, node=event.node.name)
        if event.job.node:
            case = replace(case, model=f"{case.model} @{event.node.name}" if answer.case else case.model)
        self._machines.append(answer.machine)
        self.cases.append(unfinished(case) if case.interrupted and len(self._cells) > 1 else case)
        if self._recorder is not None and not case.interrupted:
            self._recorder.finish(key, case, answer.machine)

    def _leave_rest(self, interrupted: bool) -> None:
        """Show the first case that was not run, with the reason; all of them wait to be resumed."""
        left = [job.key for job in (*self._dispatcher.running.values(), *self._dispatcher.waiting)]
        for key in left[:1]:
            cell, node = self._cells[key]
            cause = f"the node {node} is not there" if node else "no node of the cluster is left"
            reason = "" if interrupted else f"{cause}: {count(len(left), 'case')} not run"
            rest = Case(model=cell.label, dims=cell.dims, status="pending", interrupted=interrupted, answer=reason)
            self.cases.append(rest)
            if not interrupted:
                complain(reason)

    def _look(self) -> None:
        steps = self._steps()
        finished = self._before + len(self.cases)
        doing = f"{steps[0].node}: {steps[0].text}" if len(steps) == 1 else f"{len(steps)} nodes at work"
        text = f"{finished} of {count(len(self._cells), 'case')}; {doing if steps else 'waiting for a node'}"
        self._progress((finished + sum(step.done for step in steps)) / len(self._cells), text)
        self._seen(self.cases, steps)

    def _steps(self) -> list[NodeStep]:
        reports = self._cluster.reports()
        steps = []
        for node, job in self._dispatcher.running.items():
            report = reports.get(node.id)
            done, text = report if report is not None else (0.0, "starting")
            steps.append(NodeStep(node.name, job.key, done, text))
        return steps
