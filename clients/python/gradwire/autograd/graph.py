"""torch.autograd.graph: places in the graph that stand for tensors in grad and backward."""

from __future__ import annotations

from typing import NamedTuple

from gradwire.grad_fn import GradFn, grad_fn
from gradwire.tensor import Tensor
from gradwire_engine import hooks as engine
from gradwire_engine.errors import error
from gradwire_engine.mode import local


class GradientEdge(NamedTuple):
    """Where gradients of a tensor arrived when it was asked for. place: its name at the host."""

    node: GradFn
    output_nr: int
    place: Tensor


def get_gradient_edge(tensor: Tensor | GradientEdge) -> GradientEdge:
    """The place, which `grad` and `backward` take as the tensor, also after in-place ops on it."""
    if isinstance(tensor, GradientEdge):
        return tensor
    if local.state.inference and tensor._meta.requires_grad and tensor._meta.grad_fn is None:
        raise error(
            "inference_tensor",
            "get_gradient_edge: torch looks for a leaf's edge by recording a view of it, and in "
            "inference mode nothing is recorded",
            "take the edge before",
            raised=AttributeError,
        )
    if tensor._meta.requires_grad and tensor._meta.edge is None:
        raise error(
            "requires_no_grad",
            "get_gradient_edge: nothing leads to this tensor, a view that was made in no_grad",
            "take the edge of its base, or make the view with grad mode on",
            raised=AssertionError,
        )
    session = tensor.session
    with session.recording() as mark:
        found = engine.get_gradient_edge(tensor._meta)
        made = Tensor(session, tensor._meta.alias(found.edge))
        step = {"edge": tensor._name, "out": made._name}
        session.record(step, [made], mark=mark)
    node = grad_fn(found.node, tensor)
    assert node is not None
    return GradientEdge(node, found.output_nr, made)


Node = GradFn
"""What every grad_fn is."""

__all__ = ["GradientEdge", "Node", "get_gradient_edge"]
