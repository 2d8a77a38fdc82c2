"""Edges of an op: NaN, ±inf, ±0 and numbers in every combination, and the derivatives there.

Torch's table has few of these, and differentiates none. Entries that take their elements one by one
are held on all of them: results, gradients, and second gradients where torch's are numbers. What
has to agree of infinities and NaNs, and with which of torch's loops: docs/adr/extremes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from tests.parity.opinfo.checks import undefined
from tests.parity.opinfo.deviations import WRONG_IN_TORCH
from tests.parity.opinfo.grid import Columns, Rows, columns, facts_of, one_by_one, rows
from tests.parity.opinfo.numbers import EXACT, RELATIVE, ROUNDING, to_numpy
from tests.parity.opinfo.sides import Ours, apply

import gradwire
from gradwire_engine.errors import GradwireError

Found = Iterator[str]
Derived = dict[str, np.ndarray]
"""Results and derivatives by what they are called; one that there is none of is 0."""
LANES = 64
"""More elements than torch's vector loops leave over at the end."""


def edged(op: Any, dtype: torch.dtype) -> Iterator[Callable[[], Found]]:
    """A check for each way in which the table's samples call an entry, on the edges' numbers."""
    if dtype not in op.dtypes or op.name in WRONG_IN_TORCH:
        return
    seen = set()
    for sample in op.sample_inputs("cpu", dtype, requires_grad=False):
        facts = facts_of(sample)
        if facts not in seen:
            seen.add(facts)
            yield partial(_held, op, sample, dtype)


def _held(op: Any, sample: Any, dtype: torch.dtype) -> Found:
    call = columns(op, sample, dtype)
    if not call.at or not one_by_one(call, dtype):
        return
    r = rows(call, dtype)
    if undefined(op, call.placed([torch.tensor(x) for x in r.xs], r.beside)):
        return
    smooth = bool(op.supports_autograd and dtype in op.supported_backward_dtypes("cpu"))
    orders = smooth + bool(smooth and op.supports_gradgrad)
    try:
        wanted = on_torch(call, r, dtype, orders)
    except (RuntimeError, ValueError) as problem:
        yield from _refused(call, r, dtype, orders, problem)
        return
    found = on_ours(call, r, dtype, orders)
    for key in sorted(found.keys() | wanted.keys()):
        yield from _told(key, r, found.get(key), wanted.get(key))


def _refused(call: Columns, r: Rows, dtype: torch.dtype, orders: int, problem: Exception) -> Found:
    """What torch refuses, of these elements or to differentiate, has to be refused."""
    try:
        on_ours(call, r, dtype, orders)
    except GradwireError:
        return
    yield f"{str(problem)[:100]!r} was torch's answer, here it was done"


def _told(key: str, r: Rows, a: np.ndarray | None, b: np.ndarray | None) -> Found:
    nothing = np.zeros(len(r.g))
    a, b = nothing if a is None else a, nothing if b is None else b
    if a.shape != b.shape:
        yield f"{key}: shape {a.shape} for {b.shape}"
        return
    at = unlike(a, b, defined=key.startswith("second"))
    if len(at):
        shown = "; ".join(f"{_number(a[i])} for {_number(b[i])} at {r.at(i)}" for i in at[:3])
        yield f"{key}: {len(at)} of {len(a)} elements: {shown}"


def _number(value: Any) -> str:
    return f"{value:.6g}"


def on_torch(call: Columns, r: Rows, dtype: torch.dtype, orders: int) -> Derived:
    """What torch makes of these rows in its vector loops: more rows follow, which are dropped."""
    longer = r.followed_by(LANES)
    xs = [torch.tensor(x, dtype=dtype, requires_grad=orders > 0) for x in longer.xs]
    s = call.placed(xs, longer.beside)
    y = call.op.op(s.input, *s.args, **s.kwargs)
    found = _derived(torch, y, xs, longer, orders, torch.tensor)
    return {key: value[: len(r.g)] for key, value in found.items()}


def on_ours(call: Columns, r: Rows, dtype: torch.dtype, orders: int) -> Derived:
    """What the SDK makes of them."""
    xs = [torch.tensor(x, dtype=dtype, requires_grad=orders > 0) for x in r.xs]
    ours = Ours(call.placed(xs, r.beside))
    y = apply(call.op, ours).tensor
    return _derived(gradwire, y, [ours.of(x) for x in xs], r, orders, gradwire.tensor)


def _derived(
    library: Any, y: Any, xs: list[Any], r: Rows, orders: int, tensor: Callable[..., Any]
) -> Derived:
    found = {"result": to_numpy(y)}
    if not y.requires_grad:
        return found
    walk = partial(library.autograd.grad, allow_unused=True)
    g = tensor(r.g if y.dtype.is_complex else r.g.real, dtype=y.dtype, requires_grad=True)
    firsts = walk([y], xs, [g], create_graph=orders > 1)
    found |= _named("gradient", firsts)
    for i, first in enumerate(firsts if orders > 1 else ()):
        if first is not None and first.requires_grad:
            h = tensor(r.h[i], dtype=first.dtype)
            found |= _named(f"second of {i}", walk([first], [*xs, g], [h], retain_graph=True))
    return found


def _named(what: str, tensors: Any) -> Derived:
    return {f"{what}[{i}]": to_numpy(t) for i, t in enumerate(tensors) if t is not None}


def unlike(found: np.ndarray, wanted: np.ndarray, *, defined: bool = False) -> np.ndarray:
    """Places where two columns differ. defined: only where the wanted one is a number.

    Of complex numbers that aren't finite nothing else is asked.
    """
    wide = np.complex128 if "c" in found.dtype.kind + wanted.dtype.kind else np.float64
    a, b = found.astype(wide), wanted.astype(wide)
    numbers = np.isfinite(a) & np.isfinite(b)
    fine = np.isfinite(a) == np.isfinite(b)
    if wide is np.float64:
        fine &= numbers | (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        off = np.abs(a - b) > RELATIVE.get(wanted.dtype.name, EXACT) * np.abs(b) + ROUNDING
    fine &= ~(off & numbers)
    return np.flatnonzero(~fine & ~np.isnan(b) if defined else ~fine)
