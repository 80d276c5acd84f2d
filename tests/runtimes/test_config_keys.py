"""Which config entries and optimisers a release of onnxruntime has: it ignores what it does not know."""

from __future__ import annotations

import platform
from pathlib import Path

import onnxruntime
import pytest

from onnxperf.errors import BadOption
from onnxperf.runtimes.ort.config_keys import (
    OPTIMIZERS,
    RUN_KEYS,
    SESSION_KEYS,
    KnownName,
    check_key,
    check_optimizer,
    check_value,
    known,
)

TABLES = {"session": SESSION_KEYS, "run": RUN_KEYS, "optimisers": OPTIMIZERS}


@pytest.fixture(scope="module")
def library() -> bytes:
    (file,) = (Path(onnxruntime.__file__).parent / "capi").glob("onnxruntime_pybind11_state*")
    return file.read_bytes()


@pytest.mark.parametrize("table", TABLES)
def test_every_name_of_this_release_is_in_the_library(table: str, library: bytes) -> None:
    here = set(known(TABLES[table], onnxruntime.__version__))
    names = [entry.name for entry in TABLES[table] if entry.name in here and not entry.needs]
    # Of a short text the compiler may keep only the first 16 bytes in one piece; level and name are joined at run time.
    pieces = {name: name.removeprefix("Level1").removeprefix("Level2")[:16].encode() for name in names}
    assert [name for name, piece in pieces.items() if piece not in library] == []


@pytest.mark.skipif(platform.system() != "Linux", reason="the library is searched for texts that end with a zero byte")
def test_every_session_key_of_the_library_is_in_the_table(library: bytes) -> None:
    import re

    found = {text.decode() for text in re.findall(rb"\0((?:session|optimization|mlas)\.[a-z0-9_.]{6,})\0", library)}
    names = {entry.name for entry in SESSION_KEYS}
    # The compiler may leave a part of a key by itself: the begin of one, or the end of another after it.
    assert [key for key in found - names if not any(_piece_of(key, name) for name in names)] == []


def _piece_of(text: str, name: str) -> bool:
    return name.startswith(text) or (name.startswith(text[:16]) and name.endswith(text[16:]))


@pytest.mark.parametrize("table", TABLES)
def test_names_are_unique(table: str) -> None:
    names = [entry.name for entry in TABLES[table]]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("key", "version"),
    [
        ("session.intra_op.allow_spinning", "1.16.0"),
        ("session.intra_op.allow_spinning", "1.15.1"),
        ("session.enable_dq_matmulnbits_fusion", "1.24.3"),
        ("session.prepack.enable_parallel", "1.31.1"),
        ("session.prepack.enable_parallel", "1.32.0"),
        ("mlas.use_lut_gemm", "1.24.1+cpu"),
    ],
)
def test_a_key_that_the_release_has_is_accepted(key: str, version: str) -> None:
    check_key(key, version)


@pytest.mark.parametrize(
    ("key", "version", "message"),
    [
        ("session.intra_op.alow_spinning", "1.31.1", r"unknown session config entry .*from: session\.intra_op\.allow_"),
        ("threads", "1.31.1", r"unknown session config entry 'threads'; choose from: session\.disable_prepacking, "),
        ("session.new", "1.40.0", r"\(checked against onnxruntime up to 1\.31; this is 1\.40\.0\)"),
        (
            "mlas.use_lut_gemm",
            "1.20.1",
            r"'mlas\.use_lut_gemm' was added in onnxruntime 1\.24; 1\.20\.1 would ignore it",
        ),
        ("session.enable_dq_matmulnbits_fusion", "1.24.2", r"was added in onnxruntime 1\.24\.3"),
        ("optimization.enable_memory_optimizer", "1.17.3", r"was removed after onnxruntime 1\.16; 1\.17\.3 would"),
        ("optimization.enable_memory_optimizer", "1.16.3", r"has no effect without a training build"),
        ("ep.context_enable", "1.31.1", r"has no effect without a provider other than the CPU's"),
        ("ep.nnapi.partitioning_stop_ops", "1.31.1", r"has no effect without the NNAPI provider"),
        ("session.compile_only", "1.31.1", r"has no effect without onnxruntime's own compiler"),
        ("memory.enable_memory_arena_shrinkage", "1.31.1", r"unknown session config entry"),
    ],
)
def test_a_key_that_would_be_ignored_is_one_line(key: str, version: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        check_key(key, version, ["CPUExecutionProvider"])


def test_keys_of_a_provider_are_accepted_with_it() -> None:
    check_key("ep.context_enable", "1.31.1", ["OpenVINOExecutionProvider", "CPUExecutionProvider"])
    check_key("qnn.htp_perf_mode", "1.31.1", ["QNNExecutionProvider"], run=True)


@pytest.mark.parametrize(("machine", "accepted"), [("x86_64", False), ("aarch64", True), ("arm64", True)])
def test_keys_of_arm_are_accepted_there(monkeypatch: pytest.MonkeyPatch, machine: str, accepted: bool) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    if accepted:
        check_key("mlas.disable_kleidiai", "1.31.1")
        return
    with pytest.raises(BadOption, match="has no effect without an ARM processor"):
        check_key("mlas.disable_kleidiai", "1.31.1")


def test_run_entries_have_a_table_of_their_own() -> None:
    check_key("memory.enable_memory_arena_shrinkage", "1.16.0", run=True)
    with pytest.raises(BadOption, match=r"unknown run config entry 'session\.disable_prepacking'"):
        check_key("session.disable_prepacking", "1.31.1", run=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("session.set_denormal_as_zero", "1"),
        ("session.graph_optimizations_loop_level", "2"),
        ("optimization.minimal_build_optimizations", ""),
        ("session.dynamic_block_base", "4"),
        ("session.newer_than_the_table", "anything"),
    ],
)
def test_a_value_that_the_key_can_have_is_accepted(key: str, value: str) -> None:
    check_value(key, value)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "session.set_denormal_as_zero",
            "true",
            r"'session\.set_denormal_as_zero' cannot be 'true'; choose from: 0, 1",
        ),
        ("session.execution_mode", "fast", "choose from: sequential, parallel, ort_sequential, ort_parallel"),
        ("optimization.minimal_build_optimizations", "no", "choose from: an empty text, save, apply"),
    ],
)
def test_another_value_is_refused_with_the_valid_ones(key: str, value: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        check_value(key, value)


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("GeluFusion", "1.20.1", r"graph optimizer 'GeluFusion' was removed after onnxruntime 1\.19"),
        ("GeluFusionL1", "1.19.2", r"was added in onnxruntime 1\.20"),
        ("ConstantFold", "1.31.1", r"unknown graph optimizer 'ConstantFold'; choose from: ConstantFolding"),
    ],
)
def test_a_graph_optimiser_that_the_release_lacks_is_one_line(name: str, version: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        check_optimizer(name, version)


def test_a_graph_optimiser_that_the_release_has_is_accepted() -> None:
    check_optimizer("GeluFusion", "1.19.2")
    check_optimizer("GeluFusionL1", "1.31.1")
    check_optimizer("Level1_RuleBasedTransformer", "1.31.1")


def test_releases_of_an_entry_go_forward() -> None:
    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".")]

    def backward(entry: KnownName) -> bool:
        return bool(entry.until) and numbers(entry.until) < numbers(entry.since)

    assert [entry.name for table in TABLES.values() for entry in table if backward(entry)] == []
