"""Steps that write in place: on bases and views, by item assignment; changes of form in place."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind, words
from tests.parity.differential.kinds.views import advanced, index
from tests.parity.differential.step import Ref, Step
from tests.parity.differential.world import World, floating, method, with_axes

_ALONE = words(
    "sin_ tanh_ exp_ neg_ abs_ sqrt_ sigmoid_ zero_ relu_ square_ floor_ reciprocal_ "
    "log_ cos_ sign_ erf_ rsqrt_ tril_ nan_to_num_ conj_physical_ trunc_"
)
_WITH_ANOTHER = words("add_ sub_ mul_ div_ copy_ pow_ atan2_ mul_ add_ copy_ fmod_ eq_ lt_")
_OPERATORS = words("iadd isub imul itruediv ipow")


def _is_base(x: Any) -> bool:
    return not x._is_view() and not (x.is_leaf and x.requires_grad)


def _is_view(x: Any) -> bool:
    return bool(x._is_view())


@kind("in place on a base", 8)
def on_a_base(w: World) -> Step | None:
    return _written(w, "in place on a base", w.any(_is_base))


@kind("in place on a view", 8)
def on_a_view(w: World) -> Step | None:
    x = w.any(_is_view)
    return None if x is None or not _is_view(w.get(x)) else _written(w, "in place on a view", x)


@kind("in place on a leaf", 1.5)
def on_a_leaf(w: World) -> Step | None:
    return _written(w, "in place on a leaf", w.any(lambda x: x.is_leaf and x.requires_grad))


def _written(w: World, as_kind: str, x: Ref | None) -> Step | None:
    if x is None:
        return None
    if w.chance(0.3):
        return method(as_kind, w.one(_ALONE), x)
    if w.chance(0.45):
        name = w.one(_WITH_ANOTHER)
        needs = name in ("atan2_", "copy_")
        return method(as_kind, name, x, w.tensor_beside(x) if needs else w.fellow(x))
    if w.chance(0.4):
        return Step(as_kind, "operator", w.one(_OPERATORS), (x, w.fellow(x)))
    name = w.one(list(_OTHERS))
    rest = _OTHERS[name](w, x)
    return None if rest is None else method(as_kind, name, x, *rest)


def _places(w: World, x: Ref, source: bool) -> tuple[Any, ...] | None:
    where = w.strictly(lambda t: str(t.dtype) == "torch.int64" and t.ndim == 1)
    if where is None:
        return None
    return (w.dim(x), where, (w.same(x) or x) if source else w.number())


def _masked(w: World, x: Ref) -> tuple[Any, ...] | None:
    mask = w.strictly(lambda t: str(t.dtype) == "torch.bool")
    return None if mask is None else (mask, w.number())


_OTHERS: dict[str, Any] = {
    "fill_": lambda w, x: (w.number() if w.chance(0.5) else w.any(lambda t: t.ndim == 0),),
    "clamp_": lambda w, x: (-1, 1),
    "lerp_": lambda w, x: (w.same(x) or x, 0.25),
    "addcmul_": lambda w, x: (w.tensor_beside(x), w.tensor_beside(x)),
    "masked_fill_": _masked,
    "index_add_": lambda w, x: _places(w, x, True),
    "index_copy_": lambda w, x: _places(w, x, True),
    "index_fill_": lambda w, x: _places(w, x, False),
    "cumsum_": lambda w, x: (w.dim(x),) if floating(w.get(x)) else None,
    "triu_": lambda w, x: (),
    "scatter_": lambda w, x: _places(w, x, False),
    "addmm_": lambda w, x: (w.any(lambda t: t.ndim == 2), w.any(lambda t: t.ndim == 2)),
}
"""In-place ops of other signatures, and how their arguments are drawn."""


@kind("item assignment", 7)
def item_assignment(w: World) -> Step | None:
    x = w.any(with_axes)
    if x is None:
        return None
    return _assigned(w, "item assignment", x, index(w, x))


@kind("assignment by advanced index", 3)
def advanced_assignment(w: World) -> Step | None:
    x = w.any(with_axes)
    if x is None:
        return None
    return _assigned(w, "assignment by advanced index", x, advanced(w, x))


def _assigned(w: World, as_kind: str, x: Ref, where: Any) -> Step:
    model = w.get(x)
    value: Any = w.number()
    if w.chance(0.6):
        try:
            shape = model.detach()[where].shape if not _has_refs(where) else model.shape[1:]
        except (RuntimeError, IndexError):
            shape = model.shape
        value = w.any(lambda t: t.shape == shape or (t.ndim == 0 and w.chance(0.2))) or value
    return Step(as_kind, "set", "", (x, where, value))


def _has_refs(where: Any) -> bool:
    items = where if isinstance(where, tuple) else (where,)
    return any(isinstance(item, Ref) for item in items)


@kind("form in place", 2.5)
def form(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    name = w.one(list(_FORMS))
    return method("form in place", name, x, *_FORMS[name](w, x))


_FORMS: dict[str, Any] = {
    "t_": lambda w, x: (),
    "squeeze_": lambda w, x: () if w.chance(0.5) else (w.dim(x),),
    "unsqueeze_": lambda w, x: (w.whole(-2, 1),),
    "transpose_": lambda w, x: (w.dim(x), w.dim(x)),
    "swapaxes_": lambda w, x: (w.dim(x), w.dim(x)),
    "detach_": lambda w, x: (),
}
"""What changes a tensor's shape or history in place."""
