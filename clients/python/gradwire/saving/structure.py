"""Python's values around tensors as JSON, and back: no code is named in it, and none is run.

None, bools, ints, finite floats and strings stand for themselves; everything else is an object with
one field, which says its kind. What a reader finds is checked: it may come from anywhere.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np

from gradwire.size import Size, device
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.spec import DTYPES, DType

Path = tuple[str, ...]
Take = Callable[[Any, Path], Any]
"""How a leaf of a structure is written: its value and where it stands; None if it is no leaf."""
Give = Callable[[str, Any], Any]
"""How a leaf is read: the kind that was written, and what was written of it."""

_PLAIN = (type(None), bool, int, str)
_LISTED: dict[type, str] = {
    list: "list",
    tuple: "tuple",
    set: "set",
    frozenset: "frozenset",
    Size: "size",
}
_DICTS: dict[type, str] = {dict: "dict", OrderedDict: "ordered"}


def written(value: Any, take: Take, path: Path = ()) -> Any:
    """A value as JSON's. Raises TypeError for what no file can hold."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is float:
        return value if isfinite(value) else {"float": str(value)}
    if kind in _DICTS:
        pairs = [
            [written(key, _no_leaf, path), written(item, take, (*path, str(key)))]
            for key, item in value.items()
        ]
        return {_DICTS[kind]: pairs}
    if kind in _LISTED:
        parts = enumerate(value)
        return {_LISTED[kind]: [written(item, take, (*path, str(i))) for i, item in parts]}
    found = _small(value)
    found = take(value, path) if found is None else found
    if found is None:
        raise _unknown(value, path)
    return found


def _small(value: Any) -> Any:
    """What has no parts; None for anything else."""
    if isinstance(value, complex) and not isinstance(value, np.generic):
        return {"complex": [str(value.real), str(value.imag)]}
    if isinstance(value, bytes):
        return {"bytes": b64encode(value).decode()}
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, device):
        return {"device": str(value)}
    return written(value.item(), _no_leaf) if isinstance(value, np.generic) else None


def _no_leaf(value: Any, path: Path) -> None:
    """Keys of dictionaries, and numbers, have no tensors in them."""


def _unknown(value: Any, path: Path) -> GradwireError:
    return error(
        "invalid_argument",
        f"{'.'.join(path) or 'the value'} is a {type(value).__name__}, which is not saved",
        "save tensors, numbers, strings, dtypes and lists, tuples, sets and dicts of them; of "
        "modules, optimizers and schedulers the state_dict()",
        raised=TypeError,
    )


def read(data: Any, give: Give) -> Any:
    """The opposite of `written`. Raises invalid_body where it is nothing that was written."""
    if type(data) in (*_PLAIN, float):
        return data
    if type(data) is not dict or len(data) != 1:
        raise damaged("a value has no kind, or several")
    ((kind, fields),) = data.items()
    try:
        return _READ[kind](fields, give) if kind in _READ else give(kind, fields)
    except (TypeError, ValueError, KeyError) as problem:
        if isinstance(problem, GradwireError):
            raise
        raise damaged(f"there is no such {kind[:60]}: {str(problem)[:100]}") from problem


def damaged(problem: str) -> GradwireError:
    """What is raised of a file that doesn't hold together."""
    return error(
        "invalid_body",
        f"load: {problem}",
        "load what gradwire.save wrote, or a safetensors file",
        raised=RuntimeError,
    )


def _several(kind: type[Any]) -> Callable[[Any, Give], Any]:
    return lambda fields, give: kind([read(item, give) for item in fields])


def _by_key(kind: type[Any]) -> Callable[[Any, Give], Any]:
    return lambda fields, give: kind([(read(key, give), read(item, give)) for key, item in fields])


def _complex(fields: Any, give: Give) -> complex:
    real, imaginary = map(float, fields)
    return complex(real, imaginary)


_READ: dict[str, Callable[[Any, Give], Any]] = {
    "float": lambda fields, give: float(fields),
    "complex": _complex,
    "bytes": lambda fields, give: b64decode(fields, validate=True),
    "dtype": lambda fields, give: DTYPES[fields],
    "device": lambda fields, give: device(fields),
    **{name: _several(kind) for kind, name in _LISTED.items()},
    **{name: _by_key(kind) for kind, name in _DICTS.items()},
}


__all__ = ["Give", "Path", "Take", "damaged", "read", "written"]
