"""Options that several commands share, and how their texts become values."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from cyclopts import Group, Parameter

from onnxperf.errors import BadOption
from onnxperf.records.timeouts import STEP_TIMEOUT_S

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from onnxperf.api._cluster.places import ClusterPlace

INPUTS = Group("Inputs", sort_key=1)
SESSION = Group("Session", sort_key=2)
RACE = Group("Race", sort_key=3)
AGAINST = Group("Against", sort_key=4)
CLUSTER = Group("Cluster", sort_key=5)
OUTPUT = Group("Output", sort_key=6)

T = TypeVar("T")
_PLAIN = re.compile(r"[\w.+=/-]+")
_WITH_COMMAS = ("session.intra_op_thread_affinities",)
"""Settings whose values have commas of their own."""
Several = Annotated[list[str], Parameter(negative=(), show_default=False)]
if TYPE_CHECKING:
    File = str
    OptionalFile = str | None
else:  # values stay texts, for str comes first; Path lets shells complete the names of files
    File = Annotated[str | Path, Parameter(metavar="FILE")]
    OptionalFile = Annotated[str | Path | None, Parameter(metavar="FILE")]
Level = Literal["disable", "basic", "extended", "layout", "all"]
Switch = Annotated[bool, Parameter(negative=(), show_default=False)]


@dataclass(frozen=True)
class Flags:
    """A group of options; most are keywords of the Python functions, too."""

    only_here: ClassVar[tuple[str, ...]] = ()
    """Options that the Python functions do not have, or under another name."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python functions."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in self.only_here}


def keywords_of(*groups: Flags) -> dict[str, Any]:
    """The keywords of several groups."""
    return {name: value for group in groups for name, value in group.keywords().items()}


@Parameter(name="*", group=INPUTS)
@dataclass(frozen=True)
class InputFlags(Flags):
    """Where the inputs come from."""

    only_here = ("dim", "shape", "input", "range")

    dim: Annotated[Several, Parameter(metavar="NAME=SIZE")] = field(default_factory=list)
    """Size of a free dimension: batch=8 by its name, X.0=8 by input and axis. May be repeated."""
    shape: Annotated[Several, Parameter(metavar="NAME=SHAPE")] = field(default_factory=list)
    """Shape of an input: X=1000x10. May be repeated."""
    input: Annotated[Several, Parameter(metavar="NAME=FILE")] = field(default_factory=list)
    """Real data for an input: X=file.npy (.npy, .npz or .pb). May be repeated."""
    range: Annotated[Several, Parameter(metavar="NAME=LOW:HIGH")] = field(default_factory=list)
    """Smallest and largest random value of an input: ids=1:8000. May be repeated."""
    seed: int = 0
    """Seed of everything random."""
    cast: Switch = False
    """Cast inputs of another type inside the timed call, instead of refusing them."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python functions."""
        return {
            **super().keywords(),
            "dims": pairs("dim", self.dim, _sizes),
            "shapes": pairs("shape", self.shape, shape_in),
            "ranges": pairs("range", self.range, _bounds),
        }

    def feeds(self) -> dict[str, Path]:
        """The files that were named."""
        return pairs("input", self.input, Path)


@Parameter(name="*", group=CLUSTER)
@dataclass(frozen=True)
class PlaceFlags(Flags):
    """Where cases run."""

    on: str | None = None
    """Run on a cluster: ray on this machine, ray://HOST:PORT, HOST:PORT or auto; each case takes a whole node."""
    nodes: Annotated[Literal["any", "each"], Parameter(show_choices=False)] = "any"
    """Nodes that run a case: any, or each, which also compares them."""

    @property
    def place(self) -> "ClusterPlace | None":
        """The cluster that is named; None means here."""
        from onnxperf.api._cluster.places import place_in

        return place_in({"on": self.on, "nodes": self.nodes})


@Parameter(name="*", group=SESSION)
@dataclass(frozen=True)
class RuntimeFlags(Flags):
    """How runtimes are set up."""

    only_here: ClassVar[tuple[str, ...]] = ("option", "option_unchecked")

    threads: str | None = None
    """Threads of every subject; all usable cores unless given."""
    provider: str = "cpu"
    """Execution provider of onnxruntime."""
    option: Annotated[Several, Parameter(metavar="NAME=VALUE")] = field(default_factory=list)
    """Any setting of onnxruntime: session.intra_op.allow_spinning=0, arena=off, mem_pattern=off, inter_op_threads=2,
    execution_mode=parallel, disabled_optimizers=GeluFusionL2+ReshapeFusion, provider.KEY=VALUE. May be repeated."""
    option_unchecked: Annotated[Several, Parameter(metavar="NAME=VALUE")] = field(default_factory=list)
    """A config entry that is newer than this version of onnxperf: KEY=VALUE. May be repeated."""
    env: Annotated[Several, Parameter(metavar="ENVIRONMENT")] = field(default_factory=list)
    """Environment of the workers, built once and kept: onnxruntime==1.20.1, or the path of a Python interpreter;
    packages are joined with +."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python functions."""
        return {
            **super().keywords(),
            "threads": None if self.threads is None else _one_or_several(self.threads),
            "provider": _one_or_several(self.provider),
            "env": [each for text in self.env for each in _plain_values(text)] or "",
            "options": settings("option", self.option),
            "options_unchecked": settings("option-unchecked", self.option_unchecked),
        }


@Parameter(name="*", group=SESSION)
@dataclass(frozen=True)
class SessionFlags(RuntimeFlags):
    """How runtimes are set up, and how far onnxruntime optimises."""

    opt_level: Annotated[Level | str, Parameter(show_choices=False, metavar="LEVEL")] = "all"
    """Graph optimisation level of onnxruntime: disable, basic, extended, layout or all."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python functions."""
        return {**super().keywords(), "opt_level": _one_or_several(self.opt_level)}


@Parameter(name="*", group=SESSION)
@dataclass(frozen=True)
class VariantFlags(SessionFlags):
    """Settings that may have several values, which race each other: --threads 1,2 --env A,B --option NAME=0,1."""

    only_here: ClassVar[tuple[str, ...]] = (*RuntimeFlags.only_here, "variant")

    variant: Annotated[Several, Parameter(metavar="'NAME: SETTING=VALUE'")] = field(default_factory=list)
    """Settings under a name: 'lean: threads=1, arena=off, call=io-binding'; or a file that `onnxperf tune` saved:
    @tuned.json. May be repeated."""
    all_combinations: Switch = False
    """Race more than 32 combinations of settings."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python functions."""
        return {**super().keywords(), "variants": dict(_variant(text) for text in self.variant)}


@Parameter(name="*", group=RACE)
@dataclass(frozen=True)
class RaceFlags(Flags):
    """How subjects are measured and compared."""

    baseline: str | None = None
    """Name of the subject that the others are compared with; the first unless given."""
    time: float | None = None
    """Seconds after the first start; 9, or as many as five launches or 20 rounds need, unless given."""
    min_effect: str = "1%"
    """Smallest difference that matters, such as 0.5%."""
    warmup: float = 0.1
    """Seconds of untimed calls before a subject is measured."""
    timeout: float = STEP_TIMEOUT_S
    """Seconds that one step (loading, a block of calls) may take."""
    memory_limit: str | None = None
    """Resident memory that a worker may use, such as 2GB or 512MB; a subject that needs more ends as oom."""
    blocks: int | None = None
    """Fixed number of blocks; used with --calls."""
    calls: int | None = None
    """Fixed number of calls per block."""
    split: Switch = False
    """Divide calls into preparing inputs (cast, copy, bind), computing, and fetching outputs."""
    every: str | None = None
    """Start a call every 50ms (or 0.05s), and sleep in between: the time of calls after idling, and the CPU time that
    spinning threads use in the pauses."""
    count: str | None = None
    """Also count after the race: instructions, one subject after the other (needs valgrind and a C compiler)."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python functions."""
        return {**super().keywords(), "min_effect": part(self.min_effect)}


@dataclass(frozen=True)
class ToleranceFlags(Flags):
    """What counts as equal."""

    rtol: float = 1e-3
    """Relative tolerance of floats."""
    atol: float = 1e-5
    """Absolute tolerance of floats; of 1 or more, also of integers of at most 16 bits (quantised outputs)."""


@Parameter(name="*", group=AGAINST)
@dataclass(frozen=True)
class SourceFlags(Flags):
    """The sources of a model, and where they run."""

    only_here: ClassVar[tuple[str, ...]] = ("against",)

    against: Annotated[Several, Parameter(metavar="SOURCE")] = field(default_factory=list)
    """What the model was converted from: [NAME=]FILE.py:function or module:function, which
    return a model (torch, Keras, estimator, callable) or a model and a sample; the name of a model there; a .pt2 or
    .keras file; a saved_model folder; for a zoo model torch, tensorflow or sklearn. May be repeated."""
    device: str = "cpu"
    """Where torch and TensorFlow run: cpu, cuda."""

    def sources(self) -> dict[str, Any] | list[str] | None:
        """The sources by name, or the frameworks of a zoo model."""
        if not self.against:
            return None
        from onnxperf.api._shared.sources import sources_of

        return sources_of(self.against)


@Parameter(name="*", group=AGAINST)
@dataclass(frozen=True)
class AgainstFlags(ToleranceFlags, SourceFlags):
    """What a model is raced against, and what counts as the same result."""

    only_here = ("against", "no_check")

    match: Annotated[Several, Parameter(metavar="NAME=OUTPUT")] = field(default_factory=list)
    """Output of the source to compare with an output of the model: pooled_output=0. May be repeated."""
    no_check: Switch = False
    """Do not compare outputs: for subjects that are meant to compute different results."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python functions."""
        return {**super().keywords(), "match": pairs("match", self.match, place), "check": not self.no_check}


def refuse_others(allowed: frozenset[str], reason: str, *groups: "DataclassInstance") -> None:
    """Refuse options that differ from their defaults and would do nothing."""
    for flags in groups:
        usual = type(flags)()
        for each in fields(flags):
            if each.name not in allowed and getattr(flags, each.name) != getattr(usual, each.name):
                option = each.name.replace("_", "-")
                raise BadOption(f"--{option} does nothing with {reason}; leave it out")


def pairs(option: str, texts: Sequence[str], convert: Callable[[str], T]) -> dict[str, T]:
    """Turn NAME=VALUE texts into a dictionary."""
    found: dict[str, T] = {}
    for text in texts:
        name, equals, value = text.rpartition("=") if option in ("dim", "shape", "range") else text.partition("=")
        if not equals or not name or not value:
            raise BadOption(f"--{option} {text}: expected NAME=VALUE")
        if name in found:
            raise BadOption(f"--{option} {text}: {name} was given twice")
        try:
            found[name] = convert(value)
        except ValueError as error:
            raise BadOption(f"--{option} {text}: {error}") from error
    return found


def settings(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Turn NAME=VALUE[,VALUE] texts into values by name; a name that is repeated has several values."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise BadOption(f"--{option} {text}: expected NAME=VALUE")
        found.setdefault(name, []).extend([value] if name in _WITH_COMMAS else _plain_values(value))
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def _variant(text: str) -> tuple[str, dict[str, str] | str]:
    """A name and its settings, as 'lean: threads=1, arena=off'; or a file of settings, as @tuned.json."""
    if text.startswith("@"):
        return Path(text[1:]).stem or text, text
    name, colon, rest = text.partition(":")
    assignments = [each.strip().partition("=") for each in rest.split(",") if each.strip()]
    if not colon or not name.strip() or not all(key and equals and value for key, equals, value in assignments):
        raise BadOption(f"--variant {text}: expected NAME: SETTING=VALUE, SETTING=VALUE")
    return name.strip(), {key.strip(): value.strip() for key, _, value in assignments}


def _plain_values(text: str) -> list[str]:
    """Commas stand between numbers and words; any other text with commas is one value."""
    parts = text.split(",")
    return parts if all(_PLAIN.fullmatch(part) for part in parts) else [text]


def _one_or_several(text: str) -> Any:
    values = [each for each in text.split(",") if each]
    return values if len(values) != 1 else values[0]


def shape_in(text: str) -> tuple[int, ...]:
    """Sizes as 20x30."""
    return tuple(_whole(size) for size in text.split("x") if size)


def _whole(text: str) -> int:
    """A whole number that is not negative."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _sizes(text: str) -> Any:
    """One size, or several separated by commas."""
    sizes = [_whole(size) for size in text.split(",")]
    return sizes if len(sizes) > 1 else sizes[0]


def place(text: str) -> str | int:
    """A name, or the number of a place."""
    return int(text) if text.isascii() and text.isdigit() else text


def part(text: str, option: str = "min-effect") -> float:
    """A part of a whole, as 0.01 or 1%."""
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError as error:
        raise BadOption(f"--{option} {text}: expected a number such as 0.01 or 1%") from error


def _bounds(text: str) -> tuple[float, float]:
    low, colon, high = text.partition(":")
    if not colon:
        raise ValueError("expected LOW:HIGH, such as 1:8000")
    return float(low), float(high)
