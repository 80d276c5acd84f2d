"""`onnxperf.profile`: where the time of a model goes, per operator, per node and per node of the original."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import replace

from onnxperf.analyze.answers.profiles import profiles_answer
from onnxperf.api._shared import recordings
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.recordings import Events, is_events, is_trace, notes_on_load, ort_setups
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.side_by_side import Side, profiles_in_turns
from onnxperf.api._shared.subjects import Entry, open_entries
from onnxperf.errors import BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.profiling import Progress
from onnxperf.options.base import refuse_useless
from onnxperf.options.functions import PROFILE
from onnxperf.records.profile import PROFILED_LAUNCHES
from onnxperf.records.profiles import Profiles
from onnxperf.results.profile import ProfileResult
from onnxperf.results.profiles import ProfilesResult


@public(PROFILE)
def profile(
    source: Source | Events,
    feeds: Mapping[str, Any] | None = None,
    *,
    calls: int | None,
    roofline: bool,
    settings: Settings,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> ProfileResult | Any:  # a union with ProfilesResult would have to be narrowed wherever there is one variant
    """Profile a model with onnxruntime, or read a trace that onnxruntime wrote.

    `source` is a model (a path, bytes or a ModelProto) or a trace (a path or a list of events). A model runs in three
    processes of its own, `calls` times in all (for about 3 s, at least 30 times by default), in turn with a session
    that is not profiled, so that the cost of profiling is known. With fewer than 7 calls, there is one process.
    `save("NAME.trace.json")` of the result keeps onnxruntime's own traces. `roofline` adds the operations and bytes of
    every node, and how far from what this machine can do it is; the peaks of the machine are measured first, unless
    they are known for so many threads from a machine that was not busy. Nodes whose times other programs disturbed are
    not judged.

    With several values of a setting, such as `threads=[1, 2]`, or several `variants` by name, the result is a
    `ProfilesResult`: a column for each variant, whose inferences take turns. It has no verdict: `onnxperf.bench` races
    variants, and `onnxperf.diff` compares two of them node by node.
    """
    several = len(settings.given) > 1
    if is_events(source) or is_trace(source):
        if roofline:
            raise BadOption("a trace does not say what its machine can do; `roofline` needs the model")
        if several:
            raise BadOption("a trace has only the settings that it was made with; name a model")
        refuse_useless({**given, "feeds": feeds is not None}, ("store", "tags"), "a trace, which is read as it is")
        return recordings.result_of_trace(cast("str | Events", source))
    if several and roofline:
        raise BadOption("several variants are profiled; this needs one of them", option="roofline")
    entry = open_entries(cast("Source", source), settings.inputs, feeds, settings.limits.timeout)[0]
    if several:
        return _profile_variants(entry, settings, calls, progress)
    return recordings.profile_model(entry, settings, calls, progress, roofline)


def _profile_variants(entry: Entry, settings: Settings, calls: int | None, progress: Progress) -> ProfilesResult:
    """Each variant has three processes of its own, and three without the profiler, which show what it adds."""
    machine = machines.describe_machine()
    sides = [Side(entry, each, each.name) for each in ort_setups(settings)]
    results = profiles_in_turns(sides, machine, calls, settings.limits, progress, PROFILED_LAUNCHES, True)
    record = Profiles(
        model=entry.model.label,
        fingerprint=entry.model.fingerprint,
        variants=tuple(each.record for each in results),
        interrupted=any(each.record.interrupted for each in results),
        machine=results[0].record.machine,
        command="onnxperf.profile",
    )
    notes = (*entry.feeds.notes, *notes_on_load(record))
    return ProfilesResult(replace(record, notes=notes, answer=profiles_answer(record)))
