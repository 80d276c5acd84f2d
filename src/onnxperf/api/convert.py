"""`onnxperf.convert`: a model of another framework as an ONNX model, checked against what it was made from."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_type_hints

import onnx

from onnxperf.api._shared.examine import Axes, Job, examine
from onnxperf.api._shared.requests import ConvertKeywords, Settings, parse, require
from onnxperf.api._shared.samples import caller_of, cast_to_model, matched, resized
from onnxperf.errors import BadOption
from onnxperf.frameworks.base import AnyFramework, ExportRequest
from onnxperf.frameworks.export import export, framework_to_convert, versions_of
from onnxperf.frameworks.samples import named_sample
from onnxperf.model import interface
from onnxperf.model.generate import Array
from onnxperf.model.graph import all_nodes, opset_of
from onnxperf.model.inputs import make_feeds
from onnxperf.model.load import open_model
from onnxperf.records.convert import Conversion
from onnxperf.records.options import LONG_TIMEOUT_S, InputOptions
from onnxperf.results.convert import ConvertResult

BATCH = "batch"


def convert(
    model: Any,
    sample: Any = None,
    *,
    opset: int | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic: Mapping[str, str] | None = None,
    check: bool = True,
    **keywords: Any,
) -> ConvertResult:
    """Convert a model, name its dimensions, and compare it with its source on the sample and on a second size.

    `model` is a fitted sklearn estimator, a torch module or exported program, a Keras model, a .pt2 or .keras file, or
    the folder of a saved_model; `sample` an array, several in a tuple, or a dictionary of them. `dynamic` names free
    dimensions: {"ids.0": "batch", "ids.1": "seq"}; without it the first axis is "batch", and {} fixes all sizes.
    `rtol`, `atol`, `timeout`, `seed`, `dims`, `shapes` and `ranges` are ours; other keywords go to the converter of the
    framework, such as `options` and `black_op` of skl2onnx.
    """
    require(opset is None or opset >= 1, "opset", opset, "at least 1")
    request = _Request.of(keywords, opset)
    framework, label = framework_to_convert(model), _label(model)
    model = framework.opened(model)
    inputs = request.settings.inputs
    arrays = named_sample(framework, model, sample, inputs) if framework.defines_inputs(model) else None
    wanted = _Dynamic(dynamic, tuple(input_names or ()))
    draft = _drafted(framework, model, arrays, wanted, request)
    draft.rename(input_names, output_names)
    if arrays is None and sample is not None:
        arrays = named_sample(framework, model, sample, inputs, draft.inputs)
    given = None if arrays is None else {draft.links.get(name, name): array for name, array in arrays.items()}
    axes = wanted.names(draft.proto, given, draft.links)
    given, casts = cast_to_model(draft.proto, given or {})
    feeds, made = _settled(draft.proto, axes, given or None, inputs, wanted.is_static)
    job = Job(
        proto=draft.proto,
        label=label,
        feeds=feeds,
        axes={} if wanted.is_static else axes,
        tolerances=request.settings.tolerances,
        call=caller_of(framework, model, draft.links, draft.keys) if check else None,
        takes_table=framework.takes_table,
        may_fix=dynamic is None and framework.fixes_sizes,
        tables=framework.tables(model, feeds),
    )
    findings = examine(job)
    arrays = {source: feeds[name] for source, name in draft.links.items()} or feeds
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
    return ConvertResult(record, draft.proto)


@dataclass(eq=False)
class _Draft:
    """What the converter made, and how its names relate to those of the source."""

    proto: onnx.ModelProto
    links: dict[str, str]
    """Inputs of the model by those of the source; empty where both are the same."""
    keys: list[str]
    """Outputs as the converter named them."""
    notes: list[str]

    @property
    def inputs(self) -> list[str]:
        return [value.name for value in self.proto.graph.input]

    def rename(self, inputs: Sequence[str] | None, outputs: Sequence[str] | None) -> None:
        """Give inputs and outputs the names that were asked for."""
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
    """The keywords, sorted."""

    settings: Settings
    opset: int | None
    options: dict[str, Any]
    """Of the converter."""

    @classmethod
    def of(cls, keywords: Mapping[str, Any], opset: int | None) -> _Request:
        known = get_type_hints(ConvertKeywords)
        ours = {name: value for name, value in keywords.items() if name in known}
        settings = parse(ours, ConvertKeywords, LONG_TIMEOUT_S)
        return cls(settings, opset, {name: value for name, value in keywords.items() if name not in known})


@dataclass(frozen=True)
class _Dynamic:
    """Names that were asked for dimensions, as "input.axis", and the names that inputs are to get."""

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
