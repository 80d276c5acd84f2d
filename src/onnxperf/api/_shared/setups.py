"""Runtimes under variants: the set-ups that a request stands for, and what their subjects are called."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple

from msgspec.structs import asdict

from onnxperf.api._shared.requests import Settings, names_in
from onnxperf.api._shared.variants import Variant
from onnxperf.errors import BadOption
from onnxperf.records.envs import Environment
from onnxperf.records.options import SessionOptions
from onnxperf.render.kit.complaints import complain
from onnxperf.runtimes.base import RuntimeDescription
from onnxperf.runtimes.find import find_runtime
from onnxperf.runtimes.ort import config_keys
from onnxperf.wording.numbers import count, time_text

_MOST_SUBJECTS = 32
_SECONDS_EACH = 1.3
"""Of a subject in a race: its part of five launches and twenty rounds, roughly."""


class Setup(NamedTuple):
    """A runtime under one variant, with the call styles that share its session."""

    runtime: str
    calls: tuple[str, ...]
    session: SessionOptions
    name: str = ""
    """What sets it apart from other set-ups of its runtime."""
    by_hand: bool = False
    """The user has chosen that name."""


def setups_of(runtime: str | Sequence[str], call: str | Sequence[str], settings: Settings) -> list[Setup]:
    """Every runtime under every variant; one that only settings without an effect on it set apart is there once."""
    setups: list[Setup] = []
    for variant in settings.variants:
        runtimes, calls = names_in(variant.runtime or runtime), names_in(variant.call or call)
        for description, styles in _chosen_calls(runtimes, calls):
            setup = _setup(description, styles, variant)
            known = [(each.runtime, each.session) for each in setups]
            if setup.by_hand or (setup.runtime, setup.session) not in known:
                setups.append(setup)
    _refuse_too_many(setups, settings)
    return setups


def only_setup(runtime: str, call: str, settings: Settings) -> Setup:
    """The set-up of a request that has one only."""
    _ = settings.session  # refuses several values
    return setups_of([runtime], [call], settings)[0]


def _setup(description: RuntimeDescription, styles: tuple[str, ...], variant: Variant) -> Setup:
    effective = {name: value for name, value in asdict(variant.session).items() if name in description.settings}
    session = SessionOptions(**effective)
    description.check_options(session)
    if description.name == "ort":
        _check_names(session, variant.unchecked)
    apart = " ".join(text for field, text in variant.apart if field in description.settings)
    return Setup(description.name, styles, session, variant.name or apart, by_hand=bool(variant.name))


def _check_names(session: SessionOptions, unchecked: Collection[str]) -> None:
    """Refuse config entries and optimisers that the onnxruntime of a session would ignore."""
    if not (session.options or session.run_options or session.disabled_optimizers):
        return
    version = _version_for(session)
    for key, value in session.options.items():
        if key not in unchecked:
            config_keys.check_key(key, version, [session.provider])
            config_keys.check_value(key, value)
    for key, value in session.run_options.items():
        config_keys.check_key(key, version, [session.provider], run=True)
        config_keys.check_value(key, value)
    for name in session.disabled_optimizers:
        config_keys.check_optimizer(name, version, [session.provider])


def _version_for(session: SessionOptions) -> str:
    """The version of onnxruntime that a session will use."""
    if not session.env:
        from onnxperf.runtimes.ort.session import VERSION  # the library is large, and not always needed

        return VERSION
    packages = environment_of(session.env).packages
    return next((text for name, text in packages.items() if name.startswith("onnxruntime")), config_keys.NEWEST)


def interpreter_of(session: SessionOptions) -> str | None:
    """The Python of a session's environment, which is built first where it is not there; None means our own."""
    return environment_of(session.env).python if session.env else None


@cache
def environment_of(text: str) -> Environment:
    """An environment; that it is being built is said once."""
    from onnxperf.environments.find import environment, planned

    if planned(text) is None:
        complain(f"building the environment {text}, which is kept (`onnxperf envs` lists all)")
    return environment(text)


def _chosen_calls(runtimes: Sequence[str], calls: Sequence[str]) -> list[tuple[RuntimeDescription, tuple[str, ...]]]:
    """The call styles of each runtime; `all` means all that it has, and a runtime with one style always uses that."""
    found = [find_runtime(runtime) for runtime in runtimes or [""]]
    known = list(dict.fromkeys(call for each in found for call in each.call_names))
    for call in calls or [""]:
        if call not in (*known, "all"):
            raise BadOption.unknown("call style", call, [*known, "all"], option="call")
    return [(each, _calls_of(each, calls)) for each in found]


def _calls_of(runtime: RuntimeDescription, calls: Sequence[str]) -> tuple[str, ...]:
    if "all" in calls or len(runtime.calls) == 1:
        return runtime.call_names
    styles = tuple(call for call in calls if call in runtime.call_names)
    if not styles:
        raise BadOption.unknown(f"call style of {runtime.name}", ",".join(calls), runtime.call_names, option="call")
    return styles


def _refuse_too_many(setups: Sequence[Setup], settings: Settings) -> None:
    number = sum(len(setup.calls) for setup in setups)
    if number > _MOST_SUBJECTS and not settings.all_combinations:
        duration = time_text(1e9 * _SECONDS_EACH * number)
        raise BadOption(
            f"{count(number, 'combination')} would take about {duration} per race; give fewer values, or add "
            "`all_combinations`"
        )


def subject_names(setups: Sequence[Setup]) -> list[list[str]]:
    """What sets the subjects of each set-up apart from all others: runtime, call style, and settings."""
    return [[_subject_name(setup, style, setups) for style in setup.calls] for setup in setups]


def _subject_name(setup: Setup, style: str, setups: Sequence[Setup]) -> str:
    same = [each for each in setups if each.name == setup.name] if setup.by_hand else setups
    several = len({(each.runtime, call) for each in same for call in each.calls}) > 1
    own = _own_name(setup.runtime, style, setups) if several or not setup.name else ""
    return " ".join(filter(None, [own, setup.name]))


def _own_name(runtime: str, style: str, setups: Sequence[Setup]) -> str:
    """A call style where its runtime has several of them here, else the runtime."""
    styles: dict[str, set[str]] = defaultdict(set)
    for setup in setups:
        styles[setup.runtime].update(setup.calls)
    if len(styles[runtime]) == 1:
        return runtime
    elsewhere = (each for name, each in styles.items() if name != runtime and len(each) > 1)
    return f"{runtime} {style}" if any(style in each for each in elsewhere) else style
