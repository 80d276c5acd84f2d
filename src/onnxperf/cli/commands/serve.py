"""`onnxperf serve`."""

from __future__ import annotations

from onnxperf.cli import exit_codes
from onnxperf.cli.command import PRINTED, Typed, command
from onnxperf.cli.printing import print_text
from onnxperf.options.functions import STORED, Server


@command(STORED, Server, *PRINTED, common=("store", "host", "port", "token", "open"))
def serve(*, typed: Typed) -> int:
    """Show all runs in a browser: overview, reports, comparisons and histories, read-only.

    By default, only this machine can reach the page. Use --host to let others in, who then need a token. /api describes
    the same data as JSON. Press Ctrl-C to stop.

    Examples
    --------
    # Show your runs, and open the browser
    onnxperf serve --open
    # Show a shared store
    onnxperf serve --store postgresql://perf@db/runs --port 8000
    # Let other machines in, with a token
    onnxperf serve --host 0.0.0.0
    """
    from onnxperf.cli.browser import open_address
    from onnxperf.serve.server import listen, serve_store

    own, store = typed.own, typed.keywords.get("store")
    listener = listen(store, own["host"], own["port"], own["token"])
    print_text(listener.url if typed.output.quiet else f"{listener.place} is at {listener.url} (press Ctrl-C to stop)")
    if own["open"]:
        open_address(listener.url)
    serve_store(store, listener)
    return exit_codes.DONE
