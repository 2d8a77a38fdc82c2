"""Every function of the stand-in by name, made from the tables in `cupy_api/`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft
import scipy.special
from tests.strict import products
from tests.strict.defaults import WITH_DEFAULTS
from tests.strict.differing import DIFFERING, LINALG, RAW
from tests.strict.functions import Function, signatures
from tests.strict.host import Host
from tests.strict.loops import table
from tests.strict.ufuncs import Ufunc


def _power(x: Host, y: Host) -> Host:
    """An integer to a negative power is 0 but for bases 1 and -1; NumPy raises."""
    if y.dtype.kind not in "iub":
        return np.power(x, y)
    positive = np.power(x, np.where(y < 0, 0, y).astype(y.dtype))
    inverse = np.where(np.abs(x) == 1, np.where(y % 2 == 0, np.ones_like(x), x), np.zeros_like(x))
    return np.where(y < 0, inverse, positive)


def _round(x: Host, decimals: Host) -> Host:
    return np.round(x, int(decimals))


COMPUTED: dict[str, Callable[..., Any]] = {"power": _power, "pow": _power, "round": _round}
COMPUTED |= {"around": _round, "fix": np.trunc}


def _ufuncs(file: str, library: Any) -> dict[str, Ufunc]:
    return {
        name: Ufunc(name, loops, COMPUTED.get(name) or getattr(library, name))
        for name, loops in table(file).items()
    }


def _functions(file: str, library: Any, special: dict[str, Any]) -> dict[str, Function]:
    return {
        name: Function(
            name, signature, special.get(name) or getattr(library, name), raw=name in RAW
        )
        for name, signature in signatures(file).items()
    }


UFUNCS: dict[str, Any] = dict(_ufuncs("ufuncs.txt", np))
UFUNCS |= {name: wrap(UFUNCS[name]) for name, wrap in WITH_DEFAULTS.items()}
SPECIAL: dict[str, Any] = dict(_ufuncs("special.txt", scipy.special))
FUNCTIONS: dict[str, Any] = dict(_functions("functions.txt", np, DIFFERING))
FUNCTIONS["matmul"] = products.matmul
LINEAR: dict[str, Any] = dict(_functions("linalg.txt", np.linalg, LINALG))
FOURIER: dict[str, Any] = dict(_functions("fft.txt", np.fft, {}))
SCIPY_FOURIER: dict[str, Any] = dict(_functions("scipy_fft.txt", scipy.fft, {}))
SPECIAL |= _functions("special_functions.txt", scipy.special, {})
