"""Results lie in memory as the client's phantoms of them say: what can be viewed hangs on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.samples import of_elementwise

from gradwire_engine.catalogue import CATALOGUE, resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.op import Primitive
from gradwire_engine.tensor import Tensor

LAYOUTS: dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]] = {
    "turned": ((3, 2), lambda x: resolve("t")(x)),
    "rows again": ((3, 1), lambda x: resolve("expand")(x, (2, 3, 1))),
    "columns again": ((2, 1), lambda x: resolve("expand")(x, (2, 3))),
    "turned rows again": ((1, 3), lambda x: resolve("t")(resolve("expand")(x, (2, 3)))),
    "between": ((2, 1, 2), lambda x: resolve("expand")(x, (2, 3, 2))),
    "turned, again": ((3, 2), lambda x: resolve("expand")(resolve("t")(x), (4, 2, 3))),
    "one number": ((), lambda x: resolve("expand")(x, (2, 3))),
}
DTYPES = ("float64", "float32", "int64", "bool", "complex128", "float16")
OVERLOADS = [
    pytest.param(overload, id=f"{name}{i}")
    for name, op in sorted(CATALOGUE.items())
    for i, overload in enumerate(op.overloads)
    if getattr(overload, "family", "") == "elementwise"
    if of_elementwise(overload, np.random.default_rng(0))
]


def _steps(x: Tensor) -> list[tuple[int, int]]:
    return [(n, step) for n, step in zip(x.shape, x.strides, strict=True) if n > 1]


@pytest.mark.parametrize("overload", OVERLOADS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_elementwise_results_lie_as_their_phantoms(overload: Primitive, layout: str) -> None:
    shape, seen = LAYOUTS[layout]
    operands = len([p for p in overload.signature.parameters if p.kind == "tensor"])
    ran = 0
    for dtype in DTYPES:
        real = seen(Tensor.of(np.ones(shape, dtype)))
        mirrored = seen(resolve("empty")(shape, dtype=real.dtype, device="meta"))
        try:
            found = overload(*[real] * operands)
        except GradwireError:
            continue  # an op that does not take this dtype
        ran += 1
        assert _steps(found) == _steps(overload(*[mirrored] * operands)), dtype
    assert ran


def test_a_copy_puts_axes_without_steps_where_results_have_them() -> None:
    whole = resolve("expand")(Tensor.of(np.ones((3, 1))), (2, 3, 1))
    for name in ("clone", "trunc"):
        found = resolve(name)(resolve("long")(whole))
        assert found.array.flags.c_contiguous
