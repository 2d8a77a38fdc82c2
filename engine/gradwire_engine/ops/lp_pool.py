"""Pooling by the p-norm of each window, made of average pooling."""

from __future__ import annotations

from math import inf, prod
from typing import Any

from gradwire_engine.arrays import Array
from gradwire_engine.errors import invalid_argument
from gradwire_engine.families import F, composite
from gradwire_engine.ops.activation import relu
from gradwire_engine.ops.arithmetic import mul, neg
from gradwire_engine.ops.avg_pool import average
from gradwire_engine.ops.max_pool import maxima
from gradwire_engine.ops.power import pow
from gradwire_engine.ops.sign import abs, sign
from gradwire_engine.ops.sliding import per_axis
from gradwire_engine.signature import Ints


def _lp_pool(
    axes: int, input: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool
) -> Any:
    if norm_type in (inf, -inf):
        turned = abs(input) if norm_type > 0 else neg(abs(input))
        found = maxima(axes, turned, kernel_size, stride, 0, 1, ceil_mode)[0]
        return found if norm_type > 0 else neg(found)
    if not norm_type:
        raise invalid_argument(
            f"lp_pool{axes}d: the norm is of order 0",
            "give another order: the root of that one divides by 0",
            raised=ZeroDivisionError,
        )
    powers = pow(input, norm_type)
    mean = average(axes, powers, kernel_size, stride, 0, ceil_mode, True, None)
    size = prod(per_axis("lp_pool", "kernel_size", kernel_size, axes))
    return pow(mul(mul(sign(mean), relu(abs(mean))), size), 1.0 / norm_type)


def _declare(axes: int) -> None:
    def lp_pool(
        input: Array,
        norm_type: float,
        kernel_size: Ints,
        stride: Ints | None = None,
        ceil_mode: bool = False,
    ) -> Array:
        return _lp_pool(axes, input, norm_type, kernel_size, stride, ceil_mode)

    over = f"over the last {axes} axes" if axes > 1 else "over the last axis"
    lp_pool.__doc__ = f"The p-norms of windows that slide {over}: (sum of x^p)^(1/p)."
    composite(f"{F}lp_pool{axes}d")(lp_pool)


for _axes in (1, 2, 3):
    _declare(_axes)
