"""All files that last are written in one way: a full disk, or a step that fails, costs none of the old ones."""

from __future__ import annotations

import ast
import errno
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from onnxperf.api._keeping.bundles import export_bundle
from onnxperf.drafts import write_aside, written_aside
from onnxperf.errors import FileNotWritten
from onnxperf.render.kit import model_files
from onnxperf.render.kit.files import copy, write
from onnxperf.render.kit.model_files import write_model
from onnxperf.store import open_store
from tests.render import examples
from tests.render.kit.test_files import disk_of
from tests.source import FILES, offenders, parsed

SMALL, LARGE = 1 << 15, 1 << 17


def model_of(size_bytes: int) -> onnx.ModelProto:
    weights = helper.make_tensor("w", TensorProto.UINT8, [size_bytes], os.urandom(size_bytes), raw=True)
    node = helper.make_node("Identity", ["w"], ["y"])
    output = helper.make_tensor_value_info("y", TensorProto.UINT8, [size_bytes])
    return helper.make_model(helper.make_graph([node], "g", [], [output], [weights]))


def _exported(folder: Path) -> None:
    with open_store(folder.with_name("runs.sqlite")) as store:
        store.keep(examples.bench(command=os.urandom(SMALL).hex()), "bench")
    with disk_of(SMALL):
        export_bundle([], folder / "out", store=folder.with_name("runs.sqlite"))


def _copied(folder: Path, beside: bool) -> None:
    source, weights = folder.with_name("source"), folder.with_name("out.data")
    source.write_bytes(bytes(LARGE))
    weights.write_bytes(b"new")
    with disk_of(SMALL):
        copy(source, folder / "out", [weights] if beside else [])


def _saved(folder: Path) -> None:
    with disk_of(SMALL):
        write_model(model_of(LARGE), folder / "out", LARGE)


WRITERS: dict[str, Callable[[Path], None]] = {
    "bytes": lambda folder: _limited(lambda: write(folder / "out", bytes(LARGE))),
    "a copy": lambda folder: _copied(folder, False),
    "a copy after its weights": lambda folder: _copied(folder, True),
    "a model": _saved,
    "a model with weights beside it": _saved,
    "a bundle": _exported,
}


def _limited(step: Callable[[], None]) -> None:
    with disk_of(SMALL):
        step()


@pytest.mark.parametrize("kind", WRITERS)
def test_a_full_disk_leaves_all_files_as_they_were(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "a model with weights beside it":
        monkeypatch.setattr(model_files, "INLINE_BYTES", 0)
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("out", "out.data"):
        (folder / name).write_bytes(b"what was there")
    with pytest.raises(FileNotWritten, match=r"^cannot write .*out: .*File too large"):
        WRITERS[kind](folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == dict.fromkeys(
        ("out", "out.data"), b"what was there"
    )


@pytest.mark.parametrize("can_link", [True, False])
@pytest.mark.parametrize("before", [{}, {"m.onnx": b"old", "m.onnx.data": b"old weights"}], ids=["none", "both"])
def test_weights_come_back_if_their_model_cannot_be_moved(
    tmp_path: Path, before: dict[str, bytes], can_link: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, data in before.items():
        (tmp_path / name).write_bytes(data)
    model, weights = tmp_path / "m.onnx", tmp_path / "m.onnx.data"
    replace, order = Path.replace, list[str]()

    def fail_at_the_model(self: Path, target: Path) -> Path:
        order.append(target.name)
        if target == model:
            raise OSError(errno.EIO, "the disk is gone")
        return replace(self, target)

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(Path, "replace", fail_at_the_model)
    if not can_link:
        monkeypatch.setattr(os, "link", refuse)
    aside = written_aside(weights, model)
    folder = aside.__enter__()
    (folder / weights.name).write_bytes(b"new weights")
    (folder / model.name).write_bytes(b"new")
    with pytest.raises(OSError, match="the disk is gone"):
        aside.__exit__(None, None, None)
    assert order[-1 - bool(before)] == "m.onnx"  # the last, but for what came back
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_model_and_its_weights_change_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "INLINE_BYTES", 0)
    for proto in (model_of(2000), model_of(3000)):
        assert write_model(proto, tmp_path / "m.onnx", 1)
        assert onnx.load(tmp_path / "m.onnx").graph.initializer[0].raw_data == proto.graph.initializer[0].raw_data
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]


def test_an_interrupted_draft_is_removed(tmp_path: Path) -> None:
    write_aside(tmp_path / "a", b"old")
    aside = written_aside(tmp_path / "a")
    (aside.__enter__() / "a").write_bytes(b"ne")
    assert not aside.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}


# ---------------------------------------------------------------- the one way

_SCRATCH = "in the folder for temporary files"
_OWN_DRAFT = "in a folder that is built aside and renamed as a whole"
_SYSTEM = "no file: a setting of the kernel, or a device"
EXCEPTIONS = {
    "drafts.py": "the one way itself",
    "render/kit/files.py": "a device or a pipe, which stays what it is; copies into a draft",
    "render/kit/model_files.py": "into a draft",
    "api/_keeping/bundles.py": "into a draft",
    "store/bundle.py": "into the file that it is given",
    "store/private_files.py": "new files of the spool, with modes of their own",
    "store/spool.py": "moves them, and sets damaged ones aside",
    "api/_bisection/parts.py": _SCRATCH,
    "api/_shared/einsum_race.py": _SCRATCH,
    "api/_shared/einsum_reading.py": _SCRATCH,
    "api/_tuning/on_node.py": _SCRATCH,
    "cli/scratch.py": _SCRATCH,
    "measure/native_stack.py": _SCRATCH,
    "measure/travelling.py": _SCRATCH,
    "measure/worker/quantizing.py": _SCRATCH,
    "measure/worker/reading.py": _SCRATCH,
    "model/load.py": _SCRATCH,
    "model/opened.py": _SCRATCH,
    "model/rewrites/save.py": _SCRATCH,
    "runtimes/base.py": _SCRATCH,
    "scratch.py": "marks of these folders",
    "cluster/node.py": "in the folder of a node, aside and renamed",
    "environments/kept.py": _OWN_DRAFT,
    "measure/instructions.py": "a compiled library in the cache, built aside and renamed",
    "zoo/build.py": _OWN_DRAFT,
    "zoo/models.py": _OWN_DRAFT,
    "pytest_plugin.py": "a lock",
    "cli/surroundings.py": _SYSTEM,
    "cluster/ray_connection.py": _SYSTEM,
    "frameworks/logs.py": _SYSTEM,
    "measure/memory.py": _SYSTEM,
    "measure/worker/serve.py": _SYSTEM,
    "frameworks/torch_program.py": "into memory",
    "results/check.py": "into memory",
    "api/_shared/recordings.py": _SCRATCH,
    "render/paint/figure.py": "into memory",
}
"""Files that write in another way, and why they may."""
WRITES = {
    "write_bytes write_text touch symlink_to hardlink_to",
    "copyfile copyfileobj copy2 copytree make_archive unpack_archive",
    "save_model savez savez_compressed savetxt tofile savefig to_excel to_parquet to_pickle",
    "mkstemp NamedTemporaryFile",
}
NAMES = {name for line in WRITES for name in line.split()}
LIBRARY_SAVES = {"onnx", "np", "program", "model", "export"}
"""What has a `save` that writes a file; results have one of ours."""
_MODE = re.compile(r"(?=.*[wax+])[rwaxbt+]{1,3}")


def writes(path: Path) -> Iterator[str]:
    """Every call in a file that may write to another one."""
    for node in ast.walk(parsed(path)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        given = [*node.args, *(word.value for word in node.keywords)]
        texts = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        opens = name in ("open", "fdopen", "ZipFile") and any(map(_MODE.fullmatch, texts))
        creates = owner == "os" and name == "open" and re.search("O_(WRONLY|RDWR|CREAT)", ast.unparse(node))
        saves = name == "save" and owner.rpartition(".")[2] in LIBRARY_SAVES
        moves = (owner == "shutil" and name in ("copy", "move")) or (
            name in ("rename", "replace") and len(node.args) == 1 and not node.keywords and owner != "dataclasses"
        )
        if name in NAMES or opens or creates or saves or moves:
            yield ast.unparse(node)


def test_files_are_written_in_one_way() -> None:
    others = offenders(FILES, lambda path: list(writes(path)))
    assert {name: calls for name, calls in others.items() if name not in EXCEPTIONS} == {}
    assert set(EXCEPTIONS) - set(others) == set()


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("shutil.copyfile(a, b)", True),
        ("path.open('wb')", True),
        ("open(path, mode='a', encoding='utf-8')", True),
        ("os.open(path, os.O_WRONLY | os.O_CREAT)", True),
        ("zipfile.ZipFile(path, 'w')", True),
        ("onnx.save(proto, path)", True),
        ("draft.replace(path)", True),
        ("path.open('rb')", False),
        ("text.replace('a', 'b')", False),
        ("result.save(path)", False),
    ],
)
def test_ways_to_write_are_found(tmp_path: Path, source: str, is_found: bool) -> None:
    (tmp_path / "a.py").write_text(source)
    assert bool(list(writes(tmp_path / "a.py"))) == is_found
