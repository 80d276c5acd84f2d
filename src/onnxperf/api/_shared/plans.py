"""Plans of sweeps: what a plan file holds, its cases, and what is refused before anything runs."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from onnxperf.api._shared.cells import Cell, Contest, cells_of
from onnxperf.api._shared.opening import open_source
from onnxperf.api._shared.requests import Settings, check_number, names_in, parse
from onnxperf.api._shared.sources import check_source, load_source, sources_of
from onnxperf.errors import BadInput, BadOption
from onnxperf.model.shapes import settle
from onnxperf.options.functions import CASE
from onnxperf.records.options import Signature
from onnxperf.wording.names import one_line, shortened
from onnxperf.wording.numbers import size
from onnxperf.zoo import PREFIX

_LARGEST_PLAN_BYTES = 4 << 20
_LONGEST = 200
"""Characters of a plan in an error."""
_MENTION = re.compile("`([a-z_]+)(?:=([^`]*))?`")
_OTHER_NAMES = {"input": "feeds", "inputs": "feeds"}
"""What the command line calls a field, where the two names are not alike."""


class PlannedModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A model of a plan, or several that race each other."""

    path: str | list[str]
    """A file next to the plan, or zoo:NAME; several race each other, and the first is the baseline."""
    against: list[str] = []
    """Sources of this model, instead of those of the plan."""
    dims: dict[str, int | list[int]] = {}
    """Sizes that this model has instead of those of the plan."""
    feeds: dict[str, str] = {}
    """Files for inputs of this model, besides those of the plan."""


class SweepPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """What a plan file holds."""

    models: list[PlannedModel | str]
    """What is timed."""
    dims: dict[str, int | list[int]] = {}
    """Sizes of dimensions, one or several each: every combination is a case."""
    call: str | list[str] = "run"
    """Ways of calling onnxruntime."""
    runtime: str | list[str] = "ort"
    """What executes the models."""
    against: list[str] = []
    """Sources as [NAME=]FILE.py:function, a .keras or .pt2 file, a saved_model folder, or frameworks of a zoo model."""
    feeds: dict[str, str] = {}
    """Real data for inputs: .npy, .npz or .pb files next to the plan."""
    options: dict[str, Any] = {}
    """Any other keyword of `onnxperf.bench`: threads, time, seed, rtol, timeout, memory_limit…"""


Plan = str | Path | Mapping[str, Any]


def plan_cells(
    plan: Plan, listed: bool = False, yardstick: bool = False, overrides: Mapping[str, Any] | None = None
) -> list[Cell]:
    """The cases of a plan; if they are only `listed`, nothing that the plan names is imported, built or run.

    `yardstick` is measured with them unless the options of the plan decide that; `overrides` replace these options.
    """
    parsed, folder = _parsed(plan)
    parsed = msgspec.structs.replace(parsed, options={"yardstick": yardstick, **parsed.options, **(overrides or {})})
    cells: list[Cell] = []
    for model in _models(parsed):
        cells += _model_cells(model, parsed, folder, listed)
        check_number(len(cells))
    most = Counter(cell.key for cell in cells).most_common(1)[0]
    if most[1] > 1:
        raise BadOption(f"the plan of the sweep has the case {shortened(most[0], _LONGEST)!r} twice")
    return cells


def check_models(plan: Plan) -> None:
    """Refuse models and inputs that do not exist, and dimensions that a model lacks; no code of the plan runs."""
    parsed, folder = _parsed(plan)
    for model in _models(parsed):
        settings = _settings(model, parsed)
        for name, signatures in _signatures(model, parsed, folder, settings):
            _check_inputs(name, signatures, _feeds(model, parsed, folder), settings)


# ---------------------------------------------------------------- reading


def _parsed(plan: Plan) -> tuple[SweepPlan, Path]:
    """What a plan holds, and the folder that its paths start from."""
    folder = Path()
    if not isinstance(plan, Mapping):
        folder, plan = Path(plan).absolute().parent, _read(Path(plan))
    _refuse_unknown_fields(plan)
    try:
        parsed = msgspec.convert(dict(plan), SweepPlan)
    except (msgspec.ValidationError, RecursionError) as error:
        problem, _, place = one_line(error).partition(" - at `$.")
        text = f"{place.removesuffix('`')}: {problem}" if place else problem
        raise BadOption(f"the plan of the sweep is not valid: {shortened(text, _LONGEST)}") from error
    if not parsed.models:
        raise BadOption("the plan of the sweep names no models")
    return parsed, folder


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_PLAN_BYTES + 1)
        if len(data) > _LARGEST_PLAN_BYTES:
            raise BadInput(f"the plan {str(path)!r} is larger than {size(_LARGEST_PLAN_BYTES)}; divide it")
        return tomllib.loads(data.decode())
    except OSError as error:
        raise BadInput(f"the plan {str(path)!r} cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise BadInput(f"the plan {str(path)!r} is nested too deeply") from error
    except ValueError as error:  # of TOML, of UTF-8, or a number or a path that Python does not take
        raise BadInput(f"the plan {str(path)!r} is not valid TOML: {one_line(error)}") from error


def _refuse_unknown_fields(plan: Mapping[str, Any]) -> None:
    """One line for a field that does not exist, with the one that was probably meant, or where it belongs."""
    fields, options = SweepPlan.__struct_fields__, CASE.options.keys() - {"dims", "call", "runtime", "against", "feeds"}
    _refuse_others(plan, fields, "field {} in the plan", {"in [options]": options})
    models = plan.get("models")
    for model in models if isinstance(models, list | tuple) else ():
        own = {"in the plan itself, beside models": fields, "in [options] of the plan": options}
        _refuse_others(model, PlannedModel.__struct_fields__, "field {} of a model in the plan", own)
    outside = {"in the plan itself, not in [options]": fields}
    _refuse_others(plan.get("options"), sorted(options), "option {} in the plan", outside)


def _refuse_others(given: object, known: Sequence[str], what: str, elsewhere: Mapping[str, Collection[str]]) -> None:
    for name in given if isinstance(given, Mapping) else ():
        if name in known:
            continue
        text = str(name)
        plain = text.replace("-", "_")  # as the command line spells it
        place = next((f"it belongs {where}" for where, names in elsewhere.items() if plain in names), "")
        near = _OTHER_NAMES.get(text) or next(iter(get_close_matches(text, known, 1)), "")
        meant = f"did you mean {near!r}?" if near in known else ""
        hint = place or meant or f"choose from: {', '.join(known)}"
        raise BadOption(f"unknown {what.format(repr(shortened(text, _LONGEST)))}; {hint}")


# ---------------------------------------------------------------- models and their cases


def _models(plan: SweepPlan) -> Iterator[PlannedModel]:
    for model in plan.models:
        yield PlannedModel(model) if isinstance(model, str) else model


def _model_cells(model: PlannedModel, plan: SweepPlan, folder: Path, listed: bool) -> list[Cell]:
    load = check_source if listed else load_source
    against = sources_of(model.against or plan.against, folder, load)
    feeds = _feeds(model, plan, folder)
    contest = Contest(_places(model, folder), against, plan.call, plan.runtime, feeds, _paths(model), listed)
    return cells_of(contest, _settings(model, plan))


def _paths(model: PlannedModel) -> list[str]:
    return [model.path] if isinstance(model.path, str) else model.path


def _places(model: PlannedModel, folder: Path) -> list[str]:
    """Where the models are: next to the plan, or in the zoo."""
    return [path if path.startswith(PREFIX) else str(folder / path) for path in _paths(model)]


def _feeds(model: PlannedModel, plan: SweepPlan, folder: Path) -> dict[str, Path]:
    return {name: folder / file for name, file in {**plan.feeds, **model.feeds}.items()}


def _settings(model: PlannedModel, plan: SweepPlan) -> Settings:
    if not _paths(model):
        raise BadOption("the plan of the sweep has a model without a path")
    try:
        return parse({**plan.options, "dims": {**plan.dims, **model.dims}}, CASE)
    except BadOption as error:
        raise BadOption(f"the plan of the sweep is not valid: {_as_in_plan(str(error))}") from error


def _as_in_plan(text: str) -> str:
    """The text with options as a plan spells them: the command line would make --time 0 of `time=0`."""
    return _MENTION.sub(lambda found: found[1] if found[2] is None else f"{found[1]} = {found[2]}", text)


# ---------------------------------------------------------------- checks


def _signatures(
    model: PlannedModel, plan: SweepPlan, folder: Path, settings: Settings
) -> Iterator[tuple[str, Sequence[Signature]]]:
    """Every model that will be run by its name, with its inputs; those of the zoo are known before they are built."""
    for path, place in zip(_paths(model), _places(model, folder), strict=True):
        if not path.startswith(PREFIX):
            opened, given = open_source(place, timeout_s=settings.limits.timeout), {**plan.feeds, **model.feeds}
            yield path, [*opened.inputs, *(each for each in opened.overridable if each.name in given)]
            continue
        from onnxperf.zoo.build import find_entry

        against = sources_of(model.against or plan.against, folder, check_source)
        for framework in names_in(against) if isinstance(against, list) else [None]:
            entry = find_entry(path, framework)
            yield path, [Signature(name=each.name, dtype=each.dtype, shape=each.shape) for each in entry.inputs]


def _check_inputs(name: str, inputs: Sequence[Signature], files: Mapping[str, Path], settings: Settings) -> None:
    from onnxperf.model.files import read_inputs  # imports onnx

    names = [each.name for each in inputs]
    for unknown in files.keys() - set(names):
        raise BadOption(f"{name} has no input {unknown!r}; its inputs are: {', '.join(names) or 'none'}")
    arrays = read_inputs(files) if files else {}
    tensors = [each for each in inputs if each.kind == "tensor"]
    for dims in settings.sizes:
        try:
            settle(tensors, settings.sized(dims), {key: array.shape for key, array in arrays.items()})
        except BadInput as error:
            raise BadOption(f"{name}: {_as_in_plan(str(error))}") from error
