"""Custom functions in a session: a forward program, a backward program, and what they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradwire_engine.errors import error
from gradwire_engine.function import Made, apply
from gradwire_engine.function_rule import Function
from gradwire_service.host.inside import Inside
from gradwire_service.host.protocol.calls import CallStep
from gradwire_service.host.scope import Callee


def custom(
    program: Callee, backward: Callee, step: CallStep, values: Sequence[Any]
) -> tuple[Any, ...]:
    """Run the forward program; its node's rule is the backward program."""
    save = step.save or []
    _check_names("non_differentiable", step.non_differentiable or [], "outputs", program.outputs)
    _check_names("dirty", step.dirty or [], "inputs", program.inputs)
    null = step.null or []
    _check_names("null", null, "inputs", program.inputs)
    _check_count(program, backward, len(null))
    wanted = len(save) + len(program.outputs)
    if len(backward.inputs) != wanted:
        raise error(
            "invalid_argument",
            f"backward: program {backward.id} takes {len(backward.inputs)} inputs, and gets "
            f"{wanted}: {len(save)} saved tensors, {len(program.outputs)} gradients of outputs",
            "give it an input for each",
        )
    function = Function(
        step.name or "Custom",
        Backward(Inside(backward), tuple(name in null for name in program.inputs)),
        True if step.materialize_grads is None else step.materialize_grads,
        bool(step.once_differentiable),
    )
    return tuple(apply(_Forward(program, program.also(save), function, step), values))


def _check_names(field: str, given: Sequence[str], what: str, known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise error(
                "invalid_argument",
                f"{field}: {name!r} is none of the program's {what} ({', '.join(known)})",
                f"name {what} of the forward program",
            )


def _check_count(program: Callee, backward: Callee, null: int) -> None:
    wanted = len(program.inputs) - null
    if len(backward.outputs) != wanted:
        raise error(
            "invalid_gradient",
            f"backward: program {backward.id} gives {len(backward.outputs)} gradients, expected "
            f"{wanted}: one for each of {', '.join(program.inputs)}"
            + (f", but for the {null} that null names" if null else ""),
            "give one for each argument, or name those without in null",
        )


@dataclass(frozen=True, slots=True)
class Backward:
    """The backward program, with null where an argument gets no gradient."""

    program: Inside
    null: tuple[bool, ...]

    @property
    def id(self) -> str:
        """The program's."""
        return self.program.id

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        found = iter(self.program(*values))
        return tuple([None if absent else next(found) for absent in self.null])


@dataclass(frozen=True, slots=True)
class _Forward:
    """The forward program, which also gives what is saved."""

    program: Callee
    saving: Callee
    function: Function
    step: CallStep

    def __call__(self, *values: Any) -> Made:
        found = Inside(self.saving)(*values)
        count = len(self.program.outputs)
        outputs = dict(zip(self.program.outputs, found[:count], strict=True))
        inputs = dict(zip(self.program.inputs, values, strict=True))
        return Made(
            self.function,
            found[:count],
            found[count:],
            [outputs[name] for name in self.step.non_differentiable or ()],
            [inputs[name] for name in self.step.dirty or ()],
        )
