"""What adding something costs, as CONTRIBUTING.md promises: a command with its record, a chart, a kind of chart."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from onnxperf.render.web import document
from onnxperf.results.base import result_classes, shows
from onnxperf.store.documents import kinds
from tests.render.web.browser import CHROMIUM, assert_drawn, opened_browser

PLUGINS = Path(__file__).parent / "plugins"
TOY, KIND = PLUGINS / "toy_command", PLUGINS / "toy_kind"
ROOMS = {
    "records": "onnxperf.records",
    "answers": "onnxperf.analyze.answers",
    "render": "onnxperf.render.race",
    "results": "onnxperf.results",
    "api": "onnxperf.api",
    "cli": "onnxperf.cli.commands",
}
KIND_ROOMS = {"charts": "onnxperf.render.charts", "paint": "onnxperf.render.paint"}
ROWS = ("cli/overview.py", "__init__.py", "options/functions.py")
"""The rows that a command needs besides: its place in the command line, its public name, and its options."""
FIRST_CHART = "    return [bars_chart("
MORE = {
    "an existing kind": """

def more_charts(record: Toy) -> list[Chart]:
    "The share of each operator."
    shares = [number / max(sum(record.operators.values()), 1) for number in record.operators.values()]
    picture = bars(list(record.operators), [BarSeries("share", shares, [f"{share:.0%}" for share in shares])], "share")
    return [bars_chart("Shares of operators", "Parts of all nodes.", picture)]
""",
    "a new kind": """

def more_charts(record: Toy) -> list[Chart]:
    "The share of each operator."
    from onnxperf.render.charts.base import chart
    from onnxperf.render.charts.dots import dots

    shares = [number / max(sum(record.operators.values()), 1) for number in record.operators.values()]
    picture = dots(list(record.operators), shares, "share")
    return [chart("Shares of operators", "Parts of all nodes.", picture, operators_table(record))]
""",
}
"""What is added to the page of the toy command for one more chart."""


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """The files of the toy command, each in the room where it belongs, and its row in the command line."""
    main = importlib.import_module("onnxperf.cli.main")
    with pytest.MonkeyPatch.context() as patch:
        _open_rooms(patch, folder, ROOMS)
        _forget()
        try:
            main.app.command(importlib.import_module("onnxperf.cli.commands.toy").toy)
            yield
            del main.app["toy"]
        finally:
            _close_rooms(ROOMS, "toy")
            _forget()


def _open_rooms(patch: pytest.MonkeyPatch, folder: Path, rooms: dict[str, str]) -> None:
    for name, package in rooms.items():
        module = importlib.import_module(package)
        patch.setattr(module, "__path__", [*module.__path__, str(folder / name)])


def _close_rooms(rooms: dict[str, str], name: str) -> None:
    for package in rooms.values():
        sys.modules.pop(f"{package}.{name}", None)
        vars(sys.modules[package]).pop(name, None)


def _forget() -> None:
    """What was found in the rooms before."""
    shows.cache_clear()
    result_classes.cache_clear()
    kinds.cache_clear()


@pytest.fixture
def toy() -> Iterator[None]:
    """The toy command as it is."""
    with installed(TOY):
        yield


@pytest.fixture
def toy_kind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A kind of chart: its description, its painter and its script, each in its folder."""
    known = document.asset

    def asset(name: str) -> str:
        return (KIND / "assets" / name).read_text() if (KIND / "assets" / name).exists() else known(name)

    _open_rooms(monkeypatch, KIND, KIND_ROOMS)
    monkeypatch.setattr(document, "asset", asset)
    yield
    _close_rooms(KIND_ROOMS, "dots")


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


# ---------------------------------------------------------------- a command


def test_a_command_with_its_record_costs_nine_files() -> None:
    assert len(files_in(TOY)) + len(ROWS) == 9


@pytest.mark.usefixtures("toy")
def test_such_a_command_is_shown_kept_found_and_written_in_every_format(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from onnxperf.cli.main import run

    suffixes = (".json", ".csv", ".md", ".html", ".xlsx", ".parquet", ".png", ".svg")
    files = [word for suffix in suffixes for word in ("-o", str(tmp_path / f"toy{suffix}"))]
    store = ["--store", str(tmp_path / "runs.sqlite")]
    assert run(["toy", str(linear_path), *store, *files]) == 0
    assert "linear has 1 node." in capsys.readouterr().out
    assert all((tmp_path / f"toy{suffix}").stat().st_size for suffix in suffixes)
    assert (tmp_path / "toy.csv").read_text() == "operator,nodes\nMatMul,1\n"
    assert run(["runs", "show", "last", *store]) == 0
    assert "linear has 1 node." in capsys.readouterr().out
    assert run(["runs", *store]) == 0
    assert "linear has 1 node." in capsys.readouterr().out


@pytest.mark.usefixtures("toy")
def test_such_a_command_refuses_files_that_its_result_does_not_have(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from onnxperf.cli.main import run

    assert run(["toy", str(linear_path), "-o", str(tmp_path / "toy.npz")]) == 2
    assert "expected a name that ends with .csv, .html, .json, .md, .parquet, .png, .svg, .xlsx" in (
        capsys.readouterr().err
    )


# ---------------------------------------------------------------- charts


def with_one_more_chart(folder: Path, kind: str) -> Path:
    """The toy command after an edit of one file, which describes one more chart."""
    shutil.copytree(TOY, folder, ignore=shutil.ignore_patterns("__pycache__"))
    page = folder / "render" / "toy.py"
    text = page.read_text().replace(FIRST_CHART, "    return [*more_charts(record), bars_chart(")
    page.write_text(text + MORE[kind])
    changed = [path for path in files_in(folder) if path.read_text() != (TOY / path.relative_to(folder)).read_text()]
    assert changed == [page]
    return folder


def counted(model: Path) -> Any:
    return importlib.import_module("onnxperf.api.toy").toy(model)


def assert_shown(result: Any, folder: Path) -> None:
    """Page, picture and notebook have both charts, or the tables behind them."""
    assert [chart.title for chart in result.charts()] == ["Shares of operators", "Nodes"]
    assert "Shares of operators" in result.to_html()
    assert "Shares of operators" in result.encode(".svg").decode()
    assert result._repr_html_().count("<table") == 2
    result.save(folder / "toy.png")
    assert (folder / "toy.png").read_bytes().startswith(b"\x89PNG")


def test_a_chart_of_an_existing_kind_costs_one_file(linear_path: Path, tmp_path: Path) -> None:
    with installed(with_one_more_chart(tmp_path / "edited", "an existing kind")):
        assert_shown(counted(linear_path), tmp_path)


@pytest.mark.usefixtures("toy_kind")
def test_a_new_kind_of_chart_costs_three_files(linear_path: Path, tmp_path: Path) -> None:
    assert [path.relative_to(KIND).as_posix() for path in sorted(files_in(KIND))] == [
        *("assets/charts/dots.js", "charts/dots.py", "paint/dots.py")
    ]
    with installed(with_one_more_chart(tmp_path / "edited", "a new kind")):
        assert_shown(counted(linear_path), tmp_path)
        page = counted(linear_path).to_html()
    assert "onnxperf.painters.dots = " in page


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.usefixtures("toy_kind")
def test_a_new_kind_of_chart_is_drawn_in_a_browser(linear_path: Path, tmp_path: Path) -> None:
    with installed(with_one_more_chart(tmp_path / "edited", "a new kind")):
        counted(linear_path).save(tmp_path / "toy.html")
    with opened_browser() as browser:
        assert_drawn(browser, tmp_path / "toy.html")
