"""`onnxperf.profile_variants`: where the time of a model goes under several values of a setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from msgspec.structs import replace

from onnxperf.analyze.answers.profiles import NO_VERDICT, profiles_answer
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.progress import automatic, shows_progress
from onnxperf.api._shared.recordings import is_trace, notes_on_load
from onnxperf.api._shared.requests import ProfileKeywords, parse, require
from onnxperf.api._shared.setups import only_setup
from onnxperf.api._shared.side_by_side import Side, profiles_in_turns
from onnxperf.api._shared.subjects import open_entries
from onnxperf.errors import BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.profiling import Progress
from onnxperf.records.options import LONG_TIMEOUT_S
from onnxperf.records.profile import PROFILED_LAUNCHES
from onnxperf.records.profiles import Profiles
from onnxperf.results.profiles import ProfilesResult


@shows_progress
def profile_variants(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    repeat: int | None = None,
    timeout: float = LONG_TIMEOUT_S,
    progress: Progress = automatic,
    **keywords: Unpack[ProfileKeywords],
) -> ProfilesResult:
    """Profile a model under every value of a setting, such as `threads=[1, 2]`, or under `variants` by name.

    Each variant has three processes of its own, and three without the profiler, which show what it adds; the inferences
    of all take turns. There is no verdict:
    `onnxperf.bench` races variants, and `onnxperf.diff` compares two of them node by node.
    """
    settings = parse(keywords, ProfileKeywords, timeout)
    require(repeat is None or repeat >= 1, "repeat", repeat, "at least 1")
    if is_trace(model):
        raise BadOption("a trace has only the settings that it was made with; name a model")
    machine = machines.describe_machine()
    entry = open_entries(model, settings.inputs, feeds, settings.limits.timeout)[0]
    sides = [
        Side(entry, only_setup("ort", "run", settings.under(each)).session, each.label or entry.model.label)
        for each in settings.variants
    ]
    results = profiles_in_turns(sides, machine, repeat, settings.limits, progress, PROFILED_LAUNCHES, True)
    record = Profiles(
        model=entry.model.label,
        fingerprint=entry.model.fingerprint,
        variants=tuple(each.record for each in results),
        interrupted=any(each.record.interrupted for each in results),
        machine=results[0].record.machine,
        command="onnxperf.profile_variants",
    )
    notes = (*entry.feeds.notes, NO_VERDICT, *notes_on_load(record))
    return ProfilesResult(replace(record, notes=notes, answer=profiles_answer(record)))
