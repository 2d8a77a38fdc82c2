"""What pydantic found wrong, as one sentence that names the place, what came in and the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from json import dumps
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.elements import shown
from gradwire_service.host.protocol.requests import (
    OpsRequest,
    Program,
    ProgramInput,
    StepsRequest,
)
from gradwire_service.host.protocol.steps import (
    STEPS,
    BackwardStep,
    GradStep,
    OpStep,
    word_of,
)
from gradwire_service.host.protocol.transforms import TRANSFORMS, InputSpec
from gradwire_service.host.protocol.walks import BackwardFields, GradFields

_FIELDS, _LONG = 4, 60

# What the lists of unions hold; pydantic puts the member's word into the path, after the index.
_UNIONS: dict[tuple[type[BaseModel], str], Mapping[str, type[BaseModel]]] = {
    (StepsRequest, "steps"): STEPS,
    (Program, "ops"): STEPS,
    (Program, "inputs"): {"object": ProgramInput},
}
_INSIDE: dict[tuple[type[BaseModel], str], type[BaseModel]] = {
    (OpsRequest, "ops"): OpStep,
    (GradStep, "grad"): GradFields,
    (BackwardStep, "backward"): BackwardFields,
    **{(bodies.inline, "program"): Program for bodies in TRANSFORMS.values()},
}
_OF_EACH: dict[tuple[type[BaseModel], str], type[BaseModel]] = dict.fromkeys(
    [(kind, "inputs") for kind in TRANSFORMS["plan"]], InputSpec
)
"""What stands in a mapping, by names that are anyone's."""

_SENTENCES: dict[str, Callable[[dict[str, Any]], str]] = {
    "missing": lambda _: "is missing",
    "extra_forbidden": lambda _: "is not a field here",
    "string_type": lambda _: "must be a string",
    "string_unicode": lambda _: "must be text that UTF-8 can carry",
    "string_too_short": lambda _: "must not be empty",
    "string_too_long": lambda c: f"may have at most {c['max_length']} characters",
    "bool_type": lambda _: "must be true or false",
    "int_type": lambda _: "must be a whole number",
    "float_type": lambda _: "must be a number",
    "finite_number": lambda _: "must be a finite number",
    "list_type": lambda _: "must be a list",
    "dict_type": lambda _: "must be an object",
    "model_type": lambda _: "must be an object",
    "literal_error": lambda c: f"must be {c['expected']}".replace("'", '"'),
    "greater_than": lambda c: f"must be greater than {c['gt']}",
    "greater_than_equal": lambda c: f"must be at least {c['ge']}",
    "less_than": lambda c: f"must be less than {c['lt']}",
}


class Place(NamedTuple):
    """Where a problem is: as a client writes it, the step it is in, the model around the field."""

    path: str
    step: int | None
    model: type[BaseModel]


def problem(kind: type[BaseModel], found: ValidationError) -> GradwireError:
    """The invalid_request for a body that isn't a `kind`."""
    details = found.errors(include_url=False)
    # A field nobody knows is most often the misspelt one that is missing.
    first = next((one for one in details if one["type"] == "extra_forbidden"), details[0])
    place = _place(kind, first["loc"])
    detail, hint = _explain(place, first)
    sent = detail.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair can't be
    raised = error("invalid_request", sent, hint)
    raised.step = place.step
    return raised


def _explain(place: Place, found: ErrorDetails) -> tuple[str, str]:
    if found["type"].startswith("union_tag"):
        return _explain_word(place, found["input"])
    subject = place.path or "the body"
    if (sentence := _SENTENCES.get(found["type"])) is not None:
        detail = f"{subject} {sentence(found.get('ctx', {}))}"
    else:
        detail = f"{subject}: {found['msg']}"
    if found["type"] != "missing":
        detail += f"; got {shown(found['input'])}"
    return detail, _hint(place, found)


def _hint(place: Place, found: ErrorDetails) -> str:
    fields = {field.alias or name: field for name, field in place.model.model_fields.items()}
    last = next((part for part in reversed(found["loc"]) if isinstance(part, str)), "")
    if found["type"] == "extra_forbidden":
        example = _EXAMPLE if place.model is StepsRequest else ""
        return f"{_did_you_mean(last, fields)}the fields here are {', '.join(fields)}{example}"
    if last in STEPS and found["type"] in ("model_type", "model_attributes_type"):
        field = STEPS[last].model_fields[last]
        example = dumps({last: (field.examples or [{}])[0]})
        return f"{field.description} For example {example}"
    last = next((part for part in reversed(found["loc"]) if part in fields), last)
    if last not in fields or not fields[last].description:
        return f"the fields here are {', '.join(fields)}"
    examples = fields[last].examples
    shape = f" Write it as in {dumps({last: examples[0]})}" if examples else ""
    return f"{fields[last].description}{shape}"


_EXAMPLE = ', as in {"steps": [{"op": "ones", "args": [[2]], "out": "x"}], "return": ["x"]}'


def _explain_word(place: Place, step: object) -> tuple[str, str]:
    word = word_of(step)
    known = ", ".join(STEPS)
    if word is not None:
        return (
            f"{place.path}: a {word} step can't stand here",
            "op steps stand here; in a program's ops also grad, requires_grad, what runs programs",
        )
    if not isinstance(step, dict):
        return f"{place.path} must be an object; got {shown(step)}", "a step is an object"
    guess = "".join(_did_you_mean(key, STEPS) for key in list(step)[:1])
    return (
        f"{place.path}: no field of it makes a step; got {shown(list(step)[:_FIELDS])}",
        f"{guess}a step has one of {known}",
    )


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    names = list(known)
    close = [name for name in names if word and name.startswith(word)]
    close = close or get_close_matches(word[:_LONG], names, n=1)
    return f"did you mean {close[0]}? " if close else ""


def _place(
    kind: type[BaseModel], loc: tuple[int | str, ...], path: str = "", step: int | None = None
) -> Place:
    """Follow pydantic's path through the models, leaving out the words of unions."""
    match loc:
        case (str(field), int(index), *rest) if (kind, field) in _UNIONS:
            word, *rest = rest or [""]
            inner = _UNIONS[kind, field].get(str(word), kind)
            step = step if field == "inputs" else index
            return _place(inner, tuple(rest), _join(path, f"{field}[{index}]"), step)
        case (str(field), str(key), *rest) if (kind, field) in _OF_EACH and rest:
            return _place(_OF_EACH[kind, field], tuple(rest), _join(_join(path, field), key), step)
        case (str(field), *rest):
            inner = _INSIDE.get((kind, field), kind) if rest else kind
            if field == "ops" and rest and isinstance(rest[0], int):
                step = rest[0]
            return _place(inner, tuple(rest), _join(path, field), step)
        case (int(index), *rest):
            return _place(kind, tuple(rest), f"{path}[{index}]", step)
    return Place(path, step, kind)


def _join(path: str, field: str) -> str:
    field = field[:_LONG]
    return f"{path}.{field}" if path else field
