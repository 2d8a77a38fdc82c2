"""Elementwise functions with arguments that may be left out: where, clip and round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.strict.differing import DIFFERING
from tests.strict.host import need_array, to_device


def _where(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    def where(condition: Any, x: Any = None, y: Any = None) -> Any:
        mask = need_array(condition, "where: condition")
        if x is None and y is None:
            return to_device(DIFFERING["nonzero"](mask))
        if x is None or y is None:
            raise ValueError("Must provide both 'x' and 'y' or neither.")
        return ufunc(to_device(mask.astype(bool)), x, y)

    return where


def _clip(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
        array = need_array(a, "clip: a")
        if a_min is None and a_max is None:
            raise ValueError("array_clip: must set either max or min")
        low, high = _limits(array.dtype)
        return ufunc(a, low if a_min is None else a_min, high if a_max is None else a_max, out=out)

    return clip


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype.kind in "iu":
        return np.iinfo(dtype).min, np.iinfo(dtype).max
    return (-np.inf, np.inf) if dtype.kind not in "b" else (False, True)


def _round(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
        need_array(a, "round: a")
        return ufunc(a, np.int64(decimals), out=out)

    return round


WITH_DEFAULTS = {"where": _where, "clip": _clip, "round": _round, "around": _round}
