"""Steps that compute new tensors: leaves, math, reductions, joins, indices, conversions."""

from __future__ import annotations

from tests.parity.differential.kinds.registry import kind, words
from tests.parity.differential.step import Dtype, Step
from tests.parity.differential.world import FLOATS, World, floating, function, method, with_axes

UNARY = words(
    "sin cos tanh exp sigmoid neg abs square sqrt log reciprocal relu sign floor erf "
    "expm1 log1p rsqrt sinh atan cosh softplus silu gelu clone contiguous logit tan "
    "asinh frac trunc sgn"
)
BINARY = words("add sub mul div maximum minimum pow atan2 hypot fmod remainder logaddexp")
OPERATORS = words("add sub mul truediv pow matmul")
COMPARE = words("lt le gt eq ne isnan isfinite logical_not logical_and")
FUNCTIONAL = ("softplus", "silu", "gelu")


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


@kind("math", 9)
def math(w: World) -> Step | None:
    x, name = w.any(), w.one(UNARY)
    if x is None:
        return None
    if name in FUNCTIONAL:
        x = w.strictly(lambda t: not t.dtype.is_complex)
        return x and function("math", f"nn.functional.{name}", x, out=w.name())
    return method("math", name, x, out=w.name())


@kind("math of two", 12)
def math_of_two(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    y = w.fellow(x)
    if w.chance(0.4):
        pair = (x, y) if w.chance(0.8) else (y, x)
        return Step("math of two", "operator", w.one(OPERATORS[:-1]), pair, (), (w.name(),))
    if w.chance(0.5):
        return method("math of two", w.one(BINARY), x, y, out=w.name())
    return function("math of two", w.one(BINARY), x, y, out=w.name())


@kind("comparison", 1.5)
def comparison(w: World) -> Step | None:
    x, name = w.any(), w.one(COMPARE)
    if x is None:
        return None
    alone = name.startswith("is") or name == "logical_not"
    return method("comparison", name, x, *(() if alone else (w.fellow(x),)), out=w.name())


@kind("reduction", 5)
def reduction(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    name = w.one(words("sum mean prod amax amin var std logsumexp norm sum sum mean all any"))
    if name == "logsumexp":
        return method("reduction", name, x, w.dim(x), out=w.name())
    if name == "norm":
        return method("reduction", name, x, out=w.name())
    if w.chance(0.5) and (w.get(x).numel() or name not in ("amax", "amin")):
        return method("reduction", name, x, out=w.name())
    keep = {"keepdim": True} if w.chance(0.4) else {}
    return method("reduction", name, x, w.dim(x), out=w.name(), **keep)


@kind("along an axis", 4)
def along(w: World) -> Step | None:
    x = w.strictly(lambda t: t.ndim > 0 and t.is_floating_point())
    if x is None:
        return None
    name = w.one(words("softmax log_softmax cumsum cumprod max min sort median flip roll topk"))
    if name in ("flip",):
        return method("along an axis", name, x, (w.dim(x),), out=w.name())
    if name == "roll":
        return method("along an axis", name, x, w.whole(-1, 2), w.dim(x), out=w.name())
    if name == "topk":
        step = method("along an axis", name, x, w.whole(1, 2), w.dim(x))
    elif name == "sort" and w.chance(0.5):
        how = {"descending": True} if w.chance(0.5) else {}
        step = method("along an axis", name, x, dim=w.dim(x), stable=True, **how)
    else:
        step = method("along an axis", name, x, w.dim(x))
    several = name in ("max", "min", "sort", "median", "topk")
    outs = (w.name(), w.name()) if several else (w.name(),)
    return Step(step.kind, step.form, step.name, step.args, step.kwargs, outs)


@kind("product of matrices", 3)
def product(w: World) -> Step | None:
    x = w.any(lambda t: 1 <= t.ndim <= 3)
    if x is None:
        return None
    a = w.get(x)
    y = w.any(lambda t: t.dtype == a.dtype and t.ndim in (1, 2) and a.shape[-1:] == t.shape[:1])
    if y is None:
        return None
    name = w.one(("matmul", "matmul", "mm", "outer", "dot", "mv"))
    if w.chance(0.3):
        return Step("product of matrices", "operator", "matmul", (x, y), (), (w.name(),))
    return function("product of matrices", name, x, y, out=w.name())


@kind("join", 4)
def join(w: World) -> Step | None:
    x = w.any(with_axes)
    if x is None:
        return None
    like = w.get(x)
    parts = [x]
    for _ in range(w.whole(0, 2)):
        other = w.any(lambda t: t.shape == like.shape and (t.dtype == like.dtype or w.chance(0.2)))
        parts.append(other or x)
    name = w.one(("cat", "cat", "stack", "hstack", "vstack"))
    if name in ("cat", "stack"):
        return function("join", name, parts, w.dim(x), out=w.name())
    return function("join", name, parts, out=w.name())


@kind("choice", 3)
def choice(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    mask = w.any(lambda t: str(t.dtype) == "torch.bool")
    name = w.one(words("where masked_fill clamp lerp addcmul tril nan_to_num masked_select"))
    if name == "nan_to_num" and w.get(x).dtype.is_complex:
        return None
    if name in ("where", "masked_fill", "masked_select"):
        if mask is None:
            return None
        if name == "where":
            return function("choice", name, mask, x, w.fellow(x), out=w.name())
        rest = (w.number(),) if name == "masked_fill" else ()
        return method("choice", name, x, mask, *rest, out=w.name())
    rest = {
        "clamp": (-1, w.one((1, 0.5, None))),
        "lerp": (w.same(x) or x, 0.25),
        "addcmul": (w.tensor_beside(x), w.tensor_beside(x)),
    }.get(name, ())
    return method("choice", name, x, *rest, out=w.name())


@kind("gather", 3)
def gather(w: World) -> Step | None:
    x = w.any(with_axes)
    if x is None:
        return None
    index = w.strictly(lambda t: str(t.dtype) == "torch.int64" and t.ndim > 0)
    name = w.one(words("index_select gather repeat tile take repeat_interleave diag_embed"))
    if name in ("index_select", "gather", "take"):
        if index is None:
            return None
        where = (index,) if name == "take" else (w.dim(x), index)
        return method("gather", name, x, *where, out=w.name())
    rest = {
        "repeat": tuple(w.whole(1, 2) for _ in range(w.get(x).ndim)),
        "tile": ((2,),),
        "repeat_interleave": (2,),
    }.get(name, ())
    return method("gather", name, x, *rest, out=w.name())


@kind("conversion", 2.5)
def conversion(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    if w.chance(0.5):
        return method("conversion", "to", x, Dtype(w.dtype()), out=w.name())
    return method("conversion", w.one(("double", "float", "long", "bool")), x, out=w.name())


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
