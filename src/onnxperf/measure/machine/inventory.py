"""Facts about a machine that affect the speed and stability of its timings, as rows of a name and a text."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from onnxperf.limits import allowed_cpus, cpu_quota, memory_limit, read_text
from onnxperf.programs import find_program
from onnxperf.records.base import Machine
from onnxperf.wording.numbers import significant, size

Rows = list[tuple[str, str]]
Run = Callable[[Sequence[str]], str]
"""Runs a command and returns its output, or an empty string if it fails."""
Version = Callable[[str], str | None]
"""The installed version of a distribution, if any."""

COMMAND_TIMEOUT_S = 8.0
_ROOT = Path("/")
_TENSORFLOWS = ("tensorflow", "tensorflow-cpu", "tensorflow-intel", "tensorflow-macos", "tf-nightly")
_CUDA_RUNTIMES = ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime-cu11")
_CUDNNS = ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu11")
_BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_VARIABLES = (
    "OMP_NUM_THREADS",
    *_BLAS_VARIABLES,
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
    "OMP_WAIT_POLICY",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "OPENBLAS_CORETYPE",
    "MKL_ENABLE_INSTRUCTIONS",
    "TF_ENABLE_ONEDNN_OPTS",
    "CUDA_VISIBLE_DEVICES",
    "MALLOC_CONF",
    "LD_PRELOAD",
)


def run_quietly(command: Sequence[str]) -> str:
    """Output of a command; empty if the command is missing, fails or takes too long."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=COMMAND_TIMEOUT_S,
            check=True,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def installed(name: str) -> str | None:
    """The version of a distribution, without importing it."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def take_inventory(machine: Machine, quick: bool = False) -> Rows:
    """All facts that are not in the machine's record; unreadable ones are omitted.

    `quick` omits facts that need a process that imports torch.
    """
    nvidia_smi = find_program("nvidia-smi")
    affinity = len(allowed_cpus()) or None
    finders: tuple[Callable[[], Rows], ...] = (
        lambda: thread_rows(machine, run=(lambda _command: "") if quick else run_quietly),
        lambda: environment_rows(os.environ),
        lambda: limit_rows(affinity, psutil.cpu_count()),
        provider_rows,
        lambda: gpu_rows(nvidia_smi),
        cuda_rows,
        memory_rows,
        virtualisation_rows,
        lambda: hint_rows(machine),
    )
    rows: Rows = []
    for find in finders:
        # A machine can be odd in unforeseen ways; that costs a row, never the report.
        with contextlib.suppress(Exception):
            rows += find()
    return rows


# ---------------------------------------------------------------- threads


def thread_rows(
    machine: Machine,
    environment: Mapping[str, str] = os.environ,
    version: Version = installed,
    run: Run = run_quietly,
) -> Rows:
    """Default number of threads of each installed library; onnxperf sets the same number for all."""
    found: Rows = []
    if version("onnxruntime") or version("onnxruntime-gpu"):
        physical = psutil.cpu_count(logical=False) or machine.cores
        found.append(("onnxruntime", f"{physical} (one per physical core)"))
    found.append(("numpy", _numpy_threads(machine, environment)))
    if version("scikit-learn"):
        found.append(("scikit-learn", _openmp_threads(machine, environment)))
    if version("torch"):
        threads = run([sys.executable, "-P", "-c", "import torch; print(torch.get_num_threads())"])
        found += [("torch", f"{threads} (in a separate process)")] if threads.isdigit() else []
    if any(map(version, _TENSORFLOWS)):
        found.append(("tensorflow", _tensorflow_threads(machine, environment)))
    return [(f"threads of {name}", text) for name, text in found]


def _numpy_threads(machine: Machine, environment: Mapping[str, str]) -> str:
    """Ask the BLAS loaded by numpy, else use the variables that every BLAS obeys."""
    with contextlib.suppress(ImportError):
        importlib.import_module("numpy")  # threadpoolctl sees only loaded libraries
        info = importlib.import_module("threadpoolctl").threadpool_info()
        pools = [pool for pool in info if pool["user_api"] == "blas"]
        own = [pool for pool in pools if "numpy" in pool["filepath"]] or pools
        if own:
            return f"{own[0]['num_threads']} ({own[0]['internal_api']})"
    for name in (*_BLAS_VARIABLES, "OMP_NUM_THREADS"):
        if environment.get(name, "").isdigit():
            return f"{environment[name]} ({name})"
    return f"{machine.logical_cpus} (one per logical CPU, unless its BLAS overrides this)"


def _openmp_threads(machine: Machine, environment: Mapping[str, str]) -> str:
    threads = environment.get("OMP_NUM_THREADS", "")
    if threads.isdigit():
        return f"{threads} in OpenMP parts (OMP_NUM_THREADS)"
    return f"{machine.cores} in OpenMP parts (one per physical core), 1 elsewhere (n_jobs)"


def _tensorflow_threads(machine: Machine, environment: Mapping[str, str]) -> str:
    """TensorFlow's rule, reimplemented because importing it would take longer than the race."""
    threads = environment.get("TF_NUM_INTRAOP_THREADS", "")
    if threads.isdigit() and int(threads) > 0:
        return f"{threads} (TF_NUM_INTRAOP_THREADS)"
    return f"{machine.logical_cpus} (one per logical CPU)"


def environment_rows(environment: Mapping[str, str]) -> Rows:
    """Environment variables that silently change how libraries work."""
    given = [f"{name}={environment[name]}" for name in _VARIABLES if environment.get(name)]
    return [("environment", ", ".join(given))] if given else []


# ---------------------------------------------------------------- limits


def limit_rows(affinity: int | None, cpus: int | None, root: Path = _ROOT) -> Rows:
    """Limits that keep this process from using the whole machine."""
    rows: Rows = []
    if affinity is not None and cpus is not None and affinity < cpus:
        rows.append(("CPU affinity", f"{affinity} of {cpus} logical CPUs"))
    quota = cpu_quota(root)
    if quota is not None and (cpus is None or quota < cpus):
        rows.append(("CPU quota", f"{significant(quota)} CPUs (cgroup): everything pauses when the quota is used up"))
    memory = memory_limit(root)
    if memory is not None and (memory.limit_bytes or 0) < _meminfo(root).get("MemTotal", 2**62):
        rows.append(("memory limit", f"{size(memory.limit_bytes)} ({memory.source})"))
    return rows


# ---------------------------------------------------------------- accelerators


def provider_rows() -> Rows:
    """Execution providers of onnxruntime, in its order of preference."""
    from onnxperf.runtimes.ort.session import available_providers

    return [("providers", ", ".join(available_providers()))]


def gpu_rows(nvidia_smi: str | None, run: Run = run_quietly) -> Rows:
    """Name, memory and driver of every GPU reported by nvidia-smi."""
    if nvidia_smi is None:
        return []
    listing = run([nvidia_smi, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"])
    cards = [[part.strip() for part in line.split(",")] for line in listing.splitlines()]
    texts = [f"{name}, {memory}, driver {driver}" for name, memory, driver in (c for c in cards if len(c) == 3)]
    return [("GPU", "; ".join(texts))] if texts else []


def cuda_rows(root: Path = _ROOT, version: Version = installed) -> Rows:
    """CUDA and cuDNN versions: of the system, installed by pip, and the one torch was built for."""
    cuda = [*_system_cuda(root), *_from_pip(_CUDA_RUNTIMES, version)]
    built_for = re.search(r"\+cu(\d+)(\d)$", version("torch") or "")
    if built_for:
        cuda.append(f"{built_for[1]}.{built_for[2]} (torch build)")
    cudnn = [*_system_cudnn(root), *_from_pip(_CUDNNS, version)]
    return [(name, ", ".join(texts)) for name, texts in (("CUDA", cuda), ("cuDNN", cudnn)) if texts]


def _from_pip(names: Sequence[str], version: Version) -> list[str]:
    return [f"{found} ({name})" for name in names if (found := version(name))]


def _system_cuda(root: Path) -> list[str]:
    folder = root / "usr/local/cuda"
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return [f"{json.loads(read_text(folder / 'version.json') or '')['cuda']['version']} (/usr/local/cuda)"]
    # Without a version file, the name of the link's target folder contains the version.
    named = re.fullmatch(r"cuda-([\d.]+)", folder.resolve().name)
    return [f"{named[1]} (/usr/local/cuda)"] if named else []


def _system_cudnn(root: Path) -> list[str]:
    for folder in ("usr/include", "usr/include/x86_64-linux-gnu", "usr/local/cuda/include"):
        header = read_text(root / folder / "cudnn_version.h") or ""
        parts = [re.search(rf"#define CUDNN_{name} (\d+)", header) for name in ("MAJOR", "MINOR", "PATCHLEVEL")]
        if all(parts):
            return [f"{'.'.join(part[1] for part in parts if part)} (/{folder})"]
    return []


# ---------------------------------------------------------------- what makes timings vary


def memory_rows(root: Path = _ROOT) -> Rows:
    """Huge pages, which affect the speed of large arrays, and swap, which ruins every timing."""
    rows: Rows = []
    chosen = re.search(r"\[(\w+)\]", read_text(root / "sys/kernel/mm/transparent_hugepage/enabled") or "")
    if chosen:
        rows.append(("transparent huge pages", chosen[1]))
    memory = _meminfo(root)
    used = memory.get("SwapTotal", 0) - memory.get("SwapFree", 0)
    if used > 0:
        rows.append(("swap in use", f"{size(used)}: swapped-out memory is slow on first access"))
    return rows


def virtualisation_rows(root: Path = _ROOT) -> Rows:
    """Whether this is a virtual machine, whose timings depend on other guests of the host."""
    flags = re.search(r"^flags\s*:.*\bhypervisor\b", read_text(root / "proc/cpuinfo") or "", re.MULTILINE)
    if not flags:
        return []
    maker = read_text(root / "sys/class/dmi/id/sys_vendor") or read_text(root / "sys/hypervisor/type")
    return [("virtual machine", f"yes{f' ({maker})' if maker else ''}: other guests of the host affect timings")]


def hint_rows(machine: Machine) -> Rows:
    """Settings that would give more stable timings."""
    rows: Rows = []
    if machine.governor == "powersave":
        rows.append(
            ("governor hint", "the clock follows the load; to keep it high: sudo cpupower frequency-set -g performance")
        )
    if machine.turbo:
        rows.append(
            ("turbo hint", "the clock drops as the chip warms up; timings are steadier, but slower, without turbo")
        )
    return rows


def _meminfo(root: Path) -> dict[str, int]:
    """The kernel's memory statistics in bytes."""
    found = re.findall(r"^(\w+):\s+(\d+) kB$", read_text(root / "proc/meminfo") or "", re.MULTILINE)
    return {name: int(kilobytes) * 1024 for name, kilobytes in found}
