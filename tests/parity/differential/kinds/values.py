"""Steps that make new tensors, and those that read values out of them."""

from __future__ import annotations

from tests.parity.differential.kinds.registry import kind
from tests.parity.differential.step import Dtype, Step
from tests.parity.differential.world import FLOATS, World, floating, function, method


@kind("leaf", 2)
def leaf(w: World) -> Step:
    dtype = w.dtype()
    wants = w.chance(0.6) if dtype in FLOATS else w.chance(0.05)
    return function(
        "leaf",
        "tensor",
        w.literal(w.shape(), dtype),
        out=w.name(),
        dtype=Dtype(dtype),
        requires_grad=wants,
    )


@kind("like another", 1.5)
def like_another(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    wants = {"requires_grad": True} if w.chance(0.5) else {}
    name = w.one(("zeros_like", "ones_like", "full_like"))
    value = (w.number(),) if name == "full_like" else ()
    return function("like another", name, x, *value, out=w.name(), **wants)


@kind("reading", 2)
def reading(w: World) -> Step | None:
    x = w.any(lambda t: t.numel() == 1) if w.chance(0.5) else w.any()
    if x is None:
        return None
    form = w.one(("item", "tolist", "numpy", "__bool__", "__len__", "is_contiguous", "stride"))
    if form == "numpy":
        return (
            method("reading", form, x) if not floating(w.get(x)) else method("reading", "item", x)
        )
    return method("reading", form, x)
