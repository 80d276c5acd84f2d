"""Write src/onnxperf/__init__.pyi, every public signature for mypy and editors: python docs/make_stubs.py."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from typing import Any, get_overloads

import onnxperf
from onnxperf.options import functions, shared

STUBS = Path(onnxperf.__file__).with_suffix(".pyi")
HEAD = '"""Made by `make generated` from the public functions and their options; do not edit."""\n\n'
_NAME = re.compile(r"[A-Za-z_]\w*")
_TEXT = re.compile(r"\"[^\"]*\"|'[^']*'")


def stubs() -> str:
    """The whole file."""
    imports: dict[str, set[str]] = defaultdict(set)
    parts = []
    for name in onnxperf.__all__:
        public = getattr(onnxperf, name)
        if inspect.isfunction(public):
            parts.append(_function(public, imports))
        else:
            imports[public.__module__].add(name)
    parts.append("def load_ipython_extension(shell: Any) -> None: ...\n")
    imports["typing"].add("Any")
    names = "__all__ = [\n" + "".join(f'    "{each}",\n' for each in onnxperf.__all__) + "]\n"
    return HEAD + _import_lines(imports) + "\n" + names + "\n" + "".join(parts)


def _function(public: Callable[..., Any], imports: dict[str, set[str]]) -> str:
    """A function, or what it is if it has overloads."""
    signature = inspect.signature(public)
    forms = [_overloaded(signature, inspect.signature(each)) for each in get_overloads(public)]
    origins = _origins(shared.__name__) | _origins(functions.__name__) | _origins(public.__module__)
    for form in forms or [signature]:
        for text in (*(str(each.annotation) for each in form.parameters.values()), str(form.return_annotation)):
            known = {name for names in imports.values() for name in names}  # aliases of one name are the same
            for name in set(_NAME.findall(_TEXT.sub("", text))) & origins.keys() - known:
                imports[origins[name]].add(name)
    if not forms:
        return _written(public, signature)
    imports["typing"].add("overload")
    return "".join(f"@overload\n{_written(public, form)}" for form in forms)


def _overloaded(signature: inspect.Signature, form: inspect.Signature) -> inspect.Signature:
    """The whole signature with the types of an overload."""
    own = {name: each for name, each in form.parameters.items() if each.kind is Parameter.KEYWORD_ONLY}
    parameters = [own.get(name, each) for name, each in signature.parameters.items()]
    return signature.replace(parameters=parameters, return_annotation=form.return_annotation)


def _written(public: Callable[..., Any], signature: inspect.Signature) -> str:
    lines = "".join(f"    {line},\n" for line in _parameters(signature.parameters.values()))
    summary = (inspect.getdoc(public) or "").splitlines()[0]
    arguments = f"(\n{lines})" if lines else "()"
    return f'def {public.__name__}{arguments} -> {signature.return_annotation}:\n    """{summary}"""\n\n'


def _parameters(parameters: Iterable[Parameter]) -> Iterator[str]:
    starred = False
    for each in parameters:
        if each.kind is Parameter.VAR_POSITIONAL:
            starred = True
            yield f"*{each.name}: {each.annotation}"
            continue
        if each.kind is Parameter.VAR_KEYWORD:
            yield f"**{each.name}: {each.annotation}"
            continue
        if each.kind is Parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        default = "" if each.default is Parameter.empty else f" = {_default(each.default)}"
        yield f"{each.name}: {str(each.annotation).replace(chr(39), chr(34))}{default}"


def _default(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value) if value is None or isinstance(value, bool | int | float) or value == () else "..."


def _origins(module: str) -> dict[str, str]:
    """Where each name of a module comes from, also those that it imports for types only."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(inspect.getsource(import_module(module)))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {alias.name: node.module for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name: "" for alias in node.names}  # as in onnx.ModelProto
        elif isinstance(node, ast.Assign):
            found |= {each.id: module for each in node.targets if isinstance(each, ast.Name)}
        elif isinstance(node, ast.ClassDef):
            found[node.name] = module
    return found


def _import_lines(imports: dict[str, set[str]]) -> str:
    plain = {name: f"import {name}\n" for name in imports.pop("", ())}
    lines = plain | {each: f"from {each} import {', '.join(sorted(names))}\n" for each, names in imports.items()}
    ours = {module for module in lines if module.startswith("onnxperf")}
    standard = {module for module in lines if module.partition(".")[0] in sys.stdlib_module_names}
    groups = (standard, set(lines) - ours - standard, ours)
    return "\n".join("".join(lines[module] for module in sorted(group)) for group in groups if group)


if __name__ == "__main__":
    STUBS.write_text(stubs(), encoding="utf-8")
