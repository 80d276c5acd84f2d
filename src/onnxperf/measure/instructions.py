"""Instructions per call, counted by valgrind's callgrind in a separate worker with one thread and no spinning."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure.messages import CountInstructions, Load, Prepare, WorkerSpec
from onnxperf.measure.process import Worker
from onnxperf.programs import find_program
from onnxperf.wording.names import one_line, shortened

SLOWDOWN = 4000
"""Maximum slowdown of a call: valgrind computes every lane of a fused multiply-add separately."""
START_S = 15.0
"""Approximate seconds for starting a worker and loading a model under valgrind."""
_COUNTED_NS = 5e6
"""Total time of the counted calls without valgrind, unless a single call is longer."""
_MOST_CALLS = 10
_MOST_WARM_CALLS = 3
_COMPILERS = ("cc", "gcc", "clang")
_SOURCE = Path(__file__).with_name("callgrind.c")
_NO_SPINNING = {"session.intra_op.allow_spinning": "0", "session.inter_op.allow_spinning": "0"}
_PARTS = 3
"""Dumps of a count: the warm-up calls, the overhead of counting, and the counted calls."""


class CountTools(Struct, frozen=True):
    """Tools for counting, in addition to a worker."""

    valgrind: str
    library: Path
    """The compiled requests to valgrind."""


class Count(Struct, frozen=True):
    """Instruction count of one subject."""

    per_call: float
    instruction_set: str
    """The widest instruction set of valgrind's emulated processor."""


def find_tools() -> CountTools:
    """Find valgrind and compile the requests to it; raise before any measurement if something is missing."""
    valgrind = find_program("valgrind")
    if valgrind is None:
        raise BadInput(_missing("valgrind", "counts instructions", "valgrind"))
    compiler = next(filter(None, map(find_program, _COMPILERS)), None)
    if compiler is None:
        raise BadInput(_missing("a C compiler", "compiles the requests to valgrind, once", "gcc"))
    return CountTools(valgrind, _library(compiler))


def _missing(what: str, purpose: str, package: str) -> str:
    return f"{what} is not installed ({purpose}); install it with: apt-get install {package} (or dnf, pacman, apk…)"


def _library(compiler: str) -> Path:
    """The requests to valgrind, compiled by the first command that counts and kept in the user's cache."""
    source = _SOURCE.read_bytes()
    key = hashlib.sha256(source + f"\0{compiler}\0{platform.machine()}".encode()).hexdigest()[:12]
    library = platformdirs.user_cache_path("onnxperf") / "valgrind" / f"callgrind-{key}.so"
    if library.is_file():
        return library
    draft = library.with_suffix(f".{os.getpid()}")
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        command = [compiler, "-O2", "-shared", "-fPIC", "-x", "c", "-o", str(draft), str(_SOURCE)]
        # In our own folder: the compiler also searches PATH for its own programs.
        subprocess.run(
            command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=library.parent
        )
        draft.replace(library)  # another command may compile it too
    except subprocess.CalledProcessError as error:
        complaint = shortened(one_line(error.stderr), 200)
        raise BadInput(f"{compiler} cannot compile {_SOURCE.name}: {complaint}; install another compiler") from error
    except OSError as error:
        raise BadInput(f"{str(library)!r} cannot be written: {error.strerror}; set XDG_CACHE_HOME") from error
    finally:
        draft.unlink(missing_ok=True)
    return library


def command(valgrind: str, folder: Path) -> tuple[str, ...]:
    """Command prefix before the interpreter; counting, and its overhead, starts when the worker requests it."""
    output = str(folder / "counts").replace("%", "%%")  # valgrind would expand % to process numbers
    return (
        valgrind,
        "--command-line-only=yes",  # neither VALGRIND_OPTS nor .valgrindrc
        "--quiet",
        "--tool=callgrind",
        "--vgdb=no",  # its pipes would be left behind in /tmp
        "--instr-atstart=no",
        f"--callgrind-out-file={output}",
    )


def counted_spec(spec: WorkerSpec, wrapper: tuple[str, ...]) -> WorkerSpec:
    """The same subject under valgrind: with one thread, so that waiting for others is not counted."""
    session = replace(spec.session, threads=1, inter_op_threads=1)
    if spec.runtime == "ort":
        session = replace(session, options={**session.options, **_NO_SPINNING})
    return replace(spec, threads=1, session=session, wrapper=wrapper)


def calls_of(call_ns: float) -> tuple[int, int]:
    """Numbers of counted calls and of warm-up calls before them; for long calls one each."""
    calls = max(1, min(_MOST_CALLS, int(_COUNTED_NS / max(call_ns, 1.0))))
    return calls, min(calls, _MOST_WARM_CALLS)


def count_instructions(
    spec: WorkerSpec, call_ns: float, tools: CountTools, launch: Callable[[WorkerSpec], Worker]
) -> Count:
    """Count the instructions of a worker's only subject; `call_ns` is the time of a call without valgrind."""
    calls, warm = calls_of(call_ns)
    with tempfile.TemporaryDirectory(prefix="onnxperf-counts-") as name:
        folder = Path(name)
        counted = counted_spec(spec, command(tools.valgrind, folder))
        with contextlib.closing(launch(counted)) as worker:
            worker.wait_until_ready()
            worker.ask(Load(counted))
            worker.ask(Prepare(0))
            answer = worker.ask(CountInstructions(0, calls, warm, str(tools.library)))
            _, empty, total = (total_in(folder / f"counts.{part}") for part in range(1, _PARTS + 1))
    return Count((total - empty) / calls, answer.instruction_set)


def total_in(file: Path) -> int:
    """Total instructions in a callgrind file."""
    events: list[str] = []
    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, _, values = line.partition(":")
                if key == "events":
                    events = values.split()
                elif key == "totals":
                    return int(values.split()[events.index("Ir")])
    except (OSError, ValueError, IndexError) as error:
        raise SubjectError("failed", f"valgrind's counts cannot be read: {one_line(error)}") from error
    raise SubjectError("failed", "valgrind's counts contain no total")
