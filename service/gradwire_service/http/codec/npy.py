"""One array as an .npy file, header by NumPy's own functions, elements without a second copy.

Pickled objects are never read, and nothing is allocated for what the file doesn't hold.
"""

from __future__ import annotations

import io
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy

from gradwire_engine.errors import GradwireError, error
from gradwire_engine.spec import bfloat16, dtype_of
from gradwire_service.host.elements import Array, is_shape
from gradwire_service.host.literals import check_bools
from gradwire_service.host.safetensors import Buffer, raw

_MAX_HEADER = 10_000  # bytes; NumPy's own bound on what it parses
# 3.0 differs in the names of fields, and arrays with fields are refused
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read(body: Buffer) -> Array:
    """The array of an .npy file; a read-only view of `body` where byte order and layout allow.

    Raises invalid_body, dtype_mismatch for a dtype that gradwire lacks, unsupported_media_type for
    raw void elements, which is how NumPy writes bfloat16.
    """
    shape, fortran, dtype, start = _header(body)
    _check_dtype(dtype)
    if len(body) - start != prod(shape) * dtype.itemsize:
        raise _invalid(
            f"{dtype} of shape {list(shape)} is {prod(shape) * dtype.itemsize} bytes; "
            f"{len(body) - start} follow the header"
        )
    flat = np.frombuffer(body, dtype, prod(shape), start) if prod(shape) else np.empty(0, dtype)
    array = flat.reshape(shape, order="F" if fortran else "C")
    array = np.require(array, dtype.newbyteorder("="), ["C", "A"])
    array.flags.writeable = False
    check_bools(array, "invalid_body", "npy")
    return array


def _invalid(problem: str) -> GradwireError:
    return error(
        "invalid_body", f"npy: {problem}", "write the body with numpy.save, and send all of it"
    )


def _header(body: Buffer) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, whether columns come first, dtype, and where the elements begin."""
    file = io.BytesIO(bytes(memoryview(body)[: _MAX_HEADER + 16]))
    try:
        version = npy.read_magic(file)
        shape, fortran, dtype = _HEADERS[version](file, max_header_size=_MAX_HEADER)
    except Exception as problem:  # from TokenError to MemoryError: NumPy lets through what it meets
        kind = type(problem).__name__
        raise _invalid(f"the header isn't one that NumPy writes ({kind})") from None
    if not is_shape(list(shape)):
        raise _invalid(f"shape {shape} is not one that an array can have")
    return shape, fortran, dtype, file.tell()


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.hasobject:
        raise _invalid("the elements are pickled Python objects, which are never read")
    if dtype.kind == "V" and dtype.names is None and dtype.subdtype is None:
        raise error(
            "unsupported_media_type",
            f"npy: elements of {dtype.itemsize} raw bytes; npy has no bfloat16",
            "send bfloat16 as application/x-safetensors or as base64",
        )
    dtype_of(dtype.newbyteorder("="))


def write(array: Array) -> list[Buffer]:
    """An .npy file as buffers to be sent in turn. Raises not_acceptable for bfloat16."""
    if array.dtype == bfloat16.numpy:
        raise error(
            "not_acceptable",
            "npy: the tensor is bfloat16, which npy lacks",
            "accept application/json or application/x-safetensors",
        )
    header = {
        "descr": npy.dtype_to_descr(array.dtype),
        "fortran_order": False,
        "shape": array.shape,
    }
    file = io.BytesIO()
    npy.write_array_header_1_0(file, header)
    return [file.getvalue(), raw(array)]
