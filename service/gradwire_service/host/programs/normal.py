"""The normal form of a program: one text for all ways to write it, whose hash is its id."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from gradwire_engine.spec import dtype_of
from gradwire_service.host.elements import Array
from gradwire_service.host.literals import decode
from gradwire_service.host.programs.entry import Entry
from gradwire_service.host.protocol.step import StepPart

_DIGITS = 32


def normal(entries: Sequence[Entry], steps: Sequence[StepPart], outputs: Sequence[str]) -> str:
    """Inputs, steps and outputs as JSON: defaults left out, keys in order, no room between."""
    found = {
        "inputs": [entry.written() for entry in entries],
        "ops": [written(step) for step in steps],
        "outputs": list(outputs),
    }
    return json.dumps(found, sort_keys=True, separators=(",", ":"))


def identity(text: str) -> str:
    """The id of the program with this normal form."""
    return f"p_{sha256(text.encode()).hexdigest()[:_DIGITS]}"


def written(step: StepPart) -> dict[str, Any]:
    """A step as a client would post it."""
    fields = type(step).model_fields
    return {
        name: value.model_dump(exclude_defaults=True) if hasattr(value, "model_dump") else value
        for name in fields
        if (value := getattr(step, name)) != fields[name].get_default(call_default_factory=True)
        or fields[name].is_required()
    }


def carried(value: Any, arrays: Mapping[str, Array]) -> Any:
    """A value of a step with the body's arrays in it, since a program outlives the body."""
    if type(value) is list:
        return [carried(item, arrays) for item in value]
    if type(value) is not dict:
        return value
    if "binary" not in value or value.keys() - {"binary", "dtype", "shape"}:
        return {key: carried(item, arrays) for key, item in value.items()}
    array = decode(value, binaries=arrays)
    data = b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": dtype_of(array.dtype).name, "shape": list(array.shape), "base64": data}
