"""`onnxperf.load`: a model ready to predict, whatever runtime is behind it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, TypedDict, Unpack, overload

from msgspec.structs import replace

from onnxperf.api._shared import recordings
from onnxperf.api._shared.opening import Source, located
from onnxperf.api._shared.requests import LoadKeywords, Setting, parse
from onnxperf.api._shared.variants import saved_settings
from onnxperf.errors import BadInput, BadOption
from onnxperf.model.load import open_model
from onnxperf.model.opened import Model, OwnFolder
from onnxperf.records.options import OptLevel, Recording, SessionOptions
from onnxperf.results.profile import ProfileResult
from onnxperf.runtimes.base import Call, Inputs, Runner, RuntimeDescription
from onnxperf.runtimes.find import find_runtime


class RunnerKeywords(TypedDict, total=False):
    """How a session is set up; see SessionOptions."""

    threads: int | None
    provider: str
    opt_level: OptLevel
    options: Mapping[str, Setting] | str | os.PathLike[str]
    options_unchecked: Mapping[str, Setting]
    env: str


class ProfilingRunner(Runner):
    """A runner whose session records every call until `profile` is called, and that then refuses more calls."""

    def __init__(self, model: Model, runtime: RuntimeDescription, call: str, options: SessionOptions) -> None:
        self._folder = OwnFolder()
        folder = self._folder.path
        self._named = recordings.named_model(model, folder)
        self._executed = folder / "executed.onnx"
        recording = Recording(trace_prefix=str(folder / "trace"), executed_path=str(self._executed))
        own = replace(options, options={**self._named.options, **options.options})
        session = runtime.open_session(self._named.path, own, recording)
        self._ran = self._ended = False
        self._result: ProfileResult | None = None
        super().__init__(session, model, runtime.name, call, options)

    def __reduce__(self) -> NoReturn:
        """Refuse: what runs in another process would not be in this recording."""
        raise BadInput("a runner with `profile` records in this process only; load the model without `profile`")

    def run(self, feeds: Inputs, intermediate: bool = False) -> dict[str, Any]:
        """Predict once, recorded; refused after `profile`."""
        self._refuse_if_ended()
        outputs = super().run(feeds, intermediate)
        self._ran = self._ran or not intermediate
        return outputs

    def bind(self, feeds: Inputs) -> Call:
        """The call on these inputs, recorded; refused after `profile`."""
        call = super().bind(feeds)

        def recorded() -> Sequence[Any]:
            self._refuse_if_ended()
            self._ran = True
            return call()

        return recorded

    def _refuse_if_ended(self) -> None:
        # onnxruntime cannot begin again: what ran now would be in no profile.
        if self._ended:
            raise BadInput(
                "`profile()` ended the recording of this runner, so this call would not be in any profile; "
                "load the model again, with `profile` to record it"
            )

    def profile(self) -> ProfileResult:
        """What was recorded; the first time this ends the recording, and the runner refuses calls from then on."""
        if self._result is None:
            if not self._ran:
                raise BadInput("nothing was recorded: call `run` of this runner before `profile()`")
            self._ended = True
            trace = Path(self.session.end_recording())
            recorded = recordings.RecordedModel(self.model, self._named.outlined, self._executed, {})
            self._result = recordings.result_of_recording(recorded, trace)
            self._result.record = replace(self._result.record, session=self.options)
        return self._result


@overload
def load(
    model: Source, *, profile: Literal[True], runtime: str = ..., call: str = ..., **keywords: Unpack[RunnerKeywords]
) -> ProfilingRunner: ...
@overload
def load(
    model: Source, *, profile: bool = ..., runtime: str = ..., call: str = ..., **keywords: Unpack[RunnerKeywords]
) -> Runner: ...
def load(
    model: Source, *, runtime: str = "ort", call: str = "run", profile: bool = False, **keywords: Unpack[RunnerKeywords]
) -> Runner:
    """Load a model in this process; `runner.run({"X": X})` returns its outputs by name.

    A runner can be part of what `onnxperf.bench`, `memory` or `stack` calls: the model is sent, and opened there again.

    Everything else in this package opens and runs models in processes with limits; this is the one function that does
    both here, so use it only for models that you trust.

    `options` may be a file that `onnxperf.tune` saved: its settings, call style and runtime.

    With `profile`, onnxruntime records every call, and `runner.profile()` shows where the time went; it ends the
    recording, and later calls of this runner are refused.
    """
    given: dict[str, Any] = {**keywords}
    if isinstance(file := given.get("options"), str | os.PathLike):
        saved = saved_settings(file)
        given["options"], runtime, call = saved.settings, saved.runtime or runtime, saved.call or call
    options = parse(given, LoadKeywords).session
    if options.env:
        raise BadOption("a model is loaded in this process; `onnxperf.bench` takes environments", option="env")
    description = find_runtime(runtime)
    description.call(call)
    if profile and not description.records:
        raise BadOption("this runtime has no profiler; use `runtime=ort`", option="runtime", value=runtime)
    place = located(model)
    opened = open_model(place, model if place is not model and isinstance(model, str) else None)
    if profile:
        return ProfilingRunner(opened, description, call, options)
    return Runner(description.open_session(opened.path, options), opened, runtime, call, options)
