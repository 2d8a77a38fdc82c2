"""`out=`: what a function gives is written into tensors that are there already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gradwire.tensor import Tensor
from gradwire.wire import tensors_in
from gradwire.within import within
from gradwire_engine.errors import error
from gradwire_engine.mode import local


def written(asked: str, out: Any, run: Callable[[], Any], operands: Iterable[Any]) -> Any:
    """Write what `run` gives into out, one tensor or as many as there are results; out itself.

    A tensor has to have its result's shape already, where torch would give it that; it may be of
    another dtype, to which the result can be promoted. As in torch no derivative is recorded, and
    operands that require grad are refused.
    """
    targets = tuple(out) if isinstance(out, list | tuple) else (out,)
    for target in targets:
        if not isinstance(target, Tensor):
            raise TypeError(
                f"{asked}(): argument 'out' must be Tensor, not {type(target).__name__}"
            )
    if local.state.grad and any(t.requires_grad for t in (*tensors_in(tuple(operands)), *targets)):
        raise error(
            "invalid_argument",
            f"{asked}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad",
            "leave out away, or call it in torch.no_grad()",
        )
    with within(grad=False):
        found = run()
        results = (found,) if isinstance(found, Tensor) else tuple(found)
        if len(results) != len(targets):
            raise TypeError(
                f"{asked}(): has {len(results)} results, out has {len(targets)} tensors"
            )
        for result, target in zip(results, targets, strict=True):
            _check(asked, result, target)
        for result, target in zip(results, targets, strict=True):
            target.copy_(result)
    if isinstance(found, Tensor):
        return targets[0]
    return found._make(targets) if hasattr(found, "_make") else type(found)(targets)


def _check(asked: str, result: Tensor, target: Tensor) -> None:
    if result.dtype.category > target.dtype.category:
        raise error(
            "dtype_mismatch",
            f"{asked}: result type {result.dtype.name} can't be cast to the desired output type "
            f"{target.dtype.name}",
            f"give out the dtype {result.dtype.name}",
            raised=RuntimeError,
        )
    if result.shape != target.shape:
        raise error(
            "shape_mismatch",
            f"{asked}: out is {list(target.shape)}, the result is {list(result.shape)}; a tensor "
            "keeps its shape here",
            f"make it with torch.empty({tuple(result.shape)})",
        )


__all__ = ["written"]
