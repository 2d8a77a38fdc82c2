"""Floating-point operations of an op, as its specs tell.

A multiplication with its addition counts as two operations; an elementwise function as one for each
element, whatever it is; factorisations by their leading term. What only moves or compares elements
counts as none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradwire_engine.spec import Spec

if TYPE_CHECKING:
    from gradwire_engine.op import Primitive


def operations(op: Primitive, given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """Those of one call. given: the specs of its tensors; made: those of its results."""
    if op.view or op.exact or op.random or not given:
        return 0
    counted = _COUNTED.get(op.name)
    if counted is not None:
        return counted(given, made)
    if op.family == "elementwise":
        return sum(spec.size for spec in made)
    if op.name.startswith("linalg.") and op.family != "reduction":
        return _factorised(given)
    return sum(spec.size for spec in given)


def _product(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """A matrix product: for each element of the result one sum over the axis in common."""
    return 2 * sum(spec.size for spec in made) * given[0].shape[-1]


def _product_added(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """The same where what is added stands first."""
    return _product(given[1:], made) + sum(spec.size for spec in made)


def _added_over(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """A sum of the products of a stack."""
    return _product_added(given, made) * given[1].shape[0]


def _convolved(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """For each element of the result one sum over a window of the channels of its group."""
    weight = given[1]
    return 2 * made[0].size * (weight.size // max(1, weight.shape[0]))


def _convolved_back(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """For each element of the operand a window of the result is added to."""
    weight = given[1]
    return 2 * given[0].size * (weight.size // max(1, weight.shape[0]))


def _windows(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """The gradient of a convolution's weight: as much as the convolution."""
    return 2 * given[1].size * (made[0].size // max(1, made[0].shape[0]))


def _substituted(given: Sequence[Spec], made: Sequence[Spec]) -> int:
    """A triangular system: for each element of the solution a product with half a row."""
    return made[0].size * given[0].shape[-1]


def _factorised(given: Sequence[Spec]) -> int:
    """A factorisation of a stack of matrices of m by n: 2 m n min(m, n) each."""
    shape = given[0].shape
    return 2 * given[0].size * min(shape[-2:]) if len(shape) > 1 else given[0].size


_COUNTED: dict[str, Callable[[Sequence[Spec], Sequence[Spec]], int]] = {
    "matmul": _product,
    "nn.functional.linear": _product,
    "addmm": _product_added,
    "addmv": _product_added,
    "baddbmm": _product_added,
    "addbmm": _added_over,
    "convolved": _convolved,
    "convolved_back": _convolved_back,
    "window_products": _windows,
    "linalg.solve_triangular": _substituted,
}
"""Ops that take more than an operation for each element."""
