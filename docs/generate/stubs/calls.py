"""How a call of an op is written: the text of `def`, an overload for each way to call it."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from docs.generate.stubs.results import Named, Overload, alternatives

from gradwire.options import takes_generator
from gradwire_engine.op import Op, Primitive
from gradwire_engine.signature import REQUIRED, Parameter

WIDTH = 100
TYPES = {
    "tensor": "Tensor",
    "tensors": "Sequence[Tensor]",
    "index": "Any",
    "int": "int",
    "dim": "int",
    "ints": "Ints",
    "dims": "Ints",
    "float": "float",
    "number": "Number",
    "bool": "bool",
    "str": "str",
    "dtype": "DType",
    "device": "Device",
    "data": "Any",
}
"""From the kind of a parameter to the type that the SDK takes there."""
_FLAGS = ("return_", "as_", "get_")
"""How bools that decide on the kind of the result begin."""


class Argument(NamedTuple):
    """A parameter as it is written: `default` is its text, None where it has to be given."""

    name: str
    type: str
    default: str | None = None
    keyword_only: bool = False

    def __str__(self) -> str:
        text = f"{self.name}: {self.type}" if self.type else self.name
        return text if self.default is None else f"{text} = {self.default}"


class Way(NamedTuple):
    """One way to call."""

    arguments: tuple[Argument, ...]
    result: str


def ways(op: Op, name: str) -> list[Way]:
    """All ways to call an op by this name; of those with the same arguments the first."""
    found: dict[tuple[Argument, ...], Way] = {}
    for overload in op.overloads:
        for way in _ways(op, overload, name):
            found.setdefault(way.arguments, way)
    return list(found.values())


def _ways(op: Op, overload: Overload, name: str) -> Iterator[Way]:
    given = [_argument(op, overload, p) for p in overload.signature.parameters]
    given += _beside(op, overload, name)
    found = [f"results.{f.name}" if isinstance(f, Named) else f for f in alternatives(op, overload)]
    flags = [a for a in given if len(found) > 1 and a.name.startswith(_FLAGS)]
    if flags:
        yield Way(_fixed(given, flags), found[0])
        if len(flags) == 1:
            yield Way(_asked(given, flags[0]), " | ".join(found[1:]))
    yield Way(tuple(given), " | ".join(found))
    loose = _loose(overload, given)
    if loose:
        yield Way(loose, found[0])


def _argument(op: Op, overload: Overload, parameter: Parameter) -> Argument:
    kind = TYPES[parameter.kind]
    if parameter.kind == "tensor" and _takes_number(op, overload, parameter):
        kind = "Tensor | Number"
    if (parameter.optional or parameter.default is None) and kind != "Any":
        kind += " | None"
    default = None if parameter.default is REQUIRED else _written(parameter.default)
    return Argument(parameter.name, kind, default, parameter.keyword_only)


def _takes_number(op: Op, overload: Overload, parameter: Parameter) -> bool:
    """Whether a Python number may stand for an operand: beside others, where elements are met."""
    tensors = [p for p in overload.signature.parameters if p.kind == "tensor"]
    if isinstance(overload, Primitive) and overload.fuses:
        return len(tensors) > 1
    by_elements = op.inplace or op.name.startswith("__") or isinstance(parameter.default, float)
    return by_elements and parameter is not tensors[0]


def _written(default: Any) -> str:
    """A default's text; three dots where it is no literal."""
    try:
        literal_eval(repr(default))
    except (ValueError, SyntaxError):
        return "..."
    return repr(default)


def _beside(op: Op, overload: Overload, name: str) -> list[Argument]:
    """What the SDK's functions take beside the op's own parameters."""
    known = overload.signature.by_name
    found = []
    if "device" in known and "requires_grad" not in known:
        found.append(Argument("requires_grad", "bool", "False", True))
    if takes_generator(op):
        found.append(Argument("generator", "Generator | None", "None", True))
    if op.inplace and name.startswith("nn.functional.") and "inplace" not in known:
        found.append(Argument("inplace", "bool", "False", True))
    return found


def _fixed(given: Sequence[Argument], flags: Sequence[Argument]) -> tuple[Argument, ...]:
    """The same where flags are known to be False."""
    return tuple(a._replace(type="Literal[False]") if a in flags else a for a in given)


def _asked(given: Sequence[Argument], flag: Argument) -> tuple[Argument, ...]:
    """The same where a flag is True: it has to be given, so what follows is by keyword."""
    place = given.index(flag)
    asked = flag._replace(type="Literal[True]", default=None, keyword_only=True)
    return (*given[:place], asked, *[a._replace(keyword_only=True) for a in given[place + 1 :]])


def _loose(overload: Overload, given: Sequence[Argument]) -> tuple[Argument, ...]:
    """With the last list in a row, `permute(x, 1, 0)`; empty where that is no way to call it."""
    last = overload.signature.positional - 1
    if last < 0 or any(a.default is not None for a in given[:last]):
        return ()
    kind = {"ints": "int", "dims": "int", "tensors": "Tensor"}
    parameter = overload.signature.parameters[last]
    if parameter.kind not in kind:
        return ()
    row = Argument(f"*{parameter.name}", kind[parameter.kind])
    return (*given[:last], row, *given[last + 1 :])


def definition(name: str, found: Sequence[Way], doc: str, indent: str = "") -> str:
    """The text of a function; of all its overloads, of which the first is documented."""
    parts = []
    for place, way in enumerate(found):
        mark = f"{indent}@overload\n" if len(found) > 1 else ""
        said = f'\n{indent}    """{" ".join(doc.split())}"""' if place == 0 else " ..."
        parts.append(f"{mark}{_head(name, way, indent)}{said}")
    return "\n".join(parts)


def _head(name: str, way: Way, indent: str) -> str:
    shown: list[str] = []
    for argument in way.arguments:
        starred = any(a.startswith("*") for a in shown)
        if argument.keyword_only and not starred:
            shown.append("*")
        shown.append(str(argument))
    line = f"{indent}def {name}({', '.join(shown)}) -> {way.result}:"
    if len(line) <= WIDTH:
        return line
    rows = "".join(f"{indent}    {text},\n" for text in shown)
    return f"{indent}def {name}(\n{rows}{indent}) -> {way.result}:"
