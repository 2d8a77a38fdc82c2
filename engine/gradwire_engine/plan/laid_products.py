"""Products that are only copied into another order of axes, as attention joins its heads, are
written in that order: BLAS writes each matrix with any distance between its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.kernels.shares import products
from gradwire_engine.plan.code import PRODUCT, VIEW, Code, Step
from gradwire_engine.plan.functions import copied
from gradwire_engine.plan.uses import readers

Order = tuple[int, ...]
Readers = Mapping[int, Sequence[Step]]


class _Laid(NamedTuple):
    """A product in another order. lying: its phantom; seen: those of its views; idle: copies that
    are what they are copies of.
    """

    order: Order
    lying: Any
    seen: dict[int, Any]
    idle: dict[int, int]
    run: Callable[..., Any]


def laid_out(code: Code) -> Code:
    """The code with such products where their copies were."""
    places = readers(step.operands for step in code.steps)
    reading = {n: [code.steps[place] for place in found] for n, found in places.items()}
    phantoms, names = dict(code.phantoms), dict[int, int]()
    fresh = 1 + max([*code.phantoms, *code.constants], default=0)
    steps: list[Step] = []
    for step in code.steps:
        if step.results[0] in names:
            continue
        step = step._replace(operands=tuple(names.get(n, n) for n in step.operands))
        laid = _laid(code, step, reading) if step.run is np.matmul else None
        if laid is None:
            steps.append(step)
            continue
        (made,) = step.results
        back = _back(laid.order)
        seen = methodcaller("transpose", back)
        steps += [
            step._replace(run=laid.run, results=(fresh,), key=(step.key, laid.order)),
            Step(VIEW, seen, (fresh,), (made,), (), ("transpose", back), step.line),
        ]
        phantoms |= {fresh: laid.lying, **laid.seen}
        names |= laid.idle
        fresh += 1
    outputs = tuple(names.get(n, n) for n in code.outputs)
    return code._replace(phantoms=phantoms, steps=tuple(steps), outputs=outputs)


def _laid(code: Code, step: Step, reading: Readers) -> _Laid | None:
    """How one product is laid out as it is copied; None where it isn't, or can't be."""
    (made,) = step.results
    product = code.phantoms[made]
    if any(code.phantoms[n].ndim < 2 for n in step.operands):
        return None
    views: list[Step] = []
    copies: list[Step] = []
    pending, found = [made], {made}
    while pending:
        for reader in reading.get(pending.pop(), ()):
            if reader.kind == VIEW and len(reader.results) == 1:
                views.append(reader)
                pending.append(reader.results[0])
                found.add(reader.results[0])
            elif reader.run is copied:
                copies.append(reader)
            elif reader.kind != PRODUCT:
                return None
    if not product.size or not found.isdisjoint(code.outputs):
        return None
    orders = (_order(product, code.phantoms[c.operands[0]]) for c in copies)
    order = next((o for o in orders if o is not None and o != tuple(range(product.ndim))), None)
    run = None if order is None else _product_in(order, product.shape)
    if order is None or run is None:
        return None
    seen = _seen(made, product, order, views)
    if seen is None:
        return None
    idle = {
        c.results[0]: c.operands[0]
        for c in copies
        if seen[c.operands[0]].flags.c_contiguous
        and product.dtype == code.phantoms[c.results[0]].dtype
    }
    lying = seen[made].transpose(order)
    return _Laid(order, lying, seen, idle, run) if idle else None


def _order(product: Any, seen: Any) -> Order | None:
    """The axes of a product in the order in which a view of all of it has them; None if it splits
    or repeats any.
    """
    shape, strides = product.shape, product.strides
    axes = {s: i for i, (n, s) in enumerate(zip(shape, strides, strict=True)) if n > 1}
    found: list[int] = []
    for count, stride in zip(seen.shape, seen.strides, strict=True):
        inner: list[int] = []
        while count > 1:
            axis = axes.pop(stride, None)
            if axis is None or count % shape[axis]:
                return None
            inner.append(axis)
            count //= shape[axis]
            stride *= shape[axis]
        found += reversed(inner)
    rest = [i for i, n in enumerate(shape) if n == 1]
    return None if axes else (*rest, *found)


def _seen(
    made: int, product: Any, order: Order, views: Sequence[Step]
) -> dict[int, Any] | None:  # fmt: skip
    """Phantoms of a product in an order and of its views; None where a view would be a copy."""
    shape = [product.shape[i] for i in order]
    whole = np.empty(shape, np.int8)  # not touched, unless a view is none but a copy
    arrays = {made: whole.transpose(_back(order))}
    for view in views:
        try:
            shown = view.run(arrays[view.operands[0]])
        except Exception:  # a view that this order has not
            return None
        if not isinstance(shown, np.ndarray) or shown.dtype != np.int8:
            return None
        if shown.size and not np.may_share_memory(shown, whole):
            return None
        arrays[view.results[0]] = shown
    one = np.empty((), product.dtype)
    return {
        number: np.lib.stride_tricks.as_strided(
            one, array.shape, [one.itemsize * s for s in array.strides], writeable=False
        )
        for number, array in arrays.items()
    }


def _back(order: Order) -> Order:
    return tuple(int(i) for i in np.argsort(order))


def _product_in(order: Order, shape: Sequence[int]) -> Callable[..., Any] | None:
    """A product of this shape whose axes lie in an order; None where neither its rows nor its
    columns would lie without gaps.
    """
    back, lying = _back(order), [shape[i] for i in order]
    columns, rows = len(order) - 1, len(order) - 2
    if order[-1] not in (columns, rows):
        return None
    turned = order[-1] == rows

    def matmul(a: Any, b: Any) -> Any:
        whole = np.empty(lying, np.result_type(a, b))
        out = whole.transpose(back)
        if turned:
            products(np, b.mT, a.mT, out.mT)
        else:
            products(np, a, b, out)
        return whole

    return matmul
