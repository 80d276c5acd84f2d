"""A process that keeps cases until it is killed: python writing_child.py STORE [CASES], telling each on stdout."""

from __future__ import annotations

import itertools
import sys

from onnxperf.store import open_store
from tests.render import examples
from tests.store.writing import finish_run, keep_case, mark_running, start_run


def main(where: str, count: int | None) -> None:
    with open_store(where) as store:
        run = start_run(store, "onnxperf sweep", "sweep", examples.machine())
        print(run, flush=True)
        for number in itertools.count() if count is None else range(count):
            case = examples.case(dims={"batch": number})
            mark_running(store, run, str(number))
            keep_case(store, run, str(number), case, examples.machine())
            print(number, flush=True)
        finish_run(store, run, "ok", examples.machine())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
