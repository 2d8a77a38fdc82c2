"""Whether two whole tensors agree: one bool for all their elements."""

from __future__ import annotations

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch
from gradwire_engine.families import composite
from gradwire_engine.ops.compare import eq, isclose
from gradwire_engine.ops.creation import zeros
from gradwire_engine.ops.reduce import all
from gradwire_engine.spec import bool_


@composite()
def allclose(
    input: Array, other: Array, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Array:
    """Whether all elements are close: |input - other| <= atol + rtol |other|."""
    if input.dtype != other.dtype:
        raise dtype_mismatch(
            f"allclose: the tensors are {input.dtype} and {other.dtype}", "convert one of them"
        )
    return all(isclose(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan))


@composite()
def equal(input: Array, other: Array) -> Array:
    """Whether two tensors have the same shape and equal elements; NaN equals nothing."""
    if input.shape != other.shape:
        return zeros((), dtype=bool_, device=input.device)
    return all(eq(input, other))
