"""The keywords of the public functions, and the records that they become."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, TypeVar, get_args, get_type_hints

import msgspec

from onnxperf.errors import BadOption
from onnxperf.records import InputOptions, OptLevel, RaceOptions, SessionOptions

T = TypeVar("T", SessionOptions, InputOptions, RaceOptions)


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
    limit = keywords.get("memory_limit")
    options = _pick({**keywords, "memory_limit": amount(limit) if isinstance(limit, str) else limit}, RaceOptions)
    require(options.time is None or options.time > 0, "time", options.time, "more than 0 seconds")
    require(0 < options.min_effect < 1, "min-effect", options.min_effect, "between 0 and 1 (0.01 is 1 %)")
    require(options.warmup >= 0, "warmup", options.warmup, "0 seconds or more")
    require(options.timeout > 0, "timeout", options.timeout, "more than 0 seconds")
    limit = options.memory_limit
    require(limit is None or limit > 0, "memory-limit", limit, "more than 0 bytes")
    require(options.blocks is None or options.blocks >= 1, "blocks", options.blocks, "at least 1")
    require(options.calls is None or options.calls >= 1, "calls", options.calls, "at least 1")
    require(options.rtol >= 0, "rtol", options.rtol, "0 or more")
    require(options.atol >= 0, "atol", options.atol, "0 or more")
    return options


def amount(text: str, option: str = "memory-limit") -> int:
    """A number of bytes, as 512MB, 2GB or 1.5GiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise BadOption(f"--{option} {text}: expected an amount of memory such as 512MB or 2GB")
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** " KMGT".index(found[2].upper() or " "))


def check_keywords(keywords: Mapping[str, Any], known: type) -> None:
    """Refuse keywords that do not exist."""
    valid = get_type_hints(known)
    for name in keywords:
        if name not in valid:
            raise BadOption.unknown("option", name, sorted(valid))


def names_in(value: str | Sequence[str]) -> list[str]:
    """A comma-separated text or a sequence as a list without repetitions."""
    parts = value.split(",") if isinstance(value, str) else list(value)
    return list(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _pick(keywords: Mapping[str, Any], record: type[T]) -> T:
    chosen = {name: value for name, value in keywords.items() if name in record.__struct_fields__}
    if "opt_level" in chosen and chosen["opt_level"] not in get_args(OptLevel):
        raise BadOption.unknown("optimisation level", chosen["opt_level"], get_args(OptLevel))
    try:
        return msgspec.convert(chosen, record)
    except msgspec.ValidationError as error:
        raise BadOption(f"{error}") from error


def require(condition: bool, name: str, value: object, expected: str) -> None:
    """Refuse a value that makes no sense."""
    if not condition:
        raise BadOption(f"--{name} {value}: expected {expected}")
