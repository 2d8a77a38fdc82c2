"""What all transforms of torch.fft are made of: complex to complex, real to complex, and back.

`norm` says where the division by the number of points stands: "backward" in the inverse transform,
"forward" in the other one, "ortho" half of it in each. The adjoint of a transform is the one in the
other direction, with the division in the same place; seen from there it is called the other way.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.batch.rules import along
from gradwire_engine.families import internal
from gradwire_engine.kernels import fourier
from gradwire_engine.kernels.one_pass import one_pass
from gradwire_engine.ops.complex import real
from gradwire_engine.rule import vjp
from gradwire_engine.signature import Dims, Ints
from gradwire_engine.spec import Spec, complex_of, real_of

OTHER = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The norm of the transform in the other direction that divides by the same number."""

transform = partial(internal, linear=True, batch=along("dim"))
"""An op along axes."""


def _resized(input: Spec, dim: int, size: int) -> tuple[int, ...]:
    return (*input.shape[:dim], size, *input.shape[dim + 1 :])


@transform(
    vjp(input=lambda g, dim, norm, inverse: complex_to_complex(g, dim, OTHER[norm], not inverse)),
    grad_name="FftC2CBackward0",
)
def complex_to_complex(xp: Any, input: Array, dim: Dims, norm: str, inverse: bool) -> Array:
    """The discrete Fourier transform of complex numbers."""
    return fourier.transform(xp, input, dim, norm, inverse)


@transform(
    vjp(
        input=lambda g, dim, norm, input_spec: complex_to_real(
            weighted(g, dim[-1], input_spec.shape[dim[-1]], 0.5),
            dim,
            OTHER[norm],
            input_spec.shape[dim[-1]],
        )
    ),
    spec=lambda input, dim: Spec(
        _resized(input, dim[-1], input.shape[dim[-1]] // 2 + 1), complex_of(input.dtype), ""
    ),
    grad_name="FftR2CBackward0",
)
def real_to_complex(xp: Any, input: Array, dim: Dims, norm: str) -> Array:
    """The transform of real numbers, of the last dim the half that determines the other."""
    return fourier.halved(xp, input, dim, norm)


def _real_of_inverse(g: Any, dim: tuple[int, ...], norm: str) -> Any:
    return real(complex_to_complex(g, dim, norm, True))


@one_pass(_real_of_inverse, lambda g: g.with_(dtype=real_of(g.dtype)))
def real_back(xp: Any, g: Array, dim: Ints, norm: str) -> Array:
    """The real part of the inverse transform, in half the work of a complex one."""
    return fourier.real_part_back(xp, g, dim, norm)


@transform(
    vjp(input=lambda g, dim, norm: real_back(g, dim, OTHER[norm])),
    spec=lambda input: input.with_(dtype=complex_of(input.dtype)),
    grad_name="FftR2CBackward0",
)
def real_to_all(xp: Any, input: Array, dim: Dims, norm: str) -> Array:
    """The transform of real numbers, all frequencies of it."""
    return fourier.transform(xp, input, dim, norm, inverse=False)


@transform(
    vjp(
        input=lambda g, dim, norm, size: weighted(
            real_to_complex(g, dim, OTHER[norm]), dim[-1], size, 2.0
        )
    ),
    spec=lambda input, dim, size: Spec(_resized(input, dim[-1], size), real_of(input.dtype), ""),
    grad_name="FftC2RBackward0",
)
def complex_to_real(xp: Any, input: Array, dim: Dims, norm: str, size: int) -> Array:
    """The inverse transform, to `size` real numbers along the last dim, of one half of it."""
    return fourier.to_real(xp, input, dim, norm, size)


@transform(
    vjp(input=lambda g, dim, size, weight: weighted(g, dim, size, weight)),
    symmetric=True,
)
def weighted(xp: Any, input: Array, dim: int, size: int, weight: float) -> Array:
    """Halved frequencies of `size` points, times a weight where they stand for two."""
    out = xp.array(input)
    out[(*(slice(None),) * dim, slice(1, size - size // 2))] *= weight
    return out
