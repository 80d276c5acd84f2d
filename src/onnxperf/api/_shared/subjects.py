"""From models and callables to specs: the subjects of a race, their names, and which of them share a process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard, cast

import cloudpickle
import numpy as np
from msgspec import structs

from onnxperf.analyze.judges.agreement import unlike_values
from onnxperf.api._shared.opening import Source, open_source
from onnxperf.api._shared.requests import Settings, names_in
from onnxperf.api._shared.setups import Setup, interpreter_of, subject_names
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.messages import FunctionSubject, ModelSubject, WorkerSpec
from onnxperf.measure.packing import PackedTensor, pack_feeds
from onnxperf.measure.worker.lines import NamedFunction
from onnxperf.model.files import read_inputs
from onnxperf.model.inputs import Feeds, by_name, make_feeds
from onnxperf.model.opened import Model
from onnxperf.records.options import InputOptions, SessionOptions, SourceOptions
from onnxperf.runtimes.base import Inputs
from onnxperf.runtimes.find import find_runtime
from onnxperf.wording.names import one_line

Sources = Source | Sequence[Source] | Mapping[str, Source]
Functions = Callable[[], Any] | Mapping[str, Callable[[], Any]]

_OF_MODELS = ("feeds", "dims", "batch", "shapes", "ranges", "cast", "against", "runtime", "call")
"""Keywords about how a model is fed and run."""
_USUAL = {"call": "run", "runtime": "ort"}
_DEFAULT_SOURCE = SourceOptions()
_INTERPRETER_BYTES = 150 << 20
_MODEL_COPIES = 3
"""A session may hold the file, its weights and a prepacked copy of them."""


@dataclass(frozen=True)
class Entry:
    """A model with the inputs that it is fed."""

    model: Model
    feeds: Feeds
    casts: dict[str, str]
    twin: Entry | None = None
    """A model before it that is fed the very same arrays."""

    @cached_property
    def packed(self) -> dict[str, PackedTensor]:
        """Its inputs on their way to workers, once for all of them."""
        return self.twin.packed if self.twin else pack_feeds(self.feeds.arrays)


def open_entries(
    sources: Sources, options: InputOptions, given: Inputs | None, timeout_s: float | None = None
) -> list[Entry]:
    """Open all models and make their inputs; a given Path is read as an array."""
    models = open_models(sources, timeout_s)
    if not models:
        raise BadOption("no model given; name at least one .onnx file")
    given = {} if given is None else dict(by_name(models[0], given))
    given |= read_inputs({name: value for name, value in given.items() if isinstance(value, Path)})
    entries: list[Entry] = []
    for model in models:
        feeds = make_feeds(model, options, given)
        twin = next((each for each in entries if _same_feeds(each.feeds.arrays, feeds.arrays)), None)
        if twin:
            feeds = replace(feeds, arrays=twin.feeds.arrays)  # inputs may be large: one copy is enough
        types = {signature.name: signature.dtype for signature in (*model.inputs, *model.overridable)}
        casts = {name: types[name] for name, array in feeds.arrays.items() if _needs_cast(array, types[name])}
        entries.append(Entry(model, feeds, casts, twin))
    return entries


def with_ready_inputs(entry: Entry) -> Entry:
    """The same inputs as arrays that no call needs to cast or to copy."""
    arrays = {
        name: np.ascontiguousarray(array, dtype=entry.casts.get(name, array.dtype))
        for name, array in entry.feeds.arrays.items()
    }
    return Entry(entry.model, replace(entry.feeds, arrays=arrays), {})


def _same_feeds(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    strides = [[array.strides for array in arrays.values()] for arrays in (ours, theirs)]
    return list(ours) == list(theirs) and strides[0] == strides[1] and not unlike_values(ours, theirs)


def _needs_cast(array: Any, dtype: str) -> bool:
    return dtype != "string" and (array.dtype.name != dtype or not array.dtype.isnative)


def open_models(sources: Sources, timeout_s: float | None) -> list[Model]:
    """Open one model or several; equal labels get a number."""
    if isinstance(sources, Mapping):
        return [open_source(source, label, timeout_s) for label, source in sources.items()]
    several = cast("Sequence[Source]", sources if isinstance(sources, list | tuple) else [sources])
    models: list[Model] = []
    for source in several:
        model = open_source(source, timeout_s=timeout_s)
        same = sum(other.label == model.label for other in models)
        models.append(replace(model, label=f"{model.label} #{same + 1}") if same else model)
    return models


class FunctionByName:
    """A function of a file, which on its way to the worker becomes the function itself: only there it is loaded."""

    def __init__(self, text: str) -> None:
        self._function = NamedFunction.parse(text)
        self.__name__ = self._function.name

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[NamedFunction]]:
        return NamedFunction.load, (self._function,)

    def __call__(self) -> Any:
        """Call it here."""
        return self._function.load()()


def is_named(source: object) -> TypeGuard[str]:
    """Whether this is a function by name: FILE.py:function."""
    return isinstance(source, str) and source.rpartition(":")[0].endswith(".py")


def functions_in(model: object) -> dict[str, Callable[[], Any]]:
    """The callables, where these and not models were given."""
    if callable(model):
        return {getattr(model, "__name__", "callable").strip("<>"): model}
    if not isinstance(model, Mapping):
        return {}
    functions = {name: each for name, each in model.items() if callable(each)}
    if functions and len(functions) < len(model):
        other = next(name for name in model if name not in functions)
        raise BadOption(f"{other!r} is not a function, the others are; give models or functions, or use `against`")
    return functions


def refuse_options_of_models(given: Mapping[str, Any], usual: Mapping[str, str] = _USUAL) -> None:
    """Where functions are called: refuse what would change nothing; `usual` are values that stand for no wish."""
    for name in _OF_MODELS:
        value = given.get(name)
        if not value or (name in usual and names_in(value) == [usual[name]]):
            continue
        words = names_in(cast("Sequence[str]", value)) if isinstance(value, Iterable) else []
        word = next(iter(words), None)
        raise BadOption("a function is called without arguments; leave it out", option=name, value=word)


def model_specs(entries: Sequence[Entry], setups: Sequence[Setup]) -> list[WorkerSpec]:
    """One spec per model and set-up; its call styles share a session."""
    specs = []
    names_of_setups = subject_names(setups)
    only_models = len(entries) > 1 and sum(map(len, names_of_setups)) == 1
    for entry in entries:
        label = entry.model.label
        for setup, own in zip(setups, names_of_setups, strict=True):
            names = [label] if only_models else [f"{label} · {name}" for name in own] if len(entries) > 1 else own
            specs.append(_model_spec(entry, setup, names))
    return specs


def in_environments(specs: Sequence[WorkerSpec], envs: Mapping[str, str]) -> list[WorkerSpec]:
    """The specs, those of the models that are named in environments of their own."""
    return [_in_environment(spec, envs.get(spec.model_label or "")) for spec in specs]


def _in_environment(spec: WorkerSpec, env: str | None) -> WorkerSpec:
    if env is None:
        return spec
    session = structs.replace(spec.session, env=env)
    return structs.replace(spec, session=session, python=interpreter_of(session))


def ort_spec(entry: Entry, session: SessionOptions) -> WorkerSpec:
    """A model in onnxruntime, called as most programs call it."""
    return model_specs([entry], [Setup("ort", ("run",), session)])[0]


def _model_spec(entry: Entry, setup: Setup, names: Sequence[str]) -> WorkerSpec:
    description = find_runtime(setup.runtime)
    for style in setup.calls:
        description.call(style).check(entry.feeds.arrays)
    return WorkerSpec(
        subjects=tuple(ModelSubject(name=name, call=style) for name, style in zip(names, setup.calls, strict=True)),
        threads=setup.session.threads or 1,
        feeds=entry.packed,
        runtime=setup.runtime,
        model_label=entry.model.label,
        model_path=str(entry.model.path),
        session=setup.session,
        python=interpreter_of(setup.session),
        casts=entry.casts,
        memory_bytes=_INTERPRETER_BYTES + _MODEL_COPIES * entry.model.size_bytes + 2 * entry.feeds.nbytes,
    )


def function_specs(
    functions: Mapping[str, Callable[..., Any]],
    feeds: Feeds,
    threads: int | None,
    source: SourceOptions = _DEFAULT_SOURCE,
    packed: dict[str, PackedTensor] | None = None,
) -> list[WorkerSpec]:
    """One spec per callable of the user; inputs that other workers get, too, may be `packed` already."""
    check_finite = _as_set_here() if source.check_finite is None else source.check_finite
    packed = pack_feeds(feeds.arrays) if packed is None else packed
    return [
        WorkerSpec(
            subjects=(FunctionSubject(name=name, function=pickled(name, each), check_finite=check_finite),),
            threads=threads or 1,
            feeds=packed,
            memory_bytes=2 * _INTERPRETER_BYTES + 2 * feeds.nbytes,
        )
        for name, each in functions.items()
    ]


def source_specs(callables: Mapping[str, Callable[..., Any]], entry: Entry, settings: Settings) -> list[WorkerSpec]:
    """What a model came from, on its inputs; of all settings, only the number of threads has an effect."""
    numbers = list(dict.fromkeys(variant.session.threads for variant in settings.variants))
    specs = []
    for threads in numbers:
        names = [name if len(numbers) == 1 else f"{name} threads={threads}" for name in callables]
        named = dict(zip(names, callables.values(), strict=True))
        specs += function_specs(named, entry.feeds, threads, settings.source, entry.packed)
    return specs


def rows_of(source: str, names: Iterable[str]) -> list[str]:
    """The subjects that a source became: by its call styles, and by numbers of threads."""
    return [name for name in names if name == source or name.startswith(f"{source} ")]


def _as_set_here() -> bool | None:
    """Whether scikit-learn checks for NaN and infinity in this process; None if it was not imported."""
    sklearn = sys.modules.get("sklearn")
    return None if sklearn is None else not sklearn.get_config()["assume_finite"]


def check_names(specs: Sequence[WorkerSpec], baseline: str | None) -> None:
    """Refuse two subjects of one name, and a baseline that is none of them."""
    names = [subject.name for spec in specs for subject in spec.subjects]
    for name in names:
        if names.count(name) > 1:
            raise BadOption(f"two subjects are named {name!r}; give the callable or the model another name")
    if baseline is not None and baseline not in names:
        raise BadOption.unknown("baseline", baseline, names, option="baseline")


def pickled(name: str, function: Callable[..., Any]) -> bytes:
    """A callable of the user on its way to another process."""
    if not callable(function):
        kind = type(function).__name__
        raise BadOption(option="against", value=name, expected=f"something callable, not of type {kind}")
    try:
        return bytes(cloudpickle.dumps(function))
    except BadInput as error:  # ours, and says what to do
        raise BadOption(f"{name!r} cannot be sent to a process of its own: {error}") from error
    except Exception as error:
        raise BadOption(
            f"{name!r} cannot be sent to a process of its own: {one_line(error)}; "
            "call a runner of onnxperf.load(model), or create the object inside the function"
        ) from error
