"""`zoo:NAME`: well-known models with random weights, built on first use without any download, and their sources."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import platformdirs

from onnxperf.errors import BadInput, BadOption, MissingExtra
from onnxperf.frameworks.base import Libraries, Live, find_framework, version_of
from onnxperf.frameworks.tensorflow import SavedModel
from onnxperf.zoo import PREFIX
from onnxperf.zoo import models as zoo_models

ZOO: dict[str, tuple[str, ...]] = {
    "resnet50": ("torch", "tensorflow"),
    "bert-base": ("torch", "tensorflow"),
    "tiny-resnet": ("torch", "tensorflow"),
    "tiny-bert": ("torch", "tensorflow"),
    "tiny-linear": ("sklearn",),
    "yardstick": (zoo_models.PLAIN,),
}
"""The frameworks in which each model can be built; the first is the default."""

_REVISION = 2
"""Incremented when a change here invalidates cached models."""
_MORE_LIBRARIES: dict[str, Libraries] = {
    "torch": {"transformers": ("transformers",), "safetensors": ("safetensors",)},
}
"""What a build needs in addition to what its framework needs for a conversion."""
_KERAS_HUB: Libraries = {"keras_hub": ("keras-hub",)}


@dataclass(frozen=True)
class ZooEntry:
    """A model of the zoo, as ONNX and in its source framework."""

    name: str
    framework: str
    folder: Path

    @property
    def onnx(self) -> Path:
        """The ONNX file; its free sizes are named batch and seq."""
        return self.folder / f"{self.name}.onnx"

    @property
    def saved_model(self) -> Path | None:
        """The saved_model folder, for Keras models."""
        return self.folder / zoo_models.SAVED_MODEL if self.framework == "tensorflow" else None

    @property
    def inputs(self) -> tuple[zoo_models.ZooTensor, ...]:
        """Inputs of the ONNX file in order, known before it is built."""
        return zoo_models.signature(self.name, self.framework).inputs

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(each.name for each in self.inputs)

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Bounds of inputs that are indices: tf2onnx hides which table they index."""
        return {each.name: (0, each.values - 1) for each in self.inputs if each.values is not None}

    @property
    def load(self) -> Callable[[], object]:
        """A function that returns the source: a torch module, a Keras model or an estimator; cheap to pickle."""
        return partial(zoo_models.load, self.name, self.framework, self.folder)

    def subjects(self, device: str = "cpu") -> dict[str, Callable[..., object]]:
        """The framework's subjects that can race against the ONNX file, by name; loaded only in a worker."""
        if self.framework == zoo_models.PLAIN:
            raise BadOption(f"{PREFIX}{self.name} was not converted from anything", option="against")
        framework = find_framework(self.framework)
        make = partial(framework.lazy, self.load, input_names=self.input_names, device=device)
        if self.saved_model is None:
            return {framework.name: make()}
        loaded = SavedModel(Live(str(self.saved_model)), input_names=self.input_names, device=device)
        return {
            **{f"{framework.name} {call}": make(call=call) for call in framework.calls},
            f"{framework.name} {zoo_models.SAVED_MODEL}": loaded,
        }


def zoo_model(name: str, framework: str | None = None, say: Callable[[str], None] = lambda _text: None) -> ZooEntry:
    """A model of the zoo, built now if necessary; `name` with or without zoo:.

    `say` receives a line when a build begins: large ones take minutes.
    """
    entry = find_entry(name, framework)
    draft = _draft_folder(entry)
    if draft is not None:
        say(f"building {PREFIX}{entry.name} with {entry.framework}; this happens only once and may take minutes")
        _build(entry, draft)
    return entry


def _draft_folder(entry: ZooEntry) -> Path | None:
    """The folder to build a model in; None if it is already built."""
    try:
        if entry.onnx.is_file():
            return None
        entry.folder.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".building-", dir=entry.folder.parent))
    except OSError as error:
        raise BadInput(
            f"{PREFIX}{entry.name} cannot be built in {entry.folder.parent} ({error.strerror}); "
            "choose another cache folder: XDG_CACHE_HOME=FOLDER"
        ) from error


def find_entry(name: str, framework: str | None = None) -> ZooEntry:
    """A model of the zoo, built or not; rejects what the zoo or this installation does not provide."""
    name = name.removeprefix(PREFIX)
    if name not in ZOO:
        raise BadOption.unknown("model of the zoo", name, [f"{PREFIX}{each}" for each in ZOO])
    framework = framework or ZOO[name][0]
    if framework not in ZOO[name]:
        raise BadOption.unknown(f"framework of {PREFIX}{name}", framework, ZOO[name], option="against")
    versions = _versions(name, framework)
    return ZooEntry(name, framework, zoo_folder() / "-".join([name, f"r{_REVISION}", *versions]))


def zoo_folder() -> Path:
    """The folder of built models, which may be deleted at any time."""
    return platformdirs.user_cache_path("onnxperf") / "zoo"


def _versions(name: str, framework: str) -> list[str]:
    """Names and versions of the packages that build a model, found without importing them."""
    if framework == zoo_models.PLAIN:
        return []  # its bytes do not depend on versions
    needed = {**find_framework(framework).libraries, **_MORE_LIBRARIES.get(framework, {})}
    if framework == "tensorflow" and "bert" in name:
        needed |= _KERAS_HUB
    missing = next((module for module in needed if importlib.util.find_spec(module) is None), None)
    if missing is not None:
        raise MissingExtra(missing, framework)
    return [f"{module}{version_of(names)}" for module, names in needed.items()]


def _build(entry: ZooEntry, draft: Path) -> None:
    """Build in a separate process: frameworks are large, print a lot, and may conflict with each other."""
    try:
        command = [sys.executable, "-P", "-m", zoo_models.__name__, entry.name, entry.framework, str(draft)]
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        quiet = {
            "PYTHONPATH": paths,
            "PYTHONWARNINGS": "ignore",
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "CUDA_VISIBLE_DEVICES": "",
        }
        done = subprocess.run(
            command, env={**os.environ, **quiet, "KERAS_BACKEND": "tensorflow"}, capture_output=True, check=False
        )
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
            raise BadInput(f"{PREFIX}{entry.name} cannot be built with {entry.framework}: {said[-1].strip()}")
        with contextlib.suppress(OSError):  # another process was faster; its result is the same
            draft.replace(entry.folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
