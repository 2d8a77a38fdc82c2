"""Steps along axes: reductions to fewer elements, and ops that keep the axis they go along."""

from __future__ import annotations

from typing import Any

from tests.parity.differential.kinds.registry import kind, words
from tests.parity.differential.step import Dtype, Ref, Step
from tests.parity.differential.world import FLOATS, World

REDUCTIONS = words(
    "sum mean prod amax amin var std logsumexp norm all any nansum nanmean count_nonzero argmax "
    "argmin std_mean var_mean aminmax sum mean sum median nanmedian quantile nanquantile trace "
    "linalg.vector_norm linalg.norm linalg.matrix_norm max min"
)
_SEVERAL_AXES = words(
    "sum mean amax amin var std logsumexp norm nansum nanmean count_nonzero std_mean var_mean all "
    "any linalg.vector_norm"
)
_WITHOUT_AXES = words("trace max min median nanmedian linalg.matrix_norm")
_NOT_OVER_NONE = words("logsumexp var std var_mean std_mean")
"""Over no axes torch fails by its own shapes, or counts one element on the way back."""
_NEED_ELEMENTS = words("amax amin argmax argmin aminmax max min")
_PAIRS = words("std_mean var_mean aminmax")


@kind("reduction", 6)
def reduction(w: World) -> Step | None:
    x = w.any()
    if x is None:
        return None
    name = w.one(REDUCTIONS)
    if name in _NEED_ELEMENTS and not w.get(x).numel():  # refused as one class or another
        return None
    rest: tuple[Any, ...] = ()
    options: dict[str, Any] = {}
    if name.endswith("quantile"):
        rest = (w.one((0.5, 0.25, 1.0)),)
    elif name not in _WITHOUT_AXES and w.chance(0.6):
        options["dim"] = _axes(w, x, name)
        options |= {"keepdim": w.chance(0.8)} if w.chance(0.5) else {}
    options |= _settings(w, name)
    if name == "logsumexp":
        options.setdefault("dim", w.dim(x))
    outs = (w.name(), w.name()) if name in _PAIRS else (w.name(),)
    form = "function" if "." in name or name in ("var_mean", "std_mean") else "method"
    return Step("reduction", form, name, (x, *rest), tuple(options.items()), outs)


def _axes(w: World, x: Ref, name: str) -> Any:
    if name not in _SEVERAL_AXES or w.chance(0.5):
        return w.dim(x)
    ndim = w.get(x).ndim
    chosen = [axis for axis in range(ndim) if w.chance(0.6)]
    axes = tuple(axis - ndim * w.chance(0.4) for axis in chosen)
    if not axes and name in _NOT_OVER_NONE:
        return w.dim(x)
    return axes if w.chance(0.96) else (*axes, 0)


def _settings(w: World, name: str) -> dict[str, Any]:
    """What some of them are asked besides."""
    if name in ("sum", "prod", "mean", "nansum") and w.chance(0.15):
        return {"dtype": Dtype(w.one(FLOATS))}
    if name in ("var", "std", "var_mean", "std_mean") and w.chance(0.4):
        return {"correction": w.whole(0, 2)}
    if name == "norm" and w.chance(0.5):
        return {"p": w.one((1, 2, 3, float("inf"), "fro"))}
    if name == "linalg.vector_norm" and w.chance(0.6):
        return {"ord": w.one((0, 1, 3, float("inf"), -float("inf")))}
    if name == "linalg.matrix_norm":
        return {"ord": w.one(("fro", 1, float("inf")))}
    return {}


_ALONG = words(
    "softmax log_softmax softmin cumsum cumprod logcumsumexp cummax cummin max min sort median "
    "nanmedian kthvalue flip fliplr flipud roll rot90 topk argsort msort diff normalize trapezoid "
    "cumulative_trapezoid renorm"
)
_VALUES_AND_PLACES = words("max min sort median nanmedian topk cummax cummin kthvalue")
_SOURCES = {"softmin": "nn.functional.softmin", "normalize": "nn.functional.normalize"}
_PLAIN = words("fliplr flipud rot90 msort")


def _whole(x: Any, too: bool) -> bool:
    return too and not x.dtype.is_complex and x.element_size() > 1


@kind("along an axis", 5)
def along(w: World) -> Step | None:
    x = w.strictly(
        lambda t: (
            t.ndim > 0 and (t.is_floating_point() or (not t.dtype.is_complex and w.chance(0.2)))
        )
    )
    if x is None:
        return None
    name = w.one(_ALONG)
    if name == "renorm" and w.get(x).ndim < 2:
        return None
    if "softm" in name and not w.get(x).is_floating_point():
        return None
    rest, options = _along(w, x, name)
    outs = (w.name(), w.name()) if name in _VALUES_AND_PLACES else (w.name(),)
    of_library = name in _SOURCES or name.endswith("trapezoid")
    form, called = ("function" if of_library else "method"), _SOURCES.get(name, name)
    return Step("along an axis", form, called, (x, *rest), tuple(options.items()), outs)


def _along(w: World, x: Ref, name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional arguments and options."""
    axis = w.dim(x)
    if name in _PLAIN:
        return (), {}
    if name == "flip":
        return ((axis,),), {}
    if name == "roll":
        return (w.whole(-1, 2), axis), {}
    if name in ("topk", "kthvalue"):
        return (w.whole(1, 2), axis), {}
    if name == "renorm":
        return (2, axis, 1.0), {}
    if name == "softmin" or name.endswith("trapezoid") or name == "normalize":
        return (), {"dim": axis}
    if name == "diff":
        return (), {"n": w.whole(1, 2), "dim": axis}
    if name in ("sort", "argsort"):
        options = {"dim": axis, "stable": True}
        options |= {"descending": True} if w.chance(0.5) else {}
        return ((axis,), {}) if w.chance(0.3) else ((), options)
    if name in ("softmax", "log_softmax", "cumsum", "cumprod") and w.chance(0.1):
        return (axis,), {"dtype": Dtype(w.one(FLOATS))}
    keep = name in ("max", "min", "median", "nanmedian") and w.chance(0.4)
    return (axis,), {"keepdim": True} if keep else {}
