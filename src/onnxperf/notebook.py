"""The extension of IPython: `%load_ext onnxperf` brings `%onnxview` and `%%onnxbench`."""

from __future__ import annotations

import ast
import re
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NoReturn

from IPython.core.error import UsageError

from onnxperf.errors import OnnxperfError
from onnxperf.results.bench import BenchResult
from onnxperf.results.view import ViewResult
from onnxperf.wording.names import one_line, visible
from onnxperf.wording.options import as_flags


def load(shell: Any) -> None:
    """Give a shell of IPython the two magics."""
    shell.register_magic_function(partial(onnxview, shell), "line", "onnxview")
    shell.register_magic_function(partial(onnxbench, shell), "cell", "onnxbench")


def onnxview(shell: Any, line: str) -> ViewResult:
    """Show a model: a drawing that pans and zooms, or another form of it."""
    from onnxperf.api.view import view

    given = _VIEW.read(line)
    with _one_line():
        return view(
            _value(shell, given.model),
            as_=given.form or ("text" if given.op or given.all or given.around else "svg"),
            profile=given.profile or given.by != "time",
            by=given.by,
            op=given.op,
            around=given.around,
            all=given.all,
            dims=_sizes(given.dim),
        )


def onnxbench(shell: Any, line: str, cell: str) -> BenchResult:
    """Race the lines of a cell, each in a process of its own; a model in the first line takes part as well."""
    from onnxperf.api.bench import bench

    given = _BENCH.read(line)
    subjects = _subjects(cell, shell.user_ns)
    with _one_line():
        if given.model is None:
            _refuse_what_needs_a_model(given)
            return bench(subjects, time=given.time, baseline=given.baseline, threads=given.threads)
        return bench(
            _value(shell, given.model),
            call=given.call or "run",
            runtime=given.runtime or "ort",
            feeds=_feeds(shell, given.feeds),
            against={name: _without_arguments(each) for name, each in subjects.items()},
            dims=_sizes(given.dim),
            time=given.time,
            baseline=given.baseline,
            threads=given.threads,
        )


class _Options(ArgumentParser):
    """The options of a magic; what is wrong with them is one line, not the end of the notebook."""

    def read(self, line: str) -> Namespace:
        """The options in the line of a magic; what stands before them stays as it is, an expression may have quotes."""
        start = _FIRST_OPTION.search(line)
        expression, options = (line[: start.start()], line[start.start() :]) if start else (line, "")
        try:
            return self.parse_args([*filter(None, [expression.strip()]), *shlex.split(options)])
        except ValueError as error:
            raise UsageError(f"{self.prog}: {error}") from None

    def error(self, message: str) -> NoReturn:
        """Refuse."""
        raise UsageError(f"{self.prog}: {message}; {' '.join(self.format_usage().split())}")


_IN_PATHS = (ast.Expression, ast.Name, ast.Attribute, ast.BinOp, ast.Div, ast.Sub, ast.Constant, ast.expr_context)
"""What a path such as models/net-2.onnx consists of, read as Python."""
_FIRST_OPTION = re.compile(r"(^|\s)--[a-z]")

_VIEW = _Options("%onnxview", add_help=False)
_VIEW.add_argument("model", help="an expression whose value is a model, or the path of one")
_VIEW.add_argument("--as", dest="form", choices=("svg", "text", "json", "dot", "png", "code"))
_VIEW.add_argument("--profile", action="store_true", help="colour the nodes by where the time goes")
_VIEW.add_argument("--by", default="time", choices=("time", "memory"))
_VIEW.add_argument("--op", help="only nodes of this operator type, in a listing")
_VIEW.add_argument("--around", help="only this node and its neighbours, in a listing")
_VIEW.add_argument("--all", action="store_true", help="every node of a long model, in a listing")
_VIEW.add_argument("--dim", action="append", default=[], help="size of a free dimension: batch=8")

_BENCH = _Options("%%onnxbench", add_help=False)
_BENCH.add_argument("model", nargs="?", help="an expression whose value is a model, or the path of one")
_BENCH.add_argument("--feeds", help="a variable that holds the model's inputs, arrays by name; random unless given")
_BENCH.add_argument("--call", help="ways of calling onnxruntime, separated by commas, or all; run unless given")
_BENCH.add_argument("--runtime", help="what executes the model: ort (unless given), numpy, reference, openvino")
_BENCH.add_argument("--time", type=float, help="seconds of measuring")
_BENCH.add_argument("--baseline", help="name of the subject that the others are compared with")
_BENCH.add_argument("--threads", type=int, help="threads of every subject")
_BENCH.add_argument("--dim", action="append", default=[], help="size of a free dimension: batch=8")


def _value(shell: Any, text: str) -> Any:
    """What an expression of the user's own line is worth; what is none, or has unknown names, is a path."""
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
    """A path as a shell reads it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{text}: {error}") from None
    if len(words) != 1:
        raise UsageError(f"{text}: expected an expression or a path; a path with spaces needs quotes")
    return words[0]


def _feeds(shell: Any, name: str | None) -> Mapping[str, Any] | None:
    if name is None:
        return None
    found = shell.user_ns.get(name)
    if not isinstance(found, Mapping):
        raise UsageError(f"--feeds {name}: expected a variable that holds a dict of arrays by the names of the inputs")
    return found


def _refuse_what_needs_a_model(given: Namespace) -> None:
    needless = [option for option in ("feeds", "call", "runtime", "dim") if getattr(given, option)]
    if needless:
        raise UsageError(f"--{needless[0]}: there is no model to which it could apply; name one in the first line")


@contextmanager
def _one_line() -> Iterator[None]:
    """Errors of ours without a traceback, as the command line shows them."""
    try:
        yield
    except OnnxperfError as error:
        raise UsageError(visible(one_line(as_flags(str(error))))) from None


def _sizes(texts: list[str]) -> dict[str, int]:
    pairs = [text.rpartition("=") for text in texts]
    try:
        return {name: int(size) for name, _, size in pairs}
    except ValueError:
        raise UsageError(f"--dim {shlex.join(texts)}: expected NAME=SIZE") from None


def _subjects(cell: str, namespace: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    """A function for every statement of a cell: an expression, or a name and an expression."""
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
                raise UsageError(f"line {each.lineno} of the cell: expected `name = expression`, a line per subject")
        if name in found:
            raise UsageError(f"line {each.lineno} of the cell: {name!r} already exists; choose another name")
        try:
            found[name] = _function(value, namespace)
        except SyntaxError as error:  # what is only wrong in this place, such as await
            raise UsageError(f"line {each.lineno} of the cell: {error.msg}") from None
    if not found:
        raise UsageError("the cell is empty: write a line `name = expression` for every subject")
    return found


def _function(value: ast.expr, namespace: Mapping[str, Any]) -> Callable[[], Any]:
    """An expression of the user's own cell as a function that sees the notebook's variables."""
    # The body of a lambda, since only a function's code says which variables it takes along into another process.
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    outer = compile(ast.fix_missing_locations(ast.Expression(ast.Lambda(nothing, value))), "<cell>", "eval")
    code = next(each for each in outer.co_consts if isinstance(each, CodeType))
    return FunctionType(code, dict(namespace))


def _without_arguments(function: Callable[[], Any]) -> Callable[..., Any]:
    """A subject that is raced against a model is given the model's inputs, and has its own."""
    return lambda *_feeds: function()
