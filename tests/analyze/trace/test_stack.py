"""Samples of stacks become shares of Python and compiled code."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.trace import stack
from onnxperf.records.stack import StackFrame

UMATH = "numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so"
LOOP = "call_for.<locals>.call_again (onnxperf/measure/worker/python_stack.py:50)"


BLAS = "libscipy_openblas64_-32a4b2a6.so"


@pytest.mark.parametrize(
    ("leaf", "kind", "library"),
    [
        (("run (<onnxperf numpy runtime>:8)",), "python", ""),
        (("unicode_hash (libpython3.11.so.1.0)",), "python", ""),
        (("_PyEval_Vector (python3.11)",), "python", ""),
        (("math_exp (math.cpython-311-x86_64-linux-gnu.so)", "exp (libm.so.6)"), "python", ""),
        (("malloc (libc.so.6)",), "python", ""),
        ((f"array_take ({UMATH})",), "dispatch", "numpy"),
        ((f"array_take ({UMATH})", "0x7f (libc.so.6)"), "dispatch", "numpy"),
        ((f"ufunc_generic ({UMATH})", "fetestexcept (libm.so.6)"), "dispatch", "numpy"),
        ((f"DOUBLE_exp ({UMATH})", "exp (libm.so.6)"), "kernels", "numpy"),
        ((f"DOUBLE_exp ({UMATH})", f"0x7f ({UMATH})"), "kernels", "numpy"),
        ((f"0x7f ({UMATH})",), "dispatch", "numpy"),
        ((f"FLOAT_matmul ({UMATH})", f"sgemm_kernel ({BLAS})"), "kernels", "OpenBLAS"),
        (("0x7f (onnxruntime/capi/state.so)", "std::string (libstdc++.so.6)"), "kernels", "onnxruntime"),
        (("0x7f40",), "unknown", ""),
        (("0x7f40 (?)",), "unknown", ""),
        (("0x7f40 ([anon:jit])",), "unknown", ""),
    ],
)
def test_the_innermost_frame_that_is_not_the_systems_decides(leaf: tuple[str, ...], kind: str, library: str) -> None:
    shares = stack.native_shares([((LOOP, "predict (model.py:3)", *leaf), 4)])
    assert shares is not None
    assert shares.libraries == ({library: 1.0} if library else {})
    assert {name: getattr(shares, name) for name in ("python", "kernels", "dispatch", "unknown")} == {
        "python": 0.0,
        "kernels": 0.0,
        "dispatch": 0.0,
        "unknown": 0.0,
        kind: 1.0,
    }


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        ("FLOAT_add_X86_V3", "kernels"),
        ("ULONGLONG_divide", "kernels"),
        ("CDOUBLE_multiply", "kernels"),
        ("simd_exp_FLOAT", "kernels"),
        ("__svml_log8_ha", "kernels"),
        ("FLOAT_pairwise_sum", "kernels"),
        ("simd_argmax_f32", "kernels"),
        ("_aligned_contig_cast_float_to_double", "kernels"),
        ("_contig_to_contig", "kernels"),
        ("float_sum_of_products_contig_two", "kernels"),
        ("partition_unrolled<zmm_vector<float>, 8, float>", "kernels"),
        ("PyArray_Where", "kernels"),
        ("LONG_setitem", "dispatch"),
        ("array_argmax", "dispatch"),
        ("_PyArray_ArgMinMaxCommon", "dispatch"),
        ("PyArray_NewFromDescr_int", "dispatch"),
        ("npyiter_fill_axisdata", "dispatch"),
        ("ufunc_generic_fastcall", "dispatch"),
        ("_npy_parse_arguments", "dispatch"),
    ],
)
def test_a_loop_of_numpy_is_known_by_its_name(function: str, kind: str) -> None:
    assert stack.kind_of(f"{function} ({UMATH})") == kind


FRAMES = st.lists(st.text(max_size=9), min_size=1, max_size=4).map(tuple)


@given(st.lists(st.tuples(FRAMES, st.integers(1, 100)), min_size=1, max_size=9))
def test_whatever_names_there_are_the_shares_are_parts_of_one(samples: list[stack.Sample]) -> None:
    shares = stack.native_shares(samples)
    assert shares is not None
    assert shares.python + shares.compiled + shares.unknown == pytest.approx(1)
    assert sum(shares.libraries.values()) == pytest.approx(shares.compiled)
    assert sum(each.self_share for each in stack.native_functions(samples)) == pytest.approx(1)


def test_a_stack_of_system_frames_alone_belongs_to_nothing() -> None:
    shares = stack.native_shares([(("exp (libm.so.6)",), 1)])
    assert shares is not None
    assert shares.unknown == 1


def test_more_samples_make_a_share_more_certain() -> None:
    half = [((LOOP, "f (a.py:2)"), 50), ((LOOP, f"FLOAT_add ({UMATH})"), 50)]
    few, many = stack.native_shares(half), stack.native_shares([(frames, 100 * count) for frames, count in half])
    assert few is not None
    assert many is not None
    assert few.margin == pytest.approx(0.098)
    assert many.margin == pytest.approx(0.0098)


def test_only_what_runs_within_the_calls_counts() -> None:
    text = f"main (worker.py:1);{LOOP};f (a.py:2) 3\nmain (worker.py:1);recv (libc.so.6) 9\nnot a sample\n"
    assert stack.inside_calls(stack.read_collapsed(text)) == [((LOOP, "f (a.py:2)"), 3)]


ORT = "onnxruntime/capi/onnxruntime_pybind11_state.cpython-311-x86_64-linux-gnu.so"


def test_frames_without_symbols_are_one_per_library() -> None:
    samples = [
        ((LOOP, "run (a.py:2)", f"0x7f01 ({ORT})", f"0x7f02 ({ORT})", "0x7f0a (libc.so.6)"), 2),
        ((LOOP, "run (a.py:2)", f"0x7f03 ({ORT})", "0x7f0b (libc.so.6)"), 3),
        ((LOOP, "run (a.py:2)", "run (a.py:2)", f"0x7f04 ({ORT})"), 5),
    ]
    grouped = stack.grouped_by_library(samples)
    assert grouped == [
        ((LOOP, "run (a.py:2)", f"[onnxruntime: no symbols] ({ORT})", "[libc: no symbols] (libc.so.6)"), 5),
        ((LOOP, "run (a.py:2)", "run (a.py:2)", f"[onnxruntime: no symbols] ({ORT})"), 5),
    ]
    assert stack.native_shares(grouped) == stack.native_shares(samples)
    busy = [(each.function, each.place, each.self_share) for each in stack.native_functions(grouped)[:2]]
    assert busy == [("[onnxruntime: no symbols]", ORT, 0.5), ("[libc: no symbols]", "libc.so.6", 0.5)]


def test_numpy_without_symbols_is_still_its_call_machinery() -> None:
    samples = [((LOOP, f"0x7f01 ({UMATH})"), 1)]
    assert stack.native_shares(stack.grouped_by_library(samples)) == stack.native_shares(samples)


def test_a_function_has_one_row_wherever_it_is_called() -> None:
    frames = [
        StackFrame(function="main", file="a.py", line=1, self_ns=10, total_ns=100, parent=None),
        StackFrame(function="f", file="a.py", line=5, self_ns=20, total_ns=60, parent=0),
        StackFrame(function="f", file="a.py", line=5, self_ns=40, total_ns=40, parent=1),
        StackFrame(function="g", file="a.py", line=9, self_ns=0, total_ns=30, parent=0),
        StackFrame(function="f", file="a.py", line=5, self_ns=30, total_ns=30, parent=3),
    ]
    assert stack.functions(frames) == [
        ("f", "a.py", 5, 90, 90, 0.9, 0.9, 3),
        ("main", "a.py", 1, 10, 100, 0.1, 1.0, 1),
        ("g", "a.py", 9, 0, 30, 0.0, 0.3, 1),
    ]


def test_a_function_that_calls_itself_is_counted_once_per_sample() -> None:
    functions = stack.native_functions([(("f (a.py:2)", "f (a.py:3)"), 1), (("f (a.py:2)", f"g ({UMATH})"), 3)])
    shares = [(each.function, each.kind, each.self_share, each.total_share) for each in functions]
    assert shares == [("g", "dispatch", 0.75, 0.75), ("f", "python", 0.25, 1.0)]


def test_without_samples_nothing_is_claimed() -> None:
    assert stack.native_shares([]) is None
    assert stack.python_shares([], 0) is None


def test_pyinstrument_alone_knows_only_built_in_functions() -> None:
    frames = [
        StackFrame(function="f", file="a.py", line=1, self_ns=30, total_ns=40, parent=None),
        StackFrame(function="dot", file="<built-in>", line=0, self_ns=10, total_ns=10, parent=0),
    ]
    shares = stack.python_shares(frames, 4)
    assert shares is not None
    assert (shares.python, shares.compiled, shares.how) == (0.75, 0.25, "pyinstrument")
