"""The functions of torch's namespaces, made from the catalogue when they are first asked for."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from string import ascii_letters, ascii_lowercase, ascii_uppercase
from typing import Any

from gradwire.bound import of_one, of_two
from gradwire.dispatch import call, call_inplace
from gradwire.into import written
from gradwire.tensor import Tensor
from gradwire_engine.catalogue import ALIASES, CATALOGUE, find, inplace_twin
from gradwire_engine.errors import error
from gradwire_engine.op import Op

Function = Callable[..., Any]


@cache
def function(name: str) -> Function | None:
    """The function for an op's name, an alias, or an in-place form; None if there is none."""
    twin = inplace_twin(name)
    op = twin or find(name)
    if op is None:
        return None
    made = _inplace(name, op) if twin else _OWN.get(op.name, _apply)(op)
    place, _, made.__name__ = name.rpartition(".")
    made.__qualname__ = made.__name__
    made.__module__ = f"gradwire.{place}" if place else "gradwire"  # where pickle finds it
    made.__doc__ = documentation(op)
    return made


def catalogued(name: str) -> Function:
    """The function for a name that is known to be in the catalogue."""
    found = function(name)
    if found is None:
        raise LookupError(f"{name} is not in the catalogue")
    return found


op: Callable[[str], Callable[..., Tensor]] = catalogued
"""The function for the name of an op in the catalogue that gives one tensor."""


def documentation(op: Op) -> str:
    """An op's sentence, signatures and example, for help()."""
    from gradwire_engine.examples import example  # with what reads their file

    shown = [f"{op.name}{s}" for s in op.signatures]
    said = example(op.name)
    if said is not None:
        shown += ["", *said.split("; ")]
    return f"{op.doc}\n\n" + "\n".join(shown)


def _apply(op: Op) -> Function:
    most = max(len(signature.parameters) for signature in op.signatures)
    name, layer = op.name.rpartition(".")[2], op.name.startswith("nn.functional.")
    flagged = op.inplace and layer
    one, two = of_one(op), of_two(op)
    made = all("dtype" in s.by_name and not s.operand_places for s in op.signatures)

    def apply(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) <= most:
            if args and isinstance(args[0], Tensor):
                if len(args) == 1:
                    return one(args[0])
                if len(args) == 2:
                    return two(*args)
            return call(op, args, kwargs)
        if flagged and len(args) == most + 1 and type(args[-1]) is bool:  # torch's last parameter
            *args, kwargs["inplace"] = args  # type: ignore[assignment]
        if kwargs.pop("inplace", False):
            return call_inplace(f"{op.name}_", op, args, kwargs)
        if not layer and kwargs.get("out") is not None:
            out = kwargs.pop("out")
            if made and isinstance(out, Tensor):
                kwargs.setdefault("dtype", out.dtype)
            return written(name, out, lambda: call(op, args, kwargs), (*args, *kwargs.values()))
        return call(op, args, kwargs)

    return apply


def _compared(op: Op) -> Function:
    def apply(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        if input.shape != target.shape:
            warnings.warn(
                f"Using a target size ({target.shape}) that is different to the input size "
                f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
                "Please ensure they have the same size.",
                stacklevel=2,
            )
        return call(op, (input, target, *args), kwargs)

    return apply


def _of_an_axis(op: Op) -> Function:
    name = op.name.rpartition(".")[2]
    short = find(name) or op  # without a guess, and so without a composite around it
    guessing = _apply(op)

    def apply(input: Any, dim: int | None = None, *args: Any, **kwargs: Any) -> Any:
        if dim is None:
            warnings.warn(
                f"Implicit dimension choice for {name} has been deprecated. "
                "Change the call to include dim=X as an argument.",
                stacklevel=2,
            )
        elif not args and "_stacklevel" not in kwargs:
            return call(short, (input, dim), kwargs)
        return guessing(input, dim, *args, **kwargs)

    return apply


def _of_a_tensor(op: Op) -> Function:
    """torch.split, whose first parameter has a name of its own."""

    def apply(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
        return call(op, (tensor, split_size_or_sections, dim), {})

    return apply


def _by_numbers(op: Op) -> Function:
    """torch.einsum, of which an equation may also be lists of numbers behind the operands."""

    def apply(equation: Any, *operands: Any, **kwargs: Any) -> Any:
        if kwargs or isinstance(equation, str):
            return call(op, (equation, *operands), kwargs)
        given = (equation, *operands)
        terms = ["".join(map(_letter, numbers)) for numbers in given[1::2]]
        written = ",".join(terms)
        if len(given) % 2:
            written += "->" + "".join(map(_letter, given[-1]))
        return call(op, (written, *given[: 2 * len(terms) : 2]), {})

    return apply


def _letter(number: Any) -> str:
    if number is Ellipsis:
        return "..."
    if not 0 <= number < len(ascii_letters):
        raise error(
            "invalid_argument",
            f"einsum(): subscript {number} in subscript list is not within the valid range [0, 52)",
            "give each axis a number from 0 to 51",
            raised=ValueError,
        )
    return (ascii_uppercase + ascii_lowercase)[number]


_OWN: dict[str, Callable[[Op], Function]] = {
    f"nn.functional.{name}": made
    for names, made in (
        ("softmax log_softmax softmin", _of_an_axis),
        ("mse_loss l1_loss smooth_l1_loss huber_loss", _compared),
    )
    for name in names.split()
}
_OWN |= {"split": _of_a_tensor, "einsum": _by_numbers}
"""What torch warns of: an axis that is not named, and operands compared that are broadcast.

And functions that it calls otherwise than the op behind them.
"""


def _inplace(name: str, op: Op) -> Function:
    def apply(*args: Any, **kwargs: Any) -> Any:
        return call_inplace(name, op, args, kwargs)

    return apply


Lookup = Callable[[str], Function]
Names = Callable[[], list[str]]


def serving(module: str, *prefixes: str) -> tuple[Lookup, Names]:
    """`__getattr__` and `__dir__` of a module that shows the ops with these prefixes.

    A name is looked for under each prefix in turn; "" stands for the top level.
    """

    def lookup(name: str) -> Function:
        if not name.startswith("__"):
            for prefix in prefixes:
                found = function(prefix + name)
                if found is not None:
                    vars(sys.modules[module])[name] = found  # the next time it is there
                    return found
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    def names() -> list[str]:
        every = _below(prefixes[0], (*CATALOGUE, *ALIASES))
        return sorted(every)

    return lookup, names


def _below(prefix: str, names: Iterable[str]) -> set[str]:
    """The names with this prefix, without it; private ones and those further down left out."""
    rest = {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
    return {name for name in rest if "." not in name and not name.startswith("_")}


__all__ = ["catalogued", "documentation", "function", "serving"]
