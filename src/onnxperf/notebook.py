"""The IPython extension: `%load_ext onnxperf` adds `%onnxview` and `%%onnxbench`."""

from __future__ import annotations

import ast
import re
import shlex
from argparse import ArgumentParser
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NamedTuple, NoReturn, cast

from IPython.core.error import UsageError

from onnxperf.errors import BadOption, OnnxperfError
from onnxperf.options import shared
from onnxperf.options.base import Option, Takes, refuse_useless
from onnxperf.options.functions import BENCH, VIEW, Listed, Race
from onnxperf.options.spelling import plain_flags
from onnxperf.results.bench import BenchResult
from onnxperf.results.view import ViewResult
from onnxperf.wording.names import one_line, visible


def load(shell: Any) -> None:
    """Add the two magics to an IPython shell."""
    shell.register_magic_function(partial(onnxview, shell), "line", "onnxview")
    shell.register_magic_function(partial(onnxbench, shell), "cell", "onnxbench")


def onnxview(shell: Any, line: str) -> ViewResult:
    """Show a model: as a drawing that pans and zooms, or in another form."""
    import onnxperf

    with _one_line():
        given = _VIEW.read(line)
        keywords = given.keywords | _feeds(shell, given)
        if "by" in keywords:
            keywords.setdefault("profile", True)
        usual = "text" if Listed.declared.keys() & keywords else "json" if "values" in keywords else "svg"
        return onnxperf.view(_value(shell, given.model), as_=cast("Any", given.form or usual), **keywords)


def onnxbench(shell: Any, line: str, cell: str) -> BenchResult:
    """Race the lines of a cell, each in a separate process; a model in the first line takes part as well."""
    import onnxperf

    with _one_line():
        given = _BENCH.read(line)
        subjects = _subjects(cell, shell.user_ns)
        if not given.model:
            if given.feeds:
                raise UsageError(f"--feeds: it has no effect in {_NO_MODEL}; leave it out")
            refuse_useless(given.keywords, _WITHOUT_MODEL, _NO_MODEL)
            return onnxperf.bench(subjects, **given.keywords)
        keywords = given.keywords | _feeds(shell, given)
        against = {name: _without_arguments(each) for name, each in subjects.items()}
        return onnxperf.bench(_value(shell, given.model), against=against, **keywords)


class _Given(NamedTuple):
    """What the line of a magic contains."""

    model: str
    """An expression or a path; empty if none is given."""
    feeds: str
    """The name of a variable."""
    form: str
    keywords: dict[str, Any]
    """Options for the public function."""


class _Magic(ArgumentParser):
    """The options of a magic are those of its function; errors are one line."""

    def __init__(self, name: str, takes: Takes, without: Collection[str] = (), draws: bool = False) -> None:
        super().__init__(name, add_help=False, allow_abbrev=False)
        self._taken = [each for each in takes if each.name not in without]
        self.add_argument("model", default="", nargs=None if draws else "?")
        self.flags = [*(each.flag for each in self._taken), "--feeds", *(["--as"] if draws else [])]
        self.add_argument("--feeds", dest="variable", default="")
        if draws:
            self.add_argument("--as", dest="form", default="")
        for each in self._taken:
            self.add_argument(each.flag, dest=each.name, action=_action(each), default=None)

    def read(self, line: str) -> _Given:
        """Parse the options in the line of a magic; the text before them stays as it is, and may contain quotes."""
        start = _FIRST_OPTION.search(line)
        expression, options = (line[: start.start()], line[start.start() :]) if start else (line, "")
        try:
            found, unknown = self.parse_known_args([*filter(None, [expression.strip()]), *shlex.split(options)])
        except ValueError as error:
            raise UsageError(f"{self.prog}: {error}") from None
        if unknown:
            raise BadOption.unknown(f"option of {self.prog}", unknown[0], sorted(self.flags))
        texts = ((each, getattr(found, each.name)) for each in self._taken)
        keywords = {each.name: each.typed(text) for each, text in texts if text is not None}
        return _Given(found.model, found.variable, getattr(found, "form", ""), keywords)

    def error(self, message: str) -> NoReturn:
        """Refuse."""
        raise UsageError(f"{self.prog}: {message}")


def _action(option: Option) -> str:
    if option.switch is not None:
        return "store_true"
    return "append" if option.read_all is not None else "store"


_IN_PATHS = (ast.Expression, ast.Name, ast.Attribute, ast.BinOp, ast.Div, ast.Sub, ast.Constant, ast.expr_context)
"""The syntax nodes of a path such as models/net-2.onnx that is read as Python."""
_FIRST_OPTION = re.compile(r"(^|\s)--[a-z]")

_VIEW = _Magic("%onnxview", VIEW, draws=True)
_BENCH = _Magic("%%onnxbench", BENCH, without=("against", "resume", "retry", "store", "tags"))
"""The cell holds the subjects that the model races against; a result is a notebook variable, and is not saved."""
_NO_MODEL = "a cell without a model (name one in the first line)"
_WITHOUT_MODEL = frozenset(
    (
        *shared.Time.declared,
        *shared.Effect.declared,
        *shared.Warmup.declared,
        *shared.Yardstick.declared,
        *shared.MaxSlowdown.declared,
        *shared.Limits.declared,
        *Race.declared,
        "threads",
        "seed",
        "check_finite",
    )
)
"""Options that make sense for the lines of a cell."""


def _value(shell: Any, text: str) -> Any:
    """The value of an expression in the user's own line; other text, or one with unknown names, is a path."""
    try:
        expression = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return _path(text)
    try:
        return shell.ev(text)
    except Exception as error:
        if all(isinstance(each, _IN_PATHS) for each in ast.walk(expression)):
            return text
        raise UsageError(f"{text}: {type(error).__name__}: {one_line(error)}") from None


def _path(text: str) -> str:
    """A path, parsed as a shell does."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{text}: {error}") from None
    if len(words) != 1:
        raise UsageError(f"{text}: expected an expression or a path; a path with spaces needs quotes")
    return words[0]


def _feeds(shell: Any, given: _Given) -> dict[str, Any]:
    """The inputs in a variable, merged with those in files."""
    if not given.feeds:
        return {}
    found = shell.user_ns.get(given.feeds)
    if not isinstance(found, Mapping):
        expected = "a variable with a dict of arrays by input name"
        raise UsageError(f"--feeds {given.feeds}: expected {expected}")
    return {"feeds": {**found, **given.keywords.get("feeds", {})}}


@contextmanager
def _one_line() -> Iterator[None]:
    """Show errors of ours without a traceback, as the command line does."""
    try:
        yield
    except OnnxperfError as error:
        raise UsageError(visible(one_line(plain_flags(str(error))))) from None


def _subjects(cell: str, namespace: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    """One function per statement of a cell: an expression, or a name and an expression."""
    found: dict[str, Callable[[], Any]] = {}
    try:
        statements = ast.parse(cell).body
    except SyntaxError as error:
        raise UsageError(f"line {error.lineno} of the cell: {error.msg}") from None
    for each in statements:
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.Expr(value=value):
                name = ast.unparse(value)
            case _:
                raise UsageError(f"line {each.lineno} of the cell: expected `name = expression`, one line per subject")
        if name in found:
            raise UsageError(f"line {each.lineno} of the cell: {name!r} already exists; choose another name")
        try:
            found[name] = _function(value, namespace)
        except SyntaxError as error:  # code that is invalid only here, such as await
            raise UsageError(f"line {each.lineno} of the cell: {error.msg}") from None
    if not found:
        raise UsageError("the cell is empty: write one line `name = expression` per subject")
    return found


def _function(value: ast.expr, namespace: Mapping[str, Any]) -> Callable[[], Any]:
    """An expression of the user's own cell as a function that sees the notebook's variables."""
    # The body of a lambda: only a function's code shows which variables must go with it to another process.
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    outer = compile(ast.fix_missing_locations(ast.Expression(ast.Lambda(nothing, value))), "<cell>", "eval")
    code = next(each for each in outer.co_consts if isinstance(each, CodeType))
    return FunctionType(code, dict(namespace))


def _without_arguments(function: Callable[[], Any]) -> Callable[..., Any]:
    """A subject raced against a model is called with the model's inputs, but uses its own."""
    return lambda *_feeds: function()
