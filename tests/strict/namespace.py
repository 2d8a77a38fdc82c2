"""`xp` and `special`: what stands where `cupy` and `cupyx.scipy.special` would."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.strict import products
from tests.strict.array import Array
from tests.strict.catalogue import (
    FOURIER,
    FUNCTIONS,
    LINEAR,
    SCIPY_FOURIER,
    SPECIAL,
    UFUNCS,
)
from tests.strict.draws import Generator, default_rng
from tests.strict.host import Host, need_array, to_device

_CONSTANTS = "e euler_gamma inf nan newaxis pi"
_TYPES = (
    "bool_ bool int8 int16 int32 int64 intp int_ uint8 uint16 uint32 uint64 float16 float32 "
    "float64 complex64 complex128 generic number integer signedinteger unsignedinteger inexact "
    "floating complexfloating dtype finfo iinfo issubdtype isdtype promote_types broadcast_shapes "
    "isscalar index_exp s_ ndindex"
)


class Namespace:
    """A module's worth of names; one that CuPy lacks is an AttributeError that says so."""

    def __init__(self, name: str, **members: Any) -> None:
        self.__name__ = name
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"module '{self.__dict__['__name__']}' has no attribute {name!r}")


def _as_strided(x: Any, shape: Any = None, strides: Any = None) -> Any:
    host = need_array(x, "as_strided: x")
    return to_device(np.lib.stride_tricks.as_strided(host, shape, strides))


def _sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    host = need_array(x, "sliding_window_view: x")
    return to_device(np.lib.stride_tricks.sliding_window_view(host, window_shape, axis))


def _asnumpy(a: Any, stream: Any = None, order: Any = "C", out: Any = None) -> Host:
    return need_array(a, "asnumpy: a").copy(order)


def _borrowed(names: str) -> dict[str, Any]:
    return {name: getattr(np, name) for name in names.split()}


linalg = Namespace(
    "cupy.linalg", **LINEAR, matmul=products.matmul, LinAlgError=np.linalg.LinAlgError
)
special = Namespace("cupyx.scipy.special", **SPECIAL, round=UFUNCS["round"])
scipy_linalg = Namespace(
    "cupyx.scipy.linalg",
    solve_triangular=products.solve_triangular,
    lu=products.lu,
    lu_factor=products.lu_factor,
    lu_solve=products.lu_solve,
    expm=products.expm,
)
xp = Namespace(
    "cupy",
    **(_borrowed(_CONSTANTS) | _borrowed(_TYPES) | FUNCTIONS | UFUNCS),
    ndarray=Array,
    asnumpy=_asnumpy,
    linalg=linalg,
    fft=Namespace("cupy.fft", **FOURIER),
    random=Namespace("cupy.random", Generator=Generator, default_rng=default_rng),
    lib=Namespace(
        "cupy.lib",
        stride_tricks=SimpleNamespace(
            as_strided=_as_strided, sliding_window_view=_sliding_window_view
        ),
    ),
    special=special,
    scipy_linalg=scipy_linalg,
    scipy_fft=Namespace("cupyx.scipy.fft", **SCIPY_FOURIER),
)
