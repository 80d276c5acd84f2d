"""Options, groups of options, and the options of a public function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import cleandoc, get_annotations
from textwrap import wrap
from typing import Any, ClassVar

from onnxperf.errors import BadOption
from onnxperf.wording.numbers import plain

Check = tuple[Callable[[Any], bool], str]
"""Whether a value is valid, and what is expected otherwise."""
_LONGEST_VALUE = 80
"""Maximum length of a wrong value in an error."""
_WIDTH = 100
"""Of texts that `help()` shows."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option of Python and the command line."""

    default: Any
    """May be a text that is clearer than its value, such as 1%."""
    help: str
    name: str = ""
    """Its keyword in Python."""
    type: str = ""
    """Type annotation of the keyword."""
    group: str = ""
    """Title of its group."""
    flag: str = ""
    """Its flag on the command line."""
    short: str = ""
    """Short flag, such as -o."""
    metavar: str = ""
    """Name of its value in help texts."""
    choices: tuple[str, ...] = ()
    switch: Any = None
    """Value of a flag that takes none."""
    is_file: bool = False
    """Whether its value is a file name, which shells complete."""
    read: Callable[[str], Any] | None = None
    """Converts a text to a value."""
    read_all: Callable[[Sequence[str]], Any] | None = None
    """The same, for options that may be repeated."""
    check: Check | None = None
    several: bool = False
    """Whether several values are compared, in commands that compare variants."""
    shown: str = ""
    """The default in help texts, if the value is not clear."""

    @property
    def shown_default(self) -> str:
        """The default in help texts and tables; empty if there is none."""
        if self.shown or self.switch is not None or not isinstance(self.default, str | int | float):
            return self.shown
        return plain(self.default) if isinstance(self.default, float) else str(self.default)

    @property
    def keyword(self) -> str:
        """Its keyword, with the value that the help text is about if that is False."""
        return f"{self.name}=False" if self.switch is False else self.name

    @property
    def full_help(self) -> str:
        """The help text with the default."""
        return f"{self.help} [default: {self.shown_default}]" if self.shown_default else self.help

    def value(self, given: Any) -> Any:
        """The value of a Python argument, which may be a text such as 1% or 2GB."""
        value = self._read(self.read, given) if isinstance(given, str) and self.read is not None else given
        return self.checked(value, given)

    def typed(self, given: Any) -> Any:
        """The value of a typed option: one text, or all texts if it was repeated; a switch has a fixed value."""
        if self.switch is not None:
            return self.switch
        if self.read_all is not None:
            value = self._read(self.read_all, given)
            return self.checked(value, value)
        return self.value(given)

    def checked(self, value: Any, given: Any) -> Any:
        """The value, if it is valid; an error shows it as `given`."""
        if self.choices and value is not None and value not in self.choices:
            raise BadOption.unknown(self.name.replace("_", " "), _shown(given), self.choices, option=self.name)
        if self.check is not None and value is not None:
            holds, expected = self.check
            try:
                sensible = holds(value)
            except TypeError:
                sensible = False
            if not sensible:
                raise BadOption(option=self.name, value=_shown(given), expected=expected)
        return value

    def _read(self, reader: Callable[[Any], Any], given: Any) -> Any:
        try:
            return reader(given)
        except TextError as error:
            raise BadOption(error.problem, option=self.name, value=_shown(error.text)) from error
        except ValueError as error:
            text = given if isinstance(given, str) else ",".join(given)
            raise BadOption(str(error), option=self.name, value=_shown(text)) from error


def _shown(value: object) -> str:
    """A wrong value, short enough for an error."""
    try:
        text = str(value)
    except (RecursionError, ValueError):  # nested too deeply, or a number of too many digits
        return "…"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


class TextError(ValueError):
    """One of several texts is invalid."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(problem)
        self.text, self.problem = text, problem


def option(default: Any, text: str, **more: Any) -> Any:
    """A field of a group: default, help text, and other attributes of Option."""
    return Option(default=default, help=text, **more)


class Group:
    """Related options; a subclass declares them as fields, and its docstring is the title."""

    declared: ClassVar[dict[str, Option]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the options, completed from their fields."""
        types = get_annotations(cls)
        title = (cls.__doc__ or "").removesuffix(".")
        cls.declared = {
            name: _completed(each, name, types[name], title)
            for name, each in vars(cls).items()
            if isinstance(each, Option)
        }


def _completed(declared: Option, name: str, type_: str, group: str) -> Option:
    """The option with its name, type, group and flag."""
    flag = declared.flag or "--" + name.replace("_", "-")
    switch = True if type_ == "bool" and declared.switch is None else declared.switch
    return replace(declared, name=name, type=type_, group=group, flag=flag, switch=switch)


def _with_default(declared: Option, default: Any) -> Option:
    """The option with another default; a description of the old default is dropped if it no longer applies."""
    explained = declared.shown if default is None or isinstance(default, bool) else ""
    return replace(declared, default=default, shown=explained)


class Takes:
    """The options of a public function and its command; `defaults` replaces defaults."""

    def __init__(self, *groups: type[Group], races: bool = False, **defaults: Any) -> None:
        self.groups = groups
        self.races = races
        """Whether several values of a setting are compared."""
        self.options = {
            name: _with_default(each, defaults[name]) if name in defaults else each
            for group in groups
            for name, each in group.declared.items()
        }
        unknown = defaults.keys() - self.options.keys()
        if unknown:
            raise TypeError(f"defaults of options that are not taken: {sorted(unknown)}")

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Python arguments, parsed and checked; unknown keywords are refused, and None means the default."""
        read = {name: self.find(name).value(each) for name, each in given.items()}
        return {name: each for name, each in read.items() if each is not None or self.options[name].default is None}

    def complete(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values of all options."""
        return {
            name: values[name] if name in values else each.value(each.default) for name, each in self.options.items()
        }

    def find(self, name: str) -> Option:
        """An option by its keyword."""
        if name not in self.options:
            raise BadOption.unknown("option", name, sorted(self.options), option=name)
        return self.options[name]

    def documented(self, docstring: str | None) -> str:
        """A docstring with the help texts of all options, as `help()` shows them."""
        texts = [f"{each.keyword}: {each.full_help}" for each in self]
        lines = [
            line
            for text in texts
            for line in wrap(text, _WIDTH, initial_indent="  ", subsequent_indent=" " * 6, break_on_hyphens=False)
        ]
        head = ["", "Options (NAME=VALUE is an item of a dict):"] if lines else []
        return "\n".join([cleandoc(docstring or ""), *head, *lines])

    def __iter__(self) -> Iterator[Option]:
        """All options, group by group."""
        return iter(self.options.values())


def refuse_useless(given: Mapping[str, Any], useful: Sequence[str] | frozenset[str], reason: str) -> None:
    """Refuse given options that would have no effect."""
    for name, value in given.items():
        says_nothing = value is None or value is False or (isinstance(value, str | tuple | list | dict) and not value)
        if name not in useful and not says_nothing:
            raise BadOption(f"it does nothing with {reason}; leave it out", option=name)
