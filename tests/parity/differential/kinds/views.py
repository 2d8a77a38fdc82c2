"""Steps that make views: basic indexing, changes of shape, several views of one call, parts."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind, words
from tests.parity.differential.step import Ref, Step
from tests.parity.differential.world import World, function, method, with_axes


def index(w: World, x: Ref) -> Any:
    """A basic index: ints, slices, None and Ellipsis for some of the axes."""
    shape = w.get(x).shape
    if not shape:
        return w.one((..., None, (), (None, ...)))
    items: list[Any] = [_item(w, size) for size in shape[: w.whole(1, len(shape))]]
    if w.chance(0.15):
        items.insert(w.whole(0, len(items)), None)
    if w.chance(0.15):
        items = [..., items[-1]]
    return items[0] if len(items) == 1 else tuple(items)


def _item(w: World, size: int) -> Any:
    if w.chance(0.45):
        return w.whole(-size, size - 1) if size and not w.chance(0.05) else size
    bounds = (w.one((None, 0, 1, -1, -2)), w.one((None, None, 1, 2, -1)), w.one((None, None, 2)))
    return slice(*bounds)


def advanced(w: World, x: Ref) -> Any:
    """An index that copies: lists, masks and tensors of ints, maybe with basic ones beside them."""
    shape = w.get(x).shape
    mask = w.strictly(lambda t: str(t.dtype) == "torch.bool" and t.shape == shape)
    ints = w.strictly(lambda t: str(t.dtype) == "torch.int64")
    first = shape[0] if shape else 1
    picked = [w.whole(-first, max(first - 1, 0)) for _ in range(w.whole(1, 3))]
    found = [picked, picked]
    found += [mask] if mask is not None else []  # type: ignore[list-item]
    found += [ints] if ints is not None else []  # type: ignore[list-item]
    chosen: Any = w.one(found)
    if len(shape) > 1 and w.chance(0.3) and chosen is not mask:
        return w.one([(chosen, _item(w, shape[1])), (slice(None), chosen), (..., chosen)])
    return chosen


@kind("indexing", 7)
def indexing(w: World) -> Step | None:
    x = w.any(with_axes)
    if x is None:
        return None
    return Step("indexing", "get", "", (x, index(w, x)), (), (w.name(),))


@kind("advanced indexing", 3)
def advanced_indexing(w: World) -> Step | None:
    x = w.any(with_axes)
    if x is None:
        return None
    return Step("advanced indexing", "get", "", (x, advanced(w, x)), (), (w.name(),))


def _is_view(x: Any) -> bool:
    return bool(x._is_view())


@kind("view", 9)
def view(w: World) -> Step | None:
    return _view(w, "view", w.any())


@kind("view of a view", 5)
def view_of_a_view(w: World) -> Step | None:
    x = w.any(_is_view)
    return None if x is None or not _is_view(w.get(x)) else _view(w, "view of a view", x)


def _view(w: World, as_kind: str, x: Ref | None) -> Step | None:
    if x is None:
        return None
    name = w.one(list(_VIEWS))
    rest = _VIEWS[name](w, x)
    return None if rest is None else method(as_kind, name, x, *rest, out=w.name())


def _sizes(w: World, x: Ref) -> tuple[int, ...]:
    """Another shape with as many elements, most of the time."""
    total = w.get(x).numel()
    shapes = [(total,), (-1,), (-1, 1), (1, total)]
    shapes += [(n, total // n) for n in (2, 3) if total and not total % n]
    shapes += [(2, -1)]
    return w.one(shapes)  # type: ignore[no-any-return]


def _order(w: World, x: Ref) -> tuple[int, ...]:
    return tuple(int(i) for i in w.rng.permutation(w.get(x).ndim))


def _expanded(w: World, x: Ref) -> tuple[int, ...]:
    shape = [2 if n == 1 and w.chance(0.7) else n for n in w.get(x).shape]
    return tuple([2, *shape] if w.chance(0.4) or not shape else shape)


def _narrowed(w: World, x: Ref) -> tuple[int, int, int]:
    return (w.dim(x), w.whole(0, 1), w.whole(0, 2))


_STRIDED = (((2,), (1,)), ((2,), (2,)), ((1, 2), (2, 1)), ((2, 1), (1, 1)), ((2, 2), (2, 1)))
"""Sizes and strides of parts that show no element twice."""


def _strided(w: World, x: Ref) -> tuple[Any, ...] | None:
    """Parts of tensors that begin their storage; elsewhere torch shows what lies beside."""
    model = w.get(x)
    whole = model.untyped_storage().nbytes() == model.numel() * model.element_size()
    if model._is_view() or not whole or not model.is_contiguous():
        return None
    return w.one(_STRIDED)  # type: ignore[no-any-return]


_VIEWS: dict[str, Any] = {
    "select": lambda w, x: (w.dim(x), w.whole(-1, 1)),
    "narrow": _narrowed,
    "transpose": lambda w, x: (w.dim(x), w.dim(x)),
    "swapaxes": lambda w, x: (w.dim(x), w.dim(x)),
    "movedim": lambda w, x: (w.dim(x), w.dim(x)),
    "t": lambda w, x: (),
    "permute": lambda w, x: (_order(w, x),),
    "view": lambda w, x: _sizes(w, x),
    "reshape": lambda w, x: (_sizes(w, x),),
    "flatten": lambda w, x: (),
    "ravel": lambda w, x: (),
    "unflatten": lambda w, x: (0, (1, -1)),
    "squeeze": lambda w, x: () if w.chance(0.5) else (w.dim(x),),
    "unsqueeze": lambda w, x: (w.whole(-2, 1),),
    "expand": lambda w, x: _expanded(w, x),
    "expand_as": lambda w, x: (w.any(),),
    "view_as": lambda w, x: (w.any(lambda t: t.numel() == w.get(x).numel()) or x,),
    "diagonal": lambda w, x: (w.whole(-1, 1),) if w.chance(0.5) else (),
    "unfold": lambda w, x: (w.dim(x), 2, 1),
    "as_strided": _strided,
    "adjoint": lambda w, x: None if w.get(x).dtype.is_complex else (),
    "contiguous": lambda w, x: (),
    "detach": lambda w, x: (),
}
"""Views by name, and how their arguments are drawn."""


@kind("attribute view", 2)
def attribute(w: World) -> Step | None:
    x = w.any(lambda t: t.dtype.is_complex) if w.chance(0.4) else w.any()
    if x is None:
        return None
    is_complex = w.get(x).dtype.is_complex
    name = w.one(("real", "imag", "mT") if is_complex else ("T", "mT", "real", "H", "mH"))
    return Step("attribute view", "attribute", name, (x,), (), (w.name(),))


def _pairs(x: Any) -> bool:
    """Whether its elements lie in pairs, which torch tells by strides of axes of size 1 too."""
    *before, last = x.stride() or (0,)
    even = not x.storage_offset() % 2 and not any(s % 2 for s in before)
    return bool(x.numel() and x.shape[-1:] == (2,) and last == 1 and even)


@kind("complex view", 1.5)
def complex_view(w: World) -> Step | None:
    def fits(t: Any) -> bool:
        return bool(t.dtype.is_complex or (t.is_floating_point() and _pairs(t)))

    x = w.strictly(fits)
    if x is None:
        return None
    name = "view_as_real" if w.get(x).dtype.is_complex else "view_as_complex"
    if w.chance(0.2):
        name = w.one(("resolve_conj", "conj_physical"))
    return function("complex view", name, x, out=w.name())


@kind("several views", 5)
def several(w: World) -> Step | None:
    x = w.any(with_axes)
    if x is None:
        return None
    name = w.one(words("split chunk unbind split_with_sizes tensor_split split hsplit"))
    rest: tuple[Any, ...] = {
        "split": (w.whole(1, 2), w.dim(x)),
        "chunk": (2, w.dim(x)),
        "unbind": (w.dim(x),),
        "split_with_sizes": ([1, 1], w.dim(x)),
        "tensor_split": (2, w.dim(x)),
        "hsplit": (2,),
    }[name]
    outs = tuple(w.name() for _ in range(2))
    return Step("several views", "method", name, (x, *rest), (), outs)


@kind("detach", 3)
def detach(w: World) -> Step | None:
    x = w.any()
    return None if x is None else method("detach", "detach", x, out=w.name())
