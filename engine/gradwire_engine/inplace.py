"""In-place ops: the functional op, then its result swapped into the storage and the history.

A write through a view rewrites the base's history: the base becomes `view_scatter(base, value)`,
and every view of it finds its new edge when it is next asked for. Restrictions are torch's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from gradwire_engine.apply import planned, save_outputs, unsaved
from gradwire_engine.arrays import backend
from gradwire_engine.call import Call, find_call, follow
from gradwire_engine.catalogue import inplace_twin, resolve
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.journal import assign
from gradwire_engine.mode import local, using
from gradwire_engine.op import Composite, Primitive, explain
from gradwire_engine.ops.cast import clone, to_dtype
from gradwire_engine.ops.expand import expand
from gradwire_engine.ops.index_write import zero_
from gradwire_engine.ops.view_scatter import copy_slices, view_scatter
from gradwire_engine.overlap import (
    lets_expanded,
    overlaps,
    refuse_overlap,
    refuse_partial_overlap,
    write_through,
)
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import BOOL, Spec, dtype_of
from gradwire_engine.symbol import Symbol
from gradwire_engine.tape import AccumulateGrad, Edge, Node, Output, again, bare, next_seq, target
from gradwire_engine.tensor import (
    COUNTED,
    INFERENCE,
    OWN,
    TURNED,
    Storage,
    Tensor,
    View,
    check_view,
    move_retained,
    seen_from,
)

_ALONE = 2
"""References to an array that only its storage holds, counted by sys.getrefcount."""
_BY_PLACES = (
    "index_add_", "index_copy_", "index_fill_", "scatter_", "scatter_add_", "scatter_reduce_",
    "index_reduce_", "put_",
)  # fmt: skip
"""Ops whose other operands must not lie in what they write to."""


WRITE: dict[type, Callable[[str, Any, Any], Any]] = {}
"""How a value that wraps others is written; its type enters itself here."""


def call(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Tensor:
    """Run the in-place form of an op by its name (`add_`, `__setitem__`); gives back the target."""
    op = inplace_twin(name)
    if op is None:
        resolve(name.removesuffix("_"))
        raise error("op_not_found", f"{name}: this op has no in-place form", "use its result")
    overload, values = op.bind(args, kwargs)
    return run(name, overload, values)


def run(name: str, overload: Any, values: Sequence[Any]) -> Tensor:
    """Run the in-place form of an overload on bound arguments; the first is what is written.

    The op sees the target's present elements in a cell of their own, so what it saves of them
    outlives the write. The same tensor as another operand is the target itself, as in torch.
    """
    try:
        return _run(name, overload, values)
    except GradwireError:
        raise
    except (AttributeError, TypeError) as problem:
        explain(problem, overload, values)


def _run(name: str, overload: Any, values: Sequence[Any]) -> Tensor:
    target = values[0]
    if type(target) not in VALUE_TYPES:
        raise error(
            "invalid_argument",
            f"{name}: the first argument has to be the tensor that is written",
            "give a tensor",
            raised=TypeError,
        )
    others = values[1:]
    if isinstance(overload, Composite) and overload.name == name:
        return overload(*values)  # type: ignore[no-any-return]  # it writes by itself
    if overload.random and isinstance(overload, Composite):
        return _drawn(name, overload, target, others)
    if name in _UNRECORDED and local.state.grad:
        with using(grad=False):
            return _run(name, overload, values)
    if type(target) is Tensor:
        _checked(name, overload, target, others)
    held = content(target)
    if type(held) is Tensor and held.view is not None and any(o is target for o in others):
        held._edge = bare(held._edge, anyway=True)  # as another operand it keeps its hooks
    if name == "abs_" and target.dtype.is_complex:
        raise error(
            "dtype_mismatch",
            f"abs_: the magnitudes of a {target.dtype.name} tensor are real",
            "use abs, which gives a real tensor",
        )
    value = _own(name, value_in_place(overload, held, *others), held, others)
    if name == "float_power_" and value.dtype is not target.dtype:
        raise error(
            "dtype_mismatch",
            f"float_power_: the result is {value.dtype.name}, the tensor {target.dtype.name}",
            "use float_power, which gives a new tensor",
        )
    if overload.name in _FORGETTING and type(value) is type(held) is Tensor and local.state.grad:
        value = _forgetting(overload.name, held, value, others[0])
    return write(name, target, value, others)


def _drawn(name: str, overload: Composite, target: Tensor, others: Sequence[Any]) -> Tensor:
    """Ops that may be idle, as dropout out of training: those write nothing, and may do it to any.

    What they draw is drawn before a write is refused, and taken back with the request.
    """
    held = content(target)
    value = value_in_place(overload, held, *others)
    if value is held:
        return target
    if type(target) is Tensor:
        _check_operands(name, overload, target, others)
    return write(name, target, _own(name, value, held, others))


def _checked(name: str, overload: Any, target: Tensor, others: Sequence[Any]) -> None:
    """The same; what is wrong with the types of operands is said first."""
    try:
        _check_operands(name, overload, target, others)
    except GradwireError:
        if isinstance(overload, Primitive) and not all(type(o) is Tensor for o in others):
            try:
                planned(overload, (target, *others))
            except GradwireError as problem:
                if isinstance(problem, TypeError):
                    raise
        raise


def _check_operands(name: str, overload: Any, target: Tensor, others: Sequence[Any]) -> None:
    """What is refused before the op runs."""
    if target.is_inference:  # of which torch says so after the op has run
        _refuse_expanded(name, target)
    else:
        by_tensor = name == "fill_" and type(others[0]) is Tensor
        asked = "fill_.Tensor" if by_tensor else name  # which is no write of one number
        if by_tensor and local.state.grad:
            others[0].edge  # noqa: B018 (a view that may not be used any more says so)
        check_writable(asked, target, any(type(o) is Tensor and o.requires_grad for o in others))
    if getattr(overload, "family", "") == "elementwise" or name == "copy_":
        refuse_partial_overlap(name, target, others)
    elif name == "index_put_" and not _is_filled(*others[:2]):
        refuse_overlap(name, target, (others[1], *others[0]))
    elif name == "index_add_":
        planned(overload, (target, *others))  # what is wrong with shapes is said first
        refuse_overlap(name, target, others)
    elif name in _BY_PLACES and _has_axis(target, others[0]):
        refuse_overlap(name, target, others)


def value_in_place(overload: Any, held: Any, *others: Any) -> Any:
    """The functional op's result, of which torch takes in place what it else refuses."""
    if not overload.real_gradients and held.dtype.differentiable:
        return overload(held, *others)
    with using(writing=True):
        return overload(held, *others)


def _own(name: str, value: Any, held: Any, others: Sequence[Any]) -> Any:
    """The result, which is never the target itself, with the name of its own that its node has."""
    value = clone(held) if value is held else value
    if name in _NODES and type(value) is Tensor:
        value.rename_node(_NODES[name](*others))
    return value


def _is_filled(masks: Sequence[Any], value: Any) -> bool:
    """Whether one value is written where a mask holds, which torch does in another way."""
    given = (m for m in masks if type(m) in VALUE_TYPES)  # None keeps an axis whole
    return prod(value.shape) == 1 and all(m.dtype.category == BOOL for m in given)


def _has_axis(target: Tensor, dim: Any) -> bool:
    """Whether it may be an axis of the target; what is wrong with axes is said first."""
    ndim = max(1, len(target.shape))
    return type(dim) is not int or -ndim <= dim < ndim


def _always(label: str) -> Callable[..., str]:
    return lambda *_: label


_NODES: dict[str, Callable[..., str]] = {
    "fill_": lambda value: f"FillBackward{3 if type(value) is Tensor else 2}",
    "conj_physical_": _always("ConjPhysicalBackward1"),
    "bernoulli_": _always("BernoulliBackward2"),
    "polygamma_": _always("PolygammaBackward1"),
} | {
    f"{name}_": _always(f"{name.replace('arc', 'a').title()}Backward1")
    for name in ("acosh", "asinh", "atanh", "arccosh", "arcsinh", "arctanh")
}
"""What torch calls the nodes of ops that have one of their own in place."""


_UNRECORDED = ("logical_and_", "logical_or_", "logical_xor_", "logical_not_")
"""Ops that torch writes without a look at histories, which stay as they are, also to leaves."""


_FORGETTING = ("eq", "ne", "lt", "le", "gt", "ge")
"""Ops without a derivative whose result, written in place, depends on no history any more."""


def _forgetting(name: str, held: Tensor, value: Tensor, other: Any) -> Tensor:
    """The value in the dtype of what it is written to, with a history that gives zeros."""
    several = type(other) is Tensor
    operand = held if held.edge is not None else other
    if several and held.edge is not None and other.requires_grad:
        operand = held + other  # both of them have zeros for gradients
    if type(operand) is not Tensor or not operand.requires_grad or value.shape != held.shape:
        return value
    found: Tensor = to_dtype(value, held.dtype)
    found._edge = zero_(to_dtype(expand(operand, value.shape), held.dtype))._edge
    found.rename_node(f"{name.title()}Backward{int(several)}")
    return found


def content(target: Any) -> Any:
    """What a tensor holds now, in a cell of its own that no later write reaches."""
    if type(target) is not Tensor:
        both = getattr(target, "throughout", target.within)  # of a dual number the tangent too
        return both(content)
    view = target.view
    edge = target.edge if local.state.grad else None
    if view is None:
        found = Tensor(target.array, target.spec, edge)
    else:
        edge = _bare_way(edge, view)
        storage = Storage(target.storage.array)  # its hold on the whole array makes writes copy
        seen = View(view.chain, None, "detached", 0)
        found = Tensor.sharing(storage, target.spec, edge, seen)
    found.flags |= target.flags & TURNED
    if target.flags & INFERENCE:
        found.flags |= INFERENCE | OWN
    return found


def _bare_way(edge: Edge | None, view: View) -> Edge | None:
    """A view's history without the hooks of the views that lead to it from the base.

    A write through a view leaves them behind: its gradient goes to the base's history at once. They
    may hang in another graph, which mirrors this one, so that there always are nodes apart. What
    is a base itself, and was given another form in place, keeps them: they are its own.
    """
    if view.base is None:
        return edge
    base = view.base.edge
    way: list[Node | Output] = []
    below = edge
    while below is not None and below is not base and len(way) < len(view.chain) - view.depth:
        node = target(below)
        if type(node) is not Node or len(node.edges) != 1:
            break
        way.append(below)  # type: ignore[arg-type]
        below = node.edges[0]
    for step in reversed(way):
        if target(step).call.op.name == "none_of":  # type: ignore[union-attr]
            return seen_from(view.base, view, below, written=True)  # type: ignore[arg-type]
        below = again(step, (below,))
    return below


def check_writable(name: str, tensor: Tensor, requires_grad: bool = False) -> None:
    """Refuse what torch refuses before an in-place op: leaves, restricted views, inference.

    requires_grad: whether anything that is written does.
    """
    state = local.state
    if tensor.is_inference and not state.inference and not tensor.flags & COUNTED:
        raise error(
            "inference_tensor",
            f"{name}: in-place update of an inference tensor outside inference mode",
            "make a normal tensor of it with clone()",
        )
    # copies of what requires grad to ints are let be: they concern no history
    concerned = tensor.dtype.differentiable or name not in ("copy_", "__setitem__")
    if state.grad and ((requires_grad and concerned) or tensor.requires_grad):
        _check_history(name, tensor)
    _refuse_expanded(name, tensor)


def _refuse_expanded(name: str, tensor: Tensor) -> None:
    if tensor.view is not None and not lets_expanded(name, tensor) and overlaps(tensor.array):
        raise error(
            "view_in_place",
            f"{name}: several elements of this expanded view share one place in memory",
            "clone() it first",
        )


def _check_history(name: str, tensor: Tensor) -> None:
    view = tensor.view
    base = None if view is None else view.base
    if view is not None and base is not None:
        check_view(f"{name}: the view is being modified in place, and it", view.creation)
    if tensor.requires_grad and (tensor if base is None else base).is_leaf:
        what = "a leaf" if base is None else "a view of a leaf"
        raise error(
            "leaf_in_place",
            f"{name}: {what} that requires grad is being changed in place",
            "do it in no_grad, or on a copy made with clone()",
        )


def write(name: str, target: Tensor, value: Tensor, others: Sequence[Any] = ()) -> Tensor:
    """Make `value` the content and the history of `target`, and of all that shares its storage.

    others: what was written from, which inference mode's count of writes depends on.
    """
    if type(target) is not Tensor:
        return WRITE[type(target)](name, target, value)  # type: ignore[no-any-return]
    while type(value) is not Tensor and not local.state.grad and hasattr(value, "primal"):
        value = value.primal  # no_grad keeps a tangent out as it does a history
    if type(value) is not Tensor:
        raise error(
            "view_in_place",
            f"{name}: the tensor written is the same for all that a transform works on, "
            "what is written is not",
            "use the op that is not in place, or make the tensor from one that differs too",
            raised=RuntimeError,
        )
    check_writable(name, target, value.requires_grad)
    if value.shape != target.shape:
        raise error(
            "shape_mismatch",
            f"{name}: the result has shape {list(value.shape)}, "
            f"the tensor written in place has {list(target.shape)}",
            "the operands must broadcast to the shape of the tensor that is written",
        )
    if value.dtype is not target.dtype:
        value = _cast(name, value, target.spec)
    if target.flags & INFERENCE and local.state.grad and _saves_result(value.edge):
        raise unsaved(name)
    view = target.view
    base = None if view is None else view.base
    through = view is not None and base is not None and local.state.grad
    rebased = through and (base.requires_grad or value.requires_grad)  # type: ignore[union-attr]
    edge = _scattered(base, value, view) if rebased else None  # type: ignore[arg-type]
    _swap(target, value, local.state.inference and any(map(_is_normal, others)))
    if rebased:
        assert base is not None
        _adopt(base, edge)
        _save_result(target, value.edge)
    elif local.state.grad and value.edge is not None:
        edge = value.edge
        if isinstance(edge, AccumulateGrad):  # the value is a leaf itself: record a copy of it
            edge = clone(value).edge
        _adopt(target, edge)
        _save_result(target, edge)
    return target


def _cast(name: str, value: Tensor, wanted: Spec) -> Tensor:
    lone = name in ("cumsum_", "cumprod_") and (not wanted.shape or 0 in wanted.shape)
    if value.dtype.category > wanted.dtype.category and not lone:  # which torch only copies
        raise error(
            "dtype_mismatch",
            f"{name}: a {value.dtype.name} result cannot be stored in a {wanted.dtype.name} tensor",
            "convert the tensor first",
        )
    node = value.grad_fn
    converted: Tensor = to_dtype(value, wanted.dtype)
    if node is not None:
        converted.rename_node(node.name())
    return converted


def _scattered(base: Tensor, value: Tensor, view: View) -> Edge | None:
    """The history of a base whose part has been written: a node as of view_scatter, not its copy.

    It keeps nothing, in the place where others keep a result: so that it counts as freed once.
    """
    chain = view.way(base)
    key = ("edge", base.spec, value.spec, chain)
    call = find_call(copy_slices, key, (base.spec, value.spec, chain), base.device)
    edges = (base.edge, value.edge)
    recipe = call.recipe(tuple(edge is not None for edge in edges))
    return Node(recipe, edges, (None,), (0,), next_seq())


def _is_normal(operand: Any) -> bool:
    """Whether it is a tensor, or has one, that was not made in inference mode."""
    if type(operand) is tuple:
        return any(map(_is_normal, operand))
    return type(operand) is Tensor and not operand.flags & INFERENCE


def replace_elements(name: str, target: Tensor, array: Any) -> None:
    """Write a fresh array to a tensor that may be written, in no_grad: what optimizers do."""
    storage = target.storage
    if target.view is not None or array.strides != storage.array.strides or local.state.inference:
        write(name, target, Tensor(array, target.spec, None))
        return
    assign(storage, "array", array)
    target.count_write()


def _swap(target: Tensor, value: Tensor, counted: bool = False) -> None:
    """Put the value's elements into the storage: a fresh array, or a part of a fresh one.

    counted: whether the write counts, where inference tensors alone would not.
    """
    storage = target.storage
    if target.spec.device != "meta":
        view = target.view
        if view is None:
            array = value.array
            if array.strides != storage.array.strides:
                array = _like(storage.array, array, target.spec.device)
            assign(storage, "array", array)
        else:
            _write_part(storage, view, value)
    target.count_write(counted)


def _like(old: Any, new: Any, device: str) -> Any:
    xp = backend(device).xp
    made = xp.empty_like(old)
    made[...] = new
    return made


def _write_part(storage: Storage, view: View, value: Tensor) -> None:
    """Write where the view shows; into a copy if anything else holds the array.

    For a transaction that would have to undo the write into an array from before it, the journal
    keeps what stood in the part. At its second write the whole is copied, once for all.
    A trace writes down that the whole has another part, since none of its values may change.
    """
    if type(storage.array) is Symbol:
        whole = Spec(storage.array.shape, dtype_of(storage.array.dtype), value.device)
        key = ("part", whole, value.spec, view.chain)
        call = find_call(view_scatter, key, (whole, value.spec, view.chain), value.device)
        assign(storage, "array", call.run(storage.array, value.array))
        return
    view.array = view.source = None  # this view's own hold on the array must not count
    journal = local.state.journal
    early = journal is not None and storage.made_in is not journal.block
    again = early and storage.kept_in is journal.block  # type: ignore[union-attr]
    if again or sys.getrefcount(storage.array) > _ALONE or storage.array.base is not None:
        if local.state.meter is not None:
            local.state.meter.charge(storage.nbytes)
        assign(storage, "array", storage.array.copy(order="K"))
        if journal is not None:
            assign(storage, "made_in", journal.block)
    elif early:
        _keep_part(storage, view)
    write_through(view.chain, storage.array, value.array)


def _keep_part(storage: Storage, view: View) -> None:
    """Have the journal know what stands where the view shows."""
    part = follow(view.chain, storage.array).copy()
    if local.state.meter is not None:
        local.state.meter.charge(part.nbytes)
    journal = local.state.journal
    assert journal is not None
    assign(storage, "kept_in", journal.block)
    journal.entries.append((_Part(storage, view.chain), "elements", part))


class _Part:
    """A part of an array, as an owner of what the journal puts back."""

    __slots__ = ("_chain", "_storage")

    def __init__(self, storage: Storage, chain: tuple[tuple[Call, int], ...]) -> None:
        self._storage, self._chain = storage, chain

    @property
    def elements(self) -> Any:
        """What stands there."""
        return follow(self._chain, self._storage.array)

    @elements.setter
    def elements(self, old: Any) -> None:
        storage = self._storage
        if sys.getrefcount(storage.array) > _ALONE:  # somebody was given what is undone
            storage.array = storage.array.copy(order="K")
        write_through(self._chain, storage.array, old)


def rebase(target: Tensor, edge: Edge) -> None:
    """Give a tensor that has been written another history, through its base if it is a view."""
    view = target.view
    base = None if view is None else view.base
    if view is None or base is None:
        _adopt(target, edge)
    else:
        _adopt(base, _scattered(base, target.alias(edge), view))


def _adopt(target: Tensor, edge: Edge | None) -> None:
    """The tensor takes over another history; a gradient it retains is from now on of that."""
    move_retained(target, target._edge, edge)
    assign(target, "_edge", edge)


def _save_result(target: Tensor, edge: Edge | None) -> None:
    """A rule that needs its op's result finds it in the tensor written, at its new version."""
    if _saves_result(edge):
        save_outputs(edge, [target])  # type: ignore[arg-type]


def _saves_result(edge: Edge | None) -> bool:
    return type(edge) is Node and any(place < 0 for place in edge.recipe.saved)
