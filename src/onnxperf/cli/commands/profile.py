"""`onnxperf profile`."""

from __future__ import annotations

import sys
from typing import cast

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.errors import BadOption
from onnxperf.options.base import refuse_useless
from onnxperf.options.functions import PROFILE, gives_several
from onnxperf.options.output import Everything, Top


@command(PROFILE, Top, Everything, *KEPT, common=("dims", "threads", "top", "roofline", "output"))
def profile(source: File, /, *, typed: Typed) -> int:
    """Show where the time goes: per operator, per node, per module and per node of the original model.

    The model runs in separate processes with the profiler of onnxruntime. An existing trace is only read. If a setting
    has several values, each gets a column. -o NAME.trace.json keeps the trace, and -o NAME.perfetto.json is for
    ui.perfetto.dev.

    Examples
    --------
    # Which operators take the time?
    onnxperf profile model.onnx --dim batch=8
    # How far is each node from the peaks of this machine?
    onnxperf profile model.onnx --roofline -o roofline.png
    # Compare one thread with two
    onnxperf profile model.onnx --threads 1,2
    # Read a trace from elsewhere, and write tables
    onnxperf profile model.trace.json -o trace.xlsx

    Parameters
    ----------
    source
        An ONNX file, or a trace of onnxruntime (.json).
    """
    return _several(source, typed) if gives_several(typed.keywords) else _one(source, typed)


def _one(source: str, typed: Typed) -> int:
    import onnxperf
    from onnxperf.results.profile import SHOW, ProfileResult

    top = sys.maxsize if typed.own["all"] else typed.own["top"]
    return present(
        SHOW,
        typed.output,
        lambda progress: cast("ProfileResult", onnxperf.profile(source, progress=progress, **typed.keywords)),
        page=lambda result: result.page(top),
    )


def _several(source: str, typed: Typed) -> int:
    import onnxperf
    from onnxperf.results import profile
    from onnxperf.results.profiles import SHOW, ProfilesResult

    for path, suffix in typed.output.files(profile.SHOW):
        if suffix in profile.SHOW.own:
            raise BadOption("several variants are profiled; this needs one of them", option="output", value=path)
    shown = {"top": typed.own["top"] != Top.declared["top"].default, "all": typed.own["all"]}
    refuse_useless(shown, (), "several variants, which are shown per operator")
    return present(
        SHOW,
        typed.output,
        lambda progress: cast("ProfilesResult", onnxperf.profile(source, progress=progress, **typed.keywords)),
    )
