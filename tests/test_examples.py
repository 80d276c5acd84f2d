"""The examples run."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run an example in small, writing into a folder of the test; returns what it prints."""

    def run_example(name: str, *options: str, **changes: int) -> str:
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        for constant, value in changes.items():
            monkeypatch.setattr(example, constant, value)
        monkeypatch.setattr(sys, "argv", [f"{name}.py", str(tmp_path), *options])
        example.main()
        return capsys.readouterr().out

    return run_example


def is_picture(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


def test_call_styles_prints_its_table_and_draws_its_chart(run: Run, tmp_path: Path) -> None:
    printed = run("call_styles", REPEAT=2, NUMBER=2)
    assert all(name in printed for name in ("skl", "numpy", "reference", "run-c", "io-binding-inplace", "ttime"))
    assert is_picture(tmp_path / "call_styles.png")


@pytest.mark.thorough
@pytest.mark.slow
def test_profile_model_shows_what_the_optimiser_changed(run: Run, tmp_path: Path) -> None:
    printed = run("profile_model", REPEAT=3, SIZE=32)
    assert "BatchNormalization" in printed
    assert "[=CPU]" in printed
    assert "CUDA" in printed
    for name in ("plot_profiling", "plot_profiling_side_by_side"):
        assert is_picture(tmp_path / f"{name}.png")
    for name in ("prof_base", "plot_profiling_merged"):
        assert (tmp_path / f"{name}.xlsx").stat().st_size > 1000


@pytest.mark.thorough
def test_profile_kmeans_profiles_in_two_ways(run: Run, tmp_path: Path) -> None:
    printed = run("profile_kmeans", ROWS=500, CALLS=4)
    assert all(text in printed for text in ("ArgMin", "args_op_name", "session_initialization", "model_loading_array"))
    assert is_picture(tmp_path / "kmeans_operators.png")
    assert is_picture(tmp_path / "kmeans_add.png")


@pytest.mark.thorough
@pytest.mark.slow
def test_einsum_goes_from_three_implementations_to_the_chart_of_all_letter_orders(run: Run, tmp_path: Path) -> None:
    printed = run("einsum", N=4, SEARCH=1, TIME=1, CALLS=5, OPTIMIZE=False)
    for text in ("onnxruntime's Einsum:", "numpy.einsum", "not optimised", "args_op_name", "[120 rows x 4 columns]"):
        assert text in printed
    for name in ("not_optimised", "optimised", "side_by_side", "orders"):
        assert is_picture(tmp_path / f"einsum_{name}.png")


@pytest.mark.thorough
@pytest.mark.slow
def test_frameworks_prints_four_tables_and_says_what_did_not_fit_into_memory(
    run: Run, built: Callable[[str, str], list[str]]
) -> None:
    for framework in ("tensorflow", "torch"):
        for name in ("tiny-resnet", "tiny-bert"):
            built(name, framework)
    printed = run(
        "frameworks",
        RESNET="zoo:tiny-resnet",
        BERT="zoo:tiny-bert",
        RESNET_SIZES={"batch": [1]},
        BERT_SIZES={"batch": [1], "seq": [4]},
        LARGE_SIZES={"batch": [2], "seq": [8]},
        MEMORY_LIMIT=100_000_000,
        TIMES_S={"tensorflow": 0.5, "torch": 0.5},
    )
    assert printed.count("### ") == 4
    for text in ("tensorflow predict_on_batch", "tensorflow saved_model", "and ort over torch", "95 % interval"):
        assert text in printed
    assert "- batch=2, seq=8: torch: oom, needed" in printed


@pytest.mark.thorough
@pytest.mark.slow
def test_memory_answers_from_peaks_lines_and_trees(run: Run, tmp_path: Path) -> None:
    printed = run("memory", "--quick")
    for text in ("skl assume_finite", "ort float32", "clr.predict(X_test)", "cast_feeds", "zip_map", "ndarray.astype"):
        assert text in printed
    assert "How much memory does predict take above its inputs?" in printed
    for name in ("skl", "cast", "float32"):
        assert is_picture(tmp_path / f"memory_{name}.png")
