"""One sample run on torch and on the SDK: results, gradients, and gradients of those."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from tests.parity.opinfo.numbers import apart, dtype_name, largest, to_numpy, to_ours
from tests.parity.opinfo.stand import Stand, Unlike, answered, bare, named

import gradwire

Found = Iterator[str]


def flat(result: Any) -> list[Any]:
    """All tensors of a result and what else it holds, in order."""
    if isinstance(result, dict):
        return [leaf for key in sorted(result) for leaf in flat(result[key])]
    if isinstance(result, (list, tuple)) and not isinstance(result, torch.Size):
        return [leaf for item in result for leaf in flat(item)]
    return [] if result is None else [result]


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of either side."""
    return isinstance(value, (torch.Tensor, Stand))


class Ours:
    """A sample's arguments for the SDK; the same tensor twice stays the same tensor."""

    def __init__(self, sample: Any, make: Callable[[torch.Tensor], Any] = to_ours) -> None:
        self._make, self._made, self.leaves = make, {}, []  # type: ignore[var-annotated]
        self.call = self._mapped((sample.input, sample.args, sample.kwargs))

    def _mapped(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self._made:
                self._made[id(value)] = Stand(self._make(value))
            return self._made[id(value)]
        if isinstance(value, dict):
            return {k: self._mapped(v) for k, v in value.items()}
        if hasattr(value, "_make"):
            return value._make(map(self._mapped, value))
        if type(value) in (list, tuple):
            return type(value)(map(self._mapped, value))
        return value

    def of(self, tensor: torch.Tensor) -> Any:
        return self.stand(tensor).tensor

    def stand(self, tensor: torch.Tensor) -> Stand:
        """What stands in the arguments for a tensor of the sample."""
        found: Stand = self._made[id(tensor)]
        return found


def apply(op: Any, ours: Ours) -> Any:
    """The op on the SDK's side: by torch's way of calling it, or by name where that has no tensor.

    A method that only takes torch's own tensors is called on the SDK's by its name.
    """
    first, args, kwargs = ours.call
    if getattr(op, "variant_test_name", "") == "in_place":
        return getattr(first, f"{op.name}_")(*args, **kwargs)
    tensors = any(isinstance(v, Stand) for v in flat((first, args, list(kwargs.values()))))
    if type(op.op).__name__ in ("method_descriptor", "wrapper_descriptor") or not tensors:
        path = f"Tensor.{op.op.__name__}" if tensors else op.name
        return answered(named(path), (first, *args), kwargs)
    return op.op(first, *args, **kwargs)


def need_known_dtypes(result: Any) -> None:
    """Leave a sample out whose result is of a dtype that gradwire lacks."""
    if any(isinstance(y, torch.Tensor) and y.dtype is torch.complex32 for y in flat(result)):
        raise Unlike("complex32")


def compare_results(found: Any, wanted: Any, where: str) -> Found:
    """What differs between results, before anything is made of their numbers."""
    ours, theirs = flat(found), flat(wanted)
    if len(ours) != len(theirs):
        yield f"{where}: {len(ours)} results for {len(theirs)}"
        return
    for a, b in zip(ours, theirs, strict=True):
        if is_tensor(a) != is_tensor(b):
            yield f"{where}: {bare(a)!r:.80} for {b!r:.80}"
        elif not is_tensor(b):
            if a != b and not (a != a and b != b):
                yield f"{where}: {a!r:.80} for {b!r:.80}"
        else:
            yield from compare_specs(a.tensor, b, where)
            if a.tensor.requires_grad != b.requires_grad:
                yield f"{where}: requires_grad {not b.requires_grad} for {b.requires_grad}"


def compare_specs(a: Any, b: torch.Tensor, where: str) -> Found:
    """Shape and dtype."""
    for name, x, y in (
        ("shape", tuple(a.shape), tuple(b.shape)),
        ("dtype", dtype_name(a), dtype_name(b)),
    ):
        if x != y:
            yield f"{where}: {name} {x} for {y}"


def compare_numbers(found: Any, wanted: Any, where: str) -> Found:
    """What differs between the elements of results of the same shapes and dtypes."""
    pairs = [(a, b) for a, b in zip(flat(found), flat(wanted), strict=True) if is_tensor(b)]
    arrays = [(to_numpy(a), to_numpy(b)) for a, b in pairs]
    scale = largest([b for _, b in arrays])
    for i, (a, b) in enumerate(arrays):
        how = apart(a, b, scale)
        if how:
            yield f"{where}[{i}]: {how}"


def cotangents(outputs: list[torch.Tensor], seed: int) -> list[torch.Tensor]:
    """Random, of the outputs' shapes and dtypes; they require grad, for the second derivative."""
    rng = np.random.default_rng(seed)
    drawn = []
    for y in outputs:
        parts = rng.standard_normal((2, *y.shape))
        g = parts[0] + 1j * parts[1] if y.dtype.is_complex else parts[0]
        drawn.append(torch.tensor(np.asarray(g)).to(y.dtype).requires_grad_())
    return drawn


class Walk:
    """Gradients of both sides, of the same outputs by the same leaves with the same cotangents."""

    def __init__(self, theirs: list[Any], ours: list[Any], xs: list[Any], us: list[Any]) -> None:
        self.xs, self.us = xs, us
        kept = [i for i, y in enumerate(theirs) if y.requires_grad]
        self.theirs, self.ours = [theirs[i] for i in kept], [ours[i] for i in kept]

    def grads(self, seed: int, create_graph: bool) -> tuple[list[Any], list[Any], Walk]:
        """torch's gradients, the SDK's, and the walk over those that can be differentiated."""
        g = cotangents(self.theirs, seed)
        h = [to_ours(x) for x in g]
        wanted = torch.autograd.grad(
            self.theirs, self.xs, g, create_graph=create_graph, allow_unused=True
        )
        found = gradwire.autograd.grad(
            self.ours, self.us, h, create_graph=create_graph, allow_unused=True
        )
        pairs = [(a, b) for a, b in zip(wanted, found, strict=True) if a is not None]
        both = [(a, b) for a, b in pairs if b is not None]
        deeper = Walk([a for a, _ in both], [b for _, b in both], [*self.xs, *g], [*self.us, *h])
        return list(wanted), list(found), deeper

    def torch_grads(self, seed: int, dtype: torch.dtype) -> list[Any]:
        """torch's gradients alone, with cotangents that were rounded to a dtype."""
        g = [x.detach().to(dtype).to(x.dtype) for x in cotangents(self.theirs, seed)]
        return list(torch.autograd.grad(self.theirs, self.xs, g, allow_unused=True))


def size_of(gradients: list[Any]) -> float:
    """The largest number of all."""
    return largest([to_numpy(g) for g in gradients if g is not None])


def compare_gradients(wanted: list[Any], found: list[Any], where: str, scale: float = 0.0) -> Found:
    """A gradient for each leaf; none is the same as zeros, which torch may leave out.

    scale: the largest number that was worked out on the way to these.
    """
    scale = max(scale, size_of(wanted))
    for i, (b, a) in enumerate(zip(wanted, found, strict=True)):
        if a is None or b is None:
            left = a if b is None else b
            if left is not None and apart(to_numpy(left), np.zeros_like(to_numpy(left)), scale):
                yield f"{where}[{i}]: {'no gradient' if a is None else 'a gradient'}, unlike torch"
            continue
        specs = list(compare_specs(a, b, f"{where}[{i}]"))
        how = None if specs else apart(to_numpy(a), to_numpy(b), scale)
        yield from specs
        if how:
            yield f"{where}[{i}]: {how}"
