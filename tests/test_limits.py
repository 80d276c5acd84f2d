"""What a process may take, of machines whose files are made up."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from onnxperf import limits
from onnxperf.limits import FreeMemory

MB = 10**6
Files = Mapping[str, str]
HOST = {"proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\n"}
FREE = 8_000_000 * 1024
V1 = "4:memory:/job/inner\n0::/"


@pytest.fixture
def root(tmp_path: Path) -> Callable[[Files], Path]:
    def build(files: Files) -> Path:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return build


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, FreeMemory(FREE)),
        ({"sys/fs/cgroup/memory.max": "max", "sys/fs/cgroup/memory.current": "5"}, FreeMemory(FREE)),
        (
            {"sys/fs/cgroup/memory.max": f"{400 * MB}", "sys/fs/cgroup/memory.current": f"{100 * MB}"},
            FreeMemory(300 * MB, 400 * MB, "cgroup memory.max"),
        ),
        (
            {
                "sys/fs/cgroup/memory.max": f"{400 * MB}",
                "sys/fs/cgroup/memory.current": f"{300 * MB}",
                "sys/fs/cgroup/memory.stat": f"anon 5\ninactive_file {100 * MB}\nactive_file {50 * MB}\nfile 9",
            },
            FreeMemory(250 * MB, 400 * MB, "cgroup memory.max"),
        ),
        (
            {
                "sys/fs/cgroup/memory.max": f"{400 * MB}",
                "sys/fs/cgroup/memory.high": f"{200 * MB}",
                "sys/fs/cgroup/memory.current": f"{150 * MB}",
            },
            FreeMemory(50 * MB, 200 * MB, "cgroup memory.high"),
        ),
        (
            {
                "proc/self/cgroup": "0::/outer/inner",
                "sys/fs/cgroup/outer/memory.max": f"{500 * MB}",
                "sys/fs/cgroup/outer/memory.current": f"{450 * MB}",
                "sys/fs/cgroup/outer/inner/memory.max": f"{400 * MB}",
                "sys/fs/cgroup/outer/inner/memory.current": f"{100 * MB}",
            },
            FreeMemory(50 * MB, 500 * MB, "cgroup memory.max"),
        ),
        (
            {
                "proc/self/cgroup": V1,
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": f"{400 * MB}",
                "sys/fs/cgroup/memory/job/memory.usage_in_bytes": f"{300 * MB}",
                "sys/fs/cgroup/memory/job/memory.stat": f"inactive_file 1\ntotal_inactive_file {20 * MB}",
            },
            FreeMemory(120 * MB, 400 * MB, "cgroup memory.limit_in_bytes"),
        ),
        (  # a container that sees its own group as the top, and its path as the host does
            {
                "proc/self/cgroup": "4:memory:/docker/abc",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{400 * MB}",
                "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{500 * MB}",
            },
            FreeMemory(0, 400 * MB, "cgroup memory.limit_in_bytes"),
        ),
        (
            {
                "proc/self/limits": f"Max address space         {600 * MB}            unlimited            bytes",
                "proc/self/status": "VmSize:\t  195312 kB",
            },
            FreeMemory(600 * MB - 195312 * 1024, 600 * MB, "ulimit -v"),
        ),
        (
            {
                "proc/self/limits": f"Max data size             {300 * MB}            unlimited            bytes",
                "proc/self/status": "VmData:\t 97656 kB",
            },
            FreeMemory(300 * MB - 97656 * 1024, 300 * MB, "ulimit -d"),
        ),
        (
            {
                "proc/self/limits": "Max address space         unlimited            unlimited            bytes",
                "sys/fs/cgroup/memory.max": "many",
                "sys/fs/cgroup/memory.high": "-1",
            },
            FreeMemory(FREE),
        ),
    ],
)
def test_the_narrowest_of_all_limits_counts(files: Files, expected: FreeMemory, root: Callable[[Files], Path]) -> None:
    assert limits.free_memory(root({**HOST, **files})) == expected


def test_the_limit_itself_is_the_narrowest_whatever_is_used_of_it(root: Callable[[Files], Path]) -> None:
    files = {
        "proc/self/cgroup": "0::/outer/inner",
        "sys/fs/cgroup/outer/memory.max": f"{500 * MB}",
        "sys/fs/cgroup/outer/memory.current": f"{450 * MB}",
        "sys/fs/cgroup/outer/inner/memory.max": f"{400 * MB}",
    }
    assert limits.memory_limit(root({})) is None
    assert limits.memory_limit(root(files)) == FreeMemory(400 * MB, 400 * MB, "cgroup memory.max")


@pytest.mark.parametrize(("quota", "cpus"), [("max 100000", None), ("150000 100000", 1), ("50000 100000", 1)])
def test_a_quota_bounds_the_processors(quota: str, cpus: int | None, root: Callable[[Files], Path]) -> None:
    assert limits.usable_cpus(root({"sys/fs/cgroup/cpu.max": quota})) == (cpus or len(limits.allowed_cpus()))


def test_without_the_kernels_files_psutil_is_asked(tmp_path: Path) -> None:
    assert limits.free_memory(tmp_path).free_bytes > 0


LIMITED = """
import resource, sys
import numpy, onnx
resource.setrlimit(resource.RLIMIT_AS, (6 * 10**9, resource.RLIM_INFINITY))
from onnxperf.errors import BadFeed
from onnxperf.model.generate import check_memory
try:
    check_memory({"X": (numpy.dtype("float32"), (10**9,))})
except BadFeed as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's files are Linux's")
def test_an_input_that_does_not_fit_is_refused_with_the_limit_and_its_source() -> None:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=True, env=environment)
    assert "input 'X' of shape 1000000000 needs 4.00 GB in each of 3 copies" in done.stdout
    assert "set smaller sizes" in done.stdout
    assert "are free" in done.stdout
