"""Facts about machines that are not at hand: their files and commands are made up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from onnxperf.measure.machine import inventory
from tests.render import examples

Files = Mapping[str, str]
MACHINE = examples.machine(cores=4, logical_cpus=8, governor=None, turbo=None)


def no_command(_command: Sequence[str]) -> str:
    return ""


def versions(**known: str) -> Callable[[str], str | None]:
    return {name.replace("_", "-"): version for name, version in known.items()}.get


@pytest.fixture
def root(tmp_path: Path) -> Callable[[Files], Path]:
    def build(files: Files) -> Path:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    return build


# ---------------------------------------------------------------- threads


@pytest.mark.parametrize(
    ("installed", "environment", "said", "expected"),
    [
        ({"torch": "2.13"}, {}, "4", {"threads of torch": "4 (in a separate process)"}),
        ({"torch": "2.13"}, {}, "", {}),
        ({"torch": "2.13"}, {}, "a warning", {}),
        ({"tensorflow_cpu": "2.21"}, {}, "", {"threads of tensorflow": "8 (one per logical CPU)"}),
        (
            {"tensorflow": "2.21"},
            {"TF_NUM_INTRAOP_THREADS": "3"},
            "",
            {"threads of tensorflow": "3 (TF_NUM_INTRAOP_THREADS)"},
        ),
        (
            {"tensorflow": "2.21"},
            {"TF_NUM_INTRAOP_THREADS": "many"},
            "",
            {"threads of tensorflow": "8 (one per logical CPU)"},
        ),
        (
            {"scikit_learn": "1.9"},
            {"OMP_NUM_THREADS": "2"},
            "",
            {"threads of scikit-learn": "2 in OpenMP parts (OMP_NUM_THREADS)"},
        ),
        (
            {"scikit_learn": "1.9"},
            {},
            "",
            {"threads of scikit-learn": "4 in OpenMP parts (one per physical core), 1 elsewhere (n_jobs)"},
        ),
    ],
)
def test_each_installed_library_tells_its_threads(
    installed: dict[str, str], environment: dict[str, str], said: str, expected: dict[str, str]
) -> None:
    rows = inventory.thread_rows(MACHINE, environment, versions(**installed), lambda _command: said)
    assert dict(row for row in rows if row[0] != "threads of numpy") == expected


@pytest.mark.parametrize("wheel", ["onnxruntime", "onnxruntime_gpu"])
def test_onnxruntime_takes_every_physical_core(wheel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.cpu_count", lambda logical=True: 8 if logical else 4)
    rows = inventory.thread_rows(MACHINE, {}, versions(**{wheel: "1.31"}), no_command)
    assert rows[0] == ("threads of onnxruntime", "4 (one per physical core)")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "8 (one per logical CPU, unless its BLAS overrides this)"),
        ({"OMP_NUM_THREADS": "2"}, "2 (OMP_NUM_THREADS)"),
        ({"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "3"}, "3 (OPENBLAS_NUM_THREADS)"),
        ({"MKL_NUM_THREADS": "some"}, "8 (one per logical CPU, unless its BLAS overrides this)"),
    ],
)
def test_without_threadpoolctl_the_threads_of_numpy_follow_the_environment(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    assert inventory.thread_rows(MACHINE, environment, versions(), no_command) == [("threads of numpy", expected)]


def test_with_threadpoolctl_the_blas_of_numpy_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    pools = [
        {"user_api": "openmp", "filepath": "libgomp.so", "num_threads": 1, "internal_api": "openmp"},
        {"user_api": "blas", "filepath": "scipy.libs/a.so", "num_threads": 2, "internal_api": "openblas"},
        {"user_api": "blas", "filepath": "numpy.libs/b.so", "num_threads": 3, "internal_api": "openblas"},
    ]
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: pools)
    rows = inventory.thread_rows(MACHINE, {}, versions(), no_command)
    assert rows == [("threads of numpy", "3 (openblas)")]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, []),
        ({"HOME": "/root", "OMP_NUM_THREADS": ""}, []),
        (
            {"OMP_WAIT_POLICY": "passive", "HOME": "/root", "OMP_NUM_THREADS": "2"},
            [("environment", "OMP_NUM_THREADS=2, OMP_WAIT_POLICY=passive")],
        ),
    ],
)
def test_only_variables_that_matter_and_are_set_are_shown(environment: dict[str, str], expected: list[object]) -> None:
    assert inventory.environment_rows(environment) == expected


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("affinity", "files", "expected"),
    [
        (8, {}, {}),
        (None, {}, {}),
        (3, {}, {"CPU affinity": "3 of 8 logical CPUs"}),
        (8, {"sys/fs/cgroup/cpu.max": "max 100000"}, {}),
        (8, {"sys/fs/cgroup/cpu.max": "1600000 100000"}, {}),
        (
            8,
            {"sys/fs/cgroup/cpu.max": "150000 100000"},
            {"CPU quota": "1.5 CPUs (cgroup): everything pauses when the quota is used up"},
        ),
        (
            8,
            {
                "proc/self/cgroup": "0::/outer/inner",
                "sys/fs/cgroup/outer/cpu.max": "200000 100000",
                "sys/fs/cgroup/outer/inner/cpu.max": "400000 100000",
            },
            {"CPU quota": "2 CPUs (cgroup): everything pauses when the quota is used up"},
        ),
        (
            8,
            {
                "proc/self/cgroup": "2:cpu,cpuacct:/job\n1:memory:/\n0::/",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "50000",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            {"CPU quota": "0.5 CPUs (cgroup): everything pauses when the quota is used up"},
        ),
        (8, {"sys/fs/cgroup/cpu.max": "100 0"}, {}),
        (
            8,
            {"proc/meminfo": "MemTotal: 16777216 kB", "sys/fs/cgroup/memory.max": str(2 << 30)},
            {"memory limit": "2.15 GB (cgroup memory.max)"},
        ),
        (8, {"proc/meminfo": "MemTotal: 1048576 kB", "sys/fs/cgroup/memory.max": str(2 << 30)}, {}),
        (8, {"sys/fs/cgroup/memory.max": "max"}, {}),
    ],
)
def test_limits_are_shown_where_they_restrict(
    affinity: int | None, files: Files, expected: dict[str, str], root: Callable[[Files], Path]
) -> None:
    assert dict(inventory.limit_rows(affinity, 8, root(files))) == expected


# ---------------------------------------------------------------- accelerators


@pytest.mark.parametrize(
    ("command", "said", "expected"),
    [
        (None, "never asked", []),
        ("nvidia-smi", "", []),
        ("nvidia-smi", "No devices were found", []),
        ("nvidia-smi", "NVIDIA A10, 23028 MiB, 550.54", [("GPU", "NVIDIA A10, 23028 MiB, driver 550.54")]),
        (
            "nvidia-smi",
            "A, 1 MiB, 5\nB, 2 MiB, 5",
            [("GPU", "A, 1 MiB, driver 5; B, 2 MiB, driver 5")],
        ),
    ],
)
def test_gpus_are_what_nvidia_smi_says(command: str | None, said: str, expected: list[object]) -> None:
    assert inventory.gpu_rows(command, lambda _command: said) == expected


CUDNN = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 3\n"


@pytest.mark.parametrize(
    ("files", "installed", "expected"),
    [
        ({}, {}, {}),
        ({}, {"torch": "2.13.0+cpu"}, {}),
        ({}, {"torch": "2.13.0+cu126"}, {"CUDA": "12.6 (torch build)"}),
        (
            {},
            {"nvidia_cuda_runtime_cu12": "12.6.77", "nvidia_cudnn_cu12": "9.5.1"},
            {"CUDA": "12.6.77 (nvidia-cuda-runtime-cu12)", "cuDNN": "9.5.1 (nvidia-cudnn-cu12)"},
        ),
        (
            {"usr/local/cuda/version.json": '{"cuda": {"version": "12.4.1"}}'},
            {},
            {"CUDA": "12.4.1 (/usr/local/cuda)"},
        ),
        ({"usr/local/cuda/version.json": "{"}, {}, {}),
        ({"usr/local/cuda/version.json": "[]"}, {}, {}),
        ({"usr/include/cudnn_version.h": CUDNN}, {}, {"cuDNN": "9.1.3 (/usr/include)"}),
        ({"usr/include/cudnn_version.h": "// empty"}, {}, {}),
    ],
)
def test_cuda_is_found_wherever_it_was_installed(
    files: Files, installed: dict[str, str], expected: dict[str, str], root: Callable[[Files], Path]
) -> None:
    assert dict(inventory.cuda_rows(root(files), versions(**installed))) == expected


def test_a_cuda_without_version_file_has_the_version_of_its_folder(root: Callable[[Files], Path]) -> None:
    top = root({"usr/local/cuda-13.0/bin/nvcc": ""})
    (top / "usr/local/cuda").symlink_to(top / "usr/local/cuda-13.0")
    assert inventory.cuda_rows(top, versions()) == [("CUDA", "13.0 (/usr/local/cuda)")]


# ---------------------------------------------------------------- what makes timings vary


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, {}),
        (
            {"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"},
            {"transparent huge pages": "madvise"},
        ),
        ({"proc/meminfo": "SwapTotal:  2048 kB\nSwapFree:  2048 kB\n"}, {}),
        (
            {"proc/meminfo": "SwapTotal:  5120 kB\nSwapFree:  2048 kB\n"},
            {"swap in use": "3.15 MB: swapped-out memory is slow on first access"},
        ),
    ],
)
def test_memory_settings_are_shown(files: Files, expected: dict[str, str], root: Callable[[Files], Path]) -> None:
    assert dict(inventory.memory_rows(root(files))) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        ({"proc/cpuinfo": "flags\t\t: fpu avx2\n"}, []),
        ({"proc/cpuinfo": "model name : hypervisor\nflags : fpu\n"}, []),
        ({"proc/cpuinfo": "flags\t\t: fpu hypervisor avx2\n"}, ["yes: other guests of the host affect timings"]),
        (
            {"proc/cpuinfo": "flags : hypervisor\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"},
            ["yes (QEMU): other guests of the host affect timings"],
        ),
    ],
)
def test_a_virtual_machine_is_recognised(files: Files, expected: list[str], root: Callable[[Files], Path]) -> None:
    assert [text for _, text in inventory.virtualisation_rows(root(files))] == expected


@pytest.mark.parametrize(
    ("governor", "turbo", "hints"),
    [
        (None, None, []),
        ("performance", False, []),
        ("powersave", False, ["governor hint"]),
        ("performance", True, ["turbo hint"]),
        ("powersave", True, ["governor hint", "turbo hint"]),
    ],
)
def test_a_varying_clock_gets_a_hint(governor: str | None, turbo: bool | None, hints: list[str]) -> None:
    machine = examples.machine(governor=governor, turbo=turbo)
    assert [name for name, _ in inventory.hint_rows(machine)] == hints


# ---------------------------------------------------------------- all together


def test_a_fact_that_cannot_be_read_costs_only_its_own_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> inventory.Rows:
        raise RuntimeError("what a machine")

    monkeypatch.setattr(inventory, "provider_rows", broken)
    names = [name for name, _ in inventory.take_inventory(MACHINE)]
    assert "providers" not in names
    assert "threads of numpy" in names


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ([sys.executable, "-c", "print(' 42 ')"], "42"),
        ([sys.executable, "-c", "print(42); raise SystemExit(1)"], ""),
        (["/no/such/program"], ""),
    ],
)
def test_a_command_that_fails_says_nothing(command: list[str], expected: str) -> None:
    assert inventory.run_quietly(command) == expected


def test_a_command_that_hangs_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory, "COMMAND_TIMEOUT_S", 0.0)
    assert inventory.run_quietly([sys.executable, "-c", "input()"]) == ""
