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


@command(PROFILE, Top, Everything, *KEPT)
def profile(source: File, /, *, typed: Typed) -> int:
    """Show where the time goes: per operator, per node, per module and per node of the original model.

    The model runs with onnxruntime's profiler in processes of its own; an existing trace is read as it is. If a setting
    has several values, the table has a column for each. -o NAME.trace.json keeps onnxruntime's own trace, and
    -o NAME.perfetto.json writes one for ui.perfetto.dev.

    For example:

        onnxperf profile model.onnx --dim batch=8

        onnxperf profile model.onnx --opt-level disable --top 30 -o where.png

        onnxperf profile model.onnx --threads 1,2

        onnxperf profile model.onnx --roofline -o roofline.png

        onnxperf profile model.onnx --calls 100 -o model.trace.json

        onnxperf profile model.trace.json -o trace.xlsx

    Parameters
    ----------
    source
        An ONNX file, or a trace that onnxruntime wrote (.json).
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
