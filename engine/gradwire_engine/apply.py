"""How an op applies to tensors: specs first, then bytes, then the kernel, then the record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from gradwire_engine.call import Call, find_call
from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import GradwireError, LinAlgError, error
from gradwire_engine.mode import State, local
from gradwire_engine.op import APPLY, Primitive
from gradwire_engine.signature import VALUE_TYPES
from gradwire_engine.spec import DType, Spec
from gradwire_engine.tape import Edge, Node, Output, next_seq
from gradwire_engine.tensor import INFERENCE, LONG_CHAIN, OWN, Tensor, View
from gradwire_engine.unrecorded import unrecorded


def apply(op: Primitive, args: tuple[Any, ...]) -> Any:
    """Apply a primitive to tensors, numbers and attributes, in the order of its parameters."""
    state = local.state
    try:
        call, flat = planned(op, args)
    except GradwireError as problem:
        if not isinstance(problem, TypeError):
            _refuse_unusable(op, args, state)
        raise
    if state.meter is not None and call.nbytes:
        state.meter.charge(call.nbytes, call.flops, 1)
    try:
        result = run(call, [t.array if type(t) is Tensor else t for t in flat])
    except GradwireError:
        _refuse_unusable(op, args, state)
        record(call, flat, state)  # torch says first what it can't save
        raise
    if op.view:
        return _wrap_views(call, flat[0], result, state)
    return _wrap(call, flat, result, state)


def _refuse_unusable(op: Primitive, args: tuple[Any, ...], state: State) -> None:
    """Of several things wrong, torch names first that a view may not be used any more."""
    if state.grad and op.differentiable:
        _look_back(args)
        _refuse_unsaved(op, args)


def _refuse_unsaved(op: Primitive, args: tuple[Any, ...]) -> None:
    """And that an operand can't be saved, which comes before a look at what they are."""
    if not any(map(_recorded, args)):
        return
    given = dict(zip(op.signature.by_name, args, strict=False))
    run = [r for r in op.rules.all() if r is op.rules.joint or _recorded(given.get(r.operand))]
    for name in {*op.rules.common, *[name for rule in run for name in rule.saved]}:
        if type(arg := given.get(name)) is Tensor and arg.is_inference:
            raise unsaved(op.name)


def _recorded(operand: Any) -> bool:
    """Whether it is, or in a list one of them, what a gradient goes back to."""
    if type(operand) in (tuple, list):
        return any(map(_recorded, operand))
    return type(operand) is Tensor and operand.requires_grad and not operand.is_inference


def unsaved(asked: str) -> GradwireError:
    """The refusal of an op that would save an inference tensor."""
    return error(
        "inference_tensor",
        f"{asked}: inference tensors cannot be saved for backward",
        "make a normal tensor of it with clone(), or use no_grad instead",
    )


def _look_back(items: Iterable[Any]) -> None:
    for item in items:
        if type(item) is Tensor:
            item.edge  # noqa: B018 (it raises that a view may not be used any more)
        elif type(item) in (tuple, list):
            _look_back(item)


PLAIN = frozenset({bool, int, str, type(None), DType})
"""Types of attributes that their type and value identify."""

INTS = frozenset({"ints", "dims"})
"""Kinds of attributes that are tuples of ints, which need no look at each."""


def _identity(value: Any) -> tuple[Any, ...]:
    """What tells an attribute from all others: its type too, and the sign of a zero in a number."""
    kind = type(value)
    if kind is complex or (kind is float and not value):
        return kind, repr(value)
    if kind is tuple:
        return kind, tuple(map(_identity, value))
    return kind, value


def planned(op: Primitive, args: tuple[Any, ...]) -> tuple[Call, list[Any]]:
    """The call that an op on these arguments is, worked out once, and the operands one by one."""
    state = local.state
    key: list[Any] = [state.default_dtype]
    arguments: list[Any] = []
    flat: list[Any] = []
    for kind, arg in zip(op.kinds, args):  # noqa: B905 (hot; `complete` saw to the number)
        if kind == "tensor":
            if type(arg) is Tensor:
                flat.append(arg)
                arg = arg.spec
            else:
                arg = _operand(arg, state, flat)
            key.append(arg)
        elif kind == "tensors":
            arg = tuple([_operand(item, state, flat) for item in arg])
            key.append(arg)
        elif type(arg) in PLAIN:
            key += type(arg), arg
        elif kind in INTS:
            key += tuple, arg
        else:
            key.append(_identity(arg))
        arguments.append(arg)
    device = _device(op, flat, state)
    if op.device_place is not None:
        device = args[op.device_place] or device
    if not flat:
        key.append(device)
    return find_call(op, tuple(key), tuple(arguments), device), flat


def run(call: Call, arrays: list[Any]) -> Any:
    """Run a call's kernel; what the array library finds wrong with the values is our error."""
    try:
        return call.run(*arrays)
    except GradwireError:
        raise
    except np.linalg.LinAlgError as problem:
        raise error(
            "numerical_error", f"{_named(call)}{problem}", _OTHER_MATRIX, raised=LinAlgError
        ) from problem
    except IndexError as problem:
        raise _unfit(call, problem, IndexError) from problem
    except (ValueError, TypeError, OverflowError) as problem:
        if type(problem) is TypeError:  # a fault of the kernel, not one of NumPy's own classes
            raise
        raise _unfit(call, problem) from problem
    except MemoryError as problem:
        raise error(
            "memory_limit",
            f"{_named(call)}the result would take {call.nbytes} bytes, which are not to be had",
            "work on smaller tensors",
        ) from problem


_OTHER_MATRIX = "look at the matrix: is it what was meant? A multiple of eye added may help"


def _unfit(call: Call, problem: Exception, raised: type[Exception] | None = None) -> GradwireError:
    """What is said of operands that a kernel does not take."""
    shown = ", ".join(map(str, call.inputs))
    return error(
        "invalid_argument",
        f"{call.op.name}: {problem}; the operands are {shown}",
        "give operands of shapes, dtypes and values that the op takes",
        raised=raised,
    )


def _named(call: Call) -> str:
    """How an error begins: with the op's name, unless only other ops know it by that."""
    return f"{call.op.name}: " if call.op.name in CATALOGUE else ""


def _operand(arg: Any, state: State, flat: list[Any]) -> Any:
    """Put one operand among the flat ones; its spec, or what stands for a number."""
    if type(arg) is Tensor:
        flat.append(arg)
        return arg.spec
    if arg is None:
        flat.append(None)
        return None
    weak = state.weak.get(type(arg))
    if weak is not None:
        flat.append(arg)
        return weak
    if type(arg) in VALUE_TYPES:  # for the call alone: a transform's value applies ops itself
        flat.append(arg)
        return arg.spec
    made = Tensor.of(arg)  # a constant that a rule brings along
    flat.append(made)
    return made.spec


def _device(op: Primitive, flat: list[Any], state: State) -> str:
    device: str | None = None
    for item in flat:
        if type(item) in VALUE_TYPES and item.spec.device != device:
            if device is not None:
                raise error(
                    "unsupported_device",
                    f"{op.name}: the operands are on {device} and {item.spec.device}",
                    "move them to one device",
                )
            device = item.spec.device
    return device or state.device


def _whole(call: Call) -> bool:
    """Whether whole numbers come of what may require grad: refused, but for writes of them."""
    return call.unrecorded and not call.outputs[0].dtype.differentiable


def record(call: Call, flat: list[Any], state: State) -> tuple[Node | None, tuple[int, ...]]:
    """Make the node of a call if a gradient can flow; also which outputs it has to save."""
    constant = not call.op.differentiable or (not call.differentiable and call.outputs)
    if not state.grad or constant or (state.writing and _whole(call)):
        if state.grad and call.op.looks_back:
            _look_back(flat)
        return None, ()
    ruled = call.ruled
    edges: tuple[Edge | None, ...] = tuple(
        [
            item.edge if type(item) is Tensor and wanted else None
            for item, wanted in zip(flat, ruled, strict=True)
        ]
    )
    if call.op.itself is not None and any(map(_unknown_to_autograd, flat)):
        edges = _without_viewed(call.op.itself(*flat), flat, edges)
    needs = tuple([edge is not None for edge in edges])
    nowhere = True not in needs and not any(map(_leads_nowhere, flat, ruled))
    if nowhere or not call.outputs:  # unbind of an axis of size 0
        return None, ()
    unknown = all(map(_unknown_to_autograd, flat)) and not _with_number(call, flat)
    if unknown and not _copied(call, flat):
        return None, ()
    if call.unrecorded and not state.writing:
        raise unrecorded(call.op.name, call.outputs)
    recipe = call.recipe(needs)
    saved = tuple([flat[place] if place >= 0 else None for place in recipe.saved])
    versions = tuple([s.version if type(s) is Tensor else 0 for s in saved])
    for item in saved:
        if type(item) is Tensor and item.flags & INFERENCE and not item.flags & OWN:
            raise unsaved(call.op.name)
    node = Node(recipe, edges, saved, versions, next_seq())
    if unknown:
        node.annotate().label = "CopyBackwards"
    return node, tuple([~place for place in recipe.saved if place < 0])


def _leads_nowhere(operand: Any, wanted: bool) -> bool:
    """Whether it is a view made in no_grad that requires grad: it is recorded, but to no end."""
    return type(operand) is Tensor and wanted and operand.view is not None and operand.requires_grad


def _unknown_to_autograd(operand: Any) -> bool:
    """Whether nothing is recorded for its sake, whatever it says to require."""
    return type(operand) is not Tensor or bool(operand.flags & INFERENCE)


def _copied(call: Call, flat: list[Any]) -> bool:
    """Whether an inference tensor with a history is copied: torch writes that to a new tensor."""
    return call.op.name in ("clone", "to_dtype") and not flat[0].flags & OWN


def _without_viewed(
    itself: tuple[bool, ...], flat: list[Any], edges: tuple[Edge | None, ...]
) -> tuple[Edge | None, ...]:
    """The edges without those of inference tensors that are seen through views, which have none."""
    return tuple(
        edge if stays or not _unknown_to_autograd(item) else None
        for item, edge, stays in zip(flat, edges, itself, strict=True)
    )


def _with_number(call: Call, flat: list[Any]) -> bool:
    """Whether a number stands for a tensor, which autograd then knows."""
    return any(type(flat[place]) in local.state.weak for place in call.counted)


def _wrap(call: Call, flat: list[Any], result: Any, state: State) -> Any:
    arrays = (result,) if call.single else result
    node, kept = record(call, flat, state)
    outputs = []
    for index, (array, spec) in enumerate(zip(arrays, call.outputs, strict=True)):
        if call.op.data_dependent:  # its spec was an upper bound
            spec = spec.with_(shape=tuple(array.shape))
        outputs.append(Tensor(array, spec, _edge(call, node, index, spec)).marked())
    if state.inference:
        for output in outputs:
            output.flags |= INFERENCE
    if node is not None and kept:
        save_outputs(node, outputs)
    return outputs[0] if call.single else call.op.result(outputs)


def _edge(call: Call, node: Node | None, index: int, spec: Spec) -> Edge | None:
    if node is None or not spec.dtype.differentiable:
        return None
    return node if call.single else Output(node, index)


def save_outputs(node: Node, outputs: list[Tensor]) -> None:
    """Fill in the saved outputs: without their edge, so that a node never holds itself."""
    places = node.recipe.saved
    node.saved = tuple(
        [
            outputs[~place].alias(None) if place < 0 else saved
            for place, saved in zip(places, node.saved, strict=True)
        ]
    )
    node.versions = tuple(
        [
            saved.version if place < 0 else version
            for place, saved, version in zip(places, node.saved, node.versions or (), strict=True)
        ]
    )


def _wrap_views(call: Call, source: Tensor, result: Any, state: State) -> Any:
    node, _ = record(call, [source], state)
    old = source.view
    chain = () if old is None else old.chain
    base: Tensor | None = source if old is None or old.base is None else old.base
    if source.flags & INFERENCE:
        base = None  # of which autograd tracks no views
    version = source.storage.version
    depth = None if old is None or old.base is None else old.depth
    mode = creation(call, old, state)
    if len(chain) >= LONG_CHAIN and state.meter is not None:
        state.meter.charge(8 * len(chain) * len(call.outputs))
    views = []
    for index, array in enumerate((result,) if call.single else result):
        view = View((*chain, (call, index)), base, mode, version, depth)
        view.array, view.source = array, source.storage.array
        spec = call.outputs[index]
        made = Tensor.sharing(source.storage, spec, _edge(call, node, index, spec), view)
        made.flags |= source.flags & INFERENCE
        views.append(made.marked())
    return views[0] if call.single else call.op.result(views)


def creation(call: Call, old: View | None, state: State) -> str:
    """Under which restriction a view may be written in place: see inplace.py."""
    if old is not None and old.creation in ("several", "no_grad", "inference"):
        return old.creation
    if state.inference:
        return "inference"
    if not state.grad:
        return "no_grad"
    return "alone" if call.single else "several"


APPLY[Tensor] = apply
