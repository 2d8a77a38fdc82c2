"""Complex numbers: their parts as views, made from parts or from length and angle."""

from __future__ import annotations

from math import pi
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, shape_mismatch
from gradwire_engine.families import FLOAT_ONLY, composite, elementwise, in_floats, view
from gradwire_engine.kernels.select import chosen
from gradwire_engine.ops.arithmetic import conj, is_complex
from gradwire_engine.ops.choose import where, zero_of
from gradwire_engine.ops.expand import contiguous
from gradwire_engine.ops.trigonometric import cos, sin
from gradwire_engine.promote import broadcast_shapes
from gradwire_engine.rule import vjp
from gradwire_engine.spec import complex_of, real_of


@view(vjp(input=lambda g: g), name="real_part", public=False, grad_name="SelectBackward0")
def _real_part(xp: Any, input: Array) -> Array:
    """The real parts, as a view."""
    return input.real


@view(
    vjp("i g", input=lambda g: complex_(zero_of(g), g)),
    name="imag_part",
    public=False,
    grad_name="SelectBackward0",
)
def _imag_part(xp: Any, input: Array) -> Array:
    """The imaginary parts, as a view."""
    return input.imag


@composite()
def real(input: Array) -> Array:
    """The real parts as a view; the tensor itself where real."""
    if not is_complex(input):
        return input
    return input.real if type(input) is complex else _real_part(input)


@composite()
def imag(input: Array) -> Array:
    """The imaginary parts of a complex tensor, as a view."""
    if not is_complex(input):
        raise dtype_mismatch(
            f"imag: the tensor is {input.dtype}, which has no imaginary part",
            "only complex tensors have one",
        )
    return input.imag if type(input) is complex else _imag_part(input)


@view(vjp("g as complex numbers", input=lambda g: view_as_complex(contiguous(g))))
def view_as_real(xp: Any, input: Array) -> Array:
    """See complex numbers as pairs of real ones, along a new last axis."""
    if input.dtype.kind != "c":
        raise dtype_mismatch(
            f"view_as_real: the tensor is {input.dtype}, not complex",
            "make it complex first, for instance with complex(real, imag)",
        )
    part = xp.asarray(input).real  # of a NumPy scalar it would be a number with no neighbour
    return xp.lib.stride_tricks.as_strided(
        part, (*part.shape, 2), (*part.strides, part.dtype.itemsize)
    )


@view(vjp("g as pairs", input=lambda g: view_as_real(g)), by_strides=True)
def view_as_complex(xp: Any, input: Array) -> Array:
    """See pairs of real numbers, along the last axis, as complex ones."""
    step = input.dtype.itemsize
    if not input.size and input.shape[-1:] == (2,) and input.dtype.kind == "f" and step >= 4:
        return xp.empty(input.shape[:-1], f"c{2 * step}")  # without elements, strides say nothing
    if not input.ndim or input.shape[-1] != 2 or input.strides[-1] != step:
        raise shape_mismatch(
            f"view_as_complex: the last axis of shape {list(input.shape)} must have size 2 "
            "and stride 1",
            "make it so with stack((real, imag), -1)",
        )
    steps = [s for n, s in zip(input.shape[:-1], input.strides[:-1], strict=True) if n > 1]
    if input.dtype.kind != "f" or step < 4 or any(s % (2 * step) for s in steps):
        raise dtype_mismatch(
            "view_as_complex: the tensor must be float32 or float64, with even strides",
            "use contiguous(), or complex(real, imag) for a copy",
        )
    return input.view(f"c{2 * step}")[..., 0]


def _same_floats(asked: str, a: Any, b: Any) -> None:
    if a.dtype is not b.dtype:
        raise dtype_mismatch(
            f"{asked}: the parts must have one dtype, they are {a} and {b}", "convert one of them"
        )


@elementwise(
    vjp("real: real(g); imag: imag(g)", real=lambda g: real(g), imag=lambda g: imag(g)),
    takes=FLOAT_ONLY,
    result=complex_of,
    inplace=False,
    check=lambda named: _same_floats("complex", named["real"], named["imag"]),
    numbers=(),
)
def complex_(xp: Any, real: Array, imag: Array) -> Array:
    """Complex numbers from real and imaginary parts."""
    return _joined(xp, real, imag)


def _joined(xp: Any, real: Array, imag: Array) -> Array:
    dtype = complex_of_array(real)
    if real.flags.c_contiguous and imag.flags.c_contiguous:
        out = xp.empty(broadcast_shapes("complex", real.shape, imag.shape), dtype)
    else:
        out = xp.not_equal(real, imag).astype(dtype)  # laid out as ever
    out.real, out.imag = real, imag
    return out


def complex_of_array(array: Array) -> str:
    """The NumPy name of the complex dtype with parts of this array's dtype."""
    return f"c{2 * array.dtype.itemsize}"


@elementwise(
    vjp(
        "abs: real(conj(g) out / abs); angle: real(conj(g) i out)",
        abs=lambda g, angle: real(conj(g) * complex_(cos(angle), sin(angle))),
        angle=lambda g, out: real(conj(g) * out * 1j),
    ),
    takes=FLOAT_ONLY,
    result=complex_of,
    inplace=False,
    check=lambda named: _same_floats("polar", named["abs"], named["angle"]),
    numbers=(),
)
def polar(xp: Any, abs: Array, angle: Array) -> Array:
    """Complex numbers from their lengths and angles (radians)."""
    return _joined(xp, xp.multiply(abs, xp.cos(angle)), xp.multiply(abs, xp.sin(angle)))


def _by_direction(g: Any, input: Any) -> Any:
    if not is_complex(input):
        return zero_of(g)
    length = real(input * conj(input))
    return where(length == 0, 0, input * (g / length) * 1j)


@in_floats(
    vjp("i g input / |input|²; 0 where real", input=_by_direction), result=real_of, inplace=False
)
def angle(xp: Any, input: Array) -> Array:
    """The angle of each element in the complex plane, in radians; 0 or π where real."""
    if input.dtype.kind == "c":
        return xp.arctan2(input.imag, input.real)
    turned = chosen(xp, xp.less(input, 0), input.dtype.type(pi), input.dtype.type(0))
    return chosen(xp, xp.not_equal(input, input), input, turned)
