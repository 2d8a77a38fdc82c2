"""A call of every function that isn't elementwise, written once for NumPy and for the stand-in.

`d` holds the arrays of one library: `m` (3, 4) and `v` (4,) floats, `i` (4,) small integers, `b`
(3, 4) bools, `c` (3, 4) complex, `s` (3, 3) symmetric positive definite, `z` 0-d, `t` (2, 3, 4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Sample = Callable[[Any, Any], Any]


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    """The arrays of `d`, on the host."""
    random = np.random.default_rng(7)
    m = random.standard_normal((3, 4))
    root = random.standard_normal((3, 3))
    return {
        "m": m,
        "v": np.array([0.5, -1.5, np.nan, 2.0]),
        "w": random.standard_normal(4),
        "i": np.array([2, 0, 1, 2]),
        "b": m > 0,
        "c": m + 1j * random.standard_normal((3, 4)),
        "s": root @ root.T + 3 * np.eye(3),
        "z": np.array(2.5),
        "t": random.standard_normal((2, 3, 4)),
    }


def _stored(xp: Any, d: Any, write: Callable[[Any], Any]) -> Any:
    """What an in-place function leaves behind."""
    copy = d.m.copy()
    write(copy)
    return copy


CREATION: dict[str, Sample] = {
    "astype": lambda xp, d: xp.astype(d.m, np.float32),
    "empty": lambda xp, d: xp.empty((2, 3), np.float32) * 0,
    "empty_like": lambda xp, d: xp.empty_like(d.i) * 0,
    "eye": lambda xp, d: xp.eye(3, 4, 1, np.float32),
    "full": lambda xp, d: xp.full((2, 2), 7, np.int32),
    "full_like": lambda xp, d: xp.full_like(d.m, 7),
    "identity": lambda xp, d: xp.identity(3),
    "ones": lambda xp, d: xp.ones((2,), np.complex64),
    "ones_like": lambda xp, d: xp.ones_like(d.m),
    "zeros": lambda xp, d: xp.zeros((2, 0)),
    "zeros_like": lambda xp, d: xp.zeros_like(d.m, dtype=np.int8),
    "copy": lambda xp, d: xp.copy(d.m.T),
    "array": lambda xp, d: xp.array([[1, 2], [3, 4]], dtype=np.float32),
    "asanyarray": lambda xp, d: xp.asanyarray(d.m),
    "asarray": lambda xp, d: xp.asarray(2.0),
    "ascontiguousarray": lambda xp, d: xp.ascontiguousarray(d.m.T),
    "asfortranarray": lambda xp, d: xp.asfortranarray(d.m),
    "arange": lambda xp, d: xp.arange(1, 9, 2, dtype=np.float32),
    "linspace": lambda xp, d: xp.linspace(0, 1, 5),
    "logspace": lambda xp, d: xp.logspace(0, 2, 3),
    "meshgrid": lambda xp, d: xp.meshgrid(d.w, d.i, indexing="ij"),
    "diag": lambda xp, d: xp.diag(d.w, 1),
    "diagflat": lambda xp, d: xp.diagflat(d.m),
    "tri": lambda xp, d: xp.tri(3, 4, -1),
    "tril": lambda xp, d: xp.tril(d.m, -1),
    "triu": lambda xp, d: xp.triu(d.m, 1),
    "vander": lambda xp, d: xp.vander(d.w, 3),
    "indices": lambda xp, d: xp.indices((2, 3)),
    "ix_": lambda xp, d: xp.ix_(d.i, d.i),
    "tril_indices": lambda xp, d: xp.tril_indices(3, -1),
    "triu_indices": lambda xp, d: xp.triu_indices(3, 1),
    "tril_indices_from": lambda xp, d: xp.tril_indices_from(d.s),
    "triu_indices_from": lambda xp, d: xp.triu_indices_from(d.s),
    "diag_indices": lambda xp, d: xp.diag_indices(3),
    "diag_indices_from": lambda xp, d: xp.diag_indices_from(d.s),
}
SHAPES: dict[str, Sample] = {
    "shape": lambda xp, d: xp.shape(d.m),
    "size": lambda xp, d: xp.size(d.m),
    "ndim": lambda xp, d: xp.ndim(d.m),
    "ravel": lambda xp, d: xp.ravel(d.m.T),
    "reshape": lambda xp, d: xp.reshape(d.m, (2, 6)),
    "moveaxis": lambda xp, d: xp.moveaxis(d.t, 0, -1),
    "swapaxes": lambda xp, d: xp.swapaxes(d.t, 0, 2),
    "transpose": lambda xp, d: xp.transpose(d.t, (1, 2, 0)),
    "matrix_transpose": lambda xp, d: xp.matrix_transpose(d.t),
    "atleast_1d": lambda xp, d: xp.atleast_1d(d.z),
    "atleast_2d": lambda xp, d: xp.atleast_2d(d.w),
    "atleast_3d": lambda xp, d: xp.atleast_3d(d.m),
    "broadcast_arrays": lambda xp, d: xp.broadcast_arrays(d.m, d.w),
    "broadcast_to": lambda xp, d: xp.broadcast_to(d.w, (3, 4)),
    "expand_dims": lambda xp, d: xp.expand_dims(d.m, 1),
    "squeeze": lambda xp, d: xp.squeeze(d.m[:1], axis=0),
    "column_stack": lambda xp, d: xp.column_stack([d.w, d.w]),
    "concatenate": lambda xp, d: xp.concatenate([d.m, d.m], axis=1),
    "dstack": lambda xp, d: xp.dstack([d.m, d.m]),
    "hstack": lambda xp, d: xp.hstack([d.m, d.m]),
    "stack": lambda xp, d: xp.stack([d.m, d.m], axis=1),
    "vstack": lambda xp, d: xp.vstack([d.m, d.m]),
    "array_split": lambda xp, d: xp.array_split(d.w, 3),
    "dsplit": lambda xp, d: xp.dsplit(d.t, 2),
    "hsplit": lambda xp, d: xp.hsplit(d.m, 2),
    "split": lambda xp, d: xp.split(d.m, [1, 3], axis=1),
    "vsplit": lambda xp, d: xp.vsplit(d.m, [1]),
    "repeat": lambda xp, d: xp.repeat(d.m, 2, axis=0),
    "tile": lambda xp, d: xp.tile(d.m, (2, 1)),
    "delete": lambda xp, d: xp.delete(d.w, 1),
    "append": lambda xp, d: xp.append(d.w, d.w),
    "flip": lambda xp, d: xp.flip(d.m, 1),
    "fliplr": lambda xp, d: xp.fliplr(d.m),
    "flipud": lambda xp, d: xp.flipud(d.m),
    "roll": lambda xp, d: xp.roll(d.m, 1, axis=1),
    "rot90": lambda xp, d: xp.rot90(d.m),
    "pad": lambda xp, d: xp.pad(d.m, ((1, 1), (0, 2)), constant_values=3),
}
INDEXING: dict[str, Sample] = {
    "put_along_axis": lambda xp, d: _stored(
        xp, d, lambda a: xp.put_along_axis(a, d.i[None, :], 9.0, 0)
    ),
    "copyto": lambda xp, d: _stored(xp, d, lambda a: xp.copyto(a, d.w, where=d.b)),
    "put": lambda xp, d: _stored(xp, d, lambda a: xp.put(a, [1, 5], [8.0, 9.0])),
    "fill_diagonal": lambda xp, d: _stored(xp, d, lambda a: xp.fill_diagonal(a, 9.0)),
    "ravel_multi_index": lambda xp, d: xp.ravel_multi_index((d.i, d.i), (3, 4)),
    "unravel_index": lambda xp, d: xp.unravel_index(d.i, (3, 4)),
    "compress": lambda xp, d: xp.compress(d.b[0], d.m, axis=1),
    "diagonal": lambda xp, d: xp.diagonal(d.m, 1),
    "take": lambda xp, d: xp.take(d.m, d.i, axis=0),
    "take_along_axis": lambda xp, d: xp.take_along_axis(d.m, d.i[None, :], 0),
    "extract": lambda xp, d: xp.extract(d.b, d.m),
    "select": lambda xp, d: xp.select([d.b], [d.m], 0.0),
    "choose": lambda xp, d: xp.choose(d.i, d.m),
    "nonzero": lambda xp, d: xp.nonzero(d.b),
    "argwhere": lambda xp, d: xp.argwhere(d.b),
    "flatnonzero": lambda xp, d: xp.flatnonzero(d.b),
    "searchsorted": lambda xp, d: xp.searchsorted(xp.sort(d.w), d.m, side="right"),
    "argpartition": lambda xp, d: xp.partition(d.w, 2)[2],
    "argsort": lambda xp, d: xp.argsort(d.m, axis=0),
    "lexsort": lambda xp, d: xp.lexsort(d.m),
    "partition": lambda xp, d: xp.partition(d.w, 2)[2],
    "sort": lambda xp, d: xp.sort(d.m, axis=0),
    "unique": lambda xp, d: xp.unique(d.i, return_counts=True),
    "unique_all": lambda xp, d: tuple(xp.unique_all(d.i)),
    "unique_counts": lambda xp, d: tuple(xp.unique_counts(d.i)),
    "unique_values": lambda xp, d: xp.sort(xp.unique_values(d.i)),
    "unique_inverse": lambda xp, d: tuple(xp.unique_inverse(d.i)),
    "digitize": lambda xp, d: xp.digitize(d.m, xp.sort(d.w)),
    "bincount": lambda xp, d: xp.bincount(d.i, minlength=5),
    "histogram": lambda xp, d: xp.histogram(d.m, 4),
    "isin": lambda xp, d: xp.isin(d.i, [0, 1]),
    "intersect1d": lambda xp, d: xp.intersect1d(d.i, d.i),
    "setdiff1d": lambda xp, d: xp.setdiff1d(d.i, d.i[:2]),
    "setxor1d": lambda xp, d: xp.setxor1d(d.i, d.i[:2]),
    "union1d": lambda xp, d: xp.union1d(d.i, d.i),
    "interp": lambda xp, d: xp.interp(d.w, xp.arange(4.0), d.w),
}
