"""What probes understand of NumPy's functions that are no ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradwire_engine.plan.functions import select
from gradwire_engine.plan.probe import FUNCTIONS, Cell, Probe, folded, number_of
from gradwire_engine.plan.recorder import Recorder, UnrecordableError


def _where(recorder: Recorder, mask: Any, a: Any, b: Any) -> Probe:
    numbers = [number_of(recorder, x) for x in (mask, a, b)]
    return Probe.of(recorder, recorder.map(select, numbers))


def _einsum(recorder: Recorder, subscripts: str, *operands: Any) -> Probe:
    """A product of operands in one shape, summed over some of its axes."""
    inputs, result = subscripts.split("->")
    first, *others = inputs.split(",")
    letters, kept = first.replace("...", ""), result.replace("...", "")
    same = all(other == first for other in others) and len(set(letters)) == len(letters)
    in_order = [c for c in letters if c in kept] == [*kept]
    leading = result.startswith("...") == first.startswith("...") == ("..." in subscripts)
    if not (same and in_order and leading):
        raise UnrecordableError("a contraction of another kind")
    lead = len(operands[0].shape) - len(letters)
    gone = tuple(lead + i for i, c in enumerate(letters) if c not in kept)
    numbers = [number_of(recorder, x) for x in operands]
    return Probe.of(recorder, recorder.contract(numbers, gone))


def _concatenate(recorder: Recorder, arrays: Any, axis: int = 0) -> Probe:
    return Probe.of(recorder, recorder.join([number_of(recorder, x) for x in arrays], axis))


def _folding(ufunc: Any) -> Callable[..., Probe]:
    def run(_: Recorder, x: Any, axis: Any = None, keepdims: bool = False) -> Probe:
        return folded(ufunc, x, axis=axis, keepdims=keepdims)

    return run


def _moved(recorder: Recorder, x: Probe, source: int, destination: int) -> Probe:
    order = [i for i in range(x.ndim) if i != source % x.ndim]
    order.insert(destination % x.ndim, source % x.ndim)
    return x.transpose(order)


FUNCTIONS |= {
    np.where: _where,
    np.concatenate: _concatenate,
    np.einsum: _einsum,
    np.sum: _folding(np.add),
    np.max: _folding(np.maximum),
    np.amax: _folding(np.maximum),
    np.min: _folding(np.minimum),
    np.amin: _folding(np.minimum),
    np.prod: _folding(np.multiply),
    np.any: _folding(np.logical_or),
    np.all: _folding(np.logical_and),
    np.copy: lambda recorder, x, order="K": x.copy(),
    np.moveaxis: _moved,
    np.swapaxes: lambda recorder, x, a, b: x.swapaxes(a, b),
    np.transpose: lambda recorder, x, axes=None: x.transpose(*(() if axes is None else (axes,))),
    np.reshape: lambda recorder, x, shape: x.reshape(shape),
    np.expand_dims: lambda recorder, x, axis: x.reshape(np.expand_dims(x.laid_out, axis).shape),
    np.atleast_1d: lambda recorder, x: x if x.ndim else x.reshape(1),
    np.broadcast_to: lambda recorder, x, shape: x.seen(
        lambda a: np.broadcast_to(a, shape), ("broadcast", tuple(shape))
    ),
    np.empty_like: lambda recorder, x: Probe(recorder, Cell(None, x.dtype), x.shape),
}
