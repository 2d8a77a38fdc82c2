"""The small field types of the wire contract: names, dtypes, literals, flags not served yet."""

from __future__ import annotations

import re
from typing import Annotated, Any
from typing import Literal as OneOf

from pydantic import AfterValidator, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gradwire_engine.random import MOST_DRAWS
from gradwire_engine.spec import DTYPES, OTHER_NAMES


def field(description: str, *examples: Any, **more: Any) -> Any:
    """A field of what is sent or answered: what it means, and examples of it. more: pydantic's."""
    return Field(description=description, examples=[*examples] or None, **more)


def optional(description: str, *examples: Any, **more: Any) -> Any:
    """A field that may be left out, and is null then; otherwise as for `field`."""
    return field(description, *examples, default=None, **more)


NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,127}")
RESERVED = frozenset({"NaN", "Infinity"})
GRAD = ".grad"
RULE = (
    "a name matches [A-Za-z_][A-Za-z0-9_.]{0,127}, doesn't end in .grad and isn't NaN or Infinity"
)


def may_be_written(name: str) -> bool:
    """Whether a tensor may be given this name."""
    return NAME.fullmatch(name) is not None and not name.endswith(GRAD) and name not in RESERVED


def may_be_read(name: str) -> bool:
    """Whether this can name a tensor or, as `x.grad`, the gradient of one."""
    return may_be_written(name.removesuffix(GRAD))


def _written(name: str) -> str:
    if not may_be_written(name):
        raise PydanticCustomError("name", "{rule}", {"rule": RULE})
    return name


def _read(name: str) -> str:
    if not may_be_read(name):
        raise PydanticCustomError("name", "{rule}", {"rule": f"{RULE}; x.grad is its gradient"})
    return name


def _out(value: object) -> str | list[str | None]:
    if isinstance(value, str):
        return _written(value)
    if isinstance(value, list) and all(item is None or isinstance(item, str) for item in value):
        return [item if item is None else _written(item) for item in value]
    raise PydanticCustomError("out", "out is a name, or a list of names and nulls")


def _dtype(name: str) -> str:
    if name not in DTYPES:
        meant = OTHER_NAMES.get(name.removeprefix("torch."))
        raise PydanticCustomError(
            "dtype",
            "a dtype is one of {names}" + (", and this one is called {meant}" if meant else ""),
            {"names": ", ".join(DTYPES), "meant": meant.name if meant else ""},
        )
    return name


def _names_or_all(value: object) -> list[str] | str:
    if value == "all":
        return "all"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [_written(item) for item in value]
    raise PydanticCustomError("zero_grad", 'zero_grad is a list of names, or "all"')


def _object(needed: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "properties": properties, "required": [needed],
        "additionalProperties": False,
    }  # fmt: skip


_PATTERN = f"^{NAME.pattern}$"
_WRITTEN = {"type": "string", "pattern": _PATTERN}
_READ = {"type": "string", "pattern": _PATTERN.replace("127", "132")}
_NUMBERS: dict[str, Any] = {"type": "array", "items": {}, "description": "nested or flat"}
_WORDS: dict[str, Any] = {"enum": ["NaN", "Infinity", "-Infinity"]}
_DATA = {"anyOf": [{"type": ["number", "boolean"]}, _WORDS, _NUMBERS]}
_SHAPE = {"type": ["array", "null"], "items": {"type": "integer", "minimum": 0}}
_DTYPE = {"type": "string", "enum": list(DTYPES)}
_DTYPE_OR_NULL = {"enum": [*DTYPES, None]}
_LITERAL: dict[str, Any] = {
    "anyOf": [
        {"type": ["number", "boolean"]},
        _WORDS,
        _NUMBERS,
        _object("data", dtype=_DTYPE_OR_NULL, shape=_SHAPE, data=_DATA),
        _object("base64", dtype=_DTYPE_OR_NULL, shape=_SHAPE, base64={"type": "string"}),
        _object("binary", binary={"type": "string"}),
        _object("complex", complex={"type": "array", "minItems": 2, "maxItems": 2}),
    ]
}

Written = Annotated[str, AfterValidator(_written), WithJsonSchema(_WRITTEN)]
"""A name that a tensor is given."""

Read = Annotated[str, AfterValidator(_read), WithJsonSchema(_READ)]
"""The name of a tensor, or `x.grad`."""

Out = Annotated[
    str | list[str | None],
    PlainValidator(_out),
    WithJsonSchema({"anyOf": [_WRITTEN, {"type": "array", "items": {"type": ["string", "null"]}}]}),
]
"""Where an op's results go."""

NamesOrAll = Annotated[
    list[str] | str,
    PlainValidator(_names_or_all),
    WithJsonSchema({"anyOf": [{"const": "all"}, {"type": "array", "items": _WRITTEN}]}),
]

_SESSION = _object("tensor", session={"type": "string"}, tensor=_READ)

LiteralOrSession = Annotated[Any, WithJsonSchema({"anyOf": [*_LITERAL["anyOf"], _SESSION]})]
"""A tensor literal, or a tensor that already lies in a session."""

Literal = Annotated[Any, WithJsonSchema(_LITERAL)]
"""A tensor literal; its elements are read where the array is made, not here."""

LiteralOrName = Annotated[Any, WithJsonSchema({"anyOf": [*_LITERAL["anyOf"], _READ]})]
"""A tensor literal, or a string that names a tensor."""

DTypeName = Annotated[str, AfterValidator(_dtype), WithJsonSchema(_DTYPE)]

FloatName = Annotated[OneOf["float16", "bfloat16", "float32", "float64"], Field()]
"""A dtype that may be a session's default."""

Seed = Annotated[int, Field(ge=0, lt=2**64)]
Draws = Annotated[int, Field(ge=0, lt=MOST_DRAWS)]
