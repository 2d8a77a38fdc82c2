"""The class that shows a tensor's methods, operators and properties to editors and checkers."""

from __future__ import annotations

import builtins
import re
from types import FunctionType
from typing import Any

from docs.generate.stubs.calls import Argument, Way, definition, ways
from docs.generate.stubs.python import written_in_python

from gradwire.methods import WRITTEN, place_of_self
from gradwire.tensor import Tensor
from gradwire_engine.catalogue import ATTRIBUTES, find, inplace_twin, resolve
from gradwire_engine.op import Op

_SELF = Argument("self", "")
_INDENT = "    "


def methods() -> str:
    """The text of the class; a builtin that a method hides is written with its module."""
    shown = {**_written(), **_properties(), **_of_ops()}
    text = "\n\n".join(shown[name] for name in sorted(shown))
    hidden = "|".join(n for n in shown if isinstance(getattr(builtins, n, None), type))
    whole = re.sub(rf"(: |\| |\[|-> )({hidden})\b(?=[,) |=:\]])", r"\1builtins.\2", text)
    return f"class Methods:\n{whole}"


def _written() -> dict[str, str]:
    return {
        name: written_in_python(name, method, _INDENT)
        for name, method in WRITTEN.items()
        if not _is_operator(name)
    }


def _properties() -> dict[str, str]:
    way = Way([_SELF], "Tensor")
    return {
        name: f"{_INDENT}@property\n{definition(name, [way], resolve(name).doc, _INDENT)}"
        for name in ATTRIBUTES
    }


def _of_ops() -> dict[str, str]:
    found = {}
    for name in _installed():
        op, found_ways = _called(name)
        text = definition(name, found_ways, op.doc, _INDENT)
        if name in ("__eq__", "__ne__"):  # not object's, as in NumPy
            text = text.replace(":\n", ":  # type: ignore[override]\n", 1)
        found[name] = text
    return found


def _installed() -> set[str]:
    """The methods and operators that `methods.install` has made."""
    made = {name for name, method in vars(Tensor).items() if _is_made(method)}
    return made - WRITTEN.keys() | set(filter(_is_operator, WRITTEN))


def _is_operator(name: str) -> bool:
    """Whether it is an op's, also where Python's part of it is written by hand: `1 / x`."""
    return name.startswith("__") and name[2:-2] not in ("getitem", "setitem") and bool(find(name))


def _is_made(value: Any) -> bool:
    return isinstance(value, FunctionType) and value.__module__ == "gradwire.methods"


def _called(name: str) -> tuple[Op, list[Way]]:
    """The op of a method, and the ways to call it."""
    if name.startswith("__"):
        return _operator(name)
    twin = inplace_twin(name)
    op = twin or resolve(name)
    place = 0 if twin else place_of_self(op)
    found = [_of_self(way, place) for way in ways(op, name) if _fits(way, place)]
    return op, [_writing(found[0])] if twin else found


def _operator(name: str) -> tuple[Op, list[Way]]:
    inplace = name.startswith("__i") and find(name) is None
    op = resolve(f"__{name[3:]}") if inplace else resolve(name)
    found = _of_self(ways(op, op.name)[0], 0)
    one = Way(found.arguments[:2], found.result)
    return op, [_writing(one) if inplace else one]


def _fits(way: Way, place: int) -> bool:
    """Whether the tensor itself can stand there."""
    if place >= len(way.arguments):
        return False
    argument = way.arguments[place]
    return argument.type.startswith("Tensor") and not argument.name.startswith("*")


def _of_self(way: Way, place: int) -> Way:
    others = [a for i, a in enumerate(way.arguments) if i != place]
    return Way((_SELF, *others), way.result)


def _writing(way: Way) -> Way:
    return Way(way.arguments, "Self")
