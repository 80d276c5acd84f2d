"""What reads data from outside, as functions of bytes; they raise only what no user should ever see."""

from __future__ import annotations

import atexit
import contextlib
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
import onnx

from onnxperf import scratch
from onnxperf.analyze.answers.profile import profile_answer
from onnxperf.analyze.trace.events import lay_out
from onnxperf.analyze.trace.node_memory import node_memories
from onnxperf.analyze.trace.profile import summarise
from onnxperf.api._shared.plans import plan_cells
from onnxperf.api._shared.recordings import result_of_trace
from onnxperf.api._shared.variants import saved_settings
from onnxperf.contraction.equation import parse
from onnxperf.errors import OnnxperfError
from onnxperf.measure.messages import decode_reply, decode_request
from onnxperf.measure.trace.read import parse_trace
from onnxperf.model.files import read_archive, read_inputs
from onnxperf.model.load import open_model
from onnxperf.records.profile import Profile
from onnxperf.render.profile.perfetto import perfetto_json
from onnxperf.store.blobs import unpack_blocks, unpack_times
from onnxperf.store.bundle import FORMAT, VERSION, open_bundle
from onnxperf.store.documents import from_document
from tests.fuzz import seeds
from tests.fuzz.mutations import mutated_bytes, mutated_json, mutated_message, mutated_text

_SUFFIXES = (".npy", ".npz", ".pb")


@cache
def _folder() -> Path:
    """Where data lie that can only be read from a file."""
    folder = Path(tempfile.mkdtemp(prefix="onnxperf-fuzz-"))
    atexit.register(scratch.remover(folder))
    return folder


@contextlib.contextmanager
def _only(*expected: type[Exception]) -> Iterator[None]:
    """Errors that a caller is prepared for are no fault."""
    with contextlib.suppress(OnnxperfError, *expected):
        yield


def read_model(data: bytes) -> None:
    """Open a model."""
    with _only():
        open_model(data)


def read_trace(data: bytes) -> None:
    """Read a trace, and sum it up."""
    with _only():
        trace = parse_trace(data, "the trace")
        layout = lay_out(trace)
        assert len(layout.places()) == len(layout.node_rows)
        profile_answer(summarise(trace, layout, "fuzzed"))
        perfetto_json(trace, "fuzzed")
        node_memories(trace, layout, "fuzzed")


def read_profile(data: bytes) -> None:
    """Read a trace, and show it in every form."""
    path = _folder() / "trace.json"
    path.write_bytes(data)
    with _only():
        result = result_of_trace(path)
        repr(result)
        result.to_markdown()
        result.to_json()
        for table in result.table_names():
            result.table(table)


def read_equation(data: bytes) -> None:
    """Parse an einsum equation; what follows each bar is the shape of an operand."""
    equation, *shapes = data.decode("utf-8", "surrogateescape").split("|")
    sizes = [tuple(ord(size) - 48 for size in shape) for shape in shapes]
    with _only():
        parse(equation, sizes)


def read_plan(data: bytes) -> None:
    """Read the plan of a sweep; it names no source, as those run code."""
    path = _folder() / "plan.toml"
    path.write_bytes(data)
    if b":" not in data:
        with _only():
            plan_cells(path)


def read_input(data: bytes) -> None:
    """Read an array; the first byte chooses the kind of its file."""
    path = _folder() / f"x{_SUFFIXES[data[0] % len(_SUFFIXES)] if data else '.npy'}"
    path.write_bytes(data[1:])
    with _only():
        read_inputs({"X": path})
    if path.suffix == ".npz":
        with _only():
            read_archive(path)


def read_settings(data: bytes) -> None:
    """Read a file of settings."""
    path = _folder() / "tuned.json"
    path.write_bytes(data)
    with _only():
        saved_settings(path)


def read_message(data: bytes) -> None:
    """Decode what a parent and a worker send each other."""
    for decode in (decode_request, decode_reply):
        with _only(msgspec.MsgspecError, UnicodeDecodeError):  # msgspec lets the latter through
            decode(data)


def read_stored(data: bytes) -> None:
    """Read what a store holds: timings and records."""
    for unpack in (unpack_blocks, unpack_times):
        with _only():
            unpack(data)
    with _only():
        from_document(data.decode("utf-8", "replace"), Profile)


def read_bundle(data: bytes) -> None:
    """Read a bundle of runs: a whole file, or the lines of a run that are put into one."""
    path = _folder() / "runs.zip"
    path.write_bytes(data)
    with contextlib.suppress(ValueError, RecursionError):
        values = json.loads(data)
        lines = map(json.dumps, values if isinstance(values, list) else [values])
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("manifest.json", json.dumps({"format": FORMAT, "version": VERSION, "runs": 1}))
            archive.writestr("runs/000001.jsonl", "\n".join(lines))
    with _only(), open_bundle(path) as runs:
        assert runs is not None


# ---------------------------------------------------------------- what they are given


class Target(NamedTuple):
    """A function of bytes, with whole inputs and a way to damage these that leaves their form."""

    read: Callable[[bytes], None]
    seeds: Callable[[], Sequence[bytes]]
    damage: Callable[[bytes, Random], bytes] = mutated_bytes


def damaged_model(data: bytes, random: Random) -> bytes:
    """A model with other fields."""
    proto = onnx.ModelProto.FromString(data)
    mutated_message(proto, random)
    return bytes(proto.SerializeToString())


def damaged_json(data: bytes, random: Random) -> bytes:
    """A trace with other values; one that is not JSON has other bytes."""
    try:
        return json.dumps(mutated_json(json.loads(data), random)).encode("utf-8", "replace")
    except ValueError:
        return mutated_bytes(data, random)


def damaged_text(data: bytes, random: Random) -> bytes:
    """A text with other words."""
    return mutated_text(data.decode(), random).encode("utf-8", "replace")


def _equations() -> Sequence[bytes]:
    return [f"{equation}{'|2222' * (equation.count(',') + 1)}".encode() for equation in seeds.EQUATIONS]


def _inputs() -> Sequence[bytes]:
    suffixes = [Path(name).suffix for name in seeds.inputs()]
    return [bytes([_SUFFIXES.index(each)]) + data for each, data in zip(suffixes, seeds.inputs().values(), strict=True)]


def _values(of: Callable[[], dict[str, bytes]]) -> Callable[[], Sequence[bytes]]:
    return lambda: list(of().values())


TARGETS = {
    "model": Target(read_model, _values(seeds.models), damaged_model),
    "trace": Target(read_trace, _values(seeds.traces), damaged_json),
    "profile": Target(read_profile, _values(seeds.traces), damaged_json),
    "equation": Target(read_equation, _equations, damaged_text),
    "plan": Target(read_plan, lambda: [plan.encode() for plan in seeds.PLANS.values()], damaged_text),
    "input": Target(read_input, _inputs),
    "settings": Target(read_settings, lambda: [each.encode() for each in seeds.SETTINGS], damaged_json),
    "message": Target(read_message, _values(seeds.messages)),
    "stored": Target(read_stored, _values(seeds.timings)),
    "bundle": Target(read_bundle, _values(seeds.bundles), damaged_json),
}


def mutant(target: Target, number: int) -> bytes:
    """One of the target's inputs, damaged; the same number, the same damage."""
    random = Random(number)
    damage = target.damage if random.random() < 0.7 else mutated_bytes
    return damage(random.choice(target.seeds()), random)


def regressions(folder: Path) -> Iterable[tuple[str, Path]]:
    """Files that once broke something, each with the name of its target."""
    return [(path.parent.name, path) for path in sorted(folder.glob("*/*")) if path.parent.name in TARGETS]
