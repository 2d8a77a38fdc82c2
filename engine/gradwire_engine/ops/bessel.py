"""Bessel functions without a derivative in torch: modified ones of orders 0 and 1, a spherical one.

Torch's own J, Y and Airy functions are right to five to seven digits only; they are left out.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.accepted import HALVES, refusing
from gradwire_engine.arrays import Array
from gradwire_engine.families import in_real_floats
from gradwire_engine.ops.special import SPECIAL


def _declare(name: str, function: str, doc: str) -> None:
    def kernel(xp: Any, input: Array) -> Array:
        return getattr(xp.special, function)(input)

    kernel.__doc__ = doc
    called = f"{SPECIAL}{name}"
    in_real_floats(name=called, inplace=False, check=refusing(called, HALVES))(kernel)


_OF = "The modified Bessel function of the {} kind, of order {}"
_declare("modified_bessel_i0", "i0", f"{_OF.format('first', 0)}, without a derivative.")
_declare("modified_bessel_i1", "i1", f"{_OF.format('first', 1)}, without a derivative.")
_declare("modified_bessel_k0", "k0", f"{_OF.format('second', 0)}.")
_declare("modified_bessel_k1", "k1", f"{_OF.format('second', 1)}.")
_declare("scaled_modified_bessel_k0", "k0e", f"{_OF.format('second', 0)}, times exp(x).")
_declare("scaled_modified_bessel_k1", "k1e", f"{_OF.format('second', 1)}, times exp(x).")


@in_real_floats(
    name="special.spherical_bessel_j0",
    inplace=False,
    check=refusing("special.spherical_bessel_j0", HALVES),
)
def spherical_bessel_j0(xp: Any, input: Array) -> Array:
    """The spherical Bessel function of the first kind, of order 0: sin(x) / x."""
    somewhere = xp.where(xp.equal(input, 0) | xp.isinf(input), 1, input)
    found = xp.where(xp.isinf(input), 0, xp.divide(xp.sin(somewhere), somewhere))
    return xp.where(xp.equal(input, 0), 1, found)
