"""Tensor methods, operators, in-place twins and properties, put on from the catalogue."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradwire import autograd
from gradwire.autograd import hooks
from gradwire.bound import of_one, of_two
from gradwire.composed import METHODS as COMPOSED
from gradwire.creation import as_tensor
from gradwire.dispatch import call, call_inplace, is_written_down
from gradwire.functions import Function
from gradwire.indices import prepared
from gradwire.more import METHODS
from gradwire.options import Options
from gradwire.size import device
from gradwire.tensor import Tensor
from gradwire_engine.catalogue import ALIASES, ATTRIBUTES, CATALOGUE, find, resolve
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.op import Op
from gradwire_engine.setitem import put_at_once
from gradwire_engine.tensor import Tensor as Value


def install() -> None:
    """Give Tensor what the catalogue has, but for what its own class body says.

    An op is a method by the last part of its name, too, where no other has that: x.relu(), x.det().
    All are put on at once: a `__getattr__` that finds some costs each attribute's access 30 ns.
    """
    own = {name for kind in Tensor.__mro__[:-1] for name in vars(kind)} | {"__setitem__"}
    for name in dict.fromkeys(name.rpartition(".")[2] for name in (*CATALOGUE, *ALIASES)):
        op = find(name)
        if op is not None and _takes_a_tensor(op) and name not in own:
            _install(name, op)
    for name in ATTRIBUTES:
        setattr(Tensor, name, _property(resolve(name)))
    for name, method in WRITTEN.items():
        setattr(Tensor, name, method)
    hooks.install()


def _takes_a_tensor(op: Op) -> bool:
    """Whether the tensor can stand in the place of the first argument, or of `input`."""
    parameters = op.signatures[0].parameters
    return bool(parameters) and parameters[place_of_self(op)].kind == "tensor"


def place_of_self(op: Op) -> int:
    """Which argument of an op the tensor is whose method it is."""
    return op.signatures[0].by_name.get("input", 0)


def _install(name: str, op: Op) -> None:
    if not name.startswith("__"):
        twin = name if name.endswith("_") else f"{name}_"
        if op.inplace:
            setattr(Tensor, twin, _named(_inplace_method(twin, op), twin, op))
        if twin != name:
            setattr(Tensor, name, _named(_method(op), name, op))
        return
    setattr(Tensor, name, _named(_operator(op, reflected=name.startswith("__r")), name, op))
    if op.inplace and not name.startswith("__r"):
        twin = _named(_operator_inplace(f"{op.name}_", op), f"__i{name[2:]}", op)
        setattr(Tensor, f"__i{name[2:]}", twin)


def _named(function: Any, name: str, op: Op) -> Any:
    function.__name__ = name
    function.__qualname__ = f"Tensor.{name}"
    function.__module__ = __name__
    function.__doc__ = op.doc
    return function


def _method(op: Op) -> Function:
    place = place_of_self(op)
    one, two = of_one(op), of_two(op)
    if not place:

        def leading(self: Tensor, *args: Any, **kwargs: Any) -> Any:
            if not kwargs:
                if not args:
                    return one(self)
                if len(args) == 1:
                    return two(self, args[0])
            return call(op, (self, *args), kwargs)

        return leading

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return call(op, (*args[:place], self, *args[place:]), kwargs)

    return method


def _inplace_method(name: str, op: Op) -> Function:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return call_inplace(name, op, (self, *args), kwargs)

    return method


def _operator(op: Op, *, reflected: bool = False) -> Function:
    """The operator; reflected, it also takes a number first, where it is called by its name."""

    def operator(self: Tensor, other: Any) -> Any:
        try:
            return call(op, (self, other), {})
        except GradwireError as problem:
            if not isinstance(problem, TypeError):
                raise
            if op.name == "eq" and isinstance(other, np.ndarray):
                return call(op, (self, as_tensor(other)), {})
            return NotImplemented

    alone = all(len(s.operand_places) == 1 for s in op.signatures)
    if alone:
        return of_one(op)
    two = of_two(op, operator)
    if not reflected:
        return two
    return lambda self, other: (two if isinstance(self, Tensor) else operator)(self, other)


def _divide(self: Tensor, other: Any) -> Any:
    """A number or an array divided by the tensor."""
    if isinstance(other, np.ndarray):
        return self.reciprocal() * other
    return _operator(resolve("__rtruediv__"))(self, other)


def _invert(self: Tensor) -> Any:
    """Every bit turned; of numbers that are no integers a TypeError, as of Python's own."""
    if self.is_floating_point() or self.is_complex():
        raise error(
            "dtype_mismatch",
            f"~: only of tensors of integers and bools, got {self.dtype.name}",
            "convert it with bool() or int(), or write -x or 1 - x where that is meant",
            raised=TypeError,
        )
    return _operator(resolve("__invert__"))(self)


def _array_wrap(
    self: Tensor, array: Any, context: Any = None, return_scalar: bool = False
) -> Tensor:
    """What NumPy made of the tensor, as one; bools as bytes, as in torch."""
    return as_tensor(array.astype("uint8") if array.dtype == bool else array)


def _operator_inplace(name: str, op: Op) -> Function:
    def operator(self: Tensor, other: Any) -> Any:
        return call_inplace(name, op, (self, other), {})

    return operator


def _property(op: Op) -> property:
    return property(lambda self: call(op, (self,), {}), doc=op.doc)


def _get_item(self: Tensor, index: Any) -> Tensor:
    """Index with ints, slices, None, Ellipsis, lists and tensors of ints or bools."""
    found: Tensor = call(resolve("__getitem__"), (self, prepared(self.session, index)), {})
    return found


def _set_item(self: Tensor, index: Any, value: Any) -> None:
    """Write to the part of the tensor that the index shows."""
    session = self.session
    if session.takes_calls and not is_written_down():
        other = isinstance(value, Tensor)
        target, given = self._meta, value._meta if other else value
        fits = type(target) is Value and (not other or value.session is session)
        if fits:
            with session._lock:  # of two threads one after the other
                if put_at_once(target, index, given):
                    return
    where = prepared(self.session, index)
    call_inplace("__setitem__", resolve("__setitem__"), (self, where, value), {})


def _backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of this tensor into the leaves' `.grad`."""
    autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def _to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Convert to a dtype, or to that of a tensor; a device must be the session's own."""
    place = kwargs.pop("device", None)
    if args and isinstance(args[0], str | device):
        place, *args = args  # type: ignore[assignment]
    Options(device=place).check(self.session.device)
    if args and isinstance(args[0], Tensor):  # by name: a word in this place is a device
        kwargs["other"], *args = args  # type: ignore[assignment]
        kwargs |= dict(zip(("non_blocking", "copy"), args, strict=False))
        found: Tensor = call(resolve("to"), (self,), kwargs)
        return found
    if not args and "dtype" not in kwargs:
        args = (self.dtype,)
    found = call(resolve("to"), (self, *args), kwargs)
    return found


def _split(self: Tensor, split_size: Any, dim: int = 0) -> Any:
    """Cut an axis into pieces of one size, or of the sizes in a list."""
    return call(resolve("split"), (self, split_size, dim), {})


def _cuda(self: Tensor, device: Any = None) -> Tensor:
    """The tensor itself, where the session is on that GPU; else refused, saying so."""
    place = "cuda" if device is None else device
    return _to(self, f"cuda:{place}" if isinstance(place, int) else place)


def _cpu(self: Tensor) -> Tensor:
    """The tensor itself, where the session is on the CPU."""
    return _to(self, "cpu")


WRITTEN: dict[str, Function] = {
    "__array_wrap__": _array_wrap,
    "__invert__": _invert,
    "__rtruediv__": _divide,
    "__getitem__": _get_item,
    "__setitem__": _set_item,
    "backward": _backward,
    "cpu": _cpu,
    "cuda": _cuda,
    "to": _to,
    "split": _split,
    **METHODS,
    **COMPOSED,
    **hooks.METHODS,
}
"""Methods that aren't an op alone."""

__all__ = ["install", "place_of_self"]
