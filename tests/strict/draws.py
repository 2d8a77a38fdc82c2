"""Random numbers: the methods that cupy.random.Generator has, which lacks most of NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.strict.host import to_device, to_host

# With the parameters that CuPy's have.
DRAWS = {
    "random": ("size", "dtype", "out"),
    "uniform": ("low", "high", "size"),
    "integers": ("low", "high", "size", "dtype", "endpoint"),
    "standard_normal": ("size", "dtype", "out"),
    "standard_exponential": ("size", "dtype", "method", "out"),
    "exponential": ("scale", "size"),
    "standard_gamma": ("shape", "size", "dtype", "out"),
    "gamma": ("shape", "scale", "size"),
    "beta": ("a", "b", "size"),
    "binomial": ("n", "p", "size"),
    "chisquare": ("df", "size"),
    "dirichlet": ("alpha", "size"),
    "f": ("dfnum", "dfden", "size"),
    "geometric": ("p", "size"),
    "hypergeometric": ("ngood", "nbad", "nsample", "size"),
    "logseries": ("p", "size"),
    "poisson": ("lam", "size"),
    "power": ("a", "size"),
}


class Generator:
    """A seeded source of random arrays: never scalars, and no normal, choice or permutation."""

    def __init__(self, bit_generator: np.random.BitGenerator) -> None:
        self.bit_generator = bit_generator
        self._source = np.random.Generator(bit_generator)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in DRAWS:
            raise AttributeError(f"'cupy.random.Generator' object has no attribute {name!r}")
        draw = getattr(self._source, name)

        def drawn(*args: Any, **kwargs: Any) -> Any:
            unknown = set(kwargs) - set(DRAWS[name])
            if unknown or len(args) > len(DRAWS[name]):
                raise TypeError(f"cupy.random.Generator.{name}{DRAWS[name]} takes no {unknown}")
            return to_device(draw(*to_host(args), **{k: to_host(v) for k, v in kwargs.items()}))

        return drawn


def default_rng(seed: int | np.random.BitGenerator | None = None) -> Generator:
    """A generator with this seed."""
    if isinstance(seed, np.random.BitGenerator):
        return Generator(seed)
    return Generator(np.random.Philox(seed))
