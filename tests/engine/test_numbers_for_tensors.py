"""A Python number where an op needs a tensor is refused in words, for every op that takes two."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError
from gradwire_engine.tensor import Tensor


def _takes_two(name: str) -> bool:
    kinds = [p.kind for p in CATALOGUE[name].overloads[0].signature.parameters]
    return kinds[:2] == ["tensor", "tensor"]


@pytest.mark.parametrize("name", [name for name in sorted(CATALOGUE) if _takes_two(name)])
@pytest.mark.parametrize("shape", [(3,), (3, 3)])
def test_a_number_works_or_is_refused(name: str, shape: tuple[int, ...]) -> None:
    """Where it works a tensor comes out; where it doesn't, nothing of the inside does."""
    refused: GradwireError | None = None
    with np.errstate(all="ignore"):
        try:
            CATALOGUE[name](Tensor.of(np.ones(shape)), 2)
        except GradwireError as problem:
            refused = problem
    assert refused is None or "has no attribute" not in refused.detail
