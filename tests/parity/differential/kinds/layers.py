"""Steps that networks are made of: normalised, padded and pooled tensors, losses."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind, words
from tests.parity.differential.step import Ref, Step
from tests.parity.differential.world import World, function


@kind("layer", 3)
def layer(w: World) -> Step | None:
    x = w.strictly(lambda t: t.is_floating_point() and (t.ndim > 0 or w.chance(0.2)))
    if x is None:
        return None
    name = w.one(list(_LAYERS))
    called = _LAYERS[name](w, x)
    if called is None:
        return None
    rest, options = called
    return function("layer", f"nn.functional.{name}", x, *rest, out=w.name(), **options)


def _last(w: World, x: Ref) -> int:
    shape = w.get(x).shape
    return int(shape[-1]) if shape else 1


def _normalised(w: World, x: Ref) -> Any:
    if not w.get(x).ndim:
        return None
    size = _last(w, x)
    weight = w.beside(x, (size,)) if w.chance(0.6) else None
    return ((size,), weight), {}


def _with_bias(w: World, x: Ref) -> Any:
    found = _normalised(w, x)
    if found is None:
        return None
    (size, weight), _ = found
    return (size, weight, w.beside(x, (size[0],)) if weight is not None else None), {}


def _loss(w: World, x: Ref) -> Any:
    target = w.beside(x, w.get(x).shape)
    return (target,), {"reduction": w.one(words("mean sum none"))}


def _padded(w: World, x: Ref) -> Any:
    pad = (w.whole(-1, 1), w.whole(0, 2))
    if w.get(x).ndim > 1 and w.chance(0.4):
        pad = (*pad, w.whole(0, 1), w.whole(-1, 1))
    return (pad,), {"value": w.number()} if w.chance(0.5) else {}


def _classes(w: World, x: Ref) -> Any:
    shape = w.get(x).shape
    if len(shape) not in (1, 2) or not all(shape):
        return None
    where = w.places(() if len(shape) == 1 else (shape[0],), shape[-1])
    return (where,), {"reduction": w.one(words("mean sum none"))}


def _pooled(w: World, x: Ref) -> Any:
    return None if w.get(x).ndim not in (2, 3) else ((2,), {"stride": w.whole(1, 2)})


def _convolved(w: World, x: Ref) -> Any:
    shape = w.get(x).shape
    if len(shape) not in (2, 3) or not all(shape):
        return None
    weight = w.beside(x, (2, shape[-2], w.whole(1, 2)))
    return (weight,), {"padding": w.whole(0, 1)}


def _compared(w: World, x: Ref) -> Any:
    return (w.tensor_beside(x),), {"dim": w.dim(x)}


_LAYERS: dict[str, Any] = {
    "layer_norm": _with_bias,
    "rms_norm": _normalised,
    "mse_loss": _loss,
    "l1_loss": _loss,
    "smooth_l1_loss": _loss,
    "huber_loss": _loss,
    "binary_cross_entropy_with_logits": _loss,
    "cross_entropy": _classes,
    "pad": _padded,
    "glu": lambda w, x: ((), {"dim": w.dim(x)}),
    "avg_pool1d": _pooled,
    "max_pool1d": _pooled,
    "conv1d": _convolved,
    "cosine_similarity": _compared,
    "pairwise_distance": lambda w, x: ((w.beside(x, w.get(x).shape),), {}),
    "prelu": lambda w, x: ((w.beside(x, (1,)),), {}),
    "threshold": lambda w, x: ((0.25, w.number()), {}),
}
"""Functions of nn.functional, and how what they take besides is drawn."""
