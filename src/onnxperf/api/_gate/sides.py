"""What a gate measures besides its races: memory of fresh processes, and errors of outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from onnxperf.analyze.judges.agreement import matched, unlike_interfaces
from onnxperf.analyze.judges.gate import error_limit, memory_limit
from onnxperf.analyze.judges.tuning import largest_error
from onnxperf.analyze.judges.weighing import PROCESSES
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.outputs import interface_of, outputs_of
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import only_setup
from onnxperf.api._shared.subjects import Entry, in_environments, model_specs, open_entries
from onnxperf.errors import BadInput, OnnxperfError
from onnxperf.measure.memory_steps import needed_bytes
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.process import open_worker
from onnxperf.measure.race import Progress
from onnxperf.records.gate import BASELINE, NEW, GateLimit
from onnxperf.records.race import Case


@dataclass(frozen=True)
class GateSides:
    """The models of a gate by their names, and how they are run."""

    models: Mapping[str, Source]
    settings: Settings
    call: str
    feeds: Mapping[str, Any] | None
    envs: Mapping[str, str]
    """Environments of models that do not run in that of the others."""

    def memory(
        self, dims: Mapping[str, int], case: Case, max_memory: float, known: Sequence[int], progress: Progress
    ) -> GateLimit:
        """What fresh processes of all sides need, in turn; what is `known` of the baseline is not measured."""
        try:
            needs = self._needs(dims, progress)
        except OnnxperfError as error:  # what was raced stays
            return memory_limit(case, {}, max_memory, str(error))
        return memory_limit(case, {BASELINE: known, **needs}, max_memory)

    def error(self, dims: Mapping[str, int], case: Case, max_error: float) -> GateLimit:
        """How far the outputs of the new model are from those of the baseline."""
        try:
            entries, specs = self._opened(dims)
            ours, theirs = (interface_of(each) for each in entries)
            unlike = unlike_interfaces(ours, theirs)
            if unlike:
                return error_limit(case, None, max_error, f"outputs cannot be compared: {unlike}")
            outputs = [outputs_of(spec, self.settings.limits) for spec in specs]
        except OnnxperfError as error:  # both ran in the race: nothing is known of the new model's outputs
            return GateLimit(measure="error", dims=case.dims, limit=max_error, reason=f"error: {error}")
        pairs = matched(outputs[0], outputs[1], {})
        found = largest_error([one for _, one, _ in pairs], [other for _, _, other in pairs])
        return error_limit(case, found, max_error, "outputs have other types or shapes, or are not finite")

    def _opened(self, dims: Mapping[str, int]) -> tuple[list[Entry], list[WorkerSpec]]:
        sides = {name: self.models[name] for name in (BASELINE, NEW) if name in self.models}
        entries = open_entries(sides, self.settings.sized(dims, {}), self.feeds, self.settings.limits.timeout)
        specs = model_specs(entries, [only_setup("ort", self.call, self.settings)])
        return entries, in_environments(specs, self.envs)

    def _needs(self, dims: Mapping[str, int], progress: Progress) -> dict[str, list[int]]:
        entries, specs = self._opened(dims)
        limits = self.settings.limits
        start = partial(open_worker, timeout_s=limits.timeout, memory_limit_bytes=limits.memory_limit)
        found: dict[str, list[int]] = {entry.model.label: [] for entry in entries}
        for number in range(PROCESSES):
            for name, spec in zip(found, specs, strict=True):
                progress(number / PROCESSES, f"memory of {name}")
                need, reason = needed_bytes(spec, start)
                if need is None:
                    raise BadInput(f"{name}: {reason}")
                found[name].append(need)
        return found
