"""Edges of an op: NaN, ±inf, ±0 and numbers in every combination, and the derivatives there.

Torch's table has few of these, and differentiates none. Entries that take their elements one by one
are held on all of them: results, gradients, and second gradients where torch's are numbers. What
has to agree of infinities and NaNs, and with which of torch's loops: docs/adr/extremes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from tests.parity.opinfo.checks import undefined
from tests.parity.opinfo.deviations import WRONG_AT_EDGES, WRONG_IN_TORCH
from tests.parity.opinfo.grid import Columns, Rows, columns, facts_of, one_by_one, rows, tensors_of
from tests.parity.opinfo.numbers import EXACT, RELATIVE, ROUNDING, to_numpy
from tests.parity.opinfo.sides import Ours, apply

import gradwire
from gradwire_engine.errors import GradwireError

Found = Iterator[str]
Derived = dict[str, np.ndarray]
"""Results and derivatives by what they are called; one that there is none of is 0."""
GROWN = 1e3
"""What is larger, beside an infinity, tends to it."""
LANES = 64
"""More elements than torch's vector loops leave over at the end."""


def edged(op: Any, dtype: torch.dtype) -> Iterator[Callable[[], Found]]:
    """A check for each way in which the table's samples call an entry, on the edges' numbers."""
    if dtype not in op.dtypes or op.name in {*WRONG_AT_EDGES, *WRONG_IN_TORCH}:
        return
    seen = set()
    for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
        facts = facts_of(sample)
        if facts not in seen and any(x.ndim for x in tensors_of(sample)):
            seen.add(facts)
            yield partial(_held, op, sample, dtype)


def _held(op: Any, sample: Any, dtype: torch.dtype) -> Found:
    call = columns(op, sample, dtype)
    if not one_by_one(call, dtype):
        return
    r = rows(call, dtype)
    if not undefined(op, call.leaves(r, dtype, False)[1]):
        yield from held(call, r, dtype, 2)


def held(call: Columns, r: Rows, dtype: torch.dtype, most: int) -> Found:
    """What differs on these rows, in results and derivatives up to an order."""
    op = call.op
    smooth = bool(op.supports_autograd and dtype in op.supported_backward_dtypes("cpu"))
    orders = min(most, smooth + bool(smooth and op.supports_gradgrad))
    try:
        wanted = on_torch(call, r, dtype, orders)
    except (RuntimeError, ValueError) as problem:
        yield from _refused(call, r, dtype, orders, problem)
        return
    found = on_ours(call, r, dtype, orders)
    yield from _compared(
        found, wanted, r, cache(partial(on_torch, call, r.nearby(), dtype, orders))
    )


def _refused(call: Columns, r: Rows, dtype: torch.dtype, orders: int, problem: Exception) -> Found:
    """What torch refuses, of these elements or to differentiate, has to be refused."""
    if "not differentiable with respect to" in str(problem):  # as some are here
        return
    try:
        on_ours(call, r, dtype, orders)
    except GradwireError:
        return
    yield f"{str(problem)[:100]!r} was torch's answer, here it was done"


def _compared(found: Derived, wanted: Derived, r: Rows, beside: Callable[[], Derived]) -> Found:
    nothing = np.zeros(len(r.g), r.xs[0].dtype)
    for key in sorted(found.keys() | wanted.keys()):
        a, b = found.get(key, nothing), wanted.get(key, nothing)
        if a.shape != b.shape:
            yield f"{key}: shape {a.shape} for {b.shape}"
            continue
        at = unlike(a, b, parts=nothing.dtype.kind != "c")
        if key.startswith("second"):  # where torch has a first and a second one
            first = wanted.get(f"gradient[{key[7]}]", nothing)
            at = at[np.isfinite(first[at]) & ~np.isnan(b[at])]
        if len(at):
            at = at[~_as_beside(a[at], b[at], beside().get(key, nothing)[at])]
        if len(at):
            shown = "; ".join(f"{_number(a[i])} for {_number(b[i])} at {r.at(i)}" for i in at[:3])
            yield f"{key}: {len(at)} of {len(a)} elements: {shown}"


def _number(value: Any) -> str:
    return f"{value:.6g}"


def _as_beside(a: np.ndarray, b: np.ndarray, nearby: np.ndarray) -> np.ndarray:
    """Where torch has no derivative, or one across a cut, and ours is torch's own beside it."""
    same = np.ones(len(a), bool)
    same[unlike(a, nearby, parts=True)] = False
    if a.dtype.kind != "c":
        same |= np.isinf(a) & (np.sign(a) == np.sign(nearby)) & (np.abs(nearby) >= GROWN)
        same &= np.isnan(b)
    return same


def on_torch(call: Columns, r: Rows, dtype: torch.dtype, orders: int) -> Derived:
    """What torch makes of these rows in its vector loops: more rows follow, which are dropped."""
    longer = r.followed_by(LANES)
    xs, placed = call.leaves(longer, dtype, orders > 0)
    y = call.op.op(placed.input, *placed.args, **placed.kwargs)
    found = _derived(torch, y, xs, longer, orders)
    return {key: value[: len(r.g)] for key, value in found.items()}


def on_ours(call: Columns, r: Rows, dtype: torch.dtype, orders: int) -> Derived:
    """What the SDK makes of them."""
    xs, placed = call.leaves(r, dtype, orders > 0)
    ours = Ours(placed)
    y = apply(call.op, ours).tensor
    return _derived(gradwire, y, [ours.of(x) for x in xs], r, orders)


def _derived(library: Any, y: Any, xs: list[Any], r: Rows, orders: int) -> Derived:
    found = {"result": to_numpy(y).reshape(-1)}
    if not y.requires_grad:
        return found
    walk = partial(library.autograd.grad, allow_unused=True)
    g = library.tensor(r.g if y.dtype.is_complex else r.g.real, dtype=y.dtype)
    g = g.reshape(tuple(y.shape)).requires_grad_()
    firsts = walk([y], xs, [g], create_graph=orders > 1)
    found |= _named("gradient[{}]", firsts)
    for i, first in enumerate(firsts if orders > 1 else ()):
        if first is not None and first.requires_grad:
            h = library.tensor(r.h[i], dtype=first.dtype).reshape(tuple(first.shape))
            found |= _named(f"second[{i}|{{}}]", walk([first], [*xs, g], [h], retain_graph=True))
    return found


def _named(what: str, tensors: Any) -> Derived:
    columns = {what.format(i): t for i, t in enumerate(tensors) if t is not None}
    return {name: to_numpy(t).reshape(-1) for name, t in columns.items()}


def unlike(found: np.ndarray, wanted: np.ndarray, *, parts: bool) -> np.ndarray:
    """Places where two columns differ. parts: which infinity it is, or that it is NaN, counts."""
    wide = np.complex128 if "c" in found.dtype.kind + wanted.dtype.kind else np.float64
    a, b = found.astype(wide), wanted.astype(wide)
    numbers = np.isfinite(a) & np.isfinite(b)
    fine = np.isfinite(a) == np.isfinite(b)
    if parts and wide is np.float64:
        fine &= numbers | (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        off = np.abs(a - b) > RELATIVE.get(wanted.dtype.name, EXACT) * np.abs(b) + ROUNDING
    return np.flatnonzero(~fine | off & numbers)
