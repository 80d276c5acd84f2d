"""An option is declared once: flags, keywords, signatures, plans, magics and docs come from it."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import onnxperf
from onnxperf.cli.main import app
from onnxperf.options import functions
from onnxperf.options.base import Option, Takes
from onnxperf.options.spelling import declared, flags
from tests.source import FILES, HOUSE, parsed

ROOT = Path(__file__).parents[2]
TAKES = {name: each for name, each in vars(functions).items() if isinstance(each, Takes)}
FUNCTIONS = [name for name in onnxperf.__all__ if hasattr(getattr(onnxperf, name), "takes")]


def commands() -> dict[str, Any]:
    """The function behind every command that has options of ours."""
    apps = {name: app[name] for name in app if name not in ("--help", "--version", "-h", "-V")}
    apps |= {f"{name} {sub}": apps[name][sub] for name in ("runs", "envs") for sub in apps[name] if sub[0] != "-"}
    found = {name: each.default_command for name, each in apps.items()}
    return {name: function for name, function in found.items() if hasattr(function, "takes")}


def test_one_keyword_has_one_flag_and_one_flag_one_keyword() -> None:
    spelled = {(each.name, each.flag) for each in declared()}
    assert [name for name, number in Counter(name for name, _ in spelled).items() if number > 1] == []
    assert [flag for flag, number in Counter(flag for _, flag in spelled).items() if number > 1] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_signature_shows_every_option_with_its_type_and_default(name: str) -> None:
    function: Any = getattr(onnxperf, name)
    parameters = inspect.signature(function).parameters
    for option in function.takes:
        assert option.name in parameters
        if parameters[option.name].kind is inspect.Parameter.KEYWORD_ONLY:
            assert parameters[option.name].default == option.default
            assert parameters[option.name].annotation == option.type


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_documentation_of_a_function_shows_the_text_of_every_option(name: str) -> None:
    function: Any = getattr(onnxperf, name)
    text = " ".join((inspect.getdoc(function) or "").split())
    assert [each.name for each in function.takes if f"{each.keyword}: {each.full_help}" not in text] == []
    assert "check=False: Skip the comparison of outputs." in (onnxperf.bench.__doc__ or "")


@pytest.mark.parametrize("name", sorted(commands()))
def test_a_command_has_the_flags_of_its_function_and_nothing_else(name: str) -> None:
    function = commands()[name]
    wanted = {each.flag for each in (*function.takes, *function.extra)}
    parts = name.split()
    typed = (app[parts[0]] if len(parts) == 1 else app[parts[0]][parts[1]]).assemble_argument_collection()
    assert {each.name for each in typed if each.name.startswith("--")} - {"--help", "--version"} == wanted


def test_every_option_is_taken_by_a_function_or_by_the_command_line() -> None:
    taken = {each.name for takes in TAKES.values() for each in takes}
    taken |= {each.name for function in commands().values() for each in function.extra}
    assert {each.name for each in declared()} - taken == set()


def test_options_that_all_commands_share_are_declared_once() -> None:
    """As options: records of what was used do not count."""
    names = Counter(each.name for each in declared())
    assert {name: names[name] for name in ("timeout", "min_effect", "memory_limit")} == {
        "timeout": 1,
        "min_effect": 1,
        "memory_limit": 1,
    }
    assert sorted(set(own_defaults())) == []


def own_defaults() -> Iterator[str]:
    """Public functions and commands that declare a default of their own for an option that all share."""
    for path in FILES:
        room = path.relative_to(HOUSE).parts[0]
        if room not in ("api", "cli", "notebook.py", "pytest_plugin.py"):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                names = [each.arg for each, default in pairs if default is not None]
                shared = {"timeout", "min_effect", "memory_limit", "threads"} & set(names)
                yield from (f"{path.name}: {node.name} {name}" for name in shared)


def test_messages_spell_every_option() -> None:
    assert {each.name for each in declared()} <= set(flags())


@pytest.mark.parametrize(
    ("maker", "made", "path"),
    [
        ("make_stubs", "stubs", "src/onnxperf/__init__.pyi"),
        ("make_options", "page", "docs/options.md"),
    ],
)
def test_what_is_generated_is_up_to_date(maker: str, made: str, path: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == getattr(load_maker(maker), made)(), "run: make generated"


def load_maker(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_help_texts_are_sentences_without_semicolons() -> None:
    wrong = [each.name for each in declared() if not re.fullmatch(r"[A-Z][^;]*[.…]", each.help)]
    assert wrong == []


CASES: list[tuple[Option, Any, Any]] = [
    (functions.BENCH.find("min_effect"), "0.5%", 0.005),
    (functions.BENCH.find("min_effect"), 0.02, 0.02),
    (functions.BENCH.find("memory_limit"), "1.5GiB", 3 << 29),
    (functions.BENCH.find("every"), "50ms", 0.05),
    (functions.BENCH.find("timeout"), "20", 20.0),
    (functions.QUANTIZE.find("max_error"), "0.1%", 0.001),
]


@pytest.mark.parametrize(("option", "given", "value"), CASES, ids=lambda each: getattr(each, "name", str(each)))
def test_a_text_means_the_same_in_python_and_on_the_command_line(option: Option, given: Any, value: Any) -> None:
    assert option.value(given) == pytest.approx(value)
    assert option.typed(str(given)) == pytest.approx(value)
