"""A program as data: a list of steps, each one call with its operands, modes and results' names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ref:
    """A tensor or hook handle of the program, by the name that the step making it gave it."""

    name: str


@dataclass(frozen=True, slots=True)
class Fresh:
    """A clone of a tensor, made for one use: nothing of the program shares memory with it."""

    name: str
    detached: bool = True


@dataclass(frozen=True, slots=True)
class Given:
    """A new tensor made of nested lists, for one use: an index, a mask, a batch of cotangents."""

    values: Any
    dtype: str


@dataclass(frozen=True, slots=True)
class Edge:
    """The gradient edge of a tensor, in the tensor's place: where walks begin or end."""

    name: str


@dataclass(frozen=True, slots=True)
class Dtype:
    """A dtype, by its name in both libraries."""

    name: str


@dataclass(frozen=True, slots=True)
class Hook:
    """A function of a gradient, by its name in HOOKS."""

    name: str


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a program.

    kind: what it counts as. form: how it is called, see run.FORMS. out: names for what it makes.
    modes: grad modes in force around it, the outermost first.
    """

    kind: str
    form: str
    name: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()
    out: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()


Program = tuple[Step, ...]


def _halve(leaf: Any) -> None:
    leaf.grad.mul_(0.5)


def _take(leaf: Any) -> None:
    leaf.grad = None


def _look(leaf: Any) -> None:
    leaf.grad.sum()


def _doubled(gradients: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(None if g is None else g * 2 for g in gradients)


HOOKS: dict[str, tuple[str, Callable[..., Any]]] = {
    "double": ("lambda g: g * 2", lambda g: g * 2),
    "keep": ("lambda g: None", lambda g: None),
    "tanh": ("lambda g: g.tanh()", lambda g: g.tanh()),
    "wider": ("lambda g: g.sum().expand(g.shape)", lambda g: g.sum().expand(g.shape)),
    "halve the gradient": ("lambda x: (x.grad.mul_(0.5), None)[1]", _halve),
    "minus": ("lambda g: -g", lambda g: -g),
    "take the gradient": ("lambda x: setattr(x, 'grad', None)", _take),
    "look at the gradient": ("lambda x: (x.grad.sum(), None)[1]", _look),
    "double all": ("lambda gs: tuple(None if g is None else g * 2 for g in gs)", _doubled),
    "keep both": ("lambda inputs, outputs: None", lambda inputs, outputs: None),
    "double all of both": (
        "lambda inputs, outputs: tuple(None if g is None else g * 2 for g in inputs)",
        lambda inputs, outputs: _doubled(inputs),
    ),
    "other dtype": ("lambda g: g.to(torch.int64)", lambda g: g.long()),
    "no tensor": ("lambda g: 2", lambda g: 2),
    "raises": ("lambda g: {}['g']", lambda g: {}["g"]),
    "misshapen": ("lambda g: g.unsqueeze(0)", lambda g: g.unsqueeze(0)),
}
"""What hooks do, as text for reports and as a function."""

WALKS = ("backward", "grad", "backward of several", "grad of several", "grad of a batch")
"""Kinds of steps that walk the graph: a program ends at the first of them that fails."""


def references(step: Step) -> Iterator[str]:
    """The names that a step reads."""
    for value in operands(step):
        if isinstance(value, Ref | Fresh | Edge):
            yield value.name


def operands(step: Step) -> Iterator[Any]:
    """All that a step is called with, those that stand in lists each by itself."""
    yield from _each((*step.args, *(value for _, value in step.kwargs)))


def _each(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = (*value.values(),)
    if not isinstance(value, tuple | list):
        yield value
        return
    for item in value:
        yield from _each(item)


def replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """A value with each item of it, at any depth, changed by a function."""
    if isinstance(value, dict):
        return {name: replaced(item, change) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)([replaced(item, change) for item in value])
    if isinstance(value, slice):
        return slice(*(change(v) for v in (value.start, value.stop, value.step)))
    return change(value)
