"""Random programs: views, in-place writes, modes and gradients in an order nobody thought of.

A program is a list of moves that name tensors by their place in a list; the same moves are made on
torch and on gradwire. A move that torch refuses must be refused with the same class.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from tests.parity.observe import kind_of, noted

Tensors = list[Any]


class Move(NamedTuple):
    """One line of a program: what to do, to which tensors, with which numbers, in which mode."""

    what: str
    places: tuple[int, ...]
    numbers: tuple[int, ...]
    mode: str | None


UNARY = "sin exp tanh neg abs sigmoid square clone contiguous detach relu".split()  # noqa: SIM905
BINARY = "add mul sub maximum div".split()  # noqa: SIM905
IN_PLACE = "sin_ mul_ add_ zero_ copy_ neg_ tanh_ clamp_ set_item".split()  # noqa: SIM905
VIEWS: dict[str, Callable[..., Any]] = {
    "row": lambda x, i, j: x[i % 3],
    "last": lambda x, i, j: x[..., -1],
    "slice": lambda x, i, j: x[i % 2 : 2 + j % 2],
    "step": lambda x, i, j: x[::2],
    "flat": lambda x, i, j: x.view(-1),
    "reshape": lambda x, i, j: x.reshape(-1, 2),
    "turn": lambda x, i, j: x.transpose(0, -1),
    "axis": lambda x, i, j: x.unsqueeze(i % 3),
    "narrow": lambda x, i, j: x.narrow(0, i % 2, 1 + j % 2),
    "expand": lambda x, i, j: x.expand(2, *x.shape),
    "diagonal": lambda x, i, j: x.diagonal(),
    "split": lambda x, i, j: x.split(2)[i % 2],
    "unbind": lambda x, i, j: x.unbind(0)[j % 2],
    "picked": lambda x, i, j: x[[i % 3, 0]],
    "sum": lambda x, i, j: x.sum(i % 2),
    "all": lambda x, i, j: x.sum(),
    "softmax": lambda x, i, j: x.softmax(-1),
    "square": lambda x, i, j: x @ x.T,
}
WALKS = ("backward", "grad", "second", "clear", "retain")


def program(rng: np.random.Generator, length: int = 14) -> list[Move]:
    """A random program.

    Views are taken with grad mode on: of those made in no_grad torch itself says that they are
    ambiguous.
    """
    kinds = [UNARY, BINARY, IN_PLACE, list(VIEWS), list(WALKS)]
    moves = []
    for _ in range(length):
        what = str(rng.choice(kinds[rng.choice(5, p=[0.15, 0.2, 0.25, 0.25, 0.15])]))
        silent = rng.random() < 0.2 and what not in VIEWS and what != "contiguous"
        places = tuple(int(p) for p in rng.integers(0, 1000, 2))
        numbers = tuple(int(n) for n in rng.integers(0, 12, 2))
        moves.append(Move(what, places, numbers, "no_grad" if silent else None))
    return moves


STARTS = ((3, 2), (2,), (3, 2))
"""Shapes of the tensors that a program begins with: the first two record."""


def start(torch: Any) -> Tensors:
    """What every program begins with: two leaves that record and one that doesn't."""
    rng = np.random.default_rng(5)
    return [
        torch.tensor(rng.uniform(0.5, 1.5, shape), requires_grad=i < 2)
        for i, shape in enumerate(STARTS)
    ]


def step(torch: Any, tensors: Tensors, move: Move) -> tuple[str, Any]:
    """Make a move: what came of it, as a note that can be compared."""
    mode = getattr(torch, move.mode)() if move.mode else nullcontext()
    try:
        with mode:
            made = _made(torch, tensors, move)
    except Exception as problem:
        return "raised", kind_of(problem)
    if hasattr(made, "is_leaf") and move.what not in WALKS:
        tensors.append(made)
        made = (tuple(made.shape), made.requires_grad, made.is_leaf, made._version)
    return "made", made


def _made(torch: Any, tensors: Tensors, move: Move) -> Any:
    x, y = (tensors[p % len(tensors)] for p in move.places)
    i, j = move.numbers
    if move.what in WALKS:
        return _walk(torch, x, y, move)
    if move.what in VIEWS:
        return VIEWS[move.what](x, i, j)
    if move.what in BINARY:
        return getattr(torch, move.what)(x, y if i else 0.5)
    if move.what in UNARY:
        return getattr(x, move.what)()
    return _written(x, y, move)


def _written(x: Any, y: Any, move: Move) -> Any:
    i, j = move.numbers
    if move.what == "set_item":
        x[i % 2] = y if j % 2 else 1.5
        return x
    takes = {"mul_": (y if i else 0.5,), "add_": (y,), "copy_": (y,)}
    return getattr(x, move.what)(*takes.get(move.what, (-1, 1) if move.what == "clamp_" else ()))


def _walk(torch: Any, x: Any, y: Any, move: Move) -> Any:
    keep = move.numbers[0] % 2 == 0
    if move.what == "backward":
        x.sum().backward(retain_graph=keep)
    elif move.what == "grad":
        return _seen(torch.autograd.grad(x.sum(), y, retain_graph=keep, allow_unused=True)[0])
    elif move.what == "second":
        return _seen(torch.autograd.grad(x.square().sum(), y, create_graph=True)[0])
    elif move.what == "clear":
        x.grad = None
    else:
        x.retain_grad()
    return None


def _seen(gradient: Any) -> Any:
    """A gradient without what is the library's own affair: its node, its version, its layout."""
    if gradient is None:
        return None
    return gradient.requires_grad, gradient.dtype.itemsize, gradient.detach().tolist()


def shown(tensors: Tensors) -> list[Any]:
    """Every tensor, with value, flags, gradient and node."""
    return [noted(x) for x in tensors]
