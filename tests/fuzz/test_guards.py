"""No data from outside is ever run: the tree is searched for what could, and a hook in the interpreter watches."""

from __future__ import annotations

import ast
import io
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from onnxperf.store import open_store
from tests.fuzz import seeds
from tests.fuzz.mutations import TEXTS
from tests.source import FILES, HOUSE, offenders, parsed

AUDIT = Path(__file__).with_name("audit")

# ---------------------------------------------------------------- what is in the tree

GENERATED = "the numpy runtime's own generated source: no text of a model is in it"
HANDED_OVER = (
    "callables that the user hands over travel to a worker of the same run by cloudpickle, and are never stored"
)
CELL = "what the user types into a line or a cell of a notebook"
ALLOWED: dict[str, tuple[set[str], str]] = {
    "runtimes/numpy/compile.py": ({"compile", "exec"}, GENERATED),
    "notebook.py": ({"compile", "ev"}, CELL),
    **dict.fromkeys(
        (
            "api/_cluster/parcels.py",
            "api/_shared/subjects.py",
            "api/memory_lines.py",
            "frameworks/base.py",
            "frameworks/tensorflow.py",
            "measure/worker/host.py",
            "measure/worker/lines.py",
            "pytest_plugin.py",
        ),
        ({"cloudpickle"}, HANDED_OVER),
    ),
}
PICKLES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
BUILT_IN = {"eval", "exec", "compile", "__import__"}
IPYTHON = {"ev", "ex", "run_cell", "run_line_magic", "run_cell_magic"}
SHELLS = {"system", "popen", "getoutput", "getstatusoutput", "spawnl", "spawnv", "execv", "execl", "execvp", "execlp"}
TRUE_IS_UNSAFE = {"shell", "allow_pickle", "unsafe_load"}
FALSE_IS_UNSAFE = {"weights_only", "safe_mode"}


def dangers(tree: ast.AST) -> Iterator[str]:
    """Everything in a file that could run data: by its name, wherever it stands."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name.split(".")[0] for each in names if each.name.split(".")[0] in PICKLES)
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in PICKLES:
                yield module.split(".")[0]
            case ast.Call(func=ast.Name(id=name)) if name in BUILT_IN:
                yield name
            case ast.Call(func=ast.Attribute(attr=name)) if name in IPYTHON:
                yield name
            case ast.Call(func=ast.Attribute(attr=name, value=ast.Name(id=("os" | "subprocess" | "commands")))) if (
                name in SHELLS
            ):
                yield name
            case ast.keyword(arg=str(name), value=ast.Constant(value=bool(value))) if name in (
                TRUE_IS_UNSAFE if value else FALSE_IS_UNSAFE
            ):
                yield f"{name}={value}"


def test_nothing_in_the_tree_runs_data_but_what_is_named_here() -> None:
    allowed: dict[str, object] = {name: dangers for name, (dangers, _reason) in ALLOWED.items()}
    assert offenders(FILES, lambda path: set(dangers(parsed(path)))) == allowed


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import pickle", {"pickle"}),
        ("def f():\n    from cloudpickle import loads", {"cloudpickle"}),
        ("x = eval(text)", {"eval"}),
        ("exec(compile(text, '', 'exec'))", {"exec", "compile"}),
        ("shell.ev(text)", {"ev"}),
        ("re.compile(text)", set()),
        ("model.eval()", set()),
        ("subprocess.run(text, shell=True)", {"shell=True"}),
        ("subprocess.run([text], shell=False)", set()),
        ("os.system(text)", {"system"}),
        ("platform.system()", set()),
        ("np.load(file, allow_pickle=True)", {"allow_pickle=True"}),
        ("torch.load(file, weights_only=False)", {"weights_only=False"}),
    ],
)
def test_a_danger_is_found_wherever_it_stands(source: str, found: set[str]) -> None:
    assert set(dangers(ast.parse(source))) == found


# ---------------------------------------------------------------- what happens


def watched(arguments: list[str], folder: Path) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run Python with the hook in it and in all interpreters that it starts; returns what the hook reports."""
    report = folder / "report.txt"
    environment = {
        **os.environ,
        "ONNXPERF_AUDIT": str(report),
        "ONNXPERF_HOSTILE": str(folder / "hostile"),
        "PYTHONPATH": os.pathsep.join([str(AUDIT), str(HOUSE.parent)]),
        "COLUMNS": "200",
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder / "hostile",
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done, report.read_text(encoding="utf-8") if report.exists() else ""


class Trap:
    """Unpickled, it would run a command."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch ran",)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that try to run something, under names that Python would import."""
    folder = tmp_path_factory.mktemp("guard")
    files = folder / "hostile"
    files.mkdir()
    proto = onnx.ModelProto.FromString(seeds.models()["many"])
    for node, text in zip(proto.graph.node, (each for each in TEXTS if each and "\0" not in each), strict=False):
        node.name = node.doc_string = text
    proto.graph.name = proto.producer_name = "__import__('os').system('touch ran')"
    proto.metadata_props.add(key="pickle", value=repr(pickle.dumps(Trap())))
    (files / "m.onnx").write_bytes(proto.SerializeToString())
    trace = seeds.traces()["nested"].replace(b"relu", b"__import__('os').system('touch ran')")
    (files / "t.json").write_bytes(trace)
    pickled = io.BytesIO()
    np.save(pickled, np.array([Trap()], dtype=object), allow_pickle=True)
    (files / "x.npy").write_bytes(pickled.getvalue())
    for module in ("numpy", "onnx", "sitecustomize", "onnxperf", "custom"):
        (files / f"{module}.py").write_text("open('ran', 'w')\nraise SystemExit('imported from the folder')\n")
    with open_store(str(files / "runs.sqlite")):
        pass
    return folder


COMMANDS: dict[str, tuple[str, int]] = {
    "a model that is viewed": ("view m.onnx --all", 0),
    "a model as code": ("view m.onnx -o -.py", 0),
    "a model that runs in two runtimes": ("check m.onnx --threads 1 --store runs.sqlite", 0),
    "a trace": ("profile t.json --store runs.sqlite", 0),
    "a pickle as an input": ("check m.onnx --input X=x.npy", 2),
    "a store": ("runs --store runs.sqlite", 0),
}


@pytest.mark.parametrize("case", COMMANDS)
def test_untrusted_data_run_nothing(case: str, hostile: Path) -> None:
    command, code = COMMANDS[case]
    done, report = watched(["-P", "-m", "onnxperf", *command.split()], hostile)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert report == ""
    assert not (hostile / "hostile" / "ran").exists()


@pytest.mark.parametrize(
    ("statement", "event"),
    [
        ("eval('1' + '1')", "exec"),
        ("exec('x = 1')", "exec"),
        ("compile('x = 1', '', 'exec')", "compile"),
        ("import pickle; pickle.loads(b'cos\\nsystem\\n.')", "pickle.find_class"),
        ("import os; os.system('true')", "os.system"),
        ("import subprocess; subprocess.run('true', shell=True)", "subprocess.Popen"),
        ("import subprocess, sys; subprocess.run([sys.executable, '-c', 'eval(str(1))'])", "exec"),
    ],
)
def test_the_hook_reports_what_it_is_for(statement: str, event: str, hostile: Path, tmp_path: Path) -> None:
    (tmp_path / "hostile").mkdir()
    script = tmp_path / "script.py"
    script.write_text(statement)
    _, report = watched([str(script)], tmp_path)
    assert f"{event}:" in report
