"""A library that cannot be imported: missing, or there and broken, with its cause."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from onnxperf.api._keeping.mlflow_log import require_mlflow
from onnxperf.errors import BadInput, BrokenLibrary, MissingExtra, required
from onnxperf.frameworks.base import find_framework
from onnxperf.installation import install_command
from onnxperf.measure.worker import allocations, python_stack
from onnxperf.render.graph.png import require_resvg
from onnxperf.render.kit.frames import require_pyarrow
from onnxperf.render.kit.workbook import require_xlsxwriter
from onnxperf.render.stack.tree import session_of
from onnxperf.runtimes.find import find_runtime
from onnxperf.store.connect import connect, location

BROKEN = "raise ImportError('libgone.so.1: cannot open\\nshared object file')"
USES: dict[str, Callable[[], object]] = {
    "onnxruntime": lambda: find_runtime("ort").ready(),
    "xlsxwriter": require_xlsxwriter,
    "pyarrow": require_pyarrow,
    "resvg_py": require_resvg,
    "pyinstrument": lambda: python_stack.sample(lambda: None, 1, 0.001),
    "pyinstrument.session": lambda: session_of({}),
    "memray": allocations.require_memray,
    "mlflow": require_mlflow,
    "psycopg": lambda: connect(location("postgresql://localhost/db")),
    "torch": lambda: required("torch", "torch"),
    "tensorflow": lambda: required("tensorflow", "tensorflow"),
    "skl2onnx": lambda: required("skl2onnx.common.data_types", "sklearn"),
}


@pytest.fixture
def shadowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a package of this name and source before all others."""

    def shadow(name: str, source: str) -> None:
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        (folder / "__init__.py").write_text(source, encoding="utf-8")
        for module in [each for each in sys.modules if each.partition(".")[0] == folder.name]:
            monkeypatch.delitem(sys.modules, module)
        if name == "onnxruntime":  # what has imported it already must do so again
            monkeypatch.delitem(sys.modules, "onnxperf.runtimes.ort.session", raising=False)
        monkeypatch.syspath_prepend(tmp_path)

    return shadow


@pytest.mark.parametrize("library", USES)
def test_a_library_whose_import_fails_is_named_with_the_cause(
    library: str, shadowed: Callable[[str, str], None]
) -> None:
    shadowed(library, BROKEN)
    with pytest.raises(BrokenLibrary) as refused:
        USES[library]()
    text = str(refused.value)
    assert "cannot be imported: ImportError: libgone.so.1: cannot open shared object file; reinstall" in text
    assert "not installed" not in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("source", "cause"),
    [
        ("import no_such_dependency", "ModuleNotFoundError: No module named 'no_such_dependency'"),
        ("raise OSError('libtorch.so: cannot open shared object file')", "OSError: libtorch.so: cannot open"),
        ("raise AttributeError('_ARRAY_API not found')", "AttributeError: _ARRAY_API not found"),
        ("from fake_library import missing_part", "ImportError: cannot import name 'missing_part'"),
        ("raise ImportError('x' * 1000)", f"ImportError: {'x' * 300}…; reinstall it or its dependencies"),
    ],
)
def test_whatever_an_import_raises_is_one_line(source: str, cause: str, shadowed: Callable[[str, str], None]) -> None:
    shadowed("fake_library", source)
    with pytest.raises(BrokenLibrary) as refused:
        required("fake_library", "extra")
    assert str(refused.value).startswith(f"fake_library cannot be imported: {cause}")


def test_a_part_that_a_library_lacks_does_not_make_it_missing(shadowed: Callable[[str, str], None]) -> None:
    shadowed("fake_library", "")
    with pytest.raises(BrokenLibrary, match=r"No module named 'fake_library\.part'"):
        required("fake_library.part", "extra")


@pytest.mark.parametrize(("module", "library"), [("no_such_library", ""), ("no_such_library.part", "no-such-library")])
def test_a_library_that_is_not_there_is_named_with_its_extra(module: str, library: str) -> None:
    with pytest.raises(MissingExtra) as refused:
        required(module, "some", library)
    name = library or "no_such_library"
    assert str(refused.value) == f"{name} is not installed; install it with: {install_command('some')}"


def test_a_broken_library_ends_a_conversion_with_its_cause(shadowed: Callable[[str, str], None]) -> None:
    shadowed("skl2onnx", BROKEN)
    from sklearn.linear_model import LinearRegression

    import onnxperf

    estimator = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    assert find_framework("sklearn").detect(estimator)
    with pytest.raises(BadInput, match=r"skl2onnx cannot be imported: ImportError: libgone"):
        onnxperf.to_onnx(estimator, [[0.0]])
