"""Specs: dtype, shape and device of an array, known before any work is done; torch's promotion."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import NamedTuple

import ml_dtypes
import numpy as np

from gradwire_engine.errors import error

Shape = tuple[int, ...]
Number = bool | int | float | complex


class DType:
    """One of the twelve element types, named as in torch; a singleton, compared by identity."""

    __slots__ = ("category", "itemsize", "kind", "name", "numpy")

    def __init__(self, name: str, numpy_dtype: object, category: int) -> None:
        self.name = name
        self.numpy = np.dtype(numpy_dtype)  # type: ignore[call-overload]
        self.category = category
        self.itemsize: int = self.numpy.itemsize
        self.kind: str = self.numpy.kind  # so that `x.dtype.kind` reads alike on arrays and tensors

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOAT

    @property
    def is_complex(self) -> bool:
        return self.category == COMPLEX

    @property
    def differentiable(self) -> bool:
        """Only floating and complex tensors can require grad."""
        return self.category >= FLOAT

    @property
    def half(self) -> bool:
        """float16 and bfloat16: stored as such, computed in float32."""
        return self.category == FLOAT and self.itemsize == 2

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Callable[[str], DType], tuple[str]]:
        return _of_name, (self.name,)


BOOL, INTEGER, FLOAT, COMPLEX = range(4)

bool_ = DType("bool", np.bool_, BOOL)
uint8 = DType("uint8", np.uint8, INTEGER)
int8 = DType("int8", np.int8, INTEGER)
int16 = DType("int16", np.int16, INTEGER)
int32 = DType("int32", np.int32, INTEGER)
int64 = DType("int64", np.int64, INTEGER)
float16 = DType("float16", np.float16, FLOAT)
bfloat16 = DType("bfloat16", ml_dtypes.bfloat16, FLOAT)
float32 = DType("float32", np.float32, FLOAT)
float64 = DType("float64", np.float64, FLOAT)
complex64 = DType("complex64", np.complex64, COMPLEX)
complex128 = DType("complex128", np.complex128, COMPLEX)

DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        bool_, uint8, int8, int16, int32, int64,
        float16, bfloat16, float32, float64, complex64, complex128,
    )
}  # fmt: skip


def _of_name(name: str) -> DType:
    """The dtype that a pickle tells of: there is one of each name."""
    return DTYPES[name]


OTHER_NAMES = {
    "half": float16, "float": float32, "double": float64, "cfloat": complex64,
    "cdouble": complex128, "byte": uint8, "char": int8, "short": int16, "int": int32,
    "long": int64,
}  # fmt: skip
"""What torch calls some of them besides; in requests only to tell which one is meant."""
_FROM_NUMPY: dict[np.dtype, DType] = {d.numpy: d for d in DTYPES.values()}
_REAL_OF = {complex64: float32, complex128: float64}
_COMPLEX_OF = {float64: complex128, float32: complex64, bfloat16: complex64, float16: complex64}


def dtype_of(numpy_dtype: np.dtype) -> DType:
    """The DType of a NumPy dtype; one that gradwire lacks is a dtype_mismatch."""
    try:
        return _FROM_NUMPY[numpy_dtype]
    except KeyError:
        raise error(
            "dtype_mismatch",
            f"dtype {numpy_dtype} is not one of gradwire's",
            f"convert to one of {', '.join(DTYPES)}",
            raised=TypeError,
        ) from None


def real_of(dtype: DType) -> DType:
    """The dtype of the real part: float32 of complex64; itself where real."""
    return _REAL_OF.get(dtype, dtype)


def complex_of(dtype: DType) -> DType:
    """The complex dtype with parts of this dtype: complex64 of float32; itself where complex."""
    return _COMPLEX_OF.get(dtype, dtype)


class Spec(NamedTuple):
    """What is known of an array before it exists."""

    shape: Shape
    dtype: DType
    device: str

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def with_(self, shape: Shape | None = None, dtype: DType | None = None) -> Spec:
        """The same spec with another shape or dtype."""
        return Spec(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.device,
        )

    def __str__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}"


class Value:
    """What ops take: a tensor, or what a transform wraps around one. All that its spec says."""

    __slots__ = ()

    @property
    def spec(self) -> Spec:
        raise NotImplementedError

    @property
    def shape(self) -> Shape:
        return self.spec.shape

    @property
    def ndim(self) -> int:
        return len(self.spec.shape)

    @property
    def dtype(self) -> DType:
        return self.spec.dtype

    @property
    def device(self) -> str:
        return self.spec.device

    def describe(self) -> str:
        """For error texts: dtype and shape."""
        return f"tensor {self.spec}"
