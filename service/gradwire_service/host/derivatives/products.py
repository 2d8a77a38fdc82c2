"""First derivatives times vectors: gradients, vjp by a walk back, jvp by forward mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradwire_engine.backward import grad
from gradwire_engine.batch.value import Batched
from gradwire_engine.errors import error
from gradwire_engine.forward import push
from gradwire_engine.mode import local
from gradwire_engine.ops.views import select
from gradwire_engine.pullback import Pullback
from gradwire_engine.vmap import vmap
from gradwire_service.host.derivatives.ask import Ask, Found, listed

Outputs = Sequence[Any]
Function = Callable[..., tuple[Any, Outputs]]
"""What is differentiated and, beside it, all outputs of the program."""


def differentiable(ask: Ask) -> Function:
    """The program as a function whose result is those outputs that have derivatives at all."""

    def function(*values: Any) -> tuple[Any, Outputs]:
        outputs = ask.program(*values)
        return tuple(y for y in outputs if y.dtype.differentiable), outputs

    return function


def _chosen(ask: Ask, field: str) -> tuple[Function, Mapping[str, Any]]:
    """The program as a function of those outputs that have a cotangent, and these."""
    names = ask.program.outputs
    given = dict.fromkeys(names) if ask.wanted.cotangents is None else ask.wanted.cotangents
    if not given:
        raise error(
            "invalid_request",
            f"{field}: none is given",
            f"leave it out, or give one for at least one output; these are {listed(names)}",
        )
    for name in given:
        if name not in names:
            raise error(
                "invalid_request",
                f"{field}: {name[:64]!r} is no output of the program",
                f"its outputs are {listed(names)}",
            )

    def function(*values: Any) -> tuple[Any, Outputs]:
        outputs = ask.program(*values)
        by_name = dict(zip(names, outputs, strict=True))
        return tuple(by_name[name] for name in given), outputs

    return function, given


def _pullback(ask: Ask, asked: str, field: str) -> tuple[Pullback, list[Any]]:
    """The program's run on variables of its own, and cotangents for what it gave."""
    function, given = _chosen(ask, field)
    made = Pullback(asked, function, ask.arguments, ask.wrt, has_aux=True)
    pairs = zip(given.values(), made.outputs, strict=True)
    return made, [None if value is None else ask.read(value, y) for value, y in pairs]


def settled(made: Pullback) -> Outputs:
    """All outputs as the caller gets them."""
    return [made.settled(y) for y in made.aux or ()]


def value_and_grad(ask: Ask) -> Found:
    """Gradients of the outputs that have a cotangent; None where they depend on nothing."""
    if not ask.wrt:
        return Found(ask.program(*ask.arguments), {})
    made, cotangents = _pullback(ask, "value_and_grad", "grad_outputs")
    found = grad(
        made.outputs,
        made.variables,
        cotangents,
        create_graph=made.beyond and local.state.grad,
        allow_unused=True,
        names=[ask.program.inputs[place] for place in ask.wrt],
        output_names=list(dict.fromkeys(ask.wanted.cotangents or ask.program.outputs)),
    )
    return Found(settled(made), ask.named(ask.wrt, found))


def vjp(ask: Ask) -> Found:
    """Cotangents times the jacobian, one or a batch of them in one walk back."""
    if not ask.wrt:
        return Found(ask.program(*ask.arguments), {})
    made, cotangents = _pullback(ask, "vjp", "cotangents")
    names = list(ask.program.outputs if ask.wanted.cotangents is None else ask.wanted.cotangents)
    batched = {"is_grads_batched": True} if ask.wanted.batched else {}
    found = made.pull(cotangents, names, **batched)
    return Found(settled(made), ask.named(ask.wrt, found))


def jvp(ask: Ask) -> Found:
    """The jacobian times tangents, one or a batch of them in one run."""
    function, args = differentiable(ask), ask.arguments
    moving = ask.directions("tangents")
    outputs: list[Any] = []

    def along(*tangents: Any) -> list[Any]:
        by_place = dict(zip(moving, tangents, strict=True))
        every = [by_place.get(place) for place in range(len(args))]
        pushed = push(
            "jvp", function, args, args, every, has_aux=True, names=list(ask.program.inputs)
        )
        outputs[:] = pushed.aux
        return pushed.full_tangents

    tangents = tuple(moving.values())
    batched = ask.wanted.batched
    # Whatever is drawn is drawn once: there is one run of the program, along many tangents.
    parts = vmap(along, randomness="same")(*tangents) if batched else along(*tangents)
    return Found([unbatched(y) for y in outputs], by_output(ask, outputs, parts))


def unbatched(y: Any) -> Any:
    """An output as one run has it, where a batch of directions has made as many alike."""
    return select(y.value, 0, 0) if type(y) is Batched else y


def by_output(ask: Ask, outputs: Outputs, parts: Sequence[Any]) -> dict[str, Any]:
    """Parts by the names of those outputs that have derivatives."""
    names = zip(ask.program.outputs, outputs, strict=True)
    have = [name for name, y in names if y.dtype.differentiable]
    return dict(zip(have, parts, strict=True))
