"""Programs that a file gives by name: they are stored, and their ids take the names' places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_args, get_type_hints

from gradwire_engine.errors import GradwireError, error
from gradwire_service.commands.files import Asked
from gradwire_service.host.protocol.calls import ProgramId
from gradwire_service.host.protocol.steps import STEPS, word_of

_FIELDS = {
    word: frozenset(
        name
        for name, hint in get_type_hints(kind, include_extras=True).items()
        if hint == ProgramId or ProgramId in get_args(hint)
    )
    for word, kind in STEPS.items()
}
"""The fields of each kind of step that name a program."""


def with_ids(asked: Asked, store: Callable[[dict[str, Any]], str]) -> Asked:
    """The request, once its programs are stored; each may run those before it."""
    ids: dict[str, str] = {}
    for name, program in asked.programs.items():
        try:
            ids[name] = store(_body(program, ids))
        except GradwireError as problem:
            problem.at(f"programs.{name}")
            raise
    return Asked(asked.call, _body(asked.body, ids))


def _body(body: Any, ids: Mapping[str, str]) -> Any:
    """A request or a program with ids in place of names."""
    if not isinstance(body, dict):
        return body
    changed = {
        key: [_step(step, ids) for step in body[key]]
        for key in ("steps", "ops")
        if isinstance(body.get(key), list)
    }
    if "program" in body:
        changed["program"] = _body(body["program"], ids)
    return body | changed


def _step(step: Any, ids: Mapping[str, str]) -> Any:
    fields = _FIELDS.get(word_of(step) or "", frozenset())
    if not fields:
        return step
    return {
        key: ids.get(value, value) if key in fields and isinstance(value, str) else value
        for key, value in step.items()
    }


@contextmanager
def explained() -> Iterator[None]:
    """Say of a program that isn't there how a file gives it."""
    try:
        yield
    except GradwireError as problem:
        if problem.code != "program_not_found":
            raise
        hint = (
            "a file gives the programs that its steps run by name, each before those that run it: "
            '{"programs": {"body": {"inputs": […], "source": "…", "outputs": […]}}, "steps": […]}'
        )
        raised = error(problem.code, problem.detail, hint)
        raised.step, raised.op = problem.step, problem.op
        raise raised from None
