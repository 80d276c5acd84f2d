"""A script: a Ray of three nodes on this machine, of which one is killed in the middle of a sweep."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import ray
from ray.cluster_utils import Cluster
from sqlalchemy import select

from onnxperf.api._cluster.places import ClusterPlace
from onnxperf.api._shared.cells import Contest, cells_of
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.sweeps import Keeping, run_sweep
from onnxperf.options.functions import CASE
from onnxperf.records.race import Case
from onnxperf.records.sweep import NodeStep
from onnxperf.results.bench import BenchResult
from onnxperf.store import open_store, schema
from tests.cluster import CASES, TAG

KILLED_AT = 6
"""Cases that are there when a node dies."""
ADDED_AT = 10
"""And when another one joins."""
SMALL: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20}
_GONE_S = 20


def main(folder: Path) -> dict[str, Any]:
    """Run, lose a node, add one, resume; returns what is in the store, and which processes are left."""
    cluster = Cluster(initialize_head=True, head_node_args={**SMALL, "include_dashboard": False, "node_name": "head"})
    others = {name: cluster.add_node(node_name=name, **SMALL) for name in ("second", "third")}
    seen: dict[str, str] = {"killed": "", "added": ""}

    def look(cases: Sequence[Case], steps: Sequence[NodeStep]) -> None:
        if len(cases) >= KILLED_AT and not seen["killed"]:
            own = ray.get_runtime_context().get_node_id()  # without it, this process would die
            busy = [name for name, node in others.items() if node.node_id != own and name in {s.node for s in steps}]
            for name in busy[:1]:
                seen["killed"] = name
                cluster.remove_node(others[name], allow_graceful=False)
        if len(cases) >= ADDED_AT and not seen["added"]:
            seen["added"] = "fourth"
            cluster.add_node(node_name="fourth", **SMALL)

    try:
        first = sweep(cluster.address, folder, None, look)
        left_after_first = workers_left()
        second = sweep(cluster.address, folder, first.run, lambda _cases, _steps: None)
    finally:
        cluster.shutdown()  # type: ignore[no-untyped-call]
    return {
        **seen,
        "first": [(case.node, case.status, case.answer if case.status != "ok" else "") for case in first.cases],
        "second": [(case.node, case.status) for case in second.cases],
        "status": [first.status, second.status],
        "run": [first.run, second.run],
        "attempts": attempts(folder),
        "left": [*left_after_first, *workers_left()],
    }


def sweep(address: str, folder: Path, resume: str | None, look: Any) -> BenchResult:
    """All cases, or those that are left."""
    sizes = list(range(1, CASES + 1))
    settings = parse({"dims": {"batch": sizes}, "time": 0.1, "threads": 1, "warmup": 0.01}, CASE)
    cells = cells_of(Contest(["zoo:tiny-linear"]), settings)
    store = str(folder / "runs.sqlite")
    return run_sweep(cells, lambda _done, _text: None, Keeping(store, resume), ClusterPlace(address), look)


def attempts(folder: Path) -> list[tuple[str, int, str, str, str, str]]:
    """Case, number, status, reason, start and end of every attempt."""
    with open_store(folder / "runs.sqlite") as store, store.reading() as connection:
        columns = [schema.attempts.c[name] for name in ("number", "status", "reason", "started", "finished")]
        found = select(schema.cases.c.key, *columns).join(schema.cases).order_by(schema.attempts.c.id)
        return [tuple(row) for row in connection.execute(found)]


def workers_left() -> list[str]:
    """Processes that measured for this test and have not ended; those that are about to get a moment."""
    found = [each for each in psutil.process_iter() if is_ours(each)]
    _, alive = psutil.wait_procs(found, timeout=_GONE_S)
    return [" ".join([str(each.pid), each.status(), *each.cmdline()]) for each in alive]


def is_ours(process: psutil.Process) -> bool:
    """Whether this is a worker that measures, or our process on a node, of this test; this process has a reader."""
    try:
        named = any(name in " ".join(process.cmdline()) for name in ("onnxperf.measure.worker", "NodeRunner"))
        return named and process.environ().get(TAG) == os.environ[TAG] and process.ppid() != os.getpid()
    except psutil.Error:
        return False


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
