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
from os import PathLike
from typing import Any, TypedDict, TypeVar, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.api._shared.pace import check_pace, seconds_in
from onnxperf.api._shared.variants import Variant, variants_in
from onnxperf.errors import BadOption
from onnxperf.records.options import (
    STEP_TIMEOUT_S,
    InputOptions,
    OptLevel,
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
_LONGEST_VALUE = 80
"""Characters of a wrong value in an error."""

Against = Mapping[str, Any] | str | Sequence[str] | None
"""Sources of a model by name, or the names of the frameworks that a zoo model comes from."""


Setting = str | int | bool
"""A value of a session setting."""
Settled = Setting | Sequence[Setting]
"""One value, or several where variants race each other."""


SavedFile = str | PathLike[str]
"""A file of settings, as tuned.json or @tuned.json."""


class RuntimeKeywords(TypedDict, total=False):
    """How a runtime is set up; see SessionOptions."""

    threads: int | Sequence[int] | None
    provider: str | Sequence[str]
    options: Mapping[str, Settled]
    options_unchecked: Mapping[str, Settled]
    env: str | Sequence[str]


class LoadKeywords(RuntimeKeywords, total=False):
    """How a session is set up; see SessionOptions."""

    opt_level: OptLevel | Sequence[OptLevel]


class VariantKeywords(TypedDict, total=False):
    """Variants by hand, and how many may race."""

    variants: Mapping[str, Mapping[str, Setting] | SavedFile] | SavedFile | Sequence[SavedFile]
    all_combinations: bool


class FeedKeywords(TypedDict, total=False):
    """How inputs are made; see InputOptions."""

    seed: int
    dims: Mapping[str, int | Sequence[int]]
    shapes: Mapping[str, Sequence[int]]
    ranges: Mapping[str, tuple[float, float]]
    cast: bool


class InputKeywords(LoadKeywords, FeedKeywords, total=False):
    """How a session is set up, and how its inputs are made."""


class LimitKeywords(TypedDict, total=False):
    """What a worker may take; see WorkerLimits."""

    timeout: float
    memory_limit: int | str | None


class SourceKeywords(TypedDict, total=False):
    """How the source of a model is called; see SourceOptions."""

    device: str
    check_finite: bool | None


class ToleranceKeywords(TypedDict, total=False):
    """What counts as equal; see Tolerances."""

    rtol: float
    atol: float


class RaceKeywords(TypedDict, total=False):
    """How long a race takes, and what it can show; see RaceOptions."""

    time: float | None
    min_effect: float


class ContestKeywords(VariantKeywords, total=False):
    """What takes part besides the models: call styles, runtimes and sources, on which inputs."""

    call: str | Sequence[str]
    runtime: str | Sequence[str]
    feeds: Mapping[str, Any] | None
    against: Against


class CaseKeywords(
    InputKeywords, VariantKeywords, RaceKeywords, LimitKeywords, SourceKeywords, ToleranceKeywords, total=False
):
    """How the subjects of a case are raced and compared; see RaceOptions and Tolerances."""

    baseline: str | None
    warmup: float
    blocks: int | None
    calls: int | None
    split: bool
    every: float | str | None
    count: str | None
    match: Mapping[str, str | int]
    check: bool
    yardstick: bool


class PlaceKeywords(TypedDict, total=False):
    """Where something runs: on a cluster, and on which of its nodes."""

    on: str | None
    nodes: str


class BenchKeywords(ContestKeywords, CaseKeywords, PlaceKeywords, total=False):
    """What takes part in a race, and how it is measured."""


class MemoryKeywords(ContestKeywords, InputKeywords, LimitKeywords, SourceKeywords, total=False):
    """Whose memory is measured, and within which limits."""


class CheckKeywords(InputKeywords, VariantKeywords, ToleranceKeywords, LimitKeywords, total=False):
    """How two runtimes are set up, within which limits, and what counts as equal."""


class ConvertKeywords(FeedKeywords, ToleranceKeywords, total=False):
    """How a conversion is checked; every other keyword is one of the converter."""

    timeout: float


class ProfileKeywords(InputKeywords, VariantKeywords, total=False):
    """How the sessions of variants are set up, and their inputs made."""


class DiffKeywords(RuntimeKeywords, FeedKeywords, VariantKeywords, RaceKeywords, total=False):
    """How the two sides are set up and raced."""

    warmup: float
    timeout: float


class BisectKeywords(InputKeywords, VariantKeywords, RaceKeywords, LimitKeywords, ToleranceKeywords, total=False):
    """How candidates are set up and compared."""

    warmup: float


class RewriteKeywords(RuntimeKeywords, FeedKeywords, RaceKeywords, total=False):
    """How a model is raced against itself with nodes replaced."""


class EinsumKeywords(TypedDict, total=False):
    """How the fastest graph of an equation is searched."""

    opset: int
    portable: bool
    runtime: str
    threads: int | None
    time: float
    again: bool


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
        return replace(self.unsized, dims=dict(dims), ranges={**(ranges or {}), **self.unsized.ranges})


def parse(
    keywords: Mapping[str, Any], known: type, timeout: float = STEP_TIMEOUT_S, more: Sequence[str] = ()
) -> Settings:
    """The settings that keywords stand for; unknown keywords and values that make no sense are refused.

    `more` are keywords besides those that are `known`.
    """
    valid = {*get_type_hints(known), *more}
    for name in keywords:
        if name not in valid:
            raise BadOption.unknown("option", name, sorted(valid), option=name)
    dims = {
        name: size if isinstance(size, list | tuple) else [size] for name, size in (keywords.get("dims") or {}).items()
    }
    race, limits = _race(keywords), _limits({"timeout": timeout, **keywords})
    check_pace(race, limits)
    return Settings(
        given=variants_in(keywords),
        all_combinations=bool(keywords.get("all_combinations")),
        sizes=tuple(_combinations(dims)),
        unsized=_pick({**keywords, "dims": {}}, InputOptions),
        race=race,
        limits=limits,
        source=_pick(keywords, SourceOptions),
        tolerances=_tolerances(keywords),
        yardstick=bool(keywords.get("yardstick")),
    )


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


def _race(keywords: Mapping[str, Any]) -> RaceOptions:
    options = _pick({**keywords, "every": seconds_in(keywords.get("every"))}, RaceOptions)
    require(options.time is None or 0 < options.time < math.inf, "time", options.time, "more than 0 seconds")
    require(0 < options.min_effect < 1, "min_effect", options.min_effect, "between 0 and 1 (0.01 is 1 %)")
    require(0 <= options.warmup < math.inf, "warmup", options.warmup, "0 seconds or more")
    require(options.blocks is None or options.blocks >= 1, "blocks", options.blocks, "at least 1")
    require(options.calls is None or options.calls >= 1, "calls", options.calls, "at least 1")
    require(options.count in (None, "instructions"), "count", options.count, "instructions")
    return options


def _limits(keywords: Mapping[str, Any]) -> WorkerLimits:
    limit = keywords.get("memory_limit")
    limits = _pick({**keywords, "memory_limit": _amount(limit) if isinstance(limit, str) else limit}, WorkerLimits)
    require(0 < limits.timeout < math.inf, "timeout", limits.timeout, "more than 0 seconds")
    require(limits.memory_limit is None or limits.memory_limit > 0, "memory_limit", limit, "more than 0 bytes")
    return limits


def _tolerances(keywords: Mapping[str, Any]) -> Tolerances:
    tolerances = _pick(keywords, Tolerances)
    require(tolerances.rtol >= 0, "rtol", tolerances.rtol, "0 or more")
    require(tolerances.atol >= 0, "atol", tolerances.atol, "0 or more")
    return tolerances


def _amount(text: str) -> int:
    """A number of bytes, as 512MB, 2GB or 1.5GiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise BadOption(option="memory_limit", value=text, expected="an amount of memory such as 512MB or 2GB")
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** " KMGT".index(found[2].upper() or " "))


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
