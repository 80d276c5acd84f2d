"""`onnxperf serve`."""

from __future__ import annotations

from onnxperf.cli import exit_codes
from onnxperf.cli.command import PRINTED, Typed, command
from onnxperf.cli.printing import print_text
from onnxperf.options.functions import STORED, Server


@command(STORED, Server, *PRINTED)
def serve(*, typed: Typed) -> int:
    """Show the store of runs in a browser: search, compare, history, every report; nothing can be changed.

    By default, only this machine reaches the page. --host lets others reach it, who then need a token. The same is
    there as JSON, described at /api. Press Ctrl-C to stop.

    For example:

        onnxperf serve

        onnxperf serve --store postgresql://perf@db/runs --port 8000 --open

        onnxperf serve --host 0.0.0.0
    """
    from onnxperf.cli.browser import open_address
    from onnxperf.serve.server import open_door, serve_store

    own, store = typed.own, typed.keywords.get("store")
    door = open_door(store, own["host"], own["port"], own["token"])
    print_text(door.url if typed.output.quiet else f"{door.place} is at {door.url} (Ctrl-C ends it)")
    if own["open"]:
        open_address(door.url)
    serve_store(store, door)
    return exit_codes.DONE
