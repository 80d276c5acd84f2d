"""The house: which room may know which, and what a visitor at the door has to wait for."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import onnxperf
from onnxperf.options.spelling import flags
from tests import source
from tests.source import HOUSE, name_of, offenders, parsed

ROOT = Path(__file__).parents[1]
PUBLIC = "the public functions"
ROOMS: dict[str, set[str]] = {
    "programs": set(),
    "installation": {"programs"},
    "errors": {"installation"},
    "limits": set(),
    "scratch": set(),
    "drafts": set(),
    "caller": set(),
    "records": set(),
    "wording": set(),
    "options": {"records", "wording", "errors"},
    "model": {"scratch", "records", "wording", "limits", "errors"},
    "runtimes": {"model", "records", "wording", "errors"},
    "frameworks": {"runtimes", "model", "records", "wording", "errors"},
    "measure": {
        "scratch",
        "programs",
        "frameworks",
        "runtimes",
        "model",
        "records",
        "wording",
        "drafts",
        "limits",
        "errors",
    },
    "environments": {"programs", "records", "wording", "errors"},
    "zoo": {"frameworks", "model", "records", "wording", "errors"},
    "contraction": {"model", "records", "wording", "drafts", "errors"},
    "bisection": {"model", "records", "wording", "errors"},
    "tuning": {"records", "wording", "errors"},
    "store": {"records", "limits", "errors"},
    "cluster": {"scratch", "wording", "errors"},
    "analyze": {"records", "wording", "errors"},
    "render": {"records", "options", "wording", "drafts", "errors"},
    "results": {"render", "analyze", "records", "wording", "errors"},
    "api": {
        "caller",
        "options",
        "programs",
        "environments",
        "cluster",
        "contraction",
        "bisection",
        "tuning",
        "store",
        "results",
        "render",
        "wording",
        "frameworks",
        "zoo",
        "analyze",
        "measure",
        "runtimes",
        "model",
        "records",
        "drafts",
        "errors",
    },
    "notebook": {PUBLIC, "api", "results", "options", "wording", "errors"},
    "pytest_plugin": {
        "api",
        "environments",
        "analyze",
        "results",
        "render",
        "records",
        "options",
        "wording",
        "errors",
    },
    "serve": {PUBLIC, "api", "store", "results", "render", "records", "options", "wording", "errors"},
    "cli": {
        PUBLIC,
        "caller",
        "programs",
        "serve",
        "scratch",
        "measure",
        "zoo",
        "render",
        "results",
        "records",
        "options",
        "wording",
        "errors",
        "api",
    },
}
DOORS = {"__init__", "__main__"}
"""They lead everywhere, and do nothing else."""
HEAVY = {"numpy", "onnx", "onnxruntime", "pandas", "matplotlib"}
OTHER_PROGRAMS = {
    "measure/native_stack.py": "py-spy",
    "measure/machine/inventory.py": "nvidia-smi",
    "frameworks/saved_model.py": "tf2onnx",
    "environments/build.py": "uv and pip",
    "installation.py": "uv",
    "measure/instructions.py": "valgrind",
    "environments/releases.py": "pip",
    "api/_keeping/tags.py": "git",
}
"""Files that call another program, with its options."""
PYTHON_ONLY = {"as_", "case", "optimize", "subject", "value"}
"""Options that no command has."""


def room_of(path: Path) -> str:
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


FILES = [path for path in source.FILES if room_of(path) not in DOORS]


def imported(path: Path, house: Path = HOUSE) -> Iterator[str]:
    """Every module that a file names, wherever the import stands: at the top, in a function, for types only."""
    package = ["onnxperf", *path.relative_to(house).parts[:-1]]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def rooms_entered(path: Path) -> set[str]:
    names = (name.split(".") for name in imported(path))
    return {name[1] if len(name) > 1 else PUBLIC for name in names if name[0] == "onnxperf"} - {room_of(path)}


def test_a_room_knows_only_the_rooms_it_may() -> None:
    assert offenders(FILES, lambda path: rooms_entered(path) - ROOMS[room_of(path)]) == {}


def test_doors_call_public_functions_only() -> None:
    doors = [path for path in FILES if room_of(path) in ("cli", "serve", "notebook", "pytest_plugin")]
    assert offenders(doors, lambda path: {name for name in imported(path) if ".api._" in name}) == {}


def test_every_room_of_the_house_has_its_rule() -> None:
    assert {room_of(path) for path in FILES} == set(ROOMS)


def test_the_rules_have_no_circle() -> None:
    done: set[str] = set()
    while len(done) < len(ROOMS):
        ready = {room for room, allowed in ROOMS.items() if allowed - {PUBLIC} <= done} - done
        assert ready, f"a circle among {set(ROOMS) - done}"
        done |= ready


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import onnxperf.model.load", {"onnxperf.model.load"}),
        ("def f():\n    from onnxperf.measure import race", {"onnxperf.measure.race"}),
        ("if TYPE_CHECKING:\n    from onnxperf import api", {"onnxperf.api"}),
        ("from . import plots", {"onnxperf.render.plots"}),
        ("from .. import records", {"onnxperf.records"}),
        ("from ..model.load import Model", {"onnxperf.model.load.Model"}),
    ],
)
def test_imports_are_found_wherever_they_stand(tmp_path: Path, source: str, names: set[str]) -> None:
    file = tmp_path / "render" / "a.py"
    file.parent.mkdir()
    file.write_text(source)
    assert set(imported(file, tmp_path)) == names


@pytest.mark.parametrize(
    "statement",
    ["import onnxperf", "import onnxperf; dir(onnxperf); onnxperf.BadInput", "import onnxperf.pytest_plugin"],
)
def test_the_door_opens_without_heavy_libraries(statement: str) -> None:
    script = f"import sys; {statement}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert HEAVY & set(loaded) == set()


def test_no_room_bears_the_name_of_a_public_function() -> None:
    functions = {name for name in onnxperf.__all__ if name.islower()}
    assert functions & set(ROOMS) == set()


def test_every_public_name_can_be_imported_and_is_documented() -> None:
    assert [name for name in onnxperf.__all__ if not (getattr(onnxperf, name).__doc__ or "").strip()] == []


def test_all_is_sorted_complete_and_what_dir_shows() -> None:
    assert list(onnxperf.__all__) == sorted(onnxperf.__all__)
    assert dir(onnxperf) == sorted(onnxperf.__all__)
    functions = {name for name in onnxperf.__all__ if name.islower()}
    public = {path.stem for path in (HOUSE / "api").glob("*.py")}
    assert functions <= public


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'benhc'"):
        _ = onnxperf.benhc  # type: ignore[attr-defined]


def test_every_result_shows_itself_in_a_notebook() -> None:
    results = [name for name in onnxperf.__all__ if name.endswith("Result")]
    assert [name for name in results if not hasattr(getattr(onnxperf, name), "_repr_html_")] == []


def texts(path: Path) -> Iterator[str]:
    """Every string of a file that is not its documentation."""
    tree = parsed(path)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


def options_named(path: Path) -> Iterator[str]:
    """Every option that an error of a file is about, where it stands there as a text."""
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Call(func=ast.Name(id="require"), args=[_, ast.Constant(value=str(name)), *_]):
                yield name
            case ast.Call(func=ast.Name(id="BadOption") | ast.Attribute(value=ast.Name(id="BadOption"))):
                values = [each.value for each in node.keywords if each.arg == "option"]
                yield from (str(each.value) for each in values if isinstance(each, ast.Constant) and each.value)


SPELLERS = {"cli", "notebook", "options", "pytest_plugin"}
"""Rooms that spell options as command lines do."""


def dashes(path: Path) -> list[str]:
    spelled = [text for text in texts(path) if re.search(r"(?<![\w-])--[a-z]", text)]
    if name_of(path) in OTHER_PROGRAMS:
        spelled = [text for text in spelled if not re.fullmatch(r"--[a-z][\w-]*(=\S*)?", text)]
    return spelled


def test_only_the_command_line_spells_dashes() -> None:
    assert offenders((path for path in FILES if room_of(path) not in SPELLERS), dashes) == {}


def test_every_option_that_an_error_names_has_a_spelling() -> None:
    assert offenders(FILES, lambda path: set(options_named(path)) - set(flags()) - PYTHON_ONLY) == {}


def test_options_and_texts_are_found_wherever_they_stand(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        """'Documentation with --dashes.'
require(x > 0, "time", x, "more")
raise BadOption(f"no {x} --here", option="dims") from BadOption.unknown("what", 1, [], option="call")
"""
    )
    assert sorted(options_named(file)) == ["call", "dims", "time"]
    assert " --here" in list(texts(file))
    assert not any("--dashes" in text for text in texts(file))


def test_every_public_name_in_the_documents_exists() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
    named = set(re.findall(r"(?<![\w.])onnxperf\.([A-Za-z_]\w*)", text))
    assert named - set(onnxperf.__all__) - set(ROOMS) == set()
