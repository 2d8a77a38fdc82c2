"""Tensors, storages and views in a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire_engine.call import Call
from gradwire_engine.errors import GradwireError
from gradwire_engine.snapshot.edges import EDGES, alike, spec_at
from gradwire_engine.snapshot.fields import at, incompatible, listed, need, whole
from gradwire_engine.snapshot.parts import led
from gradwire_engine.spec import Spec
from gradwire_engine.tape import AccumulateGrad
from gradwire_engine.tensor import COUNTED, VIEW, WRITES, Storage, Tensor, View

if TYPE_CHECKING:
    from gradwire_engine.snapshot.reader import Reader
    from gradwire_engine.snapshot.writer import Row, Writer

_CREATIONS = ["alone", "several", "no_grad", "inference", "custom", "detached"]
_FLAGS = WRITES << 40
Chain = tuple[tuple[Call, int], ...]


def write(writer: Writer, tensor: Tensor, row: Row) -> None:
    row += [
        writer.calls.spec(tensor.spec),
        writer.storage(tensor),
        tensor.flags,
        writer.cell(tensor._edge),
        writer.cell(tensor.grad),
        writer.cell(tensor.view),
        writer.cell(tensor.frozen_edge),
    ]


def read(reader: Reader, tensor: Tensor, row: Row) -> None:
    _, spec, storage, flags, edge, grad, view, frozen = row
    tensor._array = None
    tensor.spec = reader.calls.spec(spec)
    tensor._storage = reader.cell(storage, Storage)
    tensor.flags = whole(flags, "flags of a tensor", 0, _FLAGS)
    tensor._edge = reader.optional(edge, *EDGES)
    tensor.grad = reader.optional(grad, Tensor)
    tensor.view = reader.optional(view, View)
    if frozen is not None:
        tensor.freeze_edge(reader.cell(frozen, AccumulateGrad))


def check(reader: Reader, tensor: Tensor) -> None:
    """Elements, flags, gradient and edge fit the spec."""
    spec, view = tensor.spec, tensor.view
    need((tensor.flags & VIEW > 0) is (view is not None), "a tensor's flags contradict its view")
    need(tensor.flags < WRITES or tensor.flags & COUNTED > 0, "a tensor's flags count nothing")
    need(reader.devices[tensor.storage] == spec.device, "a tensor's array is on another device")
    if view is not None:
        _check_view(view, spec, tensor.storage)
    _check_array(tensor)
    grad = None if tensor.grad is None else tensor.grad.spec
    need(alike(grad, spec), "a gradient has not the tensor's form")
    need(tensor.grad is not tensor, "a tensor is its own gradient")
    frozen = tensor.frozen_edge
    need(frozen is None or alike(spec_at(frozen), spec), "a frozen leaf has another form")
    if tensor._edge is not None:
        need(spec.dtype.differentiable, "a tensor without derivative has a place in the graph")
        fits = alike(spec_at(tensor._edge), spec)
        need(fits, "a tensor's place in the graph has another form")


def _check_array(tensor: Tensor) -> None:
    try:
        array = tensor.array
    except GradwireError as problem:
        raise incompatible(f"a view can't be taken: {problem.detail}") from problem
    except Exception as problem:  # a kernel sees what no op let pass
        raise incompatible("a view can't be taken of its storage") from problem
    fits = tuple(array.shape) == tensor.shape and array.dtype == tensor.dtype.numpy
    need(fits, f"a tensor is said to be {tensor.spec}, and its array is not")


def _check_view(view: View, spec: Spec, storage: Storage) -> None:
    array = storage.array
    first = view.chain[0][0].inputs[0] if view.chain else spec
    fits = first.shape == tuple(array.shape) and first.dtype.numpy == array.dtype
    need(fits and first.device == spec.device, "a view begins at another array")
    need(led(view.chain, first) == spec, "a view leads to another form")
    base = view.base
    if base is None:
        return
    flat = base.view is None or base.view.base is None
    need(flat, "the base of a view is a view of a base")
    need(base._storage is storage, "a view and its base have two storages")
    need(view.depth <= len(view.chain), "a view has less steps than its base")


def write_storage(writer: Writer, storage: Storage, row: Row) -> None:
    row += [writer.array_of(storage), storage.version]


def read_storage(reader: Reader, storage: Storage, row: Row) -> None:
    storage.array, reader.devices[storage] = reader.arrays.array(row[1])
    storage.version = whole(row[2], "a version")
    storage.made_in = storage.kept_in = None
    storage.newest = 0


def write_view(writer: Writer, view: View, row: Row) -> None:
    row += [
        _chain(writer, view.chain),
        writer.cell(view.base),
        view.depth,
        _chain(writer, view.back),
        _CREATIONS.index(view.creation),
        view.version,
    ]


def read_view(reader: Reader, view: View, row: Row) -> None:
    _, chain, base, depth, back, creation, version = row
    view.chain, view.back = _read_chain(reader, chain), _read_chain(reader, back)
    view.base = reader.optional(base, Tensor)
    view.depth = whole(depth, "the depth of a view", 0, len(view.chain) + 1)
    view.creation = at(_CREATIONS, creation, "how a view was made")
    view.version = whole(version, "a version")
    view.array = view.source = None


def _chain(writer: Writer, chain: Chain) -> list[int]:
    return [number for call, index in chain for number in (writer.calls.call(call), index)]


def _read_chain(reader: Reader, row: Any) -> Chain:
    numbers = listed(row, "the steps of a view")
    need(len(numbers) % 2 == 0, "a step of a view has no output")
    found = []
    for number, index in zip(numbers[::2], numbers[1::2], strict=True):
        call = reader.calls.call(number)
        views = call.op.view and len(call.inputs) == 1 and type(call.inputs[0]) is Spec
        need(views, f"{call.op.name} is no view")
        found.append((call, whole(index, "an output of a view", 0, len(call.outputs))))
    return tuple(found)
