"""`onnxperf serve`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from onnxperf.cli import exit_codes
from onnxperf.cli.options import OptionalFile, Switch
from onnxperf.cli.printing import print_text


def serve(
    *,
    store: OptionalFile = None,
    host: str = "127.0.0.1",
    port: int = 8642,
    token: str | None = None,
    open_: Annotated[Switch, Parameter(name="--open")] = False,
    debug: Switch = False,
) -> int:
    """Show the store of runs in a browser: search, compare, history, every report; nothing can be changed.

    The page is at an address of this machine only, unless --host names another one, which then has a token. The
    same is there as JSON, described at /api. Ctrl-C ends it.

    For example:

        onnxperf serve

        onnxperf serve --store postgresql://perf@db/runs --port 8000 --open

        onnxperf serve --host 0.0.0.0

    Parameters
    ----------
    store
        File or URL of the store of runs; ONNXPERF_STORE, or a file in the user's data directory, unless given.
    host
        Address or name of this machine at which the page is; 0.0.0.0 for all of them.
    port
        Port of that address; 0 takes a free one.
    token
        What readers need, at least 16 characters; ONNXPERF_TOKEN unless given. Without both, one is made and
        printed where other machines can reach the page.
    open_
        Open the page in a browser.
    debug
        Show the traceback of an error.
    """
    del debug  # `main` reads it
    from onnxperf.cli.browser import open_address
    from onnxperf.serve.server import open_door, serve_store

    door = open_door(store, host, port, token)
    print_text(f"{door.place} is at {door.url} (Ctrl-C ends it)")
    if open_:
        open_address(door.url)
    serve_store(store, door)
    return exit_codes.DONE
