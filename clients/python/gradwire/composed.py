"""Functions that torch has and the catalogue has not: made of its ops, here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gradwire.creation import as_tensor
from gradwire.functions import catalogued, op
from gradwire.more import result_type
from gradwire.tensor import Tensor
from gradwire_engine.errors import error
from gradwire_engine.spec import INTEGER, bool_

# what torch's own namespace has


def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Whether each element is among the test elements; assume_unique changes nothing."""
    dtype = result_type(elements, test_elements)
    sought, among = (as_tensor(v).to(dtype) for v in (elements, test_elements))
    if not among.numel():
        return op("full_like")(sought, invert, dtype=bool_)
    ordered = among.reshape(-1).sort().values
    places = catalogued("searchsorted")(ordered, sought).clamp(max=among.numel() - 1)
    found: Tensor = ordered[places] == sought
    return ~found if invert else found


def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Places counted in row-major order, as an index for each axis of a shape."""
    if indices.dtype.category != INTEGER:
        raise error(
            "dtype_mismatch",
            f"unravel_index: expected 'indices' to be integer dtype, but got {indices.dtype.name}",
            "convert it with long()",
            raised=TypeError,
        )
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if min(sizes, default=0) < 0:
        raise error(
            "invalid_argument",
            f"unravel_index: 'shape' cannot have negative values, but got {sizes}",
            "give the sizes of a tensor",
            raised=ValueError,
        )
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return tuple(indices // step % size for step, size in zip(steps, sizes, strict=True))


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of each element of a vector in a row, falling to 0 unless increasing."""
    count = len(x) if N is None else N
    if x.ndim != 1 or count < 0:
        raise error(
            "shape_mismatch",
            f"vander: x has {x.ndim} axes, N is {N}",
            "x must be a vector, N not negative",
        )
    powers = op("arange")(count)
    return x.unsqueeze(-1) ** (powers if increasing else powers.flip(0))


# windows


def _window(
    name: str, sentence: str, first: float, second: float, third: float = 0
) -> Callable[..., Tensor]:
    """A window that is a sum of cosines with these weights."""

    def window(
        window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        turn = _turns(name, window_length, periodic, dtype, device) * math.pi
        found = first - second * turn.cos() + third * (2 * turn).cos()
        return _leaf(found, window_length, requires_grad)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = sentence
    return window


def _turns(name: str, length: int, periodic: bool, dtype: Any, device: Any) -> Tensor:
    """Places of a window's elements, from 0 at its beginning to 2 at its end."""
    if length < 0:
        raise error(
            "invalid_argument",
            f"{name} requires non-negative window_length, got window_length={length}",
            "give a number of elements",
        )
    steps = op("arange")(float(length), dtype=dtype, device=device)
    if not steps.is_floating_point():
        raise error(
            "dtype_mismatch",
            f"{name} expects floating point dtypes, got: {steps.dtype.name}",
            "leave dtype out, or name a floating one",
        )
    return steps * (2 / max(length if periodic else length - 1, 1))


def _leaf(window: Tensor, length: int, requires_grad: bool) -> Tensor:
    made: Tensor = window * 0 + 1 if length == 1 else window
    return made.requires_grad_(requires_grad)


hann_window = _window("hann_window", "Hann's window, one turn of a cosine.", 0.5, 0.5)
blackman_window = _window("blackman_window", "Blackman's window, of two cosines.", 0.42, 0.5, 0.08)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46,
    *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Hamming's window, alpha less beta times a cosine."""
    window = _window("hamming_window", "", alpha, beta)
    return window(window_length, periodic, dtype=dtype, device=device, requires_grad=requires_grad)


def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A triangle that begins at 0; periodic: of one more, without the last."""
    turn = _turns("bartlett_window", window_length, periodic, dtype, device)
    return _leaf(1 - (turn - 1).abs(), window_length, requires_grad)


def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Kaiser window, of Bessel's function I0; periodic: of one more, without the last."""
    turn = _turns("kaiser_window", window_length, periodic, dtype, device)
    inside = (1 - (turn - 1) ** 2).clamp(min=0).sqrt()
    peak = catalogued("i0")(as_tensor(beta).to(inside.dtype))
    return _leaf(catalogued("i0")(inside * beta) / peak, window_length, requires_grad)


# what torch.nn.functional has


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Softmax of logits with Gumbel noise: a sample of categories, whose gradient flows.

    hard: one 1 among zeros, with the gradient of the soft one. C. Maddison, A. Mnih and Y. Teh,
    "The Concrete Distribution" (2017). eps means nothing, as in torch.
    """
    noise = -catalogued("empty_like")(logits).exponential_().log()
    soft: Tensor = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    chosen = soft.max(dim, keepdim=True).indices
    hardened: Tensor = catalogued("zeros_like")(logits).scatter(dim, chosen, 1.0)
    return hardened - soft.detach() + soft


# methods


def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write a number to the main diagonal; wrap: of a tall matrix, again below it."""
    if self.ndim < 2 or (self.ndim > 2 and len(set(self.shape)) > 1):
        raise error(
            "shape_mismatch",
            f"fill_diagonal_: the tensor is {list(self.shape)}",
            "it needs two axes, or more of one size",
        )
    rows, period = self.shape[0], self.shape[1] + 1
    down = range(rows) if wrap and self.ndim == 2 else range(min(self.shape))
    places = [(i, i % period) for i in down if i % period < period - 1]
    if places:
        first, second = ([p[k] for p in places] for k in (0, 1))
        self[(first, *[second] * (self.ndim - 1))] = fill_value
    return self


def random_(self: Tensor, *bounds: int, generator: Any = None) -> Tensor:
    """Whole numbers, equally likely, from the first bound (0) on and below the last.

    Without bounds: up to the largest that the dtype holds, with all below it, exactly.
    """
    low, high = (0, *bounds)[-2:] if bounds else (0, _most(self))
    if low >= high:
        raise error(
            "invalid_argument",
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}",
            "there must be a number to draw",
        )
    return self.copy_(catalogued("randint")(low, high, tuple(self.shape), generator=generator))


def _most(self: Tensor) -> int:
    """The bound above all whole numbers that the dtype holds with all that are below them."""
    name, signed = self.dtype.name, self.dtype.numpy.kind == "i"
    exact = {"float64": 2**53, "float32": 2**24, "float16": 2**11, "bfloat16": 2**8, "bool": 1}
    most: int = exact.get(name, 2 ** (8 * self.dtype.itemsize - signed) - 1)
    return min(most + 1, 2**63 - 1)


def _uniform(self: Tensor, generator: Any) -> Any:
    """Numbers between 0, left out, and 1."""
    dtype = None if self.is_floating_point() else as_tensor(1.0).dtype
    return 1 - catalogued("rand_like")(self.detach(), dtype=dtype, generator=generator)


def geometric_(self: Tensor, p: float, *, generator: Any = None) -> Tensor:
    """How often one has to try, where each try succeeds with probability p."""
    if not 0 < p < 1:
        raise error(
            "invalid_argument",
            f"geometric_ expects p to be in (0, 1), but got p={p}",
            "give a probability between 0 and 1",
        )
    return self.copy_((_uniform(self, generator).log() / math.log1p(-p)).ceil().clamp(min=1))


def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Any = None) -> Tensor:
    """Numbers of the Cauchy distribution."""
    return self.copy_(((_uniform(self, generator) - 0.5) * math.pi).tan() * sigma + median)


def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Any = None) -> Tensor:
    """Numbers whose logarithm is normal, of this mean and standard deviation."""
    if std <= 0:
        raise error(
            "invalid_argument",
            f"log_normal_ expects std > 0.0, but found std={std}",
            "give std > 0",
        )
    drawn = catalogued("randn_like")(self.detach(), generator=generator)
    return self.copy_((drawn * std + mean).exp())


METHODS: dict[str, Any] = {
    "cauchy_": cauchy_,
    "fill_diagonal_": fill_diagonal_,
    "geometric_": geometric_,
    "log_normal_": log_normal_,
    "random_": random_,
}
"""Methods in place, made of ops."""

__all__ = [
    "METHODS", "bartlett_window", "blackman_window", "gumbel_softmax", "hamming_window",
    "hann_window", "isin", "kaiser_window", "unravel_index", "vander",
]  # fmt: skip
