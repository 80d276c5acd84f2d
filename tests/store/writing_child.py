"""A process that keeps cases until it is killed: python writing_child.py STORE [CASES], telling each on stdout."""

from __future__ import annotations

import itertools
import sys

from onnxperf.store import open_store
from tests.render import examples


def main(where: str, count: int | None) -> None:
    with open_store(where) as store:
        run = store.start_run("onnxperf sweep", "sweep", examples.machine())
        print(run, flush=True)
        for number in itertools.count() if count is None else range(count):
            case = examples.case(dims={"batch": number})
            store.mark_running(run, str(number))
            store.keep_case(run, str(number), case, examples.machine())
            print(number, flush=True)
        store.finish_run(run, "ok", examples.machine())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
