"""Array libraries behind one face: NumPy on "cpu", CuPy on "cuda", phantoms on "meta".

A kernel gets `xp`, a namespace with the library's functions and, under `xp.special`, its special
functions, imported when first used since SciPy is slow to import. A phantom has shape, strides and
dtype but no memory of its own: views of it can be taken, its elements must never be touched.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from gradwire_engine.errors import error
from gradwire_engine.long_calls import Functions
from gradwire_engine.order import Order, alone, lying_of, places
from gradwire_engine.spec import Spec

Array = Any
"""An array of some backend: numpy.ndarray, cupy.ndarray or a phantom."""


class Namespace:
    """`xp`: the functions of an array library, and its SciPy twins by attribute when asked for.

    What the library itself imports only when asked for stays so.
    """

    def __init__(self, module: Any, twins: dict[str, str]) -> None:
        self.__dict__.update({k: v for k, v in vars(module).items() if not k.startswith("__")})
        self._module, self._twins = module, twins

    def __getattr__(self, name: str) -> Any:
        twin = self.__dict__["_twins"].get(name)
        found = import_module(twin) if twin else getattr(self.__dict__["_module"], name)
        setattr(self, name, found)
        return found


class Backend(NamedTuple):
    """One kind of device: its array library and how arrays come and go."""

    name: str
    xp: Any
    array_types: tuple[type, ...]
    from_numpy: Callable[[np.ndarray], Array]
    to_numpy: Callable[[Array], np.ndarray]


NAMESPACE_OF: dict[type, Any] = {}
"""The `xp` of each array type: how an op on raw arrays finds its library."""

_BACKENDS: dict[str, Backend] = {}
_FACTORIES: dict[str, Callable[[], Backend]] = {}


def register(name: str, factory: Callable[[], Backend]) -> None:
    """Offer a device kind; its library is imported when the first array on it is asked for."""
    _FACTORIES[name] = factory


class Unlisted(str):
    """The name of a device that no request can ask for: it equals no text, only itself."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__


def offer_unlisted(name: Unlisted, made: Backend) -> None:
    """Offer a device that `devices` doesn't list: only who holds its name finds it."""
    _BACKENDS[name] = made


def backend(device: str) -> Backend:
    """The backend of a device ("cpu", "cuda", "cuda:0", "meta"); unsupported_device otherwise."""
    found = _BACKENDS.get(device)
    if found is None:
        kind = device.partition(":")[0] if isinstance(device, str) else device
        factory = _FACTORIES.get(kind)
        if factory is None or kind not in devices():
            raise error(
                "unsupported_device",
                f"device {device!r} is not to be had here; there are: {', '.join(devices())}",
                "choose one of these devices",
            )
        found = _BACKENDS[device] = factory()
        for array_type in found.array_types:
            NAMESPACE_OF.setdefault(array_type, found.xp)
    return found


def devices() -> list[str]:
    """The device kinds that this machine can use."""
    return [name for name in _FACTORIES if name != "cuda" or _cuda_works()]


@lru_cache(maxsize=1)
def _cuda_works() -> bool:
    if find_spec("cupy") is None:
        return False
    try:
        return bool(import_module("cupy").cuda.runtime.getDeviceCount())
    except Exception:  # a driver that is missing or too old: any failure means "no CUDA here"
        return False


def _numpy_backend() -> Backend:
    xp = Namespace(
        np,
        {
            "special": "scipy.special",
            "scipy_fft": "scipy.fft",
            "sparse": "scipy.sparse",
        },
    )
    vars(xp).update(linalg=Functions("numpy.linalg"), scipy_linalg=Functions("scipy.linalg"))
    scalars = (*(np.dtype(c).type for c in "?bBhHiIlLqQefdFD"), ml_dtypes.bfloat16)
    return Backend("cpu", xp, (np.ndarray, *scalars), np.asarray, np.asarray)


class Checked:
    """CuPy's linear algebra, with NumPy's LinAlgError where a matrix has no inverse or factor.

    CuPy looks at cuSOLVER's status only within `cupyx.errstate(linalg="raise")`; without it the
    results are NaN and infinities.
    """

    def __init__(self, linalg: Any, errstate: Callable[..., AbstractContextManager[Any]]) -> None:
        self._linalg, self._errstate = linalg, errstate

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by copies, before there is anything
            raise AttributeError(name)
        found = getattr(self._linalg, name)
        if name in ("cholesky", "inv", "solve"):
            found = self._checked(found)
        setattr(self, name, found)
        return found

    def _checked(self, function: Callable[..., Array]) -> Callable[..., Array]:
        def checked(*args: Any) -> Array:
            with self._errstate(linalg="raise"):
                return function(*args)

        return checked


def _cupy_backend() -> Backend:
    cupy = import_module("cupy")
    xp = Namespace(
        cupy,
        {
            "special": "cupyx.scipy.special",
            "scipy_linalg": "cupyx.scipy.linalg",
            "scipy_fft": "cupyx.scipy.fft",
            "sparse": "cupyx.scipy.sparse",
        },
    )
    vars(xp).update(linalg=Checked(cupy.linalg, import_module("cupyx").errstate))
    return Backend("cuda", xp, (cupy.ndarray,), cupy.asarray, cupy.asnumpy)


def _no_data(array: Array) -> np.ndarray:
    raise error("unsupported_device", "a tensor on device 'meta' has a shape but no data")


@lru_cache(maxsize=65536)
def phantom(shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """An array of this shape and dtype, row-major, without memory: only views may be taken."""
    strides, step = [], dtype.itemsize
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    one = np.empty((), dtype)
    return np.lib.stride_tricks.as_strided(one, shape, tuple(reversed(strides)), writeable=False)


def address(array: np.ndarray) -> int:
    """Where an array's first element lies in memory."""
    place: int = array.__array_interface__["data"][0]
    return place


def phantom_like(array: Array) -> Array:
    """The phantom of an array, which lies as that does."""
    if array.flags.c_contiguous:
        return phantom(array.shape, array.dtype)
    one = np.empty((), array.dtype)
    return np.lib.stride_tricks.as_strided(one, array.shape, array.strides, writeable=False)


def phantom_of(spec: Spec) -> Array:
    """The phantom of a spec."""
    return phantom(spec.shape, spec.dtype.numpy)


def phantom_in(spec: Spec, order: Order) -> Array:
    """The phantom of a spec whose axes lie in an order."""
    if order is None:
        return phantom_of(spec)
    lying = phantom(tuple([spec.shape[i] for i in order]), spec.dtype.numpy)
    return lying.transpose(places(order))


def halfway(array: Array, dtype: np.dtype) -> Array:
    """An array that casts to this dtype with torch's numbers: itself, or one halfway there.

    float64 goes to float16 by way of float32: it is rounded twice, and every 17,000th number is
    another one than if once. On a GPU floats go to uint8 by way of int64, since what is negative
    would be 0 there and not go round.
    """
    kind = dtype.char
    if kind == "e" and array.dtype == np.float64:
        return array.astype(np.float32)
    if kind == "B" and array.dtype.kind in "fV" and _on_a_device(array):
        return array.astype(np.int64)
    return array


def _on_a_device(array: Array) -> bool:
    """Whether this is an array of another library than NumPy; a plan's symbol is no array."""
    return type(array) in NAMESPACE_OF and not isinstance(array, np.ndarray | np.generic)


def copied(array: Array, dtype: np.dtype) -> Array:
    """A copy in a dtype that lies in memory as any elementwise result does.

    An axis that has no steps is put where array libraries put it in results, not in copies.
    """
    array = halfway(array, dtype)
    if 0 not in array.strides:
        return array.astype(dtype)
    order = alone(lying_of(array))
    if order is None:
        return array.astype(dtype, order="C")
    return array.transpose(order).astype(dtype, order="C").transpose(places(order))


def in_order(array: Array, order: Order, xp: Any) -> Array:
    """The array, copied if its axes don't lie in this order without gaps."""
    if order is None:
        return array if array.flags.c_contiguous else xp.ascontiguousarray(array)
    lying = array.transpose(order)
    if lying.flags.c_contiguous:
        return array
    return xp.ascontiguousarray(lying).transpose(places(order))


def memory_installed() -> int | None:
    """The bytes of this machine's memory; None where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


register("cpu", _numpy_backend)
register("cuda", _cupy_backend)
register(
    "meta",
    lambda: Backend("meta", backend("cpu").xp, (), lambda a: phantom(a.shape, a.dtype), _no_data),
)
backend("cpu")
