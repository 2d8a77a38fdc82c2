"""torch.autograd: grad, backward and the grad modes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire import current
from gradwire.tensor import Tensor
from gradwire_engine import backward as engine
from gradwire_engine.journal import transaction
from gradwire_engine.mode import (
    current as _state,
)
from gradwire_engine.mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)

Tensors = Tensor | Sequence[Tensor]


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, Tensor) or value is None else list(value)


def _names(tensors: Sequence[Tensor | None]) -> list[str | None]:
    return [None if t is None else t._name for t in tensors]


def _metas(tensors: Sequence[Tensor | None]) -> list[Any]:
    return [None if t is None else t._meta for t in tensors]


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: None = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of tensors · grad_tensors into `.grad` of the leaves, or of inputs only."""
    roots = _listed(tensors)
    given = None if grad_tensors is None else _listed(grad_tensors)
    wanted = None if inputs is None else _listed(inputs)
    fields: dict[str, Any] = {"tensors": _names(roots), "create_graph": create_graph}
    if given is not None:
        fields["grad_tensors"] = _names(given)
    if retain_graph is not None:
        fields["retain_graph"] = retain_graph
    if wanted is not None:
        fields["inputs"] = _names(wanted)
    session = roots[0].session if roots else current.session()
    with transaction():
        engine.backward(
            _metas(roots),
            None if given is None else _metas(given),
            retain_graph,
            create_graph,
            None if wanted is None else _metas(wanted),
        )
        session.record({"backward": fields})
        session.flush()


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of outputs · grad_outputs by each input; touches no `.grad`."""
    roots, wanted = _listed(outputs), _listed(inputs)
    given = None if grad_outputs is None else _listed(grad_outputs)
    if is_grads_batched:
        raise NotImplementedError("grad: is_grads_batched is not available yet")
    fields: dict[str, Any] = {
        "outputs": _names(roots),
        "inputs": _names(wanted),
        "create_graph": create_graph,
        "materialize_grads": materialize_grads,
    }
    if given is not None:
        fields["grad_outputs"] = _names(given)
    if retain_graph is not None:
        fields["retain_graph"] = retain_graph
    if allow_unused is not None:
        fields["allow_unused"] = allow_unused
    session = roots[0].session if roots else current.session()
    with transaction():
        metas = engine.grad(
            _metas(roots),
            _metas(wanted),
            None if given is None else _metas(given),
            retain_graph,
            create_graph,
            allow_unused,
            materialize_grads,
        )
        found = tuple(
            None if meta is None else Tensor(session, session.new_name(), meta) for meta in metas
        )
        session.record({"grad": fields, "out": _names(found)})
        session.flush()
    return found


def is_grad_enabled() -> bool:
    """Whether ops record now."""
    return _state().grad


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on."""
    return _state().inference


__all__ = [
    "backward",
    "enable_grad",
    "grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]
