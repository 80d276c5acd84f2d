"""Settings that may differ between subjects: their names, their values, and the variants that several values make."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, get_args

import msgspec
from msgspec.structs import asdict

from onnxperf.api._shared.exchanged import check_exchanged
from onnxperf.errors import BadInput, BadOption
from onnxperf.records.options import ArenaSetting, ExecutionMode, ExecutionOrder, OptLevel, SessionOptions
from onnxperf.records.tune import SAVED_VERSION, TunedSettings
from onnxperf.wording.names import shortened

_MOST_THREADS = 1024
"""A pool of more would only fill the system's table of processes."""
_OF_NODES = "session.intra_op."
"""Settings of the pool that everybody means, where the one between nodes has the same."""
_JOINED = "+"
"""Between the names of a list, which is one value: commas stand between several values."""
_LONGEST_VALUE = 80
"""Characters of a wrong value in an error."""
_LARGEST_FILE = 1 << 20
_SWITCHES = {"on": True, "off": False, "1": True, "0": False, "true": True, "false": False}


@dataclass(frozen=True)
class Variant:
    """Settings under which a model becomes subjects."""

    session: SessionOptions
    name: str = ""
    """Given by hand; empty if several values of settings made it."""
    apart: tuple[tuple[str, str], ...] = ()
    """Fields of SessionOptions in which it differs from the other variants of its race, each with a text."""
    runtime: str = ""
    call: str = ""
    """Runtime and call style, where a variant made by hand has its own."""
    unchecked: frozenset[str] = field(default_factory=frozenset)
    """Config entries that are newer than what onnxperf knows, and were given as such."""

    @property
    def label(self) -> str:
        """Its name, or what sets it apart from the other variants."""
        return self.name or " ".join(text for _, text in self.apart)


def variants_in(keywords: Mapping[str, Any]) -> tuple[Variant, ...]:
    """The variants that the keywords of a public function stand for; one where no setting has several values."""
    choices = {name: _several(name, keywords[name]) for name in _USUAL if name in keywords}
    unchecked = _mapping("options_unchecked", keywords)
    for name, value in (_mapping("options", keywords) | unchecked).items():
        plain = whole_name(name)
        if plain in choices and choices[plain] != [_USUAL.get(plain)]:
            raise BadOption(f"{plain} is given twice", option="options", value=name)
        choices[plain] = _several(name, value)
    names = _short_names([name for name, values in choices.items() if len(values) > 1])
    combinations = [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]
    found = tuple(
        Variant(
            session_of(each, frozenset(unchecked)),
            apart=tuple((_place(name).field, _named(short, each[name])) for name, short in names.items()),
            unchecked=frozenset(unchecked),
        )
        for each in combinations
    )
    by_hand = _variants(keywords.get("variants"))
    if by_hand and names:
        raise BadOption("several values of a setting cannot be combined with named variants", option="variants")
    common = (combinations[0], frozenset(unchecked))
    return tuple(_by_hand(name, each, *common) for name, each in by_hand.items()) or found


def session_of(settings: Mapping[str, Any], unchecked: frozenset[str] = frozenset()) -> SessionOptions:
    """Session options with these settings; a name or a value that is not valid is refused."""
    values: dict[str, Any] = {}
    for name, value in settings.items():
        place = _Place("options", name) if name in unchecked else _place(name)
        converted = place.convert(name, value)
        values[place.field] = {**values.get(place.field, {}), place.key: converted} if place.key else converted
    return msgspec.convert(values, SessionOptions)


def named_settings(session: SessionOptions) -> dict[str, str]:
    """The settings that differ from their defaults, by the names that users give them."""
    usual = asdict(SessionOptions())
    found: dict[str, str] = {}
    for name, value in asdict(session).items():
        if value == usual[name]:
            continue
        if isinstance(value, dict):
            found |= {f"{_PREFIX_OF.get(name, '')}{key}": _text(each) for key, each in value.items()}
        else:
            found[name] = _text(value)
    return found


def _variants(given: Any) -> dict[str, Any]:
    """Settings by name; files of settings have the names of the files."""
    if isinstance(given, Mapping):
        return {str(name): each for name, each in given.items()}
    files = given if isinstance(given, list | tuple) else [] if given is None else [given]
    if not all(isinstance(each, str | os.PathLike) for each in files):
        raise BadOption(option="variants", value=_shown(given), expected="settings by name, or files of settings")
    found = {saved_name(each): each for each in files}
    if len(found) < len(files):
        raise BadOption("two files of settings have the same name; give settings by name", option="variants")
    return found


def _by_hand(name: str, settings: object, common: Mapping[str, Any], unchecked: frozenset[str]) -> Variant:
    if isinstance(settings, str | os.PathLike):
        settings = all_settings(saved_settings(settings))
    if not isinstance(settings, Mapping):
        raise BadOption("expected settings by name", option="variants", value=name)
    own = {whole_name(str(key)): value for key, value in settings.items()}
    runtime, call = (str(own.pop(key, "")) for key in ("runtime", "call"))
    session = session_of({**common, **own}, unchecked)
    return Variant(session, name, runtime=runtime, call=call, unchecked=unchecked)


# ---------------------------------------------------------------- files of settings


def saved_path(file: str | os.PathLike[str]) -> Path:
    """The path of a file of settings, which may be written as @FILE."""
    return Path(os.fspath(file).removeprefix("@"))


def saved_name(file: str | os.PathLike[str]) -> str:
    """What a file of settings is called, without .settings.json."""
    return saved_path(file).name.removesuffix(".json").removesuffix(".settings")


def saved_settings(file: str | os.PathLike[str]) -> TunedSettings:
    """Settings from a file that `onnxperf tune` wrote; one that could make a session run other code is refused."""
    path = saved_path(file)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise BadInput(f"{str(path)!r} is too large for a file of settings")
        saved = msgspec.json.decode(path.read_bytes(), type=TunedSettings)
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{str(path)!r} is not a file of settings: {error}") from error
    if saved.version > SAVED_VERSION:
        raise BadInput(f"{str(path)!r} was written by a newer onnxperf; update onnxperf")
    check_exchanged(saved.settings, saved.runtime, repr(str(path)))
    session_of(saved.settings)  # refuses values that make no sense
    return saved


def all_settings(saved: TunedSettings) -> dict[str, str]:
    """Settings with runtime and call style, as a variant by hand has them."""
    kinds = {"runtime": saved.runtime, "call": saved.call}
    return {**saved.settings, **{name: each for name, each in kinds.items() if each}}


# ---------------------------------------------------------------- names and values


class _Place(NamedTuple):
    """Where a setting goes."""

    field: str
    key: str = ""
    """In a field that has a value by name."""

    def convert(self, name: str, value: Any) -> Any:
        """A value as Python or a text gives it, in its own type."""
        convert = _CONVERTED.get(self.field)
        if convert is None:
            return "1" if value is True else "0" if value is False else str(value)
        try:
            return convert(value)
        except ValueError as error:
            raise BadOption(option=name, value=_shown(value), expected=str(error)) from error


def _place(name: str) -> _Place:
    if name in _CONVERTED and name not in _PREFIXES.values():
        return _Place(name)
    for prefix, within in _PREFIXES.items():
        if name.startswith(prefix):
            return _Place(within, name.removeprefix(prefix))
    if "." not in name:
        raise BadOption.unknown("setting", name, sorted({*_CONVERTED} - {*_PREFIXES.values()}), option="options")
    from onnxperf.runtimes.ort.config_keys import RUN_KEYS

    return _Place("run_options" if name in {entry.name for entry in RUN_KEYS} else "options", name)


def whole_name(name: str) -> str:
    """Our name of a setting for onnxruntime's own, and the whole name of a config entry for its last part."""
    if name in _ALIASES or name in _CONVERTED or "." in name or name in ("runtime", "call"):
        return _ALIASES.get(name, name)
    from onnxperf.runtimes.ort.config_keys import RUN_KEYS, SESSION_KEYS

    found = [each.name for each in (*SESSION_KEYS, *RUN_KEYS) if each.name.rpartition(".")[2] == name]
    chosen = [each for each in found if each.startswith(_OF_NODES)] or found
    return chosen[0] if len(chosen) == 1 else name


def _named(name: str, value: Any) -> str:
    """A setting and its value; an environment speaks for itself."""
    return _text(value) if name == "env" else f"{name}={_text(value)}"


def _short_names(names: Sequence[str]) -> dict[str, str]:
    """The last part of a config entry's name, where it sets it apart."""
    last = [name.rpartition(".")[2] for name in names]
    return {name: short if last.count(short) == 1 else name for name, short in zip(names, last, strict=True)}


def _several(name: str, value: Any) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values:
        raise BadOption("no value given", option=name)
    texts = [_text(each) for each in values]
    twice = next((text for text in texts if texts.count(text) > 1), None)
    if twice is not None:
        raise BadOption("a value is given twice", option=name, value=_shown(twice))
    return values


def _mapping(name: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
    value = keywords.get(name) or {}
    if not isinstance(value, Mapping):
        raise BadOption(option=name, value=_shown(value), expected="values by name")
    return {str(key): each for key, each in value.items()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return _JOINED.join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _shown(value: Any) -> str:
    return shortened(_text(value), _LONGEST_VALUE)


def _threads(value: Any) -> int | None:
    if value is None:
        return None
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= _MOST_THREADS:
        raise ValueError(f"a whole number from 1 to {_MOST_THREADS}")
    return int(text)


def _size(value: Any) -> int:
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdigit()):
        raise ValueError("a whole number that is not negative")
    return int(text)


def _switch(value: Any) -> bool:
    if not isinstance(value, bool) and str(value).lower() not in _SWITCHES:
        raise ValueError("on or off")
    return value if isinstance(value, bool) else _SWITCHES[str(value).lower()]


def _one_of(kind: Any, what: str, option: str) -> Callable[[Any], str]:
    words = get_args(kind)

    def convert(value: Any) -> str:
        if value not in words:
            raise BadOption.unknown(what, _shown(value), words, option=option)
        return str(value)

    return convert


def _arena(value: Any) -> str:
    is_switch = isinstance(value, bool) or str(value).lower() in _SWITCHES
    return (
        ("default" if _switch(value) else "off")
        if is_switch
        else _one_of(ArenaSetting, "setting of the arena", "options")(value)
    )


def _names(value: Any) -> tuple[str, ...]:
    parts = value.split(_JOINED) if isinstance(value, str) else value
    if not isinstance(parts, list | tuple):
        raise ValueError(f"names with {_JOINED} between them")
    return tuple(part for part in map(str, parts) if part not in ("", "none"))


_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "threads": _threads,
    "inter_op_threads": _threads,
    "opt_level": _one_of(OptLevel, "optimization level", "opt_level"),
    "provider": str,
    "env": str,
    "arena": _arena,
    "execution_mode": _one_of(ExecutionMode, "execution mode", "options"),
    "execution_order": _one_of(ExecutionOrder, "execution order", "options"),
    "mem_pattern": _switch,
    "mem_reuse": _switch,
    "deterministic": _switch,
    "disabled_optimizers": _names,
    "custom_ops": _names,
    "fixed_dims": _size,
}
"""Fields of SessionOptions with a type of their own; all others are texts by name."""
_USUAL = {"env": "", "threads": None, "provider": "cpu", "opt_level": "all"}
"""Settings that are keywords of their own, and what stands for no wish."""
_PREFIXES = {"provider.": "provider_options", "run.": "run_options", "dim.": "fixed_dims"}
_PREFIX_OF = {field: prefix for prefix, field in _PREFIXES.items()}
_ALIASES = {
    "intra_op_num_threads": "threads",
    "inter_op_num_threads": "inter_op_threads",
    "graph_optimization_level": "opt_level",
    "enable_cpu_mem_arena": "arena",
    "enable_mem_pattern": "mem_pattern",
    "enable_mem_reuse": "mem_reuse",
    "use_deterministic_compute": "deterministic",
}
"""Onnxruntime's own names."""
