"""The commands that are tried on hostile files, with options that make them cheap, and what all parts share."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

FOUND = Path("hardening-found")
STEP_S = 5
"""Timeout of a step, where a command has one."""
LIMIT_S = 120
"""For a whole command, of several steps, on a busy machine."""
CORES = os.cpu_count() or 1

MODEL, PLAN = "m.onnx", "plan.toml"
COMMANDS: dict[str, list[str]] = {
    "view": ["view", MODEL],
    "check": ["check", MODEL, "--no-store"],
    "bench": ["bench", MODEL, "--time", "0.05", "--warmup", "0", "--no-store"],
    "profile": ["profile", MODEL, "--calls", "1", "--no-store"],
    "memory": ["memory", MODEL, "--calls", "5", "--skip-arena", "--no-store"],
    "optimize": ["optimize", MODEL, "-o", "out.onnx", "--no-store"],
    "diff": ["diff", MODEL, "--opt-level", "disable,all", "--no-race", "--calls", "1", "--no-store"],
    "stack": ["stack", MODEL, "--calls", "1", "--no-store"],
    "einsum": ["einsum", "--rewrite", MODEL, "--no-search", "-o", "out.onnx", "--no-store"],
    "sweep": ["sweep", PLAN, "--no-store"],
    "convert": ["convert", MODEL, "-o", "out.onnx"],
    "gate": ["gate", MODEL, "--baseline", MODEL, "--time", "0.05", "--warmup", "0", "--no-yardstick", "--no-store"],
    "tune": ["tune", MODEL, "--time", "0.5", "--no-store"],
    "quantize": ["quantize", MODEL, "-o", "out.onnx", "--time", "0.5", "--no-store"],
    "bisect": ["bisect", MODEL, "--optimizers", "--time", "0.5", "--no-store"],
    "advise": ["advise", MODEL, "--time", "0.5", "--warmup", "0", "--no-store"],
}
"""Every command that takes a model."""
SWEEP = f'models = ["{MODEL}"]\n[options]\ntime = 0.05\ntimeout = {STEP_S}\nthreads = 1\n'


@cache
def command(name: str) -> tuple[str, ...]:
    """The arguments of a command, with a timeout where it has one."""
    from onnxperf.cli.main import app

    options = {each for argument in app[name].assemble_argument_collection() for each in argument.names}
    timeout = ["--timeout", str(STEP_S)] if "--timeout" in options else []
    runs = name != "view"  # a listing runs nothing, and refuses what would do nothing
    threads = ["--threads", "1"] if "--threads" in options and runs else []
    return (*COMMANDS[name], *timeout, *threads)
