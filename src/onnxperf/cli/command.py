"""Commands made from the options of their functions: flags, help, and typed values as keywords."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from cyclopts import Group as Panel
from cyclopts import Parameter

from onnxperf.cli.present import Output
from onnxperf.options import output as of
from onnxperf.options.base import Group, Option, Takes
from onnxperf.options.spelling import plain_flags

if TYPE_CHECKING:
    File = str
    OptionalFile = str | None
else:  # values stay texts, for str comes first; Path lets shells complete the names of files
    File = Annotated[str | Path, Parameter(metavar="FILE")]
    OptionalFile = Annotated[str | Path | None, Parameter(metavar="FILE")]

PRINTED = (of.Quiet, of.Debugging)
WRITTEN = (of.Files, *PRINTED)
KEPT = (*WRITTEN, of.Keeping)
"""For commands whose runs are saved; their functions take the store and the tags."""

_TYPED = "typed"
_METAVARS = (("float", "NUMBER"), ("int", "N"), ("str", "TEXT"))
PANELS = ("Inputs", "Session", "Race", "Limits", "Comparison", "Source", "Cluster", "Store", "Output")
"""Groups in the order of help texts; those that only one command has come first."""


@dataclass(frozen=True)
class Typed:
    """The typed options, read and checked."""

    keywords: dict[str, Any]
    """Given options of the public function, and where the run is saved."""
    own: dict[str, Any]
    """Options of the command line only, all of them."""
    output: Output


def command(
    takes: Takes, *groups: type[Group], common: Sequence[str] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a function the flags of the options, which it receives as `typed`; help shows the `common` ones first."""
    extra = Takes(*groups)
    options = {**takes.options, **extra.options}

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        signature, hints = inspect.signature(function), get_type_hints(function, include_extras=True)
        arguments = [
            each.replace(annotation=hints[name]) for name, each in signature.parameters.items() if name != _TYPED
        ]

        def call(*given: Any, **flags: Any) -> int:
            own = {name: flags.pop(name) for name in list(flags) if name not in options}
            typed = {name: options[name].typed(each) for name, each in flags.items() if each is not None}
            return function(*given, **own, **{_TYPED: _typed(takes, extra, typed)})

        parameters = [*arguments, *(_parameter(each, takes.races) for each in options.values())]
        vars(call).update(
            __signature__=signature.replace(parameters=parameters), takes=takes, extra=extra, common=tuple(common)
        )
        call.__name__, call.__doc__, call.__module__ = function.__name__, function.__doc__, function.__module__
        call.__annotations__ = {}
        return call

    return decorate


def _typed(takes: Takes, extra: Takes, values: Mapping[str, Any]) -> Typed:
    own = extra.complete(values)
    keywords = {name: value for name, value in values.items() if name in takes.options}
    if "no_store" in own:  # the command line saves by default
        keywords["store"] = False if own["no_store"] else keywords.get("store", True)
    return Typed(keywords, own, Output(**{name: own[name] for name in Output.__dataclass_fields__ if name in own}))


def _parameter(option: Option, races: bool) -> inspect.Parameter:
    """An option as cyclopts reads it; every value is a text, which the option parses."""
    described = Parameter(
        name=[option.flag, *filter(None, [option.short])],
        help=help_text(option, races),
        group=Panel(option.group, sort_key=PANELS.index(option.group) + 1 if option.group in PANELS else 0),
        metavar=metavar_of(option),
        negative=(),
        show_default=False,
        show_choices=False,
        consume_multiple=False,
        allow_leading_hyphen=option.is_file,
    )
    annotation: Any = Annotated[_type_of(option), described]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def metavar_of(option: Option) -> str | None:
    """What help texts write for a value."""
    if option.metavar:
        return option.metavar
    if option.choices:
        return "|".join(option.choices)
    if option.is_file:
        return "FILE"
    return next((name for kind, name in _METAVARS if kind in option.type), None)


def help_text(option: Option, races: bool) -> str:
    """What an option is for, and its default."""
    default = option.shown_default
    return plain_flags(purpose(option, races)) + (f" [default: {default}]" if default else "")


def purpose(option: Option, races: bool) -> str:
    """What an option is for, and whether several of its values are compared."""
    return f"{option.help} Separate several values with commas." if races and option.several else option.help


def _type_of(option: Option) -> Any:
    if option.switch is not None:
        return bool | None
    one: Any = File if option.is_file else Literal[option.choices] if option.choices else str
    return list[one] | None if option.read_all is not None else one | None
