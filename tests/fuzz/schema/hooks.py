"""What schemathesis has to be told of the contract that OpenAPI has no words for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import schemathesis
from schemathesis.core.parameters import ParameterLocation

_KEY = "Idempotency-Key"


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Give the key of the documented example a new value each time.

    A request that comes again with its key gets the first reply, whatever else is in its head: no
    answer that says anything about this one.
    """
    example = _declared(case).get(_KEY, {}).get("example")
    if case.headers and case.headers.get(_KEY) == example is not None:
        case.headers[_KEY] = str(uuid4())


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:
    """Leave out cases in which nothing is wrong but that there is an unknown header.

    HTTP has servers ignore these. schemathesis knows that too, but takes the text of a number that
    stands in another header for a mistake, since it isn't a number yet.
    """
    if case.meta is None or not case.meta.generation.mode.is_negative:
        return True
    wrong = {place for place, part in case.meta.components.items() if part.mode.is_negative}
    return wrong != {ParameterLocation.HEADER} or not _in_order(case)


def _in_order(case: Any) -> bool:
    """Whether each number among the declared headers is one that may stand there."""
    declared, unknown = _declared(case), False
    for name, value in (case.headers or {}).items():
        schema: Mapping[str, Any] = declared.get(name, {}).get("schema", {})
        unknown |= name not in declared
        if schema.get("type") == "number" and not _fits(value, schema["minimum"]):
            return False
        if schema.get("type") == "string" and not _is_of(schema, value):
            return False
    return unknown


def _declared(case: Any) -> dict[str, Any]:
    return {
        parameter.definition["name"]: parameter.definition
        for parameter in case.operation.headers
        if "example" in parameter.definition
    }


def _fits(text: object, minimum: float) -> bool:
    try:
        return minimum <= float(str(text))
    except ValueError:
        return False


def _is_of(schema: Mapping[str, Any], text: object) -> bool:
    """Whether the schema of a string allows it; blanks around it are no part of a header."""
    if type(text) is not str:
        return False
    said = text.strip(" \t")
    longest = schema.get("maxLength", float("inf"))
    fits = schema.get("minLength", 0) <= len(said) <= longest
    return fits and re.search(schema.get("pattern", ""), said) is not None
