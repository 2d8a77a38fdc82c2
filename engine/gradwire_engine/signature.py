"""Signatures: what an op's parameters are, read from its Python annotations, and how calls bind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gradwire_engine.arrays import NAMESPACE_OF
from gradwire_engine.errors import error
from gradwire_engine.spec import DTYPES, OTHER_NAMES, DType

# What parameters of ops are annotated with; the names are the keys of KINDS below.
Arrays = Sequence[Any]
Index = Any
Dim = int
Dims = tuple[int, ...]
Ints = tuple[int, ...]
Data = Any
Device = str


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED = _Required()

VALUE_TYPES: set[type] = set()
"""Types that stand in a tensor slot besides arrays and numbers; each enters itself here."""

KINDS = {
    "Array": "tensor",
    "Arrays": "tensors",
    "Index": "index",
    "int": "int",
    "Dim": "dim",
    "Ints": "ints",
    "Dims": "dims",
    "float": "float",
    "Number": "number",
    "bool": "bool",
    "str": "str",
    "DType": "dtype",
    "Device": "device",
    "Data": "data",
}
"""From the annotation in a declaration to the kind of parameter that the catalogue shows."""

OPERANDS = ("tensor", "tensors", "index")


class Mismatch(Exception):
    """These arguments don't fit this signature; another overload may."""


class Parameter(NamedTuple):
    """One parameter: `kind` is a value of KINDS, `optional` says that None is accepted.

    numbers: whether a Python number may stand for a tensor.
    """

    name: str
    kind: str
    default: Any
    optional: bool
    keyword_only: bool
    numbers: bool = True

    def __str__(self) -> str:
        kind = f"{self.kind} or None" if self.optional else self.kind
        return (
            f"{self.name}: {kind}"
            if self.default is REQUIRED
            else f"{self.name}: {kind} = {self.default!r}"
        )


SPELLINGS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x2": "other", "input": "A"}
"""NumPy's words for torch's parameters, which torch takes too; and what torch.linalg calls A."""


def respelled(signatures: Sequence[Signature], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords with NumPy's words replaced by torch's, where the op has those and not these."""
    known = {name for signature in signatures for name in signature.by_name}
    meant = {
        word: SPELLINGS[word]
        for word in kwargs
        if word in SPELLINGS and word not in known and SPELLINGS[word] in known
    }
    return {meant.get(word, word): value for word, value in kwargs.items()}


class Signature:
    """The parameters of an op in order; operands are the tensor, tensors and index slots."""

    __slots__ = ("arity", "by_name", "dims", "operand_places", "parameters", "positional")

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.parameters = tuple(parameters)
        self.arity = len(self.parameters)
        self.by_name: dict[str, int] = {}
        self.positional = self.arity
        dims, operands = [], []
        for place, (name, kind, _, _, keyword_only, _) in enumerate(self.parameters):
            self.by_name[name] = place
            self.positional -= keyword_only
            if kind in OPERANDS:
                operands.append(place)
            elif kind in ("dim", "dims"):
                dims.append((place, kind == "dims"))
        self.dims, self.operand_places = tuple(dims), tuple(operands)

    def __str__(self) -> str:
        shown, starred = [], False
        for parameter in self.parameters:
            if parameter.keyword_only and not starred:
                shown.append("*")
                starred = True
            shown.append(str(parameter))
        return f"({', '.join(shown)})"

    def refuse_numbers(self, but: Sequence[str]) -> None:
        """From now on take Python numbers for these operands only."""
        self.parameters = tuple(
            p._replace(numbers=p.kind != "tensor" or p.name in but) for p in self.parameters
        )

    def complete(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in order, defaults filled in; unchecked, for calls from within."""
        values = [*args, *(p.default for p in self.parameters[len(args) :])]
        for name, value in kwargs.items():
            values[self.by_name[name]] = value
        return tuple(values)

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments in order, checked and brought to their kind; Mismatch if they don't fit."""
        args = self._gather(args)
        if len(args) > self.positional:
            raise Mismatch(f"takes {self.positional} positional arguments, got {len(args)}")
        values: list[Any] = [*args, *(p.default for p in self.parameters[len(args) :])]
        for name, value in kwargs.items():
            place = self.by_name.get(name)
            if place is None:
                raise Mismatch(f"there is no parameter {name!r}")
            if place < len(args):
                raise Mismatch(f"{name!r} was given twice")
            values[place] = value
        return tuple(map(_convert, self.parameters, values))

    def _gather(self, args: Sequence[Any]) -> Sequence[Any]:
        """`permute(x, 1, 0)` means `permute(x, (1, 0))`: ints in a row fill a last list slot.

        So do tensors: `meshgrid(x, y)` means `meshgrid([x, y])`.
        """
        last = self.positional - 1
        if last >= 0 and self.parameters[last].kind == "tensors":
            loose = args[last:]
            if loose and all(map(_is_tensor, loose)):
                return [*args[:last], tuple(loose)]
        if (
            len(args) > last >= 0
            and self.parameters[last].kind in ("ints", "dims")
            and len(args) > self.positional
            and all(type(a) is int for a in args[last:])
        ):
            return [*args[:last], tuple(args[last:])]
        return args


def read_signature(name: str, function: Callable[..., Any], *, skip: int) -> Signature:
    """The signature of a declaration, without its first `skip` parameters (a kernel's xp)."""
    function = _plain(function)
    annotations, named = function.__annotations__, function.__kwdefaults__ or {}
    names, last = parameter_names(function), function.__code__.co_argcount
    defaults = function.__defaults__ or ()
    required = last - len(defaults)
    parameters = []
    for place in range(skip, len(names)):
        parameter = names[place]
        kind, optional = _KIND_OF.get(annotations.get(parameter), _NO_KIND)
        if not kind:
            raise TypeError(
                f"op {name}: parameter {parameter} has the annotation "
                f"{str(annotations.get(parameter))!r}; "
                f"use one of {', '.join(KINDS)}, with '| None' where None is accepted"
            )
        if place >= last:
            default = named.get(parameter, REQUIRED)
        else:
            default = defaults[place - required] if place >= required else REQUIRED
        parameters.append(Parameter(parameter, kind, default, optional, place >= last))
    return Signature(parameters)


_NO_KIND = ("", False)
_KIND_OF: dict[Any, tuple[str, bool]] = {
    text + end: (kind, bool(end)) for text, kind in KINDS.items() for end in ("", " | None")
}
"""From an annotation's text to the kind, and whether None is accepted."""


def _plain(function: Callable[..., Any]) -> Any:
    """The function that decorators wrapped."""
    while (inner := getattr(function, "__wrapped__", None)) is not None:
        function = inner
    return function


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a plain function's parameters, in order; inspect would take ten times as long,
    which counts in an import of hundreds of declarations.
    """
    code = _plain(function).__code__
    names: tuple[str, ...] = code.co_varnames
    return names[: code.co_argcount + code.co_kwonlyargcount]


_NUMBERS = (bool, int, float, complex)


def _is_tensor(value: Any) -> bool:
    kind = type(value)
    return kind in VALUE_TYPES or kind in _NUMBERS or kind in NAMESPACE_OF


def _is_int(value: Any) -> bool:
    return type(value) is int or (isinstance(value, int) and type(value) is not bool)


LEAST, MOST = -(2**63), 2**64 - 1
"""The numbers that 64 bits hold, with a sign or without."""


def too_long(parameter: Parameter, value: int) -> Exception:
    """The refusal of a Python int that no dtype holds; in the class that torch raises."""
    return error(
        "invalid_argument",
        f"{parameter.name!r} does not fit into 64 bits, it has {value.bit_length()}",
        "write it as a float, which has a larger range",
        raised=OverflowError if parameter.kind in ("tensor", "number", "float") else ValueError,
    )


def _convert(parameter: Parameter, value: Any) -> Any:
    if value is REQUIRED:
        raise Mismatch(f"{parameter.name!r} is missing: give it by its place or by its name")
    if value is None and (parameter.optional or parameter.default is None):
        return None
    if type(value) is int and not LEAST <= value <= MOST:
        raise too_long(parameter, value)
    if not parameter.numbers and type(value) in _NUMBERS:
        raise Mismatch(f"{parameter.name!r} must be a tensor, got {value!r}")
    converted = _CONVERT[parameter.kind](value)
    if converted is _BAD:
        raise Mismatch(
            f"{parameter.name!r} must be {_WANTED.get(parameter.kind, parameter.kind)}"
            f"{' or None' if parameter.optional else ''}, got {_shown(value)}"
            f"{_meant(value) if parameter.kind == 'dtype' else ''}"
        )
    return converted


def _meant(value: Any) -> str:
    """For torch's other names of dtypes, as 'float': which one it is."""
    found = OTHER_NAMES.get(value.removeprefix("torch.")) if isinstance(value, str) else None
    return "" if found is None else f": write {found.name!r}"


_BAD = object()


def _shown(value: Any) -> str:
    text = value.describe() if hasattr(value, "describe") else repr(value)
    return text if len(text) <= 60 else f"a {type(value).__name__}"


def _dtype(value: Any) -> Any:
    if isinstance(value, DType):
        return value
    return DTYPES.get(value, _BAD) if isinstance(value, str) else _BAD


def _tensors(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and all(v is None or _is_tensor(v) for v in value):
        return tuple(value)
    return _BAD


def _ints(value: Any) -> Any:
    if _is_int(value):
        return (value,)
    return tuple(value) if isinstance(value, (list, tuple)) and all(map(_is_int, value)) else _BAD


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "tensor": lambda v: v if _is_tensor(v) else _BAD,
    "tensors": _tensors,
    "index": lambda v: v,
    "int": lambda v: v if _is_int(v) else _BAD,
    "dim": lambda v: v if _is_int(v) else _BAD,
    "ints": _ints,
    "dims": _ints,
    "float": lambda v: float(v) if isinstance(v, (int, float)) else _BAD,
    "number": lambda v: v if isinstance(v, (int, float, complex)) else _BAD,
    "bool": lambda v: v if isinstance(v, bool) else _BAD,
    "str": lambda v: v if isinstance(v, str) else _BAD,
    "dtype": _dtype,
    "device": lambda v: v if isinstance(v, str) else _BAD,
    "data": _hashable,
}

_WANTED = {
    "tensor": "a tensor or a number",
    "tensors": "a list of tensors",
    "ints": "a list of ints",
    "dims": "an int or a list of ints",
    "dim": "an int",
    "int": "an int",
    "float": "a number",
    "bool": "a bool",
    "str": "a string",
    "device": "the name of a device",
    "dtype": f"a dtype ({', '.join(DTYPES)})",
}


def axis(asked: str, dim: int, ndim: int) -> int:
    """A dim of a tensor with `ndim` axes as 0 <= dim < ndim; IndexError as in torch otherwise."""
    low, high = (-ndim, ndim - 1) if ndim else (-1, 0)
    scalar_first = not ndim and asked in ("split", "split_with_sizes")  # in torch's order
    if not low <= dim <= high:
        raise error(
            "invalid_argument",
            f"{asked}: dim {dim} is out of range for a tensor with {ndim} axes",
            f"dim must be between {low} and {high}",
            raised=RuntimeError if scalar_first else IndexError,
        )
    return dim % ndim if ndim else 0


class Unnamed(tuple[int, ...]):
    """All axes, because none was named: some ops say of no elements something else then."""

    __slots__ = ()


def axes(asked: str, dims: tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """Several dims as distinct non-negative ones, in the order given; None and () mean all."""
    if not dims:
        return Unnamed(range(ndim))
    found = tuple(axis(asked, dim, ndim) for dim in dims)
    if len(set(found)) != len(found):
        raise error(
            "invalid_argument", f"{asked}: a dim appears twice in {list(dims)}", "name each once"
        )
    return found if ndim else ()
