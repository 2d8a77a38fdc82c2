"""The catalogue as data: what `GET /v1/ops` and `gradwire ops` say of each op."""

from __future__ import annotations

from functools import cache
from typing import Any

from gradwire_engine.catalogue import CATALOGUE, inplace_twin, resolve
from gradwire_engine.examples import example
from gradwire_engine.op import Op
from gradwire_engine.signature import REQUIRED, Parameter, Signature
from gradwire_engine.spec import DType
from gradwire_service.host.reply import Reply, plain


@cache
def listed() -> Reply:
    """Every op, by name; worked out once."""
    return {"items": [described(op) for _, op in sorted(CATALOGUE.items())]}


def one(name: str) -> Reply:
    """One op, by any of its names; op_not_found otherwise."""
    return described(inplace_twin(name) or resolve(name))


def described(op: Op) -> Reply:
    """All that the catalogue says of an op."""
    return {
        "name": op.name,
        "aliases": list(op.aliases),
        "doc": op.doc,
        "signatures": [_signature(s) for s in op.signatures],
        "example": example(op.name),
        "formula": op.formula,
        "saves": list(op.saves),
        "fuses": op.fuses,
        "inplace": op.inplace,
        "data_dependent": op.data_dependent,
    }


def _signature(signature: Signature) -> Reply:
    return {
        "text": str(signature),
        "parameters": [_parameter(parameter) for parameter in signature.parameters],
    }


def _parameter(parameter: Parameter) -> Reply:
    found: dict[str, Any] = {
        "name": parameter.name,
        "type": parameter.kind,
        "optional": parameter.optional,
        "keyword_only": parameter.keyword_only,
        "required": parameter.default is REQUIRED,
    }
    if parameter.default is not REQUIRED:
        found["default"] = as_json(parameter.default)
    return found


def as_json(value: Any) -> Any:
    """An attribute of an op or a default, as JSON can carry it."""
    match value:
        case DType():
            return value.name
        case float():
            return plain(value)
        case complex():
            return {"complex": [plain(value.real), plain(value.imag)]}
        case list() | tuple():
            return [as_json(item) for item in value]
        case slice():
            return {"slice": [value.start, value.stop, value.step]}
        case None | bool() | int() | str():
            return value
    return str(value)
