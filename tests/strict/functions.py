"""Functions that aren't ufuncs: bound by CuPy's signature, computed by NumPy's namesake."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.strict.host import is_device, need_array, need_arrays, to_device, to_host
from tests.strict.loops import API

Parameter = inspect.Parameter
# Where CuPy's parameter has another name than NumPy's.
RENAMED = {"newshape": "shape"}
# Read by the host before any kernel starts: a device array there is a mistake, even of one element.
_HOST_ONLY = (
    "axis axes axis1 axis2 axisa axisb axisc shape newshape dtype order reps shift k n N M s norm "
    "num dims decimals pad_width ddof source destination offset keepdims kth kind side mode "
    "indices_or_sections ndmin"
)
_CONVERSIONS = ("array", "asarray", "asanyarray")  # these copy host arrays to the device
HOST_ONLY = frozenset(_HOST_ONLY.split())


def signatures(file: str) -> dict[str, inspect.Signature]:
    """CuPy's signatures of one table; annotations are the words Array and Arrays or nothing."""
    lines = [
        line for line in (API / file).read_text().splitlines() if line and not line.startswith("#")
    ]
    return {line.partition("(")[0]: _signature(line) for line in lines}


def _signature(line: str) -> inspect.Signature:
    """Parse `name(a: Array, axis=None, *, dtype=None)`; defaults are literals or a type's name."""
    function = ast.parse(f"def {line}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    args = function.args
    positional = [*args.posonlyargs, *args.args]
    first_default = len(positional) - len(args.defaults)
    defaults = [*[None] * first_default, *args.defaults]
    kinds: list[Any] = [Parameter.POSITIONAL_ONLY] * len(args.posonlyargs)
    kinds += [Parameter.POSITIONAL_OR_KEYWORD] * len(args.args)
    found = [_parameter(a, k, d) for a, k, d in zip(positional, kinds, defaults, strict=True)]
    if args.vararg:
        found.append(_parameter(args.vararg, Parameter.VAR_POSITIONAL, None))
    pairs = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    found += [_parameter(a, Parameter.KEYWORD_ONLY, d) for a, d in pairs]
    if args.kwarg:
        found.append(_parameter(args.kwarg, Parameter.VAR_KEYWORD, None))
    return inspect.Signature(found)


def _parameter(arg: ast.arg, kind: Any, default: ast.expr | None) -> Parameter:
    annotation = arg.annotation.id if isinstance(arg.annotation, ast.Name) else Parameter.empty
    return Parameter(arg.arg, kind, default=_default(default), annotation=annotation)


def _default(node: ast.expr | None) -> Any:
    if node is None:
        return Parameter.empty
    if isinstance(node, ast.Name):
        return {"float": float, "int": int}[node.id]
    return ast.literal_eval(node)


class Function:
    """One of CuPy's functions. Called with NumPy's extra arguments or host arrays it refuses."""

    def __init__(
        self, name: str, signature: inspect.Signature, compute: Callable[..., Any], *, raw: bool
    ) -> None:
        self.__name__, self.__signature__ = name, signature
        self._compute, self._raw = compute, raw
        self._accepted = _parameter_names(compute)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as problem:
            raise TypeError(f"cupy.{self.__name__}{self.__signature__}: {problem}") from None
        with np.errstate(all="ignore"):
            result = self._apply(bound)
        out = bound.arguments.get("out")
        if out is not None:
            return out
        return result if self._raw else to_device(result)

    def _apply(self, bound: inspect.BoundArguments) -> Any:
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            parameter = self.__signature__.parameters[name]
            host = self._host(parameter, value)
            if parameter.kind is Parameter.VAR_POSITIONAL:
                positional += host
            elif parameter.kind is Parameter.VAR_KEYWORD:
                named |= host
            elif parameter.default is Parameter.empty and not named:
                positional.append(host)
            else:
                named[self._name(name)] = host
        return self._compute(*positional, **named)

    def _host(self, parameter: Parameter, value: Any) -> Any:
        where = f"{self.__name__}: {parameter.name}"
        if self.__name__ in _CONVERSIONS and isinstance(value, np.ndarray):
            return value
        if parameter.annotation == "Array" and value is not parameter.default:
            return need_array(value, where)
        if parameter.annotation == "Arrays":
            return need_arrays(value, where)
        if parameter.name in HOST_ONLY and is_device(value):
            raise TypeError(f"{where} is read on the host, and a device array came in")
        if isinstance(value, dict):
            return {k: to_host(v) for k, v in value.items()}
        return (
            list(to_host(value)) if parameter.kind is Parameter.VAR_POSITIONAL else to_host(value)
        )

    def _name(self, name: str) -> str:
        return name if name in self._accepted else RENAMED.get(name, name)


def _parameter_names(compute: Callable[..., Any]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(compute).parameters)
    except ValueError:
        return frozenset()
