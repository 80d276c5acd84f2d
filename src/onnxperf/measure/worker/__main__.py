"""Where the process of a worker begins."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Import what a worker needs, and serve: the pipe, the parent and the runtime are arguments."""
    gc.disable()  # until all is imported: nothing of it is garbage, and looking for some takes a tenth of a start
    from onnxperf.measure.worker.serve import serve

    serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])


if __name__ == "__main__":
    main()
