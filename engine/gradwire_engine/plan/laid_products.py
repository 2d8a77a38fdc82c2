"""Products that are only copied into another order of axes, as attention joins its heads, are
written in that order: BLAS writes each matrix with any distance between its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

import numpy as np

from gradwire_engine.arrays import phantom
from gradwire_engine.kernels.shares import products
from gradwire_engine.plan.code import PRODUCT, VIEW, Code, Step
from gradwire_engine.plan.functions import copied

Order = tuple[int, ...]


def laid_out(code: Code) -> Code:
    """The code with such products where their copies were."""
    for place, step in enumerate(code.steps):
        if step.kind == PRODUCT and step.run is np.matmul:
            found = _laid(code, place, step)
            if found is not None:
                return laid_out(found)
    return code


def _laid(code: Code, place: int, step: Step) -> Code | None:
    """The code with one product laid out as it is copied; None where it isn't, or can't be."""
    (made,) = step.results
    product = code.phantoms[made]
    views: dict[int, Step] = {}
    copies: list[Step] = []
    for other in code.steps[place + 1 :]:
        if made not in other.operands and views.keys().isdisjoint(other.operands):
            continue
        if other.kind == VIEW and len(other.results) == 1:
            views[other.results[0]] = other
        elif other.run is copied and other.operands[0] in views:
            copies.append(other)
        elif other.kind != PRODUCT:
            return None
    if not copies or {made, *views} & set(code.outputs):
        return None
    order = _order(product, code.phantoms[copies[0].operands[0]])
    if order is None or order == tuple(range(product.ndim)):
        return None
    return _replaced(code, place, order, list(views.values()), copies)


def _order(product: Any, seen: Any) -> Order | None:
    """The axes of a product in the order in which a view of all of it has them; None if it splits
    or repeats any.
    """
    axes = {
        s: i for i, (n, s) in enumerate(zip(product.shape, product.strides, strict=True)) if n > 1
    }
    found: list[int] = []
    for count, stride in zip(seen.shape, seen.strides, strict=True):
        inner: list[int] = []
        while count > 1:
            axis = axes.pop(stride, None)
            if axis is None or count % product.shape[axis]:
                return None
            inner.append(axis)
            count //= product.shape[axis]
            stride *= product.shape[axis]
        found += reversed(inner)
    rest = [i for i, n in enumerate(product.shape) if n == 1]
    return None if axes else (*rest, *found)


def _replaced(
    code: Code, place: int, order: Order, views: Sequence[Step], copies: Sequence[Step]
) -> Code | None:
    """The code with a product whose axes lie in an order, and without copies that it makes idle."""
    step = code.steps[place]
    (made,) = step.results
    run = _product_in(order)
    back = tuple(int(i) for i in np.argsort(order))
    phantoms = dict(code.phantoms)
    number = 1 + max(*phantoms, *code.constants, made)
    laid = phantoms[number] = phantom(
        tuple(phantoms[made].shape[i] for i in order), phantoms[made].dtype
    )
    if run is None or laid.size == 0:
        return None
    phantoms[made] = laid.transpose(back)
    for view in views:
        phantoms[view.results[0]] = view.run(phantoms[view.operands[0]])
    names = {
        c.results[0]: c.operands[0]
        for c in copies
        if phantoms[c.operands[0]].flags.c_contiguous
        and phantoms[c.operands[0]].dtype == phantoms[c.results[0]].dtype
    }
    if not names:
        return None
    product = Step(PRODUCT, run, step.operands, (number,), step.options, (step.key, order))
    seen = Step(VIEW, methodcaller("transpose", back), (number,), (made,), (), ("transpose", back))
    steps = [*code.steps[:place], product, seen, *code.steps[place + 1 :]]
    kept = (s._replace(operands=tuple(names.get(n, n) for n in s.operands))
            for s in steps if s.results[0] not in names)  # fmt: skip
    outputs = tuple(names.get(n, n) for n in code.outputs)
    return code._replace(phantoms=phantoms, steps=tuple(kept), outputs=outputs)


def _product_in(order: Order) -> Callable[..., Any] | None:
    """A product of stacks whose axes lie in an order; None where its rows and columns have gaps."""
    back = tuple(int(i) for i in np.argsort(order))
    columns, rows = len(order) - 1, len(order) - 2
    if order[-1] not in (columns, rows):
        return None
    turned = order[-1] == rows

    def matmul(a: Any, b: Any) -> Any:
        shape = (*a.shape[:-1], b.shape[-1])
        whole = np.empty([shape[i] for i in order], np.result_type(a, b))
        out = whole.transpose(back)
        if turned:
            products(np, b.mT, a.mT, out.mT)
        else:
            products(np, a, b, out)
        return whole

    return matmul
