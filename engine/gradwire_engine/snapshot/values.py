"""Values of attributes and saved numbers as JSON has them: what JSON lacks is an object of one key.

Tuples are lists, for a call has no lists in it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType
from typing import Any

from gradwire_engine.promote import Weak, weak_kinds
from gradwire_engine.snapshot.arrays import read_dtype
from gradwire_engine.snapshot.fields import incompatible, listed, need, text, whole
from gradwire_engine.spec import DTYPES, DType, float32

Write = Callable[[Any], Any]
"""Writes what belongs to a table: a Spec, a Call, a Tensor."""
Read = Callable[[str, Any], Any]
"""The same the other way: from the key and the value of its object."""

_PLAIN = (bool, str, type(None))
_DEEPEST = 32
_DIGITS = 1100
"""Hexadecimal digits of a whole number: the largest double has 256."""
_KINDS = {kind.__name__: kind for kind in (bool, int, float, complex)}


def write_value(value: Any, refer: Write) -> Any:
    """A value as JSON; `refer` writes what no value here is."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return [write_value(item, refer) for item in value]
    write = _WRITE.get(kind)
    return refer(value) if write is None else write(value)


def _float(value: float) -> Any:
    return value if value - value == 0 else {"float": repr(value)}


_WRITE: dict[type, Callable[[Any], Any]] = {
    int: lambda value: value if -(2**63) <= value < 2**63 else {"int": hex(value)},
    float: _float,
    complex: lambda value: {"complex": [_float(value.real), _float(value.imag)]},
    DType: lambda value: {"dtype": value.name},
    Weak: lambda value: {"weak": [value.kind.__name__, value.dtype.name]},
    slice: lambda value: {"slice": [value.start, value.stop, value.step]},
    EllipsisType: lambda _: {"ellipsis": None},
}


def read_value(value: Any, refer: Read, depth: int = 0) -> Any:
    """The value that JSON stands for."""
    kind = type(value)
    if kind in _PLAIN or kind is int or kind is float:
        return value
    if kind is list:
        need(depth < _DEEPEST, "a value nests too deeply")
        return tuple([read_value(item, refer, depth + 1) for item in value])
    if kind is not dict or len(value) != 1:
        raise incompatible("a value is an object of more or less than one key")
    ((key, inner),) = value.items()
    read = _READ.get(key)
    return refer(key, inner) if read is None else read(inner)


def _read_whole(value: Any) -> int:
    try:
        return int(text(value, "a large whole number", _DIGITS), 16)
    except ValueError:
        raise incompatible("a large whole number is none") from None


def _read_float(value: Any) -> float:
    if type(value) is float:
        return value
    word = text(value, "a number", 8)
    need(word in ("inf", "-inf", "nan"), f"a number is {word!r}")
    return float(word)


def _part(value: Any) -> float:
    return _read_float(value["float"] if type(value) is dict and len(value) == 1 else value)


def _read_complex(value: Any) -> complex:
    try:
        real, imag = map(_part, listed(value, "a complex number", 2))
    except KeyError:
        raise incompatible("a complex number's part is none") from None
    return complex(real, imag)


def _read_weak(value: Any) -> Weak:
    kind, name = listed(value, "a weak operand", 2)
    found = _KINDS.get(text(kind, "the kind of a number", 8))
    dtype = read_dtype(name)
    defaults = (float32, *(d for d in DTYPES.values() if d.is_floating_point))
    for default in defaults:
        made = weak_kinds(default).get(found) if found is not None else None
        if made is not None and made.dtype is dtype:
            return made
    raise incompatible(f"a weak operand of kind {kind!r} and dtype {name!r}")


def _read_slice(value: Any) -> slice:
    found = [
        None if part is None else whole(part, "a slice's part", -(2**63))
        for part in listed(value, "a slice", 3)
    ]
    return slice(*found)


def _read_ellipsis(value: Any) -> EllipsisType:
    need(value is None, "an ellipsis has a value")
    return Ellipsis


_READ: dict[str, Callable[[Any], Any]] = {
    "int": _read_whole,
    "float": _read_float,
    "complex": _read_complex,
    "dtype": read_dtype,
    "weak": _read_weak,
    "slice": _read_slice,
    "ellipsis": _read_ellipsis,
}
