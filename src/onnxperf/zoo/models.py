"""How the models of the zoo are built, stored and loaded; run as a program, it builds one of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onnxperf.errors import required

SEED = 0
OPSET = 18
"""Opset of the Keras exports: the latest of tf2onnx."""

_WEIGHTS = {"torch": "weights.safetensors", "tensorflow": "model.keras", "sklearn": "weights.npz"}
SAVED_MODEL = "saved_model"
PLAIN = "onnx"
"""Stands for a framework if a model is written directly as ONNX."""

# Missing parameters have the values of the original papers, which are the libraries' defaults.
_BERT_SIZES: dict[str, dict[str, int]] = {
    "bert-base": {
        "vocab_size": 30522,
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "max_position_embeddings": 512,
    },
    "tiny-bert": {
        "vocab_size": 100,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 512,
    },
}
_RESNET_SIZES: dict[str, dict[str, Any]] = {
    "resnet50": {"num_labels": 1000},
    "tiny-resnet": {
        "embedding_size": 8,
        "hidden_sizes": [8, 16],
        "depths": [1, 1],
        "layer_type": "basic",
        "num_labels": 10,
    },
}
_KERAS_BERT_INPUTS = {"attention_mask": "padding_mask", "input_ids": "token_ids", "token_type_ids": "segment_ids"}
"""Torch's input names, in the sorted order of Keras, with the corresponding names in keras_hub."""
_PIXELS = {"resnet50": 224, "tiny-resnet": 32}
_IMAGE = "pixel_values"
"""The input of the image networks, in every framework."""


class ZooTensor(NamedTuple):
    """An input or output of a model: its sizes, with names for free ones."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    values: int | None = None
    """The exclusive upper bound of an index tensor's values."""


class ZooSignature(NamedTuple):
    """Inputs and outputs of a model."""

    inputs: tuple[ZooTensor, ...]
    outputs: tuple[ZooTensor, ...]


def signature(name: str, framework: str) -> ZooSignature:
    """Inputs and outputs of a model of the zoo, in the order of its ONNX file."""
    return _SIGNATURES[_family(name), framework](name)


def build(name: str, framework: str, folder: Path) -> None:
    """Build a model with random weights, and write it and its ONNX file into a folder."""
    _BUILDERS[framework](name, folder)


def load(name: str, framework: str, folder: Path) -> object:
    """The source model from which the ONNX file was exported."""
    return _LOADERS[framework](name, folder)


def _family(name: str) -> str:
    if name in _BERT_SIZES:
        return "bert"
    return "resnet" if name in _RESNET_SIZES else name.removeprefix("tiny-")


def _torch_bert_signature(name: str) -> ZooSignature:
    size, words = _BERT_SIZES[name]["hidden_size"], _BERT_SIZES[name]["vocab_size"]
    hidden = ZooTensor("last_hidden_state", "float32", ("batch", "seq", size))
    pooled = ZooTensor("pooler_output", "float32", ("batch", size))
    return ZooSignature((ZooTensor("input_ids", "int64", ("batch", "seq"), words),), (hidden, pooled))


def _keras_bert_signature(name: str) -> ZooSignature:
    size = _BERT_SIZES[name]["hidden_size"]
    limits = {"input_ids": _BERT_SIZES[name]["vocab_size"], "token_type_ids": 2}
    inputs = tuple(ZooTensor(key, "int32", ("batch", "seq"), limits.get(key)) for key in _KERAS_BERT_INPUTS)
    pooled = ZooTensor("pooled_output", "float32", ("batch", size))
    return ZooSignature(inputs, (pooled, ZooTensor("sequence_output", "float32", ("batch", "seq", size))))


def _torch_resnet_signature(name: str) -> ZooSignature:
    image = ZooTensor(_IMAGE, "float32", ("batch", 3, _PIXELS[name], _PIXELS[name]))
    return ZooSignature((image,), (ZooTensor("logits", "float32", ("batch", _RESNET_SIZES[name]["num_labels"])),))


def _keras_resnet_signature(name: str) -> ZooSignature:
    image = ZooTensor(_IMAGE, "float32", ("batch", _PIXELS[name], _PIXELS[name], 3))
    return ZooSignature((image,), (ZooTensor("predictions", "float32", ("batch", _RESNET_SIZES[name]["num_labels"])),))


def _linear_signature(_name: str) -> ZooSignature:
    return ZooSignature((ZooTensor("X", "float32", ("batch", 10)),), (ZooTensor("Y", "float32", ("batch", 4)),))


def _yardstick_signature(_name: str) -> ZooSignature:
    from onnxperf.zoo.yardstick import BATCH, WIDTHS

    inputs = (ZooTensor("X", "float32", (BATCH, WIDTHS[0])),)
    return ZooSignature(inputs, (ZooTensor("Y", "float32", (BATCH, WIDTHS[-1])),))


_SIGNATURES: dict[tuple[str, str], Callable[[str], ZooSignature]] = {
    ("bert", "torch"): _torch_bert_signature,
    ("bert", "tensorflow"): _keras_bert_signature,
    ("resnet", "torch"): _torch_resnet_signature,
    ("resnet", "tensorflow"): _keras_resnet_signature,
    ("linear", "sklearn"): _linear_signature,
    ("yardstick", PLAIN): _yardstick_signature,
}


def _torch_module(name: str) -> Any:
    transformers = required("transformers", "torch")
    if name in _BERT_SIZES:
        return transformers.BertModel(transformers.BertConfig(**_BERT_SIZES[name])).eval()
    return transformers.ResNetForImageClassification(transformers.ResNetConfig(**_RESNET_SIZES[name])).eval()


def _build_torch(name: str, folder: Path) -> None:
    torch, safetensors = required("torch", "torch"), required("safetensors.torch", "torch")
    torch.manual_seed(SEED)
    module = _torch_module(name)
    shape = signature(name, "torch")
    # No size may be 0 or 1 here: the exporter would treat it as a constant.
    samples = {
        each.name: torch.zeros([size if isinstance(size, int) else 2 + at for at, size in enumerate(each.shape)]).to(
            getattr(torch, each.dtype)
        )
        for each in shape.inputs
    }
    program = torch.onnx.export(
        module,
        kwargs=samples,
        dynamo=True,
        dynamic_shapes={
            each.name: {at: size for at, size in enumerate(each.shape) if isinstance(size, str)}
            for each in shape.inputs
        },
        input_names=[each.name for each in shape.inputs],
        output_names=[each.name for each in shape.outputs],
        verbose=False,
    )
    program.save(folder / f"{name}.onnx")
    safetensors.save_file(
        {key: value.contiguous() for key, value in module.state_dict().items()}, folder / _WEIGHTS["torch"]
    )


def _load_torch(name: str, folder: Path) -> object:
    load_file = required("safetensors.torch", "torch").load_file
    module = _torch_module(name)
    module.load_state_dict(load_file(folder / _WEIGHTS["torch"]), assign=True)
    return module


def _keras_model(name: str) -> Any:
    keras = required("keras", "tensorflow")
    if name == "resnet50":
        image = keras.Input((_PIXELS[name], _PIXELS[name], 3), name=_IMAGE)
        return keras.applications.ResNet50(weights=None, input_tensor=image, classes=_RESNET_SIZES[name]["num_labels"])
    return _tiny_keras_resnet(name) if name in _RESNET_SIZES else _keras_bert(name)


def _keras_bert(name: str) -> Any:
    keras, keras_hub = required("keras", "tensorflow"), required("keras_hub", "tensorflow")
    sizes = _BERT_SIZES[name]
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=sizes["vocab_size"],
        num_layers=sizes["num_hidden_layers"],
        num_heads=sizes["num_attention_heads"],
        hidden_dim=sizes["hidden_size"],
        intermediate_dim=sizes["intermediate_size"],
        max_sequence_length=sizes["max_position_embeddings"],
    )
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in _KERAS_BERT_INPUTS}
    return keras.Model(inputs, backbone({own: inputs[name] for name, own in _KERAS_BERT_INPUTS.items()}))


def _tiny_keras_resnet(name: str) -> Any:
    """A stem and two residual blocks: Keras' own builder for small ones is not public."""
    keras = required("keras", "tensorflow")
    layers = keras.layers
    sizes, pixels = _RESNET_SIZES[name], _PIXELS[name]
    image = keras.Input((pixels, pixels, 3), name=_IMAGE)
    value = layers.Conv2D(sizes["embedding_size"], 7, strides=2, padding="same", use_bias=False)(image)
    value = layers.ReLU()(layers.BatchNormalization()(value))
    for stride, width in enumerate(sizes["hidden_sizes"], start=1):
        shortcut = layers.Conv2D(width, 1, strides=stride, use_bias=False)(value)
        value = layers.Conv2D(width, 3, strides=stride, padding="same", use_bias=False)(value)
        value = layers.ReLU()(layers.Add()([layers.BatchNormalization()(value), shortcut]))
    value = layers.GlobalAveragePooling2D()(value)
    return keras.Model(image, layers.Dense(sizes["num_labels"], activation="softmax", name="predictions")(value))


def _build_keras(name: str, folder: Path) -> None:
    import onnx

    tf, keras, tf2onnx = (required(module, "tensorflow") for module in ("tensorflow", "keras", "tf2onnx"))
    keras.utils.set_random_seed(SEED)
    model = _keras_model(name)
    model.save(folder / _WEIGHTS["tensorflow"])
    model.export(folder / SAVED_MODEL, verbose=False)
    shape = signature(name, "tensorflow")
    specs = {
        each.name: tf.TensorSpec(
            [None if isinstance(size, str) else size for size in each.shape], each.dtype, each.name
        )
        for each in shape.inputs
    }

    def infer(inputs: Mapping[str, Any]) -> dict[str, Any]:
        outputs = model(inputs if len(specs) > 1 else next(iter(inputs.values())), training=False)
        return outputs if isinstance(outputs, dict) else {shape.outputs[0].name: outputs}

    proto, _ = tf2onnx.convert.from_function(tf.function(infer), input_signature=[specs], opset=OPSET)
    _name_sizes(proto, [*shape.inputs, *shape.outputs])
    onnx.save(proto, folder / f"{name}.onnx")


def _load_keras(name: str, folder: Path) -> object:
    if name in _BERT_SIZES:
        required("keras_hub", "tensorflow")  # its layers register themselves with Keras
    return required("keras", "tensorflow").saving.load_model(folder / _WEIGHTS["tensorflow"], compile=False)


def _build_sklearn(name: str, folder: Path) -> None:
    import onnx
    from skl2onnx import to_onnx

    shape = signature(name, "sklearn")
    features, targets = (int(each.shape[1]) for each in (shape.inputs[0], shape.outputs[0]))
    rng = np.random.default_rng(SEED)
    np.savez(
        folder / _WEIGHTS["sklearn"],
        coef_=rng.standard_normal((targets, features)).astype(np.float32),
        intercept_=rng.standard_normal(targets).astype(np.float32),
    )
    proto = to_onnx(
        _load_sklearn(name, folder),
        np.zeros((1, features), np.float32),
        target_opset=OPSET,
    )
    for node in proto.graph.node:
        node.output[:] = [shape.outputs[0].name if each == proto.graph.output[0].name else each for each in node.output]
    proto.graph.output[0].name = shape.outputs[0].name
    _name_sizes(proto, [*shape.inputs, *shape.outputs])
    onnx.save(proto, folder / f"{name}.onnx")


def _load_sklearn(_name: str, folder: Path) -> object:
    from sklearn.linear_model import LinearRegression

    estimator = LinearRegression()
    with np.load(folder / _WEIGHTS["sklearn"], allow_pickle=False) as stored:
        estimator.coef_, estimator.intercept_ = stored["coef_"], stored["intercept_"]
    estimator.n_features_in_ = estimator.coef_.shape[1]
    return estimator


def _build_plain(name: str, folder: Path) -> None:
    import onnx

    from onnxperf.zoo.yardstick import yardstick_model

    onnx.save(yardstick_model(), folder / f"{name}.onnx")


_BUILDERS: dict[str, Callable[[str, Path], None]] = {
    "torch": _build_torch,
    "tensorflow": _build_keras,
    "sklearn": _build_sklearn,
    PLAIN: _build_plain,
}
_LOADERS: dict[str, Callable[[str, Path], object]] = {
    "torch": _load_torch,
    "tensorflow": _load_keras,
    "sklearn": _load_sklearn,
}


def _name_sizes(proto: Any, tensors: Sequence[ZooTensor]) -> None:
    """Name the sizes of inputs and outputs as users will set them."""
    values = {value.name: value for value in (*proto.graph.input, *proto.graph.output)}
    for tensor in tensors:
        del values[tensor.name].type.tensor_type.shape.dim[:]
        for size in tensor.shape:
            added = values[tensor.name].type.tensor_type.shape.dim.add()
            if isinstance(size, str):
                added.dim_param = size
            else:
                added.dim_value = size
    del proto.graph.value_info[:]  # they use other names for the same sizes


if __name__ == "__main__":
    build(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
