"""Recurrent networks: RNN, LSTM, GRU, whole sequences and single steps.

Weights are named and laid out as in torch: weight_ih_l0 has the gates one below the other, and a
layer's input products for all times are one product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradwire.control import loop
from gradwire.functions import catalogued
from gradwire.nn import init
from gradwire.nn.module import Module, settings
from gradwire.nn.parameter import declare
from gradwire.nn.utils.rnn import PackedSequence, folded, unfolded
from gradwire.tensor import Tensor

State = tuple[Tensor, ...]


_MANY = 2
"""From this number of steps on they are one loop: a node, called as what stacks steps in torch."""


def _one_by_one(
    step: Callable[[State, State], tuple[State, Tensor]],
    state: State,
    rows: State,
    backwards: bool,
) -> tuple[Tensor, State]:
    """The outputs of all steps in order of time, and the last state."""
    steps: list[State] = list(zip(*(each.unbind(0) for each in rows), strict=True))
    found = []
    for row in reversed(steps) if backwards else steps:
        state, output = step(state, row)
        found.append(output)
    return _stack(found[::-1] if backwards else found), state


class _Stepping(Module):
    """What takes steps. gates, states: how many each has; proj_size: of h, 0 if not projected."""

    gates = states = 1
    hidden_size: int
    proj_size = 0

    def reset_parameters(self) -> None:
        """Begin evenly between ±1 / √hidden_size."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def _step(self, gates: Tensor, state: State, recur: Any, end: str = "") -> State:
        """The next state. gates: of the input; recur: what makes those of h; end: of names."""
        raise NotImplementedError


class _Plain(_Stepping):
    nonlinearity: str

    def _step(self, gates: Tensor, state: State, recur: Any, end: str = "") -> State:
        return (getattr(gates + recur(state[0]), self.nonlinearity)(),)


class _Long(_Stepping):
    gates, states = 4, 2

    def _step(self, gates: Tensor, state: State, recur: Any, end: str = "") -> State:
        h, c = state
        i, f, g, o = (gates + recur(h)).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return (h.linear(getattr(self, f"weight_hr{end}")) if self.proj_size else h, c)


class _Gated(_Stepping):
    gates = 3

    def _step(self, gates: Tensor, state: State, recur: Any, end: str = "") -> State:
        h = state[0]
        reset_i, update_i, new_i = gates.chunk(3, -1)
        reset_h, update_h, new_h = recur(h).chunk(3, -1)
        reset, update = (reset_i + reset_h).sigmoid(), (update_i + update_h).sigmoid()
        new = (new_i + reset * new_h).tanh()
        return ((1 - update) * new + update * h,)


class RNNBase(_Stepping):
    """Layers over a sequence. Input: (time, batch, features), batch first if asked, or no batch.

    mode: torch's word for the kind of step.
    """

    mode: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1]")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._directions = ("", "_reverse") if bidirectional else ("",)
        output = proj_size or hidden_size
        for layer in range(num_layers):
            inner = input_size if layer == 0 else output * len(self._directions)
            for direction in self._directions:
                self._make(f"_l{layer}{direction}", inner, output, device, dtype)
        self.reset_parameters()

    def _make(self, end: str, inner: int, output: int, device: Any, dtype: Any) -> None:
        rows = self.gates * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, inner),
            "weight_hh": (rows, output),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (output, self.hidden_size)
        declare(self, device, dtype, **{f"{name}{end}": shape for name, shape in shapes.items()})

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [
            [p for name, p in self._parameters.items() if name.endswith(f"_l{layer}{direction}")]
            for layer in range(self.num_layers)
            for direction in self._directions
        ]

    def flatten_parameters(self) -> None:
        """Nothing: here parameters need no common memory."""

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        self._check(input, (2, 3))
        alone = input.ndim == 2
        time = input.unsqueeze(1) if alone else input.transpose(0, 1) if self.batch_first else input
        output, stacked = self._over(time, hx, alone)
        if alone:
            output, stacked = output.squeeze(1), [s.squeeze(1) for s in stacked]
        elif self.batch_first:
            output = output.transpose(0, 1)
        return output, stacked[0] if self.states == 1 else tuple(stacked)

    def _packed(self, input: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        """A batch of different lengths: a state stays as it is where a sequence has ended."""
        self._check(input.data, (2,))
        time, there = unfolded(input, len(input.batch_sizes))
        if hx is not None and input.sorted_indices is not None:
            given = [hx] if self.states == 1 else hx
            moved = [h.index_select(1, input.sorted_indices) for h in given]
            hx = moved[0] if self.states == 1 else moved
        output, stacked = self._over(time, hx, False, there)
        if input.unsorted_indices is not None:
            stacked = [h.index_select(1, input.unsorted_indices) for h in stacked]
        return folded(input, output), stacked[0] if self.states == 1 else tuple(stacked)

    def _check(self, input: Tensor, axes: tuple[int, ...]) -> None:
        if input.ndim not in axes and len(axes) == 1:
            raise RuntimeError(f"input must have {axes[0]} dimensions, got {input.ndim}")
        if input.ndim not in axes:
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D instead"
            )
        dtype = self.weight_ih_l0.dtype
        if input.dtype != dtype:
            raise ValueError(f"input must have the type {dtype}, got type {input.dtype}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                f"got {input.shape[-1]}"
            )

    def _over(
        self, time: Tensor, hx: Any, alone: bool, there: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """The outputs over (time, batch, features), and the last states, a row for each layer."""
        output, ends = self._layers(time, self._begin(time, hx, alone), there)
        return output, [_stack(states) for states in zip(*ends, strict=True)]

    def _begin(self, time: Tensor, hx: Any, alone: bool) -> list[State]:
        """The state before the first step, for each layer and direction."""
        rows = self.num_layers * len(self._directions)
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: self.states]
        shapes = [(rows, time.shape[1], size) for size in sizes]
        if hx is None:
            given = [time.new_zeros(shape) for shape in shapes]
        else:
            given = [hx] if self.states == 1 else list(hx)
            given = [h.unsqueeze(1) for h in given] if alone else given
        for h, shape in zip(given, shapes, strict=True):
            if tuple(h.shape) != shape:
                raise RuntimeError(f"Expected hidden size {shape}, got {list(h.shape)}")
        return list(zip(*(h.unbind(0) for h in given), strict=True))

    def _layers(
        self, time: Tensor, begin: list[State], there: Tensor | None
    ) -> tuple[Tensor, list[State]]:
        ends: list[State] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in self._directions:
                output, end = self._sequence(time, begin[len(ends)], f"_l{layer}{direction}", there)
                outputs.append(output)
                ends.append(end)
            time = outputs[0] if len(outputs) == 1 else catalogued("cat")(outputs, -1)
            if self.dropout and layer < self.num_layers - 1:
                time = catalogued("nn.functional.dropout")(time, self.dropout, self.training)
        return time, ends

    def _sequence(
        self, time: Tensor, state: State, end: str, there: Tensor | None
    ) -> tuple[Tensor, State]:
        """One layer in one direction: its outputs in order of time, and its last state.

        there: (time, batch, 1), where a step belongs to its sequence and is none of padding.
        """
        ih, hh = (getattr(self, f"weight_{kind}{end}") for kind in ("ih", "hh"))
        bias_ih, bias_hh = (
            getattr(self, f"bias_{kind}{end}") if self.bias else None for kind in ("ih", "hh")
        )
        gates, backwards = time.linear(ih, bias_ih), end.endswith("_reverse")

        def step(state: State, row: State) -> tuple[State, Tensor]:
            gates, *still = row
            new = self._step(gates, state, lambda h: h.linear(hh, bias_hh), end)
            if still:
                pairs = zip(new, state, strict=True)
                new = tuple(catalogued("where")(still[0], now, before) for now, before in pairs)
            return new, new[0]

        rows = (gates,) if there is None else (gates, there)
        if len(gates) < _MANY:
            return _one_by_one(step, state, rows, backwards)
        state, output = loop(step, state, rows, "StackBackward0", reverse=backwards)
        return output, state

    def extra_repr(self) -> str:
        said = settings(
            self, proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0.0,
            bidirectional=False,
        )  # fmt: skip
        return f"{self.input_size}, {self.hidden_size}" + (f", {said}" if said else "")


class RNN(_Plain, RNNBase):
    """h = tanh(W x + b + U h + c), or relu."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity
        self.mode = f"RNN_{nonlinearity.upper()}"


class LSTM(_Long, RNNBase):
    """Long short-term memory; with proj_size the output is a projection of the hidden state."""

    mode = "LSTM"


class GRU(_Gated, RNNBase):
    """Gated recurrent unit."""

    mode = "GRU"


class RNNCellBase(_Stepping):
    """One step. Input: (batch, features), or without batch."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self.gates * hidden_size
        weights = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        row = (rows,) if bias else None
        declare(self, device, dtype, **weights, bias_ih=row, bias_hh=row)
        self.reset_parameters()

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        if input.ndim not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        if hx is None:
            zeros = input.new_zeros((*input.shape[:-1], self.hidden_size))
            hx = zeros if self.states == 1 else (zeros,) * self.states
        state = (hx,) if self.states == 1 else tuple(hx)
        alone = input.ndim == 1
        if alone:
            input, state = input.unsqueeze(0), tuple(h.unsqueeze(0) for h in state)
        gates = input.linear(self.weight_ih, self.bias_ih)
        found = self._step(gates, state, lambda h: h.linear(self.weight_hh, self.bias_hh))
        if alone:
            found = tuple(h.squeeze(0) for h in found)
        return found[0] if self.states == 1 else found

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(_Plain, RNNCellBase):
    """One step of RNN."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity


class LSTMCell(_Long, RNNCellBase):
    """One step of LSTM: gives the hidden and the cell state."""


class GRUCell(_Gated, RNNCellBase):
    """One step of GRU."""


def _stack(tensors: Any) -> Any:
    return catalogued("stack")(list(tensors))


__all__ = [
    "GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase",
]  # fmt: skip
