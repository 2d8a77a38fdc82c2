"""What transforms of torch.fft ask before they run: dtypes, axes, numbers of points, norm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import dtype_mismatch, invalid_argument, shape_mismatch
from gradwire_engine.families import composite, floating
from gradwire_engine.op import Composite
from gradwire_engine.ops.arithmetic import is_complex
from gradwire_engine.ops.cast import to_dtype
from gradwire_engine.ops.fourier import OTHER, complex_to_real, real_to_complex
from gradwire_engine.ops.pad import constant_pad_nd
from gradwire_engine.ops.views import narrow
from gradwire_engine.signature import Dims, Ints, axes, axis
from gradwire_engine.spec import FLOAT, complex_of

LAST_TWO = (-2, -1)


def norm_of(asked: str, norm: str | None) -> str:
    """The norm, "backward" if none is given."""
    if norm is not None and norm not in OTHER:
        raise invalid_argument(
            f"{asked}: norm is {norm!r}", "it is one of backward, ortho, forward"
        )
    return norm or "backward"


def inexact(asked: str, input: Any) -> Any:
    """Floating or complex numbers: integers become the default dtype; halves are refused."""
    if input.dtype.half:
        raise dtype_mismatch(
            f"{asked}: not defined for {input.dtype.name}", "convert to float32 first"
        )
    return input if input.dtype.category >= FLOAT else to_dtype(input, floating(input.dtype))


def need_real(asked: str, input: Any) -> Any:
    """Real numbers that a transform can be made of."""
    if is_complex(input):
        raise dtype_mismatch(
            f"{asked}: takes real tensors, not {input.dtype.name}",
            "take the transform of complex numbers, or the real part",
        )
    return inexact(asked, input)


def as_complex(asked: str, input: Any) -> Any:
    """Numbers as complex ones."""
    found = inexact(asked, input)
    return found if is_complex(found) else to_dtype(found, complex_of(found.dtype))


def points(asked: str, size: int) -> int:
    """A number of points, which must be positive."""
    if size < 1:
        raise invalid_argument(
            f"{asked}: {size} data points were asked for", "a transform has at least one"
        )
    return size


def resized(asked: str, input: Any, dims: Dims, sizes: Sequence[int]) -> Any:
    """Cut off or padded with zeros at the end of each dim, to the number of points asked for."""
    pads = [0] * (2 * input.ndim)
    for dim, size in zip(dims, sizes, strict=True):
        points(asked, size)
        if size < input.shape[dim]:
            input = narrow(input, dim, 0, size)
        pads[2 * (input.ndim - 1 - dim) + 1] = size - input.shape[dim]
    return constant_pad_nd(input, tuple(pads)) if any(pads) else input


def one_axis(asked: str, input: Any, dim: int) -> Dims:
    """The dim to transform, as a tuple of one."""
    if not input.ndim:
        raise invalid_argument(
            f"{asked}: dim is {dim}, the tensor has no axes",
            "reshape it to (1,)",
            raised=IndexError,
        )
    return (axis(asked, dim, input.ndim),)


def several_axes(
    asked: str, input: Any, s: Ints | None, dim: Dims | None
) -> tuple[Dims, list[int]]:
    """The dims to transform, and the points along each: as many as there are where s has -1."""
    if s is not None and dim is not None and len(s) != len(dim):
        raise shape_mismatch(
            f"{asked}: {len(s)} sizes for {len(dim)} dims", "give a size for each dim"
        )
    if s is not None and len(s) > input.ndim:
        raise shape_mismatch(
            f"{asked}: {len(s)} sizes for a tensor with {input.ndim} axes",
            "give one for each of the last axes at most",
        )
    if dim and not input.ndim:
        one_axis(asked, input, dim[0])
    if dim is not None:
        dims = axes(asked, dim, input.ndim) if dim else ()
    else:
        dims = tuple(range(input.ndim if s is None else len(s)))
        dims = tuple(d + input.ndim - len(dims) for d in dims)
    given = (-1,) * len(dims) if s is None else s
    return dims, [
        input.shape[d] if size == -1 else size for d, size in zip(dims, given, strict=True)
    ]


def need_axes(asked: str, dims: Dims) -> None:
    """Refuse a transform of real numbers along no axis."""
    if not dims:
        raise invalid_argument(f"{asked}: there is no axis to transform", "give at least one")


def to_half(asked: str, input: Any, dims: Dims, sizes: Any, norm: str) -> Any:
    """Halved frequencies of real numbers."""
    need_axes(asked, dims)
    return real_to_complex(resized(asked, need_real(asked, input), dims, sizes), dims, norm)


def halved_sizes(asked: str, sizes: list[int]) -> list[int]:
    """The frequencies along each dim that so many real numbers are made of."""
    *others, last = sizes
    return [*others, points(asked, last) // 2 + 1]


def from_half(asked: str, input: Any, dims: Dims, sizes: list[int], norm: str) -> Any:
    """Real numbers from halved frequencies."""
    input = resized(asked, as_complex(asked, input), dims, halved_sizes(asked, sizes))
    return complex_to_real(input, dims, norm, sizes[-1])


def transforms(
    module: str,
    name: str,
    one: Callable[..., Any],
    several: Callable[..., Any],
    *docs: str,
    halved: bool = False,
) -> Composite:
    """Declare a transform along one axis, along several and along two; the first of these ops.

    one, several: take the op's name, the input, the dims, the points along each and the norm.
    halved: the input is half of the frequencies, and by default as many points as have these.
    """

    def run(ending: str, input: Any, given: Any, dim: Any, norm: str | None) -> Any:
        asked = f"fft.{name}{ending}"
        where = norm_of(asked, norm)
        if ending:
            dims, sizes = several_axes(asked, input, given, dim)
        else:
            dims = one_axis(asked, input, dim)
            sizes = [input.shape[dims[0]] if given is None else given]
        if halved:
            need_axes(asked, dims)
            if given is None or (ending and given[-1] == -1):
                sizes[-1] = 2 * (input.shape[dims[-1]] - 1)
        return (several if ending else one)(asked, input, dims, sizes, where)

    def along_one(
        input: Array, n: int | None = None, dim: int = -1, norm: str | None = None
    ) -> Array:
        return run("", input, n, dim, norm)

    def along_several(
        input: Array, s: Ints | None = None, dim: Ints | None = None, norm: str | None = None
    ) -> Array:
        return run("n", input, s, dim, norm)

    def along_two(
        input: Array, s: Ints | None = None, dim: Ints = LAST_TWO, norm: str | None = None
    ) -> Array:
        return run("2", input, s, dim, norm)

    made = []
    ways: tuple[Any, ...] = (along_one, along_several, along_two)
    for ending, function, doc in zip(("", "n", "2"), ways, docs, strict=True):
        function.__module__, function.__doc__ = module, doc
        made.append(composite(f"fft.{name}{ending}")(function))
    return made[0]
