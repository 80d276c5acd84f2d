"""The keywords of the public functions, and the records that they become."""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.api._shared.pace import check_pace
from onnxperf.api._shared.variants import Variant, variants_in
from onnxperf.errors import BadOption
from onnxperf.options.base import Takes
from onnxperf.records.options import (
    InputOptions,
    RaceOptions,
    SessionOptions,
    SourceOptions,
    Tolerances,
    WorkerLimits,
)
from onnxperf.wording.names import shortened
from onnxperf.wording.numbers import count

T = TypeVar("T", bound=Struct)

_MOST_CASES = 100_000
"""A case takes seconds: these would take two weeks."""
_BATCH = "batch"
"""Name of the batch dimension in the list of cases."""
_LONGEST_VALUE = 80
"""Characters of a wrong value in an error."""

Against = Mapping[str, Any] | str | Sequence[str] | None
"""Sources of a model by name, or the names of the frameworks that a zoo model comes from."""


@dataclass(frozen=True)
class Settings:
    """The keywords of a public function, parsed once: every option has one place."""

    given: tuple[Variant, ...]
    """How runtimes are set up, as far as it was given."""
    sizes: tuple[dict[str, int], ...]
    """Every combination of the sizes of dimensions; a single empty one where none was given."""
    unsized: InputOptions
    """How inputs are made, without the sizes of dimensions."""
    race: RaceOptions
    limits: WorkerLimits
    source: SourceOptions
    tolerances: Tolerances
    all_combinations: bool = False
    """Race every combination of settings, however many there are."""
    any_batch: bool = False
    """The size of `batch` is for the batch dimension, whatever its name is."""
    yardstick: bool = False
    """Also measure the yardstick, by which runs are compared that share no subject."""

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """How runtimes are set up; the number of threads is always set."""
        if all(each.session.threads for each in self.given):
            return self.given
        from onnxperf.measure.machine.cores import usable_cores  # cores are counted only where something runs

        threads = usable_cores()
        return tuple(
            dataclasses.replace(each, session=replace(each.session, threads=each.session.threads or threads))
            for each in self.given
        )

    @property
    def session(self) -> SessionOptions:
        """How runtimes are set up, where no setting has several values."""
        if len(self.given) > 1:
            first = self.given[0]
            several = first.apart[0][1].partition("=")[0] if first.apart else "variants"
            raise BadOption(f"{several} has several values; `onnxperf bench` races them, `onnxperf diff` compares two")
        return self.variants[0].session

    def under(self, variant: Variant) -> Settings:
        """The same with one of the variants only."""
        return dataclasses.replace(self, given=(variant,))

    @property
    def inputs(self) -> InputOptions:
        """How inputs are made, where a dimension has one size only."""
        if len(self.sizes) > 1:
            several = next(name for name in self.sizes[0] if len({size[name] for size in self.sizes}) > 1)
            raise BadOption(f"{several} has several sizes", option="dims", expected="one size per dimension")
        return self.sized(self.sizes[0])

    def sized_as(self, dims: Mapping[str, int]) -> Settings:
        """The same with one combination of sizes only."""
        return dataclasses.replace(self, sizes=(dict(dims),))

    def sized(self, dims: Mapping[str, int], ranges: Mapping[str, tuple[float, float]] | None = None) -> InputOptions:
        """How inputs of these sizes are made; ranges that the user gave come before those of a model."""
        own = dict(dims)
        batch = own.pop(_BATCH, None) if self.any_batch else None
        return replace(self.unsized, dims=own, batch=batch, ranges={**(ranges or {}), **self.unsized.ranges})


def parse(keywords: Mapping[str, Any], takes: Takes) -> Settings:
    """The settings that keywords stand for; unknown keywords and values that make no sense are refused."""
    return settings_of(takes.complete(takes.values(keywords)))


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The values of options as records."""
    dims = {
        name: size if isinstance(size, list | tuple) else [size] for name, size in (values.get("dims") or {}).items()
    }
    if values.get("batch") is not None:
        if _BATCH in dims:
            raise BadOption("the size is given twice; leave out one of `batch` and `dims`", option="batch")
        dims[_BATCH] = values["batch"] if isinstance(values["batch"], list | tuple) else [values["batch"]]
    # A limit ends a race early only if nothing but the limit is asked for, as in a gate.
    race, limits = _pick({**values, "max_slowdown": None}, RaceOptions), _pick(values, WorkerLimits)
    check_pace(race, limits)
    return Settings(
        given=variants_in(values),
        all_combinations=bool(values.get("all_combinations")),
        sizes=tuple(_combinations(dims)),
        unsized=_pick({**values, "dims": {}, "batch": None}, InputOptions),
        any_batch=values.get("batch") is not None,
        race=race,
        limits=limits,
        source=_pick(values, SourceOptions),
        tolerances=_pick(values, Tolerances),
        yardstick=wants_yardstick(values),
    )


def wants_yardstick(values: Mapping[str, Any]) -> bool:
    """Whether later runs may be compared with this one: as given, else if it is saved."""
    given = values.get("yardstick")
    return values.get("store", False) is not False if given is None else bool(given)


def names_in(value: str | Sequence[str]) -> list[str]:
    """A comma-separated text or a sequence as a list without repetitions."""
    parts = value.split(",") if isinstance(value, str) else list(value)
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def require(condition: bool, name: str, value: object, expected: str) -> None:
    """Refuse a value that makes no sense."""
    if not condition:
        raise BadOption(option=name, value=value, expected=expected)


def check_number(cases: int) -> None:
    """Refuse more cases than could ever be run."""
    if cases > _MOST_CASES:
        raise BadOption(f"more than {count(_MOST_CASES, 'case')}; give fewer sizes, or divide the plan", option="dims")


def _combinations(dims: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    for name, sizes in dims.items():
        if not sizes:
            raise BadOption("no value given", option="dims", value=name)
        if len(set(sizes)) < len(sizes):
            twice = Counter(sizes).most_common(1)[0][0]
            raise BadOption("a size is given twice", option="dims", value=f"{name}={twice}")
    check_number(math.prod(map(len, dims.values())))
    for sizes in product(*dims.values()):
        yield _pick({"dims": dict(zip(dims, sizes, strict=True))}, InputOptions).dims


def _pick(keywords: Mapping[str, Any], record: type[T]) -> T:
    chosen = {name: value for name, value in keywords.items() if name in record.__struct_fields__}
    try:
        return msgspec.convert(chosen, record)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$.")
        name = "".join(re.findall(r"^\w+", place))
        value = chosen.get(name)
        shown = None if value is None else shortened(_text(value), _LONGEST_VALUE)
        raise BadOption(problem, option=name, value=shown) from error
    except RecursionError as error:
        raise BadOption("a value is nested too deeply", option="options") from error


def _text(value: object) -> str:
    try:
        return str(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        return "…"
