"""A JSON schema for each op's step: its names, its arguments in order and by name, its derivative.

They stand in the OpenAPI document as `op.sin`, `op.linalg.det`, …, made from the catalogue.
"""

from __future__ import annotations

from typing import Any

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.op import Op
from gradwire_engine.signature import KINDS, REQUIRED, Parameter, Signature
from gradwire_engine.spec import DTYPES
from gradwire_service.host.catalogue import as_json

Schema = dict[str, Any]

_REF = "#/components/schemas/{}"
_WORDS = {"enum": ["NaN", "Infinity", "-Infinity"]}
_COMPLEX = {"type": "object", "required": ["complex"]}
_INTS = [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]
_OPERAND = {"type": ["string", "number", "boolean", "object", "array"]}

_OF_KIND: dict[str, Schema] = {
    "tensor": {"description": "The name of a tensor, a number or a literal.", **_OPERAND},
    "tensors": {
        "description": "Names of tensors.",
        "type": "array",
        "items": {"type": ["string", "number", "boolean", "object", "array", "null"]},
    },
    "index": {"description": "What stands between brackets."},
    "int": {"description": "An integer.", "type": "integer"},
    "dim": {"description": "An axis, counted from the end if negative.", "type": "integer"},
    "ints": {"description": "Integers, or one.", "anyOf": _INTS},
    "dims": {"description": "Axes, or one.", "anyOf": _INTS},
    "float": {"description": "A real number.", "anyOf": [{"type": ["number", "boolean"]}, _WORDS]},
    "number": {
        "description": "A number.",
        "anyOf": [{"type": ["number", "boolean"]}, _WORDS, _COMPLEX],
    },
    "bool": {"description": "True or false.", "type": "boolean"},
    "str": {"description": "A word.", "type": "string"},
    "dtype": {"description": "A dtype.", "enum": list(DTYPES)},
    "device": {"description": "The session's device.", "type": "string"},
    "data": {"description": "Numbers, a list of them, or what the op says."},
}
_LOOSE = {"ints": {"type": "integer"}, "dims": {"type": "integer"}, "tensors": _OPERAND}
"""What the last list of the positional arguments holds, where it is given in a row."""


def schemas() -> dict[str, Schema]:
    """The schemas of all ops, and of the kinds of arguments that they refer to."""
    kinds = {f"kind.{kind}": _OF_KIND[kind] for kind in dict.fromkeys(KINDS.values())}
    return kinds | {f"op.{name}": of_op(op) for name, op in sorted(CATALOGUE.items())}


def of_op(op: Op) -> Schema:
    """The schema of a step that applies an op; one alternative for each signature."""
    names = [op.name, *op.aliases]
    names += [f"{name}_" for name in names if op.inplace and not name.endswith("_")]
    found: Schema = {
        "title": op.name,
        "description": op.doc,
        "type": "object",
        "required": ["op"],
        "properties": {
            "op": {"description": "The op's name.", "enum": names, "examples": [op.name]}
        },
        "anyOf": [_arguments(op, signature) for signature in op.signatures],
    }
    return found if op.formula is None else found | {"x-derivative": op.formula}


def _arguments(op: Op, signature: Signature) -> Schema:
    parameters = signature.parameters
    positional = parameters[: signature.positional]
    last = positional[-1].kind if positional else ""
    args: Schema = {"type": "array", "prefixItems": [_of(p) for p in positional], "items": False}
    if last in _LOOSE:
        args["prefixItems"][-1] = {"anyOf": [_LOOSE[last], args["prefixItems"][-1]]}
        args["items"] = _LOOSE[last]
    named = {p.name: _of(p) | _default(p) for p in parameters}
    kwargs = {"type": "object", "properties": named, "additionalProperties": False}
    return {"title": f"{op.name}{signature}", "properties": {"args": args, "kwargs": kwargs}}


def _of(parameter: Parameter) -> Schema:
    kind = {"$ref": _REF.format(f"kind.{parameter.kind}")}
    if parameter.optional or parameter.default is None:
        return {"anyOf": [kind, {"type": "null"}]}
    return kind


def _default(parameter: Parameter) -> Schema:
    return {} if parameter.default is REQUIRED else {"default": as_json(parameter.default)}
