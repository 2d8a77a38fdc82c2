"""Steps that multiply matrices and vectors."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind, words
from tests.parity.differential.step import Ref, Step
from tests.parity.differential.world import World, function


@kind("product of matrices", 4)
def product(w: World) -> Step | None:
    x = w.any(lambda t: 1 <= t.ndim <= 3)
    if x is None:
        return None
    a = w.get(x)
    if w.chance(0.2):
        return _with_sum(w, x)
    y = w.any(lambda t: t.dtype == a.dtype and t.ndim in (1, 2) and a.shape[-1:] == t.shape[:1])
    if w.chance(0.4) and a.ndim:
        y = w.beside(x, (a.shape[-1], 2) if w.chance(0.7) else (a.shape[-1],))
    if y is None:
        return None
    name = w.one(words(
        "matmul matmul mm outer dot mv bmm inner vdot kron einsum tensordot linalg.vecdot linear "
        "linalg.multi_dot cdist cross matmul"
    ))  # fmt: skip
    if w.chance(0.25):
        return Step("product of matrices", "operator", "matmul", (x, y), (), (w.name(),))
    return _product(w, name, x, y)


def _product(w: World, name: str, x: Ref, y: Any) -> Step:
    as_kind, out = "product of matrices", w.name()
    if name == "einsum":
        return function(as_kind, name, w.one(("ij,jk->ik", "ij,jk", "...i,i->...")), x, y, out=out)
    if name == "tensordot":
        return function(as_kind, name, x, y, out=out, dims=1)
    if name == "linear":
        weight = w.beside(x, (2, w.get(x).shape[-1] if w.get(x).ndim else 1))
        return function(as_kind, "nn.functional.linear", x, weight, out=out)
    if name == "linalg.multi_dot":
        return function(as_kind, name, [x, y, y], out=out)
    return function(as_kind, name, x, y, out=out)


def _with_sum(w: World, x: Ref) -> Step | None:
    """addmm and its like: a product, and what it is added to."""
    shape = tuple(w.get(x).shape)
    name = {1: "addr", 2: w.one(("addmm", "addmv")), 3: w.one(("baddbmm", "addbmm"))}.get(
        len(shape), "addmm"
    )
    inner = shape[-1] if shape else 1
    other = {"addr": (2,), "addmv": (inner,)}.get(name, (*shape[:-2], inner, 2))
    total = {"addr": (inner, 2), "addmv": shape[:1], "addbmm": (*shape[1:-1], 2)}.get(
        name, (*shape[:-1], 2)
    )
    scale = {"beta": w.one((0, 2, 0.5)), "alpha": w.one((2, 1, -1))} if w.chance(0.4) else {}
    if len(shape) not in (1, 2, 3) or 0 in shape:  # nested lists forget axes behind an empty one
        return None
    start = w.beside(x, total if w.chance(0.6) else (2,))
    called = function(
        "product of matrices", name, start, x, w.beside(x, other), out=w.name(), **scale
    )
    return called
