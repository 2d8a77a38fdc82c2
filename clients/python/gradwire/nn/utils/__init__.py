"""torch.nn.utils: gradients clipped, parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable

from gradwire.functions import op
from gradwire.nn.utils import rnn as rnn
from gradwire.tensor import Tensor
from gradwire.within import within


def get_total_norm(
    tensors: Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """The norm of all tensors as one vector."""
    listed = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not listed:
        return op("zeros")(())
    norm = op("linalg.vector_norm")
    total = norm(op("stack")([norm(t, norm_type) for t in listed]), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, "
            "so it cannot be clipped. To disable this error and scale the gradients by the "
            "non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients so that their norm as one vector is at most max_norm; the norm before."""
    with within(grad=False):
        found = _gradients(parameters)
        total = get_total_norm(found, float(norm_type), error_if_nonfinite)
        if found:
            scale = (float(max_norm) / (total + 1e-6)).clamp(max=1.0)
            for gradient in found:
                gradient.mul_(scale)
    return total


def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Clamp every element of the gradients to [-clip_value, clip_value]."""
    bound = float(clip_value)
    with within(grad=False):
        for gradient in _gradients(parameters):
            gradient.clamp_(-bound, bound)


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in listed if p.grad is not None]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, one after the other, in one vector."""
    return op("cat")([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write such a vector back into the parameters."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    at = 0
    with within(grad=False):
        for parameter in parameters:
            size = parameter.numel()
            parameter.copy_(vec[at : at + size].view_as(parameter))
            at += size


__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector",
    "vector_to_parameters",
]  # fmt: skip
