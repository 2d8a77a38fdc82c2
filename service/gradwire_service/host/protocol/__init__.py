"""The wire contract as models, and one readable sentence for what doesn't fit them.

request = read(StepsRequest, body)      # a JSON value -> a StepsRequest, or invalid_request
steps = from_source(parse(text))        # steps written by source text, which need no checking
"""

from __future__ import annotations

from collections.abc import Iterable
from threading import Thread
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from gradwire_engine.errors import error
from gradwire_engine.locks import lock
from gradwire_service.host.protocol.problems import problem
from gradwire_service.host.protocol.steps import BindStep, OpStep

Model = TypeVar("Model", bound=BaseModel)
_building = lock()


def read(kind: type[Model], body: object) -> Model:
    """Check a JSON value against a model; or raise an invalid_request that says where."""
    if not kind.__pydantic_complete__:
        _build(kind)
    try:
        return kind.model_validate(body)
    except ValidationError as found:
        raise problem(kind, found) from None


def _build(kind: type[BaseModel]) -> None:
    """Build a model's validator, in a thread: no signal's handler can raise there.

    What is raised while pydantic builds comes out as an error of the schema.
    """

    def build() -> None:
        with _building:
            if not kind.__pydantic_complete__:
                kind.model_rebuild()

    thread = Thread(target=build, name=f"builds {kind.__name__}")
    thread.start()
    thread.join()


def limit_steps(count: int, limit: int) -> None:
    """Refuse a request of more steps than the limit, before any of them is looked at."""
    if count > limit:
        raise error(
            "limit_exceeded",
            f"{count} steps in one request, and the limit is {limit}",
            "send them in several requests",
        )


def from_source(steps: Iterable[dict[str, Any]]) -> list[OpStep | BindStep]:
    """The steps of source text as models, unchecked: the parser wrote them."""
    return [
        OpStep.model_construct(**step) if "op" in step else BindStep.model_construct(**step)
        for step in steps
    ]
