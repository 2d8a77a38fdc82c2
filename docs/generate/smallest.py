"""The smallest readable call of an op: a sample of its tests with fewer and rounder numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from tests.engine.batches import visit
from tests.engine.samples import Call, samples_of
from tests.engine.trial import Host, host, on, settled_in, tensors_in

from gradwire_engine.backward import grad
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError
from gradwire_engine.inplace import call as call_in_place
from gradwire_engine.mode import using
from gradwire_engine.random import Generator
from gradwire_engine.tensor import Tensor

GRIDS = (1, 0.5, 0.25, 0.1, 0.05, 0.01)
"""What numbers are rounded to, the first that does."""


class Tried(NamedTuple):
    """A call that worked: its results, and the gradient by each array, where there is one.

    several: whether the results come in a list or tuple, where some may be None.
    """

    several: bool
    outputs: list[Tensor | None]
    grads: list[Host | None]

    @property
    def kind(self) -> tuple[Any, ...]:
        """What a smaller call has to have too, so that it still shows something."""
        arrays = [host(y) for y in self.outputs if y is not None]
        grads = [g for g in self.grads if g is not None]
        moves = tuple(g is not None and bool(g.any()) for g in self.grads)
        return len(arrays), all(a.size for a in arrays), all(map(_finite, arrays + grads)), moves


def smallest(name: str) -> Call:
    """The call that an op's example shows."""
    return rounded(name, shrunk(name, min(samples_of(name), key=_weight)))


def _weight(call: Call) -> tuple[bool, int]:
    """By how many numbers a call shows; those with one or none come last."""
    sizes = [a.size for a in arrays_of(call)]
    return bool(sizes) and max(sizes) < 2, sum(sizes)


def arrays_of(call: Any) -> list[Host]:
    """The arrays of a call, in order."""
    found: list[Host] = []
    visit(call, found.append)
    return found


def tried(name: str, call: Call, wide: bool = True) -> Tried | None:
    """What a call gives, and the gradients where the results' elements have 1, 2, 3, …

    wide: in the sample's float64, else in the dtypes that literals have. None where it is refused.
    """
    leaves: list[Tensor] = []
    constant = settled_in(name, call)

    def leaf(array: Host) -> Tensor:
        still = writes(name) or any(array is x for x in constant)
        moving = array.dtype.kind in "fc" and not still
        leaves.append(on("cpu", array if wide else narrow(array), moving))
        return leaves[-1]

    args, kwargs = visit(call, leaf)
    with using(generator=Generator(0)), np.errstate(all="ignore"):
        try:
            result = _applied(name, args, kwargs)
            several = isinstance(result, list | tuple)
            outputs = list(result) if several else [result]
            return Tried(several, outputs, _grads(tensors_in(result), leaves))
        except (GradwireError, np.linalg.LinAlgError):
            return None


def narrow(array: Host) -> Host:
    """Floats of 32 bits and complex numbers of 64, as literals are."""
    small = {"f": "float32", "c": "complex64"}.get(array.dtype.kind)
    return array if small is None else array.astype(small)


def writes(name: str) -> bool:
    """Whether the op is one that writes to its first operand."""
    return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))


def _applied(name: str, args: Any, kwargs: Any) -> Any:
    if writes(name):
        written = call_in_place(name, args, kwargs)
        return args[0] if written is None else written
    return CATALOGUE[name](*args, **kwargs)


def _grads(outputs: list[Tensor], leaves: list[Tensor]) -> list[Host | None]:
    rooted = [y for y in outputs if y.requires_grad]
    if not rooted:
        return [None] * len(leaves)
    counted = [on("cpu", _counted(y)) for y in rooted]
    inputs = [x for x in leaves if x.requires_grad]
    try:
        found = grad(rooted, inputs, counted, allow_unused=True)
    except GradwireError:  # the phase of eigenvectors has no derivative
        return [None] * len(leaves)
    by_leaf = {id(x): g for x, g in zip(inputs, found, strict=True) if g is not None}
    return [host(by_leaf[id(x)]) if id(x) in by_leaf else None for x in leaves]


def _counted(y: Tensor) -> Host:
    return np.arange(1.0, y.spec.size + 1).reshape(y.shape).astype(y.dtype.numpy)


def _finite(array: Host) -> bool:
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


Change = Callable[[Host], Host]


def shrunk(name: str, call: Call) -> Call:
    """The same with as few rows, columns and examples as still show what it showed."""
    first = tried(name, call)
    if first is None:
        raise ValueError(f"{name}: its sample does not run")
    again = True
    while again:
        again = False
        for change in _smaller(arrays_of(call)):
            less = visit(call, change)
            found = tried(name, less)
            if found is not None and found.kind == first.kind:
                call, again = less, True
                break
    return call


def _smaller(arrays: list[Host]) -> Iterator[Change]:
    """Without the first axis; then with every axis of some size cut to 2, or 3 in a vector."""
    most = max((a.ndim for a in arrays), default=0)
    if most > 1:
        yield lambda a: a[0] if a.ndim == most else a
    least = 2 if most > 1 else 3
    for size in sorted({s for a in arrays for s in a.shape if s > least}, reverse=True):
        yield partial(_cut, size, least)


def _cut(size: int, least: int, array: Host) -> Host:
    return array[tuple(slice(least if s == size else s) for s in array.shape)]


def rounded(name: str, call: Call) -> Call:
    """The same with round numbers, if there are some that are about as different."""
    first = tried(name, call)
    for grid in GRIDS:
        change = partial(_round, grid)
        rough: Call = visit(call, change)
        kept = all(_distinct(change(a)) >= 0.7 * _distinct(a) for a in arrays_of(call))
        found = tried(name, rough) if kept else None
        if first is None or found is None or found.kind != first.kind:
            continue
        if _alike(found, tried(name, rough, wide=False)):
            return rough
    return call


def _alike(wide: Tried, real: Tried | None) -> bool:
    """Whether 32 bits give as much: rounding may have made a matrix all but singular."""
    if real is None or real.kind != wide.kind:
        return False
    pairs = zip(wide.grads, real.grads, strict=True)
    return all(a is None or b is None or np.allclose(a, b, 1e-3, 1e-4) for a, b in pairs)


def _round(grid: float, array: Host) -> Host:
    if array.dtype.kind not in "fc":
        return array
    return np.asarray(np.round(np.round(array / grid) * grid, 2) + 0.0)


def _distinct(array: Host) -> int:
    return len(np.unique(array))
