"""The magics in a real kernel, and the notebooks among the examples."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from onnxperf import notebook
from onnxperf.options.functions import BENCH, VIEW
from onnxperf.results.view import Form, ViewResult
from tests.render.graph.views import HOSTILE_NAMES, named_view

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
PATIENCE_S = 120
FOLDING = ("details", "summary", "strong")
DRAWN: tuple[Form, ...] = ("svg", "dot", "json", "text")


# In a process of its own: nbclient leaves sockets open, which pytest takes for an error of the next test.
EXECUTE = """
import sys
import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

source, target, patience_s = sys.argv[1:]
notebook = nbformat.read(source, as_version=4)
manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=KernelSpecManager(kernel_dirs=[]))
NotebookClient(notebook, km=manager, timeout=int(patience_s)).execute()
nbformat.write(notebook, target)
"""


def this_python() -> KernelSpecManager:
    """Kernels of the interpreter that runs the tests, whatever is installed on the machine."""
    return KernelSpecManager(kernel_dirs=[], ensure_native_kernel=True)


@dataclass
class Shown:
    """What a cell shows."""

    html: str = ""
    plain: str = ""
    printed: str = ""
    errors: list[str] = field(default_factory=list)
    """Tracebacks."""


Run = Callable[[str], Shown]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory, linear_bytes: bytes) -> Iterator[BlockingKernelClient]:
    folder = tmp_path_factory.mktemp("kernel")
    (folder / "linear.onnx").write_bytes(linear_bytes)
    manager = KernelManager(kernel_name="python3", kernel_spec_manager=this_python())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(folder))
        patch.setenv("XDG_CACHE_HOME", str(folder))
        manager.start_kernel(cwd=str(folder))
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(PATIENCE_S)
        run_in(client, "%load_ext onnxperf\nimport onnx, numpy as np\nmodel = onnx.load('linear.onnx')")
        run_in(client, "from types import SimpleNamespace\nplan, models = SimpleNamespace(onnx=model), {'a b': model}")
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


@pytest.fixture
def run(kernel: BlockingKernelClient) -> Run:
    return lambda code: run_in(kernel, code)


def run_in(kernel: BlockingKernelClient, code: str) -> Shown:
    shown = Shown()

    def collect(message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind in ("execute_result", "display_data"):
            shown.html += content["data"].get("text/html", "")
            shown.plain += content["data"]["text/plain"]
        elif kind == "stream":
            shown.printed += content["text"]
        elif kind == "error":
            shown.errors.append("\n".join(content["traceback"]))

    kernel.execute_interactive(code, store_history=False, output_hook=collect, timeout=PATIENCE_S)
    return shown


@pytest.mark.parametrize(
    "model", ["model", "linear.onnx", "'linear.onnx'", "plan.onnx", "models['a b']", "onnx.load('linear.onnx')"]
)
def test_a_model_in_an_expression_or_a_file_is_drawn(run: Run, model: str) -> None:
    shown = run(f"%onnxview {model}")
    assert not shown.errors
    assert "<svg" in shown.html
    assert ">MatMul</text>" in shown.html
    assert shown.plain.startswith("SVG of linear")  # a notebook keeps the drawing once


def test_a_chart_is_shown_once_and_its_axes_are_not_described(run: Run) -> None:
    shown = run("import onnxperf\nonnxperf.bench(model, dims={'batch': 2}, blocks=3, call='run,run-c').plot()")
    assert not shown.errors
    assert "<Axes" not in shown.plain
    assert shown.plain.count("<Figure size") == 1


@pytest.mark.parametrize("options", ["--as text", "--op MatMul", "--all", "--around MatMul_0"])
def test_a_listing_is_text(run: Run, options: str) -> None:
    shown = run(f"%onnxview model {options}")
    assert "MatMul(X, W) -> Y: float32[batch, 4]" in shown.plain
    assert "<pre>" in shown.html


def test_sizes_settle_the_shapes(run: Run) -> None:
    assert "-> Y: float32[8, 4]" in run("%onnxview model --as text --dim batch=8").plain


def test_a_profile_puts_the_time_into_the_drawing(run: Run) -> None:
    assert "MatMul  100 %</text>" in run("%onnxview model --profile").html


@pytest.mark.parametrize(("by", "shown"), [("memory", "in use at the peak"), ("headroom", "at best")])
def test_what_a_profile_shows_is_profiled_without_being_asked_twice(run: Run, by: str, shown: str) -> None:
    assert shown in run(f"%onnxview model --by {by} --as text").plain


def test_values_are_shown_as_json(run: Run) -> None:
    assert '"values": [' in run("%onnxview model --values").plain


def test_inputs_of_a_profile_come_from_a_variable(run: Run) -> None:
    run("few = {'X': np.ones((3, 10), np.float32)}")
    assert "MatMul  100 %</text>" in run("%onnxview model --profile --feeds few --threads 1").html


OF_MAGICS = {
    "%onnxview": (notebook._VIEW, VIEW, {"--feeds", "--as"}, set()),
    "%%onnxbench": (notebook._BENCH, BENCH, {"--feeds"}, {"against", "resume", "retry", "store", "tags"}),
}


@pytest.mark.parametrize("name", OF_MAGICS)
def test_a_magic_takes_the_options_of_its_function(name: str) -> None:
    magic, takes, own, without = OF_MAGICS[name]
    assert set(magic.flags) == {each.flag for each in takes if each.name not in without} | own


@pytest.mark.parametrize(
    ("line", "keywords"),
    [
        ("m", {}),
        ("m --dim batch=8 --dim X.0=2", {"dims": {"batch": 8, "X.0": 2}}),
        ("m --min-effect 2% --time 3", {"min_effect": 0.02, "time": 3.0}),
        ("m --no-check --cast", {"check": False, "cast": True}),
        ("m --variant 'lean: threads=1'", {"variants": {"lean": {"threads": "1"}}}),
        ("m --every 50ms --threads 1,2", {"every": 0.05, "threads": ["1", "2"]}),
    ],
)
def test_the_texts_of_a_magic_are_read_as_on_the_command_line(line: str, keywords: dict[str, Any]) -> None:
    given = notebook._BENCH.read(line)
    assert (given.model, given.keywords) == ("m", keywords)


@pytest.mark.slow
def test_a_model_races_against_the_lines_of_a_cell(run: Run) -> None:
    run(
        "feeds = {'X': np.ones((2, 10), np.float32)}\nX, W = feeds['X'], np.arange(40, dtype=np.float32).reshape(10, 4)"
    )
    shown = run("%%onnxbench model --feeds feeds --time 0.2 --baseline numpy\nnumpy = X @ W / 40\n(X @ W / 40)[:, ::1]")
    assert not shown.errors
    assert "batch=2" in shown.plain
    assert all(name in shown.html for name in ("ort", "numpy", "(X @ W / 40)[:, ::1]"))
    assert all(text not in shown.plain for text in ("failed", "differs", "something else"))
    run("import onnxperf\nrunner = onnxperf.load(model, runtime='numpy')")
    shown = run("%%onnxbench model --feeds feeds --time 0.2\nnumpy = runner.run(feeds)\nbound = runner.bind(feeds)()")
    assert not shown.errors
    assert "failed" not in shown.plain


def test_a_table_is_shown_once(run: Run) -> None:
    shown = run("import onnxperf\nonnxperf.bench({'one': lambda: 1}, time=0.1)")
    assert shown.html.count("<table") == 1
    assert "<pre" not in shown.html  # the text is for those who have no HTML
    assert shown.plain.count("p50") == 1


@pytest.mark.slow
def test_a_cell_races_without_a_model(run: Run) -> None:
    shown = run("%%onnxbench --time 0.2\none = sum(range(10))\n'<b>'.lower()")
    assert not shown.errors
    assert "&lt;b&gt;" in shown.html
    assert "<b>" not in shown.html


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("%onnxview", "arguments are required: model"),
        ("%onnxview nowhere.onnx", "no such file: 'nowhere.onnx'"),
        ("%onnxview model --as picture", "unknown form 'picture'; choose from: text, json"),
        ("%onnxview 'model", "No closing quotation"),
        ("%onnxview my model.onnx", "a path with spaces needs quotes"),
        ("%onnxview models['b']", "models['b']: KeyError: 'b'"),
        ("%onnxview onnx.load('nowhere.onnx')", "FileNotFoundError"),
        ("%onnxview plan", "SimpleNamespace"),
        ("%onnxview model --op Conv", "unknown operator 'Conv'; choose from: MatMul"),
        ("%onnxview model --dim batch", "--dim batch: expected NAME=VALUE"),
        ("%onnxview model --dim rows=3", "unknown dimension 'rows'"),
        ("%%onnxbench model\n1 +", "line 1 of the cell: invalid syntax"),
        ("%%onnxbench model\n# nothing", "the cell is empty"),
        ("%%onnxbench model\na = 1\nfor i in []: pass", "line 2 of the cell: expected `name = expression`"),
        ("%%onnxbench model\na = 1\na = 2", "line 2 of the cell: 'a' already exists"),
        ("%%onnxbench model --feeds model\na = 1", "--feeds model: expected a variable with a dict"),
        ("%%onnxbench model\na = 1\nb = await a", "line 2 of the cell: 'await' outside"),
        ("%%onnxbench --dim batch=8\na = 1", "--dim: it does nothing with a cell without a model"),
        ("%%onnxbench --feeds model\na = 1", "--feeds: it has no effect in a cell without a model"),
        ("%%onnxbench --call run\na = 1", "--call: it does nothing with a cell without a model"),
        ("%%onnxbench --runtime ort\na = 1", "--runtime: it does nothing with a cell without a model"),
        ("%%onnxbench --min-effect few\na = 1", "--min-effect few: expected a number such as 0.01 or 1%"),
        ("%%onnxbench --time 0\na = 1", "--time 0: expected more than 0 seconds"),
        (
            "%%onnxbench model --as svg\na = 1",
            "unknown option of %%onnxbench '--as'; choose from: --all-comb",
        ),
        ("%onnxview model --colour red", "unknown option of %onnxview '--colour'; choose from: --all, --around, --as"),
        ("%onnxview model --by weight", "unknown by 'weight'; choose from: time, memory, headroom"),
        ("%onnxview model --op", "argument --op: expected one argument"),
        ("%onnxview model --op MatMul --as svg", "--op: it does nothing with forms other than the listing"),
        ("%onnxview model --threads 2", "--threads: it does nothing with a model that is not profiled"),
        ("%%onnxbench model --baseline b\na = 1", "unknown baseline 'b'; choose from: ort, a"),
    ],
)
def test_what_is_wrong_is_one_line_without_a_traceback(run: Run, code: str, words: str) -> None:
    shown = run(code)
    (line,) = shown.printed.strip().splitlines()
    assert line.startswith("UsageError: ")
    assert words in line
    assert not shown.errors


def test_json_is_a_tree_that_folds(run: Run) -> None:
    shown = run("%onnxview model --as json")
    assert "<details" in shown.html
    assert "<strong>op_type</strong>: &quot;MatMul&quot;" in shown.html
    assert '"op_type": "MatMul"' in shown.plain


def test_names_in_a_drawing_are_only_names(run: Run) -> None:
    run("nasty = onnx.load('linear.onnx')\nnasty.graph.node[0].name = nasty.graph.name = '</title><b onload=alert(1)>'")
    for options in ("", "--as text"):
        html = run(f"%onnxview nasty {options}").html
        assert "&lt;b onload" in html or "&lt;/title" in html
        assert "<b " not in html


class Elements(HTMLParser):
    """All elements of a page, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember it."""
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)


@pytest.mark.parametrize("form", DRAWN)
@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_hostile_name_brings_nothing_onto_the_page(name: str, form: Form) -> None:
    page = Elements(ViewResult(named_view(name), form)._repr_html_())
    assert set(page.tags) <= {"div", "pre", "svg", "title", "rect", "text", "g", "path", "script", *FOLDING}
    assert page.tags.count("script") == (form == "svg")
    assert not [each for each in page.attributes if each.startswith("on") or each in ("href", "src", "xlink:href")]


def test_the_extension_comes_without_the_libraries_of_a_measurement() -> None:
    code = "import sys, onnxperf.notebook; print([m for m in ('onnxruntime', 'matplotlib') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


# ---------------------------------------------------------------- examples


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_is_kept_without_outputs(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    nbformat.validate(notebook)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "drawings", "words"),
    [
        ("view_model", 4, ["MatMul(X, coef)", "ZipMap", "before: ", "fused"]),
        pytest.param("bench_model", 0, ["sklearn", "io-binding", "verdict"], marks=pytest.mark.thorough),
    ],
)
def test_a_notebook_runs_and_shows_its_drawings(
    name: str, drawings: int, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    executed = tmp_path / "executed.ipynb"
    arguments = [str(EXAMPLES / f"{name}.ipynb"), str(executed), str(PATIENCE_S)]
    subprocess.run([sys.executable, "-c", EXECUTE, *arguments], cwd=tmp_path, check=True, timeout=2 * PATIENCE_S)
    cells = json.loads(executed.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "display_data"}
    html = ["".join(output["data"].get("text/html", "")) for output in outputs]
    assert sum("<svg" in each for each in html) == drawings
    assert not [word for word in words if not any(word in each for each in html)]
    assert any("image/png" in output["data"] for output in outputs) == (not drawings)


def test_the_kernel_is_the_python_of_the_tests(run: Run) -> None:
    assert run("import sys; print(sys.executable)").printed.strip() == sys.executable
