"""Recurrent networks: RNN, GRU and LSTM, step by step, with the products of all inputs computed at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel

Activation = Callable[[Array], Array]
States = Sequence[Array]


class _Rule(NamedTuple):
    """An activation function, and the defaults of its parameters."""

    function: Callable[[Array, float, float], Array]
    alpha: float | None = None
    beta: float | None = None


def _sigmoid(x: Array, _alpha: float, _beta: float) -> Array:
    return 0.5 * np.tanh(0.5 * x) + 0.5


_ACTIVATIONS: dict[str, _Rule] = {
    "relu": _Rule(lambda x, _a, _b: np.maximum(x, 0)),
    "tanh": _Rule(lambda x, _a, _b: np.tanh(x)),
    "sigmoid": _Rule(_sigmoid),
    "affine": _Rule(lambda x, a, b: x * a + b, 1.0, 0.0),
    "leakyrelu": _Rule(lambda x, a, _: np.where(x < 0, x * a, x), 0.01),
    "thresholdedrelu": _Rule(lambda x, a, _: np.where(x > a, x, 0), 1.0),
    "scaledtanh": _Rule(lambda x, a, b: np.tanh(x * b) * a, 1.0, 1.0),
    "hardsigmoid": _Rule(lambda x, a, b: np.clip(x * a + b, 0, 1), 0.2, 0.5),
    "elu": _Rule(lambda x, a, _: np.where(x < 0, np.expm1(np.minimum(x, 0)) * a, x), 1.0),
    "softsign": _Rule(lambda x, _a, _b: x / (1 + np.abs(x))),
    "softplus": _Rule(lambda x, _a, _b: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))),
}


def _activations(node: Node, defaults: Sequence[str], directions: int) -> list[list[Activation]] | None:
    """The functions of each direction; parameters are listed only for functions that take them."""
    names = [name.lower() for name in node.get("activations") or [*defaults] * directions]
    if len(names) != len(defaults) * directions or not _ACTIVATIONS.keys() >= set(names):
        return None
    alphas, betas = (iter(node.get(f"activation_{each}") or ()) for each in ("alpha", "beta"))
    bound = float(node.get("clip", 0.0))
    found = [_bound(_ACTIVATIONS[name], alphas, betas, bound) for name in names]
    return [found[i : i + len(defaults)] for i in range(0, len(found), len(defaults))]


def _bound(rule: _Rule, alphas: Iterator[float], betas: Iterator[float], clip: float) -> Activation:
    alpha = 0.0 if rule.alpha is None else next(alphas, rule.alpha)
    beta = 0.0 if rule.beta is None else next(betas, rule.beta)
    function = rule.function
    if not clip:
        return lambda x: function(x, alpha, beta)
    return lambda x: function(np.clip(x, -clip, clip), alpha, beta)


class _Weights(NamedTuple):
    """The weights of one direction."""

    inputs: Array
    states: Array
    input_bias: Array
    state_bias: Array
    peepholes: Array | None

    @property
    def hidden(self) -> int:
        return int(self.states.shape[1])


Cell = Callable[[_Weights, Sequence[Activation]], tuple[Array, Callable[[Array, States], tuple[Array, ...]]]]
"""Turns a direction's weights into the bias of all inputs, and the function from inputs and states to new states."""


def _rnn(weights: _Weights, functions: Sequence[Activation]) -> Any:
    (f,) = functions
    turned = weights.states.T
    return weights.input_bias + weights.state_bias, lambda x, states: (f(x + states[0] @ turned),)


def _gru(linear_before_reset: bool) -> Cell:
    def cell(weights: _Weights, functions: Sequence[Activation]) -> Any:
        f, g = functions
        size = weights.hidden
        gates, candidate = weights.states[: 2 * size].T, weights.states[2 * size :].T
        later = weights.state_bias[2 * size :] if linear_before_reset else np.zeros_like(weights.state_bias[2 * size :])
        earlier = weights.state_bias.copy()
        earlier[2 * size :] -= later

        def step(x: Array, states: States) -> tuple[Array, ...]:
            (h,) = states
            both = x[:, : 2 * size] + h @ gates
            update, reset = f(both[:, :size]), f(both[:, size:])
            seen = reset * (h @ candidate + later) if linear_before_reset else (reset * h) @ candidate
            new = g(x[:, 2 * size :] + seen)
            return (new + update * (h - new),)

        return weights.input_bias + earlier, step

    return cell


def _lstm(input_forget: bool) -> Cell:
    def cell(weights: _Weights, functions: Sequence[Activation]) -> Any:
        f, g, last = functions
        size, turned = weights.hidden, weights.states.T
        peepholes = np.zeros(3 * size, turned.dtype) if weights.peepholes is None else weights.peepholes
        of_input, of_output, of_forget = peepholes[:size], peepholes[size : 2 * size], peepholes[2 * size :]

        def step(x: Array, states: States) -> tuple[Array, ...]:
            h, c = states
            both = x + h @ turned
            entering, leaving = both[:, :size], both[:, size : 2 * size]
            forgetting, new = both[:, 2 * size : 3 * size], both[:, 3 * size :]
            entered = f(entering + of_input * c)
            kept = 1 - entered if input_forget else f(forgetting + of_forget * c)
            c = kept * c + entered * g(new)
            return f(leaving + of_output * c) * last(c), c

        return weights.input_bias + weights.state_bias, step

    return cell


def _reversal(steps: int, batch: int, lengths: Array | None) -> tuple[Any, Any]:
    """The index that reverses the elements of each sequence; elements beyond its length stay."""
    if lengths is None:
        return slice(None, None, -1), slice(None)
    places = np.arange(steps)[:, None]
    return np.where(places < lengths, lengths - 1 - places, places), np.arange(batch)


def _run(
    x: Array, lengths: Array | None, states: list[Array], prepared: Any, inputs: Array, backwards: bool
) -> tuple[Array, list[Array]]:
    """One direction: all results, and the last states."""
    bias, step = prepared
    turn = _reversal(x.shape[0], x.shape[1], lengths)
    if backwards:
        x = x[turn]
    ready = x @ inputs.T + bias
    results = np.zeros((*x.shape[:2], states[0].shape[1]), x.dtype)
    for i, each in enumerate(ready):
        new = step(each, states)
        if lengths is None:
            states, results[i] = list(new), new[0]
            continue
        alive = (i < lengths)[:, None]
        states = [np.where(alive, after, before) for after, before in zip(new, states, strict=True)]
        results[i] = np.where(alive, states[0], 0)
    return results[turn] if backwards else results, states


def _recurrent(node: Node, cell: Cell, gates: int, defaults: Sequence[str], state_count: int) -> Kernel | None:
    dtype, direction = node.dtype(), node.get("direction", "forward")
    directions = 2 if direction == "bidirectional" else 1
    functions = _activations(node, defaults, directions)
    if dtype is None or dtype.kind != "f" or dtype.isbuiltin != 1 or functions is None:
        return None
    stash, batch_first, count = np.promote_types(dtype, np.float32), bool(node.get("layout", 0)), node.output_count

    def turned(array: Array) -> Array:
        array = array.astype(stash, copy=False)
        return array.swapaxes(0, 1) if batch_first else array

    def run(x: Array, w: Array, r: Array, *others: Array | None) -> Any:
        b, lengths, *given = (*others, None, None, None, None, None)[:5]
        x, hidden = turned(x), r.shape[2]
        w, r = w.astype(stash, copy=False), r.astype(stash, copy=False)
        bias = np.zeros((directions, 2 * gates * hidden), stash) if b is None else b.astype(stash, copy=False)
        if (w.shape[:2], r.shape[:2]) != ((directions, gates * hidden),) * 2 or bias.shape[1] != 2 * gates * hidden:
            raise ValueError(f"weights {w.shape}, {r.shape} and biases {bias.shape} do not fit {directions} directions")
        starts = [None if each is None else turned(each) for each in given[:state_count]]
        peepholes = given[2] if state_count == 2 else None
        results, ends = [], []
        for d in range(directions):
            halves = np.split(bias[d], 2)
            peephole = None if peepholes is None else peepholes[d].astype(stash, copy=False)
            prepared = cell(_Weights(w[d], r[d], halves[0], halves[1], peephole), functions[d])
            zero = np.zeros((x.shape[1], hidden), stash)
            states = [zero if start is None else start[d] for start in starts]
            result, end = _run(x, lengths, states, prepared, w[d], bool(d) or direction == "reverse")
            results.append(result)
            ends.append(end)
        last = [np.stack([end[i] for end in ends], 1 if batch_first else 0) for i in range(state_count)]
        whole = np.stack(results, 2).swapaxes(0, 1) if batch_first else np.stack(results, 1)
        outputs = tuple(each.astype(dtype, copy=False) for each in (whole, *last)[:count])
        return outputs[0] if count == 1 else outputs

    return Kernel(run, "fresh")


@kernel("RNN", since=7)
def make_rnn(node: Node) -> Kernel | None:
    """One activation of inputs and states."""
    return _recurrent(node, _rnn, 1, ("Tanh",), 1)


@kernel("GRU", since=7)
def make_gru(node: Node) -> Kernel | None:
    """One gate that updates the state, and one that resets it."""
    return _recurrent(node, _gru(bool(node.get("linear_before_reset", 0))), 3, ("Sigmoid", "Tanh"), 1)


@kernel("LSTM", since=7)
def make_lstm(node: Node) -> Kernel | None:
    """An internal state, next to the returned one."""
    return _recurrent(node, _lstm(bool(node.get("input_forget", 0))), 4, ("Sigmoid", "Tanh", "Tanh"), 2)
