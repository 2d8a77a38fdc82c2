"""What `gradwire run` and `gradwire graph` read: requests as JSON, or source text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from gradwire_engine.errors import error
from gradwire_service.host.source import parse

JSON_SUFFIX = ".json"


class Asked(NamedTuple):
    """A file's request: the call it is for ("steps", "ops", "value_and_grad") and its body.

    programs: those that its steps run, by the names that they have in the file.
    """

    call: str
    body: dict[str, Any]
    programs: Mapping[str, Any] = MappingProxyType({})


def read(path: Path) -> Asked:
    """The request of a file: JSON by its suffix, source text otherwise."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise error("invalid_argument", f"{path}: {problem}") from None
    if path.suffix.lower() != JSON_SUFFIX:
        return Asked("ops", {"source": text, "return": assigned(text)})
    try:
        body = json.loads(text)
    except ValueError as problem:
        raise error("invalid_json", f"{path}: {problem}") from None
    call = _call(path, body)
    programs = body.pop("programs", {})
    if not isinstance(programs, dict):
        raise error(
            "invalid_request",
            f"{path}: programs have to be an object, of programs by name",
            '{"programs": {"body": {"inputs": […], "source": "…", "outputs": […]}}, "steps": […]}',
        )
    return Asked(call, body, programs)


def _call(path: Path, body: Any) -> str:
    for field, call in (("program", "value_and_grad"), ("steps", "steps"), ("ops", "ops")):
        if isinstance(body, dict) and (field in body or (call == "ops" and "source" in body)):
            return call
    raise error(
        "invalid_request",
        f"{path}: an object with steps, ops, source or program is wanted",
        '{"steps": […], "return": […]}',
    )


def assigned(text: str) -> list[str]:
    """The names that source text gives to tensors, in order."""
    names: dict[str, None] = {}
    for step in parse(text):
        out = step.get("out")
        for name in [out] if isinstance(out, str) else out or ():
            if name is not None and name[0] != "%":
                names[name] = None
    return list(names)
