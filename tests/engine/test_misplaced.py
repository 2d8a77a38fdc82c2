"""A number, or None in a list, in the place of a tensor is refused, and never a fault."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError
from gradwire_engine.tensor import Tensor


def _x() -> Tensor:
    return Tensor.of(np.ones((2, 3)))


CALLS: dict[str, tuple[Any, ...]] = {
    "index_fill": (_x, 0, 1000, 1.0),
    "index_select": (1.5, 0, lambda: Tensor.of(np.zeros(1, np.int64))),
    "scatter_add": (_x, 0, lambda: Tensor.of(np.zeros((1, 1), np.int64)), 1.5),
    "cov": (_x, 1, None, -1),
    "atleast_1d": ([None],),
    "column_stack": ([_x, None],),
    "broadcast_tensors": ([_x, None],),
    "einsum": ("ij", [None]),
    "linalg.multi_dot": ([_x, None],),
    "tensordot": (_x, _x, (0, 0)),
    "nn.functional.lp_pool1d": (_x, 0.0, 2),
    "nn.functional.upsample": (lambda: Tensor.of(np.ones((1, 1, 4))), None, float("nan")),
}


def _made(value: Any) -> Any:
    if isinstance(value, list):
        return [_made(v) for v in value]
    return value() if callable(value) else value


@pytest.mark.parametrize("name", CALLS)
def test_it_is_refused(name: str) -> None:
    with pytest.raises(GradwireError, match="hint") as caught:
        CATALOGUE[name](*map(_made, CALLS[name]))
    assert caught.value.code == "invalid_argument"
