"""torch.float32, torch.long and the others: the engine's dtypes under torch's names."""

from __future__ import annotations

from gradwire_engine.spec import (
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)

dtype = DType
bool = bool_
half, float, double = float16, float32, float64
cfloat, cdouble = complex64, complex128
short, int, long = int16, int32, int64

__all__ = [
    "bfloat16", "bool", "cdouble", "cfloat", "complex64", "complex128", "double", "dtype", "float",
    "float16", "float32", "float64", "half", "int", "int8", "int16", "int32", "int64", "long",
    "short", "uint8",
]  # fmt: skip
