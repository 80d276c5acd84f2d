"""`onnxperf.convert`: a model of another framework as an ONNX model, checked against what it was made from."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import onnx

from onnxperf.api._shared.examine import Axes, ConversionCheck, examine
from onnxperf.api._shared.origins import origin_of, remember
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.samples import caller_of, cast_to_model, load_model, matched, resized
from onnxperf.errors import BadOption
from onnxperf.frameworks.base import AnyFramework, ExportRequest
from onnxperf.frameworks.export import export, framework_to_convert, versions_of
from onnxperf.frameworks.samples import named_sample
from onnxperf.model import interface
from onnxperf.model.generate import Array
from onnxperf.model.graph import all_nodes, opset_of
from onnxperf.model.inputs import make_feeds
from onnxperf.model.load import open_model
from onnxperf.options.functions import CONVERT
from onnxperf.records.convert import Conversion
from onnxperf.records.options import InputOptions
from onnxperf.results.convert import ConvertResult

BATCH = "batch"


@public(CONVERT)
def convert(
    model: Any, sample: Any = None, *, check: bool, settings: Settings, given: Mapping[str, Any]
) -> ConvertResult:
    """Convert a model, name its dimensions, and compare it with its source on the sample and on a second size.

    `model` is a fitted sklearn estimator, a torch module or exported program, a Keras model, a .pt2 or .keras file, the
    folder of a saved_model, or FILE.py:function, which returns a model or a model and its sample. `sample` is an
    array, several in a tuple, or a dictionary of them; `feeds` are arrays, or files of them, by the names of inputs.
    `dynamic` names free dimensions: {"ids.0": "batch", "ids.1": "seq"}; without it the first axis is "batch", and {}
    fixes all sizes. `converter_options` go to the converter of the framework: for an estimator, options of skl2onnx
    such as zipmap, or its arguments such as initial_types; `black_op` lists operators that it must not use.
    """
    loaded = load_model(model, sample, given.get("feeds"))
    framework, label = framework_to_convert(loaded.model), _label(loaded.model)
    model, sample = framework.opened(loaded.model), loaded.sample
    inputs = settings.inputs
    arrays = named_sample(framework, model, sample, inputs) if framework.defines_inputs(model) else None
    wanted = _Dynamic(given.get("dynamic"), tuple(given.get("input_names") or ()))
    draft = _drafted(framework, model, arrays, wanted, _Request.of(framework, settings, given))
    draft.rename(given.get("input_names"), given.get("output_names"))
    if arrays is None and sample is not None:
        arrays = named_sample(framework, model, sample, inputs, draft.inputs)
    named = None if arrays is None else {draft.links.get(name, name): array for name, array in arrays.items()}
    axes = wanted.names(draft.proto, named, draft.links)
    named, casts = cast_to_model(draft.proto, named or {})
    fed, made = _settled(draft.proto, axes, named or None, inputs, wanted.is_static)
    job = ConversionCheck(
        proto=draft.proto,
        label=label,
        feeds=fed,
        axes={} if wanted.is_static else axes,
        tolerances=settings.tolerances,
        limits=settings.limits,
        call=caller_of(framework, model, draft.links, draft.keys) if check else None,
        takes_table=framework.takes_table,
        may_fix=wanted.asked is None and framework.fixes_sizes,
        tables=framework.tables(model, fed),
    )
    findings = examine(job)
    arrays = {source: fed[name] for source, name in draft.links.items()} or fed
    on_calls = framework.note_on_calls(model, arrays) if check else ""
    versions = versions_of(framework)
    interface.stamp(draft.proto, _origin(framework.name, model, versions))
    record = Conversion(
        model=label,
        framework=framework.name,
        versions=versions,
        casts=casts,
        rows=sum(findings.rows[:1]),
        made_rows=sum(findings.rows[1:]),
        checks=tuple(findings.checks),
        notes=(*draft.notes, *made, *filter(None, [on_calls]), *findings.notes),
        **_described(draft.proto, label),
    )
    origin = origin_of(framework.name, loaded.source)
    return ConvertResult(record, draft.proto, None if origin is None else partial(remember, origin=origin))


def _options_of(framework: AnyFramework, given: Mapping[Any, Any], black_op: Collection[str] | None) -> dict[str, Any]:
    """Arguments of the converter: what is not one of skl2onnx is an option of estimators, of which it takes a dict."""
    if framework.converter != "skl2onnx":
        if black_op is not None:
            raise BadOption("`black_op` is an option of skl2onnx, and this is not a scikit-learn estimator")
        return dict(given)
    arguments = {name: value for name, value in given.items() if name in framework.options}
    options = {name: value for name, value in given.items() if name not in arguments}
    forbidden = {} if black_op is None else {"black_op": set(black_op)}
    return {**arguments, **({"options": options} if options else {}), **forbidden}


@dataclass(eq=False)
class _Draft:
    """What the converter made, and how its names relate to those of the source."""

    proto: onnx.ModelProto
    links: dict[str, str]
    """Inputs of the model by those of the source; empty if both are the same."""
    keys: list[str]
    """Outputs as the converter named them."""
    notes: list[str]

    @property
    def inputs(self) -> list[str]:
        return [value.name for value in self.proto.graph.input]

    def rename(self, inputs: Sequence[str] | None, outputs: Sequence[str] | None) -> None:
        """Give inputs and outputs the requested names."""
        if inputs is not None:
            old = self.inputs
            interface.rename_inputs(self.proto, inputs)
            new = dict(zip(old, inputs, strict=True))
            links = self.links or {name: name for name in old}
            self.links = {source: new[name] for source, name in links.items()}
        if outputs is not None:
            interface.rename_outputs(self.proto, outputs)


def _drafted(
    framework: AnyFramework,
    model: object,
    arrays: dict[str, Array] | None,
    wanted: _Dynamic,
    asked: _Request,
) -> _Draft:
    free = wanted.requested_free(arrays) if framework.fixes_sizes and arrays else {}
    request = ExportRequest(
        sample=_large_enough(arrays, free),
        opset=asked.opset,
        free=frozenset(free),
        options=asked.options,
        timeout=asked.settings.limits.timeout,
    )
    proto = export(framework, model, request)
    interface.tidy(proto)
    links = matched(list(arrays), proto) if arrays is not None else {}
    left = interface.free_axes(proto.graph.input)
    fixed = [
        f"{links[name]}.{axis}" for name, axis in free if (links.get(name, ""), axis) not in left and name in links
    ]
    notes = [f"{place} is fixed: {framework.name} found that the model needs this size" for place in fixed]
    keys = [value.name for value in proto.graph.output]
    return _Draft(proto, links, keys, [*_opset_notes(proto, asked.opset), *notes])


# ---------------------------------------------------------------- settings


@dataclass(frozen=True)
class _Request:
    """What the converter is asked for."""

    settings: Settings
    opset: int | None
    options: dict[str, Any]
    """Of the converter, by its own names."""

    @classmethod
    def of(cls, framework: AnyFramework, settings: Settings, given: Mapping[str, Any]) -> _Request:
        """What the options say."""
        options = _options_of(framework, given.get("converter_options") or {}, given.get("black_op"))
        return cls(settings, given.get("opset"), options)


@dataclass(frozen=True)
class _Dynamic:
    """Requested names of dimensions, as "input.axis", and the names that inputs are to get."""

    asked: Mapping[str, str] | None
    input_names: tuple[str, ...]

    @property
    def is_static(self) -> bool:
        return self.asked is not None and not self.asked

    def requested_free(self, arrays: Mapping[str, Array]) -> Axes:
        """Axes that must stay free; of the first axes those that are as long as that of the first input."""
        if self.asked is not None:
            known = {name: name for name in arrays} | dict(zip(self.input_names, arrays, strict=False))
            return self._resolved(known, {name: array.ndim for name, array in arrays.items()})
        length = next(iter(arrays.values())).shape[:1]
        return {(name, 0): BATCH for name, array in arrays.items() if array.ndim and array.shape[:1] == length}

    def names(self, proto: onnx.ModelProto, feeds: Mapping[str, Array] | None, links: Mapping[str, str]) -> Axes:
        """The name of every free axis of the inputs of a model."""
        inputs = {value.name: len(value.type.tensor_type.shape.dim) for value in proto.graph.input}
        known = {**links, **{name: name for name in inputs}}
        asked = self._resolved(known, inputs)
        free = interface.free_axes(proto.graph.input)
        for (value, axis), name in asked.items():
            if (value, axis) not in free:
                place = f"{value}.{axis}={name}"
                raise BadOption("the source fixes the size of this axis", option="dynamic", value=place)
        return {
            place: asked.get(place) or interface.own_name(symbol) or _default_name(place, feeds)
            for place, symbol in free.items()
        }

    def _resolved(self, known: Mapping[str, str], ranks: Mapping[str, int]) -> Axes:
        found: Axes = {}
        for key, name in (self.asked or {}).items():
            value, _, axis = key.rpartition(".")
            if value not in known:
                raise BadOption.unknown("input in `dynamic`", value or key, known, option="dynamic")
            if not axis.isascii() or not axis.isdigit() or int(axis) >= ranks[known[value]]:
                last = ranks[known[value]] - 1
                raise BadOption(f"{value} has the axes 0 to {last}", option="dynamic", value=f"{key}={name}")
            if not name.isidentifier():
                expected = "a name for a dimension, such as batch"
                raise BadOption(option="dynamic", value=f"{key}={name}", expected=expected)
            found[known[value], int(axis)] = name
        return found


def _default_name(place: interface.Axis, feeds: Mapping[str, Array] | None) -> str:
    """Batch for first axes of one length; for others, the words that `dims` takes."""
    value, axis = place
    lengths = {name: array.shape[:1] for name, array in (feeds or {}).items()}
    is_batch = axis == 0 and (value not in lengths or lengths[value] == next(iter(lengths.values())))
    return BATCH if is_batch else f"{value}.{axis}"


def _large_enough(arrays: dict[str, Array] | None, axes: Axes) -> dict[str, Array] | None:
    """A sample without free axes of size 1, which torch takes for constants."""
    if arrays is None:
        return None
    sizes = {dim: arrays[name].shape[axis] for (name, axis), dim in axes.items()}
    return resized(arrays, axes, {dim: 2 for dim, size in sizes.items() if size == 1})


# ---------------------------------------------------------------- names


def _opset_notes(proto: onnx.ModelProto, asked: int | None) -> list[str]:
    got = opset_of(proto)
    if asked is None or got in (0, asked):
        return []
    if got > asked:
        raise BadOption(f"the converter needs opset {got} or newer for this model", option="opset", value=asked)
    return [f"the model uses opset {got}, not {asked}: the converter chose the older one"]


def _settled(
    proto: onnx.ModelProto, axes: Axes, feeds: dict[str, Array] | None, inputs: InputOptions, static: bool
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Inputs for the model, made where none were given; its free axes get their names, or sizes if all are fixed."""
    interface.name_input_axes(proto, axes, {})
    complete = feeds is not None and len(feeds) == len(proto.graph.input)
    made = make_feeds(open_model(proto), InputOptions() if complete else inputs, feeds)
    if static:
        interface.name_input_axes(proto, {}, {name: array.shape for name, array in made.arrays.items()})
    return made.arrays, () if complete else made.notes


def _label(model: object) -> str:
    return Path(model).name if isinstance(model, str | os.PathLike) else type(model).__name__


def _origin(framework: str, model: object, versions: Mapping[str, str]) -> dict[str, str]:
    """Where the model came from; of a path only the last part."""
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    source = Path(model).name if isinstance(model, str | os.PathLike) else kind
    return {
        "onnxperf.framework": framework,
        "onnxperf.source": source,
        "onnxperf.versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
        "onnxperf.version": version("onnxperf"),
    }


# ---------------------------------------------------------------- result


def _described(proto: onnx.ModelProto, label: str) -> dict[str, Any]:
    model = open_model(proto, label)
    return {
        "opset": opset_of(proto),
        "inputs": model.inputs,
        "outputs": model.outputs,
        "nodes": sum(1 for _ in all_nodes(proto)),
        "size_bytes": model.size_bytes,
    }
