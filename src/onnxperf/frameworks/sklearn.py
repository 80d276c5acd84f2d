"""Estimators of sklearn, and of libraries with the same methods."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeGuard, Unpack

import numpy as np

from onnxperf.errors import BadInput, BadOption, required
from onnxperf.frameworks.base import ExportRequest, Framework, Libraries, Shape, SubjectOptions, is_instance
from onnxperf.frameworks.outputs import Outputs
from onnxperf.frameworks.rows import probing_rows
from onnxperf.runtimes.base import Array

if TYPE_CHECKING:
    import onnx

_METHODS = ("fit", "predict", "transform")
_SCORES = ("predict_proba", "decision_function")
_TRIED_ROWS = 2
_OTHER_FLOATS = {"float32": "float64", "float64": "float32"}
_ROWS = 10
"""Rows of a random sample for an estimator that declares its number of columns."""


class Estimator(Protocol):
    """The methods used of an estimator; a transformer has `transform` instead of `predict`."""

    def predict(self, table: object, /) -> Array:
        """Labels or values."""

    def transform(self, table: object, /) -> Array:
        """Other columns."""


class SklearnFramework(Framework[Estimator]):
    """Estimators, converted by skl2onnx."""

    name = "sklearn"
    converter = "skl2onnx"
    libraries: ClassVar[Libraries] = {"sklearn": ("scikit-learn",), "skl2onnx": ("skl2onnx",)}
    takes_table = True
    options = (
        "options",
        "black_op",
        "white_op",
        "final_types",
        "initial_types",
        "model_optim",
        "name",
        "naming",
    )

    def detect(self, source: object) -> TypeGuard[Estimator]:
        """An estimator of sklearn, or of another library with its methods, which skl2onnx can convert as well."""
        if isinstance(source, type):
            return False
        looks_like_one = any(callable(getattr(source, name, None)) for name in _METHODS)
        return looks_like_one or is_instance(source, "sklearn.base", "BaseEstimator")

    def export(self, source: Estimator, request: ExportRequest) -> onnx.ModelProto:
        """Convert an estimator; the number of rows stays free."""
        options = dict(request.options)
        types = options.pop("initial_types", None) or _initial_types(request.sample_for(self.name))
        convert = partial(required("skl2onnx", self.name).to_onnx, source, initial_types=types)
        if options.get("options"):
            _check_estimators(source, options["options"])
        for name in ("black_op", "white_op"):
            if options.get(name):
                options[name] = _known_operators(name, options[name], convert)
        proto: onnx.ModelProto | None = convert(target_opset=request.opset, **options)
        if proto is None:
            raise BadInput("skl2onnx returned no model")
        return proto

    def input_names(self, source: Estimator, count: int) -> list[str]:
        """An estimator takes one table."""
        del source, count
        return ["X"]

    def shapes(self, source: Estimator, requested: Mapping[str, Shape]) -> Mapping[str, Shape]:
        """A few rows if the number of columns is known."""
        columns = getattr(source, "n_features_in_", None)
        return {"X": (_ROWS, columns)} if not requested and isinstance(columns, int) else requested

    def tables(self, source: Estimator, arrays: Mapping[str, Array]) -> list[dict[str, Array]]:
        """Rows at the thresholds of trees, at ties and at extremes, which are rare in samples of a few rows."""
        return probing_rows(source, arrays)

    def lazy(self, load: Callable[[], Estimator], **options: Unpack[SubjectOptions]) -> Callable[..., object]:
        """Labels and, if available, probabilities or scores; or the result of a transformer."""
        if options.get("call", "call") not in self.calls:
            raise BadOption.unknown("sklearn call", options["call"], self.calls)
        return EstimatorCall.of(load(), options.get("input_names", ()))

    def note_on_calls(self, source: Estimator, arrays: Mapping[str, Array]) -> str:
        """A note if the estimator does not accept the converted model's float type."""
        return EstimatorCall.of(source, arrays).tried_on(arrays.values()).note

    def outputs(self, source: Estimator, arrays: Mapping[str, Array]) -> Outputs:
        """The estimator's predictions for one table; other outputs are not converted."""
        outputs = EstimatorCall.of(source, arrays).tried_on(arrays.values())(*arrays.values())
        values = outputs if isinstance(outputs, list) else [outputs]
        return [each.toarray() if hasattr(each, "toarray") else each for each in values]


class EstimatorCall:
    """An estimator on the arrays of a model's inputs: they become one table, with floats of a supported type."""

    def __init__(self, call: Callable[..., object], estimator: object, input_names: Iterable[str] = ()) -> None:
        self._call = call
        self._kind = type(estimator).__name__
        self._columns = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
        self._names = tuple(input_names)
        self._floats = ""
        """The type used in place of the given one."""
        self._refused = ""

    @classmethod
    def of(cls, estimator: Estimator, input_names: Iterable[str] = ()) -> EstimatorCall:
        """Labels and scores of an estimator, or the result of a transformer."""
        return cls(estimator_call(estimator), estimator, input_names)

    @property
    def note(self) -> str:
        """A note for readers on its inputs; empty if they are those of the model."""
        if not self._floats:
            return ""
        return f"{self._kind} rejects {self._refused}, so it is called with {self._floats}, the type it was fitted on"

    def tried_on(self, arrays: Iterable[Array]) -> EstimatorCall:
        """The same, with another float type if a few rows of these inputs show that it is needed."""
        few = [array[:_TRIED_ROWS] for array in arrays if array.ndim]
        given = next((array.dtype.name for array in few if array.dtype.name in _OTHER_FLOATS and array.size), "")
        if not given or self._takes(few):
            return self
        other = copy.copy(self)
        other._refused, other._floats = given, _OTHER_FLOATS[given]
        return other if other._takes(few) else self

    def _takes(self, arrays: Iterable[Array]) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self(*arrays)
            except Exception:
                return False  # the error is reported when all rows are predicted
        return True

    def bind(self, *arrays: Array) -> Callable[[], object]:
        """A prediction for these inputs, which are joined into a table once."""
        cast = [array.astype(self._floats) if array.dtype.name == self._refused else array for array in arrays]
        return partial(self._call, cast[0] if len(cast) == 1 else _frame(self._names, cast, self._columns))

    def __call__(self, *arrays: Array) -> object:
        """Predict once."""
        return self.bind(*arrays)()


def estimator_call(estimator: Estimator) -> Callable[..., object]:
    """Labels and, if available, probabilities or scores; otherwise the result of a transformer."""
    if not hasattr(estimator, "predict"):
        if not hasattr(estimator, "transform"):
            raise BadOption(f"a {type(estimator).__name__} has neither predict nor transform")
        return estimator.transform
    scores = next((name for name in _SCORES if hasattr(estimator, name)), None)

    def predict(*inputs: object) -> object:
        labels = estimator.predict(*inputs)
        return labels if scores is None else [labels, getattr(estimator, scores)(*inputs)]

    return predict


def _check_estimators(source: Estimator, options: Mapping[object, object]) -> None:
    """Reject options of estimators that are not part of the model: skl2onnx ignores them."""
    enumerate_models = required("skl2onnx.common.utils_sklearn", "sklearn").enumerate_model_names
    parts = [part for _, part in enumerate_models(source)]
    known = {type(part) for part in parts} | {id(part) for part in parts}
    for key in options:
        if not isinstance(key, str) and key not in known:
            named = key.__name__ if isinstance(key, type) else key
            names = dict.fromkeys(type(part).__name__ for part in parts)
            raise BadOption.unknown("estimator in `converter_options`", named, names, option="converter_options")


def _known_operators(option: str, given: str | Collection[str], convert: Callable[[], onnx.ModelProto]) -> set[str]:
    """Names of operators; skl2onnx accepts any text, and misspelled names have no effect."""
    from onnx import defs

    names = {given} if isinstance(given, str) else set(given)
    unknown = names - {schema.name for schema in defs.get_all_schemas()}
    if unknown:
        used = sorted({node.op_type for node in convert().graph.node})
        raise BadOption.unknown(f"operator in `{option}`", min(unknown), used, option=option)
    return names


def _initial_types(arrays: Mapping[str, Array]) -> list[tuple[str, object]]:
    guess = required("skl2onnx.common.data_types", "sklearn").guess_data_type
    types: list[tuple[str, object]] = []
    for name, array in arrays.items():
        # Convert to float32 even if fitted on float64: onnxruntime is fast with it, and supports all operators.
        kind = guess(array.astype(np.float32) if array.dtype == np.float64 else array)[0][1]
        kind.shape = [None, *array.shape[1:]]
        types.append((name, kind))
    return types


def _frame(names: Sequence[str], arrays: Sequence[Array], fitted: Sequence[str]) -> object:
    """A frame with one column per input: by name, or in the order of the columns that an estimator was fitted on."""
    from pandas import DataFrame

    columns = [column for array in arrays for column in array.reshape(len(array), -1).T]
    by_name = len(names) == len(columns) and (not fitted or set(names) == set(fitted))
    known = names if by_name or len(fitted) != len(columns) else fitted
    labels = known if len(known) == len(columns) else map(str, range(len(columns)))
    return DataFrame(dict(zip(labels, columns, strict=True)))


FRAMEWORK = SklearnFramework()
