"""`onnxperf.profile`: where the time of a model goes, per operator, per node and per node of the original."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack, cast

from onnxperf.api._shared import recordings
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.progress import automatic, shows_progress
from onnxperf.api._shared.recordings import Events, is_events, is_trace
from onnxperf.api._shared.requests import InputKeywords, parse, require
from onnxperf.api._shared.subjects import open_entries
from onnxperf.errors import BadOption
from onnxperf.measure.profiling import Progress
from onnxperf.records.options import LONG_TIMEOUT_S
from onnxperf.render.kit.files import check_folder
from onnxperf.results.profile import ProfileResult


@shows_progress
def profile(
    source: Source | Events,
    feeds: Mapping[str, Any] | None = None,
    *,
    repeat: int | None = None,
    keep_trace: str | Path | None = None,
    roofline: bool = False,
    timeout: float = LONG_TIMEOUT_S,
    progress: Progress = automatic,
    **keywords: Unpack[InputKeywords],
) -> ProfileResult:
    """Profile a model with onnxruntime, or read a trace that onnxruntime wrote.

    `source` is a model (a path, bytes or a ModelProto), a trace (a path or a list of events). A model runs in three
    processes of its own, `repeat` times in all (for about 3 s, at least 30 times unless given), in turn with a session
    that is not profiled, so that the cost of profiling is known. With fewer than 7, there is one process. `keep_trace`
    names a file for onnxruntime's trace; those of later processes have a number in their names. `roofline` adds the
    operations and bytes of every node, and how far from what this machine can do it is; the peaks of the machine are
    measured first, unless they are known for so many threads from a machine that was not busy. Nodes whose times other
    programs disturbed are not judged.
    """
    settings = parse(keywords, InputKeywords, timeout)
    if is_events(source) or is_trace(source):
        if roofline:
            raise BadOption("a trace does not say what its machine can do; `roofline` needs the model")
        return recordings.result_of_trace(cast("str | Events", source))
    require(repeat is None or repeat >= 1, "repeat", repeat, "at least 1")
    if keep_trace is not None:
        check_folder(keep_trace)
    entry = open_entries(cast("Source", source), settings.inputs, feeds, settings.limits.timeout)[0]
    return recordings.profile_model(entry, settings, repeat, progress, keep_trace, roofline)
