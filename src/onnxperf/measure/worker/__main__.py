"""Entry point of a worker process."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Import what a worker needs and serve; the arguments are the pipe, the parent and the runtime."""
    gc.disable()  # until all is imported: none of it is garbage, and searching takes a tenth of the start
    from onnxperf.measure.worker.serve import serve

    serve(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])


if __name__ == "__main__":
    main()
