"""How results lie in memory: each op on operands in several orders, here and in torch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import count
from typing import Any

import numpy as np
import torch
from tests.engine.samples import samples_of

from gradwire_engine.catalogue import CATALOGUE, resolve
from gradwire_engine.errors import GradwireError
from gradwire_engine.op import Primitive
from gradwire_engine.signature import REQUIRED
from gradwire_engine.spec import FLOAT, DType, Spec, dtype_of
from gradwire_engine.tensor import Tensor

Call = tuple[tuple[Any, ...], dict[str, Any]]


def _turned(a: np.ndarray) -> np.ndarray:
    return a.copy(order="F")


def _first_inside(a: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 0, -1)), -1, 0)


def _channels_inside(a: np.ndarray) -> np.ndarray:
    if a.ndim < 3:
        return _turned(a)
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)


def _apart(a: np.ndarray) -> np.ndarray:
    """Every second element of a larger array."""
    whole = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    seen = whole[tuple(slice(None, None, 2) for _ in a.shape)]
    seen[...] = a
    return seen


def _repeated(a: np.ndarray) -> np.ndarray:
    """Rows that are all the first."""
    return np.broadcast_to(a[:1], a.shape) if a.shape[0] else a


def _turned_repeated(a: np.ndarray) -> np.ndarray:
    return np.broadcast_to(_turned(a)[:, :1], a.shape)


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": np.ascontiguousarray,
    "turned": _turned,
    "first inside": _first_inside,
    "channels inside": _channels_inside,
    "apart": _apart,
    "turned, apart": lambda a: _apart(np.ascontiguousarray(a.T)).T,
    "repeated": _repeated,
    "turned, repeated": _turned_repeated,
}
MIXES = (
    *((name,) for name in LAYOUTS),
    ("rows", "turned"),
    ("turned", "rows"),
    ("channels inside", "rows"),
    ("rows", "first inside"),
    ("repeated", "turned"),
    ("turned, apart", "rows"),
    ("rows", "rows", "turned"),
    ("turned", "rows", "turned"),
)
"""How an op's operands lie, one after the other; the last one stands for all that follow."""

SHAPES = ((2, 3, 4), (3, 4), (2, 3, 2, 3), (2, 1, 4))


def calls_of(name: str) -> list[Call]:
    """The samples of an op; of elementwise ones also operands that have one shape, or broadcast."""
    rng = np.random.default_rng(5)
    found = list(samples_of(name))
    for overload in CATALOGUE[name].overloads:
        parameters = overload.signature.parameters
        others = [p for p in parameters if p.kind != "tensor" and p.default is REQUIRED]
        if isinstance(overload, Primitive) and overload.takes and not others:
            wanted = [p.name for p in parameters if p.kind == "tensor"]
            for lead in SHAPES:
                shapes = (lead, *[SHAPES[0]] * (len(wanted) - 1))
                for each in (shapes, [lead] * len(wanted)):
                    drawn = [_drawn(overload, n, s, rng) for n, s in zip(wanted, each, strict=True)]
                    found.append((tuple(drawn), {}))
    return found


def _drawn(
    overload: Primitive, operand: str, shape: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    if operand in ("condition", "mask"):
        return rng.random(shape) > 0.5
    if FLOAT not in overload.takes:
        return rng.integers(0, 7, shape)
    return rng.uniform(*overload.domain, shape).astype(rng.choice(["float32", "float64"]))


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    """The arrays among arguments."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from arrays_in(item)
    elif isinstance(value, dict):
        yield from arrays_in(list(value.values()))


def mapped(value: Any, change: Callable[[np.ndarray], Any]) -> Any:
    """Arguments with each array among them changed."""
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, list | tuple) and not isinstance(value, Spec):
        return type(value)(mapped(item, change) for item in value)
    if isinstance(value, dict):
        return {name: mapped(item, change) for name, item in value.items()}
    return getattr(torch, value.name) if change is _theirs and type(value) is DType else value


def laid_out(call: Call, mix: tuple[str, ...]) -> Call | None:
    """The call with its operands in these orders; None where that says nothing new."""
    arrays = list(arrays_in(call))
    if len(mix) > max(1, len(arrays)):
        return None
    number = count()

    def lay(a: np.ndarray) -> np.ndarray:
        name = mix[min(next(number), len(mix) - 1)]
        return LAYOUTS[name](a) if a.ndim > 1 else a

    found = mapped(call[0], lay), mapped(call[1], lay)
    rows = all(a.flags.c_contiguous for a in arrays_in(found))
    return None if rows and mix != ("rows",) else found


def in_torch(name: str) -> Callable[..., Any] | None:
    """Torch's function, or method, of a name in our catalogue."""
    try:
        return reduce(getattr, name.split("."), torch)  # type: ignore[arg-type, return-value]
    except AttributeError:
        found = getattr(torch.Tensor, name, None)
    if found is None:
        return operator.getitem if name == "__getitem__" else None
    if callable(found):
        return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)
    return lambda x: getattr(x, name)


def _theirs(a: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(a)


def _ours(a: np.ndarray) -> Tensor:
    return Tensor.of(a)


def _mirrored(a: np.ndarray) -> Tensor:
    one = np.empty((), a.dtype)
    seen = np.lib.stride_tricks.as_strided(one, a.shape, a.strides, writeable=False)
    return Tensor(seen, Spec(a.shape, dtype_of(a.dtype), "meta"), None).marked()


def results(value: Any) -> list[Any]:
    """The tensors among what an op gave."""
    if isinstance(value, torch.Tensor | Tensor):
        return [value]
    return [x for item in value for x in results(item)] if isinstance(value, list | tuple) else []


def steps(x: Any) -> list[int]:
    """The strides, in elements, of axes that have steps; of no elements none."""
    if 0 in x.shape:
        return []
    if isinstance(x, torch.Tensor):
        strides = x.stride()
    else:
        strides = tuple(s // x.array.itemsize for s in x.array.strides)
    return [s for n, s in zip(x.shape, strides, strict=True) if n > 1]


def compared(name: str, call: Call) -> list[str]:
    """Where results of a call lie otherwise than torch's, or than those of the mirror."""
    function = in_torch(name)
    assert function is not None
    try:
        torch.manual_seed(0)
        wanted = results(function(*mapped(call[0], _theirs), **mapped(call[1], _theirs)))
        found = results(resolve(name)(*mapped(call[0], _ours), **mapped(call[1], _ours)))
    except (RuntimeError, TypeError, ValueError, IndexError, GradwireError):
        return []  # repeated rows make singular matrices, and the like
    said = [] if len(wanted) == len(found) else ["another number of results"]
    for x, y in zip(wanted, found, strict=False):
        if tuple(x.shape) == tuple(y.shape) and steps(x) != steps(y):
            said.append(f"torch: {steps(x)}, here: {steps(y)}")
    try:
        mirror = results(resolve(name)(*mapped(call[0], _mirrored), **mapped(call[1], _mirrored)))
    except GradwireError:
        return said  # its shape depends on elements
    pairs = zip(found, mirror, strict=True)
    return said + [f"{steps(y)} mirrored as {steps(z)}" for y, z in pairs if steps(y) != steps(z)]


def differences(name: str) -> list[str]:
    """The same over all calls and orders of operands."""
    found = []
    for call in calls_of(name):
        for mix in MIXES:
            laid = laid_out(call, mix)
            if laid is not None:
                shapes = [a.shape for a in arrays_in(laid)]
                found += [f"{', '.join(mix)} {shapes}: {d}" for d in compared(name, laid)]
    return found
