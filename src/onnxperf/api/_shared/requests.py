"""The keywords of the public functions, and the records that they become."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypedDict, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.errors import BadOption
from onnxperf.measure.machine.describe import usable_cores
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

T = TypeVar("T", bound=Struct)


class RuntimeKeywords(TypedDict, total=False):
    """How a runtime is set up; see SessionOptions."""

    threads: int | None
    provider: str
    options: Mapping[str, str]


class LoadKeywords(RuntimeKeywords, total=False):
    """How a session is set up; see SessionOptions."""

    opt_level: OptLevel


class FeedKeywords(TypedDict, total=False):
    """How inputs are made; see InputOptions."""

    seed: int
    dims: Mapping[str, int | Sequence[int]]
    shapes: Mapping[str, Sequence[int]]
    ranges: Mapping[str, tuple[float, float]]
    cast: bool


class InputKeywords(LoadKeywords, FeedKeywords, total=False):
    """How a session is set up, and how its inputs are made."""


class DiffKeywords(RuntimeKeywords, FeedKeywords, total=False):
    """How the two sides are raced; see RaceOptions."""

    time: float | None
    min_effect: float
    warmup: float
    timeout: float


class RewriteKeywords(RuntimeKeywords, FeedKeywords, total=False):
    """How a model is raced against itself with nodes replaced."""

    time: float | None
    min_effect: float


class EinsumKeywords(TypedDict, total=False):
    """How the fastest graph of an equation is searched."""

    opset: int
    portable: bool
    runtime: str
    threads: int | None
    time: float
    again: bool


class CheckKeywords(InputKeywords, total=False):
    """What counts as equal."""

    rtol: float
    atol: float


class BenchKeywords(InputKeywords, total=False):
    """How subjects are raced; see RaceOptions."""

    baseline: str | None
    time: float | None
    min_effect: float
    warmup: float
    timeout: float
    memory_limit: int | str | None
    blocks: int | None
    calls: int | None
    split: bool
    rtol: float
    atol: float
    match: Mapping[str, str | int]
    device: str
    check_finite: bool


class MemoryKeywords(InputKeywords, total=False):
    """What a subject may need, and where its source runs; see RaceOptions."""

    timeout: float
    memory_limit: int | str | None
    device: str
    check_finite: bool


@dataclass(frozen=True)
class Settings:
    """The keywords of a public function, parsed once: every option has one place."""

    session: SessionOptions
    """How runtimes are set up; the number of threads is always set."""
    sizes: tuple[dict[str, int], ...]
    """Every combination of the sizes of dimensions; a single empty one where none was given."""
    unsized: InputOptions
    """How inputs are made, without the sizes of dimensions."""
    race: RaceOptions
    limits: WorkerLimits
    source: SourceOptions
    tolerances: Tolerances

    @property
    def inputs(self) -> InputOptions:
        """How inputs are made, where a dimension has one size only."""
        if len(self.sizes) > 1:
            several = next(name for name in self.sizes[0] if len({size[name] for size in self.sizes}) > 1)
            raise BadOption(f"{several} has several sizes", option="dims", expected="one size per dimension")
        return self.sized(self.sizes[0])

    def sized(self, dims: Mapping[str, int], ranges: Mapping[str, tuple[float, float]] | None = None) -> InputOptions:
        """How inputs of these sizes are made; ranges that the user gave come before those of a model."""
        return replace(self.unsized, dims=dict(dims), ranges={**(ranges or {}), **self.unsized.ranges})


def parse(keywords: Mapping[str, Any], known: type, timeout: float = STEP_TIMEOUT_S) -> Settings:
    """The settings that keywords stand for; unknown keywords and values that make no sense are refused."""
    check_keywords(keywords, known)
    session = session_options(keywords)
    dims = {
        name: size if isinstance(size, list | tuple) else [size] for name, size in (keywords.get("dims") or {}).items()
    }
    return Settings(
        session=session if session.threads else replace(session, threads=usable_cores()),
        sizes=tuple(_combinations(dims)),
        unsized=_pick({**keywords, "dims": {}}, InputOptions),
        race=race_options(keywords),
        limits=limits_of({"timeout": timeout, **keywords}),
        source=_pick(keywords, SourceOptions),
        tolerances=tolerances_of(keywords),
    )


def _combinations(dims: Mapping[str, Sequence[int]]) -> Iterator[dict[str, int]]:
    for name, sizes in dims.items():
        if not sizes:
            raise BadOption("no value given", option="dims", value=name)
        if len(set(sizes)) < len(sizes):
            raise BadOption("a size is given twice", option="dims", value=f"{name}={','.join(map(str, sizes))}")
    for sizes in product(*dims.values()):
        yield _pick({"dims": dict(zip(dims, sizes, strict=True))}, InputOptions).dims


def session_options(keywords: Mapping[str, Any]) -> SessionOptions:
    """The keywords that concern the session, checked."""
    options = _pick(keywords, SessionOptions)
    if options.threads is not None:
        require(options.threads >= 1, "threads", options.threads, "at least 1")
    return options


def input_options(keywords: Mapping[str, Any]) -> InputOptions:
    """The keywords that concern the inputs."""
    return _pick(keywords, InputOptions)


def race_options(keywords: Mapping[str, Any]) -> RaceOptions:
    """The keywords that concern the race, checked."""
    options = _pick(keywords, RaceOptions)
    require(options.time is None or options.time > 0, "time", options.time, "more than 0 seconds")
    require(0 < options.min_effect < 1, "min_effect", options.min_effect, "between 0 and 1 (0.01 is 1 %)")
    require(options.warmup >= 0, "warmup", options.warmup, "0 seconds or more")
    require(options.blocks is None or options.blocks >= 1, "blocks", options.blocks, "at least 1")
    require(options.calls is None or options.calls >= 1, "calls", options.calls, "at least 1")
    return options


def limits_of(keywords: Mapping[str, Any]) -> WorkerLimits:
    """The keywords that limit a worker, checked."""
    limit = keywords.get("memory_limit")
    limits = _pick({**keywords, "memory_limit": amount(limit) if isinstance(limit, str) else limit}, WorkerLimits)
    require(limits.timeout > 0, "timeout", limits.timeout, "more than 0 seconds")
    require(limits.memory_limit is None or limits.memory_limit > 0, "memory_limit", limit, "more than 0 bytes")
    return limits


def source_options(keywords: Mapping[str, Any]) -> SourceOptions:
    """The keywords that concern the source of a model."""
    return _pick(keywords, SourceOptions)


def tolerances_of(keywords: Mapping[str, Any]) -> Tolerances:
    """The keywords that say what counts as equal, checked."""
    tolerances = _pick(keywords, Tolerances)
    require(tolerances.rtol >= 0, "rtol", tolerances.rtol, "0 or more")
    require(tolerances.atol >= 0, "atol", tolerances.atol, "0 or more")
    return tolerances


def amount(text: str, option: str = "memory_limit") -> int:
    """A number of bytes, as 512MB, 2GB or 1.5GiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise BadOption(option=option, value=text, expected="an amount of memory such as 512MB or 2GB")
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** " KMGT".index(found[2].upper() or " "))


def check_keywords(keywords: Mapping[str, Any], known: type) -> None:
    """Refuse keywords that do not exist."""
    valid = get_type_hints(known)
    for name in keywords:
        if name not in valid:
            raise BadOption.unknown("option", name, sorted(valid), option=name)


def names_in(value: str | Sequence[str]) -> list[str]:
    """A comma-separated text or a sequence as a list without repetitions."""
    parts = value.split(",") if isinstance(value, str) else list(value)
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _pick(keywords: Mapping[str, Any], record: type[T]) -> T:
    chosen = {name: value for name, value in keywords.items() if name in record.__struct_fields__}
    if "opt_level" in chosen and chosen["opt_level"] not in get_args(OptLevel):
        raise BadOption.unknown("optimisation level", chosen["opt_level"], get_args(OptLevel), option="opt_level")
    try:
        return msgspec.convert(chosen, record)
    except msgspec.ValidationError as error:
        raise BadOption(f"{error}") from error


def require(condition: bool, name: str, value: object, expected: str) -> None:
    """Refuse a value that makes no sense."""
    if not condition:
        raise BadOption(option=name, value=value, expected=expected)
