"""Clearing a gradient between two steps of training."""

from __future__ import annotations

from gradwire_engine.inplace import write
from gradwire_engine.mode import no_grad
from gradwire_engine.reading import zeros
from gradwire_engine.tensor import Tensor


def zero_grad(tensor: Tensor, set_to_none: bool = True) -> None:
    """Remove a tensor's gradient, or fill that same gradient with zeros, without its history.

    A tensor that has none stays as it is, as in torch.
    """
    grad = tensor.grad
    if grad is None:
        return
    if set_to_none:
        tensor.set_grad(None)
        return
    if grad.requires_grad:
        grad = grad.detach()
        tensor.keep_grad(grad)
    with no_grad():
        write("zero_", grad, zeros(grad.spec))
