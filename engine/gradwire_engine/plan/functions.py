"""Functions of steps that NumPy has not as ufuncs, in the same form: operands, then `out`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire_engine.kernels.select import BITS, SMALL


def copied(x: Any, out: Any = None) -> Any:
    """A row-major copy, in out's dtype: a function of elements like a ufunc."""
    np.copyto(out, x, casting="unsafe")
    return out


def select(mask: Any, a: Any, b: Any, out: Any = None) -> Any:
    """`a` where the mask is True, else `b`: where as a function of elements that takes out."""
    if out is None:
        return np.where(mask, a, b)
    if out.size < SMALL or not _blended(mask, a, b, out):
        np.copyto(out, b)
        np.copyto(out, a, where=mask)
    return out


def _blended(mask: Any, a: Any, b: Any, out: Any) -> bool:
    """Do it by the elements' bits, which waits for no guesses; False if they are too long."""
    integers = BITS.get(out.itemsize)
    if integers is None or out.dtype.kind == "c":
        return False
    one, other = (np.asarray(x, out.dtype).view(integers) for x in (a, b))
    kept = mask.view(np.int8).astype(integers)
    bits = out.view(integers)
    if not one.ndim and not one:
        np.subtract(kept, 1, out=kept)  # all bits where the mask is False
        np.bitwise_and(other, kept, out=bits)
        return True
    np.negative(kept, out=kept)  # all bits where the mask is True
    chosen = np.bitwise_xor(one, other)  # may have fewer elements, where both are broadcast
    chosen = np.bitwise_and(chosen, kept, out=chosen if chosen.shape == kept.shape else None)
    np.bitwise_xor(chosen, other, out=bits)
    return True


def contracted(
    *operands: Any, axis: tuple[int, ...], keepdims: bool = False, out: Any = None
) -> Any:
    """The sum over some axes of the product of operands in one shape."""
    ndim = operands[0].ndim
    letters = "abcdefghijklmnopqrstuvwxyz"[:ndim]
    kept = "".join(c for i, c in enumerate(letters) if i not in axis)
    into = (
        None
        if out is None
        else out.reshape([n for i, n in enumerate(operands[0].shape) if i not in axis])
        if keepdims
        else out
    )
    found = np.einsum(",".join([letters] * len(operands)) + "->" + kept, *operands, out=into)
    if out is not None:
        return out
    shape = [1 if i in axis else n for i, n in enumerate(operands[0].shape)]
    return found.reshape(shape) if keepdims else found


def joined(*operands: Any, axis: int, out: Any = None) -> Any:
    """Operands one behind the other along an axis."""
    return np.concatenate(operands, axis=axis, out=out)
