"""Running sums along an axis, in either direction; of large arrays a part on every core."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from gradwire_engine.arrays import Array
from gradwire_engine.kernels.row_blocks import SHARED, alone, share_out, threads

Slices = tuple[slice, ...]

WIDE = 512
"""Elements behind the axis from which on each step along it is a call of its own: NumPy would go
along the axis for one of these after the other, through all of memory.
"""


def running_sums(xp: Any, x: Array, axis: int, backwards: bool = False) -> Array:
    """At each place the sum of what stands there and before it; or backwards, behind it."""
    before = (slice(None),) * axis
    way = (*before, slice(None, None, -1 if backwards else 1))
    found: Array
    if type(x) is np.ndarray and x.dtype.kind in "fc":
        found = np.empty(x.shape, x.dtype)
        _add_up(x[way], axis, found[way])
    else:
        found = xp.cumsum(x[way], axis=axis)[way]
    first = found[(*before, slice(-1, None) if backwards else slice(0, 1))]
    if found.dtype.kind in "fc" and not first.all():  # a sum begins at 0, to which -0 adds nothing
        found += 0
    return found


def _add_up(x: Array, axis: int, out: Array) -> None:
    if prod(x.shape[axis + 1 :]) >= WIDE:
        _step_by_step(x, axis, out)
    elif x.size < SHARED or alone():
        x.cumsum(axis, out=out)
    else:
        _shared_out(x, axis, out)


def _step_by_step(x: Array, axis: int, out: Array) -> None:
    before = (slice(None),) * axis
    for place in range(x.shape[axis]):
        if place:
            here = (*before, place)
            np.add(out[(*before, place - 1)], x[here], out=out[here])
        else:
            out[(*before, 0)] = x[(*before, 0)]


def _shared_out(x: Array, axis: int, out: Array) -> None:
    """Each thread takes a part of another axis, or where there is none a length of this one."""
    others = [0 if i == axis else n for i, n in enumerate(x.shape)]
    widest = max(range(x.ndim), key=others.__getitem__)
    beside = others[widest] >= threads()
    parts = _parts(x.shape[widest], widest) if beside else _parts(x.shape[axis], axis)
    share_out([partial(x[part].cumsum, axis, out=out[part]) for part in parts])
    if not beside:
        _go_on(out, parts)


def _parts(size: int, axis: int) -> list[Slices]:
    step = -(-size // threads())
    before = (slice(None),) * axis
    return [(*before, slice(first, first + step)) for first in range(0, size, step)]


def _go_on(out: Array, parts: list[Slices]) -> None:
    """Have the sums of each part of an axis go on where those of the part before it end."""
    for part, following in pairwise(parts):
        rows = out[following]
        np.add(rows, out[part][(*part[:-1], slice(-1, None))], out=rows)
