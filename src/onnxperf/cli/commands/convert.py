"""`onnxperf convert`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from onnxperf.cli.options import File, Flags, InputFlags, Several, Switch, ToleranceFlags, keywords_of, pairs
from onnxperf.cli.present import OutputFlags, present
from onnxperf.errors import BadOption
from onnxperf.records.timeouts import LONG_TIMEOUT_S

if TYPE_CHECKING:
    from onnxperf.results.convert import ConvertResult


@Parameter(name="*", group=Group("Conversion", sort_key=0))
@dataclass(frozen=True)
class ConvertFlags(Flags):
    """What the model is to look like."""

    only_here = ("option", "black_op")

    opset: int | None = None
    """Version of ONNX's operators; the converter chooses unless given."""
    input_names: str | None = None
    """Names for the inputs, in their order: ids,mask."""
    output_names: str | None = None
    """Names for the outputs, in their order."""
    dynamic: str | None = None
    """Names of free dimensions: ids.0=batch,ids.1=seq; none fixes all sizes. The first axis is batch unless given."""
    option: Annotated[Several, Parameter(metavar="NAME=VALUE")] = field(default_factory=list)
    """Option of the converter, of skl2onnx for an estimator: zipmap=false. May be repeated."""
    black_op: str | None = None
    """Operators that skl2onnx must not use: Op1,Op2."""
    timeout: float = LONG_TIMEOUT_S
    """Seconds that the converter of a saved_model may take."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python function, but for the options of converters."""
        return {
            **super().keywords(),
            "input_names": _names(self.input_names),
            "output_names": _names(self.output_names),
            "dynamic": None if self.dynamic is None else self.dimensions(),
        }

    def dimensions(self) -> dict[str, str]:
        """Names by input and axis; `none` means that there are none."""
        return {} if self.dynamic == "none" else pairs("dynamic", _names(self.dynamic) or [], str)

    def options(self, is_estimator: bool) -> dict[str, Any]:
        """Options of the converter; those of skl2onnx are in one dictionary."""
        given = pairs("option", self.option, _value)
        if not is_estimator:
            if self.black_op is not None:
                raise BadOption("`black_op` is an option of skl2onnx, and this is not a scikit-learn estimator")
            return given
        black = {"black_op": set(_names(self.black_op) or [])} if self.black_op is not None else {}
        return {**({"options": given} if given else {}), **black}


@Parameter(name="*", group=Group("Comparison", sort_key=0))
@dataclass(frozen=True)
class AgreementFlags(ToleranceFlags):
    """What counts as equal, and what happens if it is not."""

    only_here = ("no_check", "force")

    no_check: Switch = False
    """Do not run the source, and write the model as it is."""
    force: Switch = False
    """Write the model even if it differs from its source; the exit code is still 1."""


def convert(
    source: File,
    /,
    *,
    conversion: ConvertFlags = ConvertFlags(),
    agreement: AgreementFlags = AgreementFlags(),
    inputs: InputFlags = InputFlags(),
    output: OutputFlags = OutputFlags(),
) -> int:
    """Convert a model of scikit-learn, torch, Keras or TensorFlow to ONNX, and check it against its source.

    One of the files must end with .onnx; weights of a large model go into a file beside it. If the results differ,
    the model is not written and the exit code is 1.

    For example:

        onnxperf convert train.py:make_model -o model.onnx --dynamic ids.0=batch,ids.1=seq

        onnxperf convert train.py:make_pipeline -o model.onnx --input X=x.npy --option zipmap=false

        onnxperf convert saved_model_folder -o model.onnx -o report.json --dim batch=4

    Parameters
    ----------
    source
        A function that returns the model, or the model and a sample of its inputs: FILE.py:function or
        module:function; the name of a model there; a .pt2 or .keras file; or the folder of a saved_model.
    """
    from onnxperf.api._shared.origins import remember
    from onnxperf.api._shared.samples import is_estimator, load_model
    from onnxperf.api.convert import convert as make
    from onnxperf.results.convert import ConvertResult

    output.check(ConvertResult)
    path, reports = output.without_model()

    def converted() -> "ConvertResult":
        """Convert and write: the page says where the model is."""
        model, sample = load_model(source, inputs.feeds())
        result = make(
            model,
            sample,
            check=not agreement.no_check,
            **keywords_of(conversion, agreement, inputs),
            **conversion.options(is_estimator(model)),
        )
        if result.record.equal or agreement.force:
            result.save(path, force=agreement.force)
            remember(path, result.record.framework, source)
        return result

    return present(ConvertResult, reports, lambda _progress: converted())


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _value(text: str) -> bool | int | str:
    words = {"true": True, "false": False}
    return words.get(text.lower(), int(text) if text.isascii() and text.isdigit() else text)
