"""`onnxperf.load`: a model ready to predict, whatever runtime is behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn, overload

from msgspec.structs import replace

from onnxperf.api._shared import recordings
from onnxperf.api._shared.opening import Source, located
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import names_in, parse, require
from onnxperf.errors import BadInput, BadOption
from onnxperf.model.load import open_model
from onnxperf.model.opened import Model, OwnFolder
from onnxperf.options.functions import LOAD
from onnxperf.records.options import Recording, SessionOptions
from onnxperf.results.profile import ProfileResult
from onnxperf.runtimes.base import Call, Inputs, Runner, RuntimeDescription
from onnxperf.runtimes.find import find_runtime


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
def load(model: Source, *, profile: Literal[True], **options: Any) -> ProfilingRunner: ...
@overload
def load(model: Source, *, profile: bool = ..., **options: Any) -> Runner: ...
@public(LOAD)
def load(
    model: Source,
    *,
    runtime: str | Sequence[str],
    call: str | Sequence[str],
    profile: bool = False,
    given: Mapping[str, Any],
) -> Runner:
    """Load a model in this process; `runner.run({"X": X})` returns its outputs by name.

    A runner can be part of what `onnxperf.bench`, `memory` or `stack` calls: the model is sent, and opened there again.

    Everything else in this package opens and runs models in processes with limits; this is the one function that does
    both here, so use it only for models that you trust.

    `variants` may be a file that `onnxperf.tune` wrote: its settings, call style and runtime.

    With `profile`, onnxruntime records every call, and `runner.profile()` shows where the time went; it ends the
    recording, and later calls of this runner are refused.
    """
    settings = parse(given, LOAD)
    options, variant = settings.session, settings.variants[0]
    if options.env:
        raise BadOption("a model is loaded in this process; `onnxperf.bench` takes environments", option="env")
    runtime, call = _one("runtime", variant.runtime or runtime), _one("call", variant.call or call)
    description = find_runtime(runtime)
    description.call(call)
    if profile and not description.records:
        raise BadOption("this runtime has no profiler; use `runtime=ort`", option="runtime", value=runtime)
    place = located(model)
    opened = open_model(place, model if place is not model and isinstance(model, str) else None)
    if profile:
        return ProfilingRunner(opened, description, call, options)
    return Runner(description.open_session(opened.path, options), opened, runtime, call, options)


def _one(option: str, value: str | Sequence[str]) -> str:
    names = names_in(value)
    require(len(names) == 1, option, value, "one name")
    return names[0]
