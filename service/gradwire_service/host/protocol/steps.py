"""The steps of a request, one model for each word that makes one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import Discriminator, Tag

from gradwire_engine.catalogue import NO_OPS
from gradwire_service.host.protocol.calls import (
    CallPart,
    CallStep,
    Derivative,
    TransformStep,
    VmapStep,
)
from gradwire_service.host.protocol.control import CondStep, ScanStep, WhileStep
from gradwire_service.host.protocol.hooks import EdgeStep, HookStep, UnhookStep
from gradwire_service.host.protocol.names import (
    Draws,
    DTypeName,
    Literal,
    LiteralOrName,
    NamesOrAll,
    Out,
    Read,
    Seed,
    Written,
    field,
    optional,
)
from gradwire_service.host.protocol.optimizers import AdvanceStep, ClipStep, OptimizerStep
from gradwire_service.host.protocol.step import StepPart
from gradwire_service.host.protocol.walks import BackwardFields, GradFields, Part


class TensorStep(StepPart):
    """Make a leaf."""

    word = "tensor"
    tensor: Written = field("The name of the new tensor.", "x")
    value: Literal = field("Its elements, as a tensor literal.", [1, 2, 3])
    dtype: DTypeName | None = optional("The dtype to convert to.", "float64")
    requires_grad: bool = field("Whether gradients are accumulated for it.", True, default=False)


class RandomState(Part):
    """Where random numbers come from: a seed, and how many draws were made since."""

    seed: Seed = field("A whole number from 0 to 2**64 - 1.", 7)
    draws: Draws = field("How many draws of it lie behind.", 2, default=0)


class OpStep(StepPart):
    """Apply an op of the catalogue."""

    word = "op"
    op: str = field(
        "The op's name: torch's path without `torch.`.",
        "softmax",
        "linalg.det",
        "add_",
        min_length=1,
        max_length=128,
    )
    args: list[Any] = field(
        "Positional arguments: names of tensors, numbers, literals, lists, null.",
        ["x", 2],
        default_factory=list,
    )
    kwargs: dict[str, Any] = field("Arguments by name.", {"dim": 1}, default_factory=dict)
    out: Out | None = optional(
        "The name of the result, or a list of names with null for what isn't wanted. Ops that work "
        "in place (names ending in `_`) take none.",
        "y",
        ["values", None],
    )
    generator: RandomState | None = optional(
        "What a random op draws from in place of the session's random state, which stays as it is. "
        "Not in programs.",
        {"seed": 7, "draws": 2},
    )


class GradStep(StepPart):
    """Compute gradients and name them."""

    word = "grad"
    grad: GradFields = field(
        "What to differentiate, and how.", {"outputs": ["loss"], "inputs": ["w"]}
    )
    out: list[Written | None] | None = optional(
        "A name for each gradient, in the order of inputs; null for what isn't wanted.", ["gw"]
    )


class BackwardStep(StepPart):
    """Accumulate gradients into `.grad` of the leaves."""

    word = "backward"
    backward: BackwardFields = field("What to differentiate, and how.", {"tensors": ["loss"]})


class ZeroGradStep(StepPart):
    """Clear gradients."""

    word = "zero_grad"
    zero_grad: NamesOrAll = field('Whose gradients: names, or "all".', ["w", "b"], "all")
    set_to_none: bool = field("Remove them; false fills them with zeros.", False, default=True)


class SetGradStep(StepPart):
    """Set the gradient of a tensor."""

    word = "set_grad"
    set_grad: Written = field("Whose gradient.", "w")
    value: LiteralOrName | None = field(
        "A literal, the name of a tensor, or null to remove it.", "gw"
    )


class RequiresGradStep(StepPart):
    """Change whether a leaf requires grad."""

    word = "requires_grad"
    requires_grad: Written = field("The leaf.", "w")
    value: bool = field("Whether it requires grad from now on.", False)


class RetainGradStep(StepPart):
    """Have a non-leaf keep its gradient."""

    word = "retain_grad"
    retain_grad: Written = field("The tensor.", "h")


class DetachStep(StepPart):
    """Name the same elements without their history."""

    word = "detach"
    detach: Read = field("The tensor.", "h")
    out: Written = field("The name of the detached one.", "h0")


class SeedStep(StepPart):
    """Seed the session's random numbers."""

    word = "seed"
    seed: Seed = field("A whole number from 0 to 2**64 - 1.", 0)
    draws: Draws = field(
        "How many draws of it count as made: with both a state is set.", 3, default=0
    )


class FreeStep(StepPart):
    """Forget names; a tensor lives on as long as the graph needs it."""

    word = "free"
    free: list[Written] = field("The names to forget, of tensors and optimisers.", ["h", "loss"])


class RenameStep(StepPart):
    """Give tensors other names: all of these, or none."""

    word = "rename"
    rename: dict[Written, Written] = field(
        "New names by the old ones; names may change places.", {"t2": "encoder.weight"}
    )


class BindStep(StepPart):
    """Make `out` another name of a tensor. Only source text (`x = y`) writes it, no client."""

    word = "bind"
    bind: str
    out: str


STEPS: Mapping[str, type[StepPart]] = {
    kind.word: kind
    for kind in (
        TensorStep, OpStep, GradStep, BackwardStep, ZeroGradStep, SetGradStep, RequiresGradStep,
        RetainGradStep, DetachStep, SeedStep, FreeStep, RenameStep, CallStep, TransformStep,
        VmapStep, CondStep, ScanStep, WhileStep, HookStep, UnhookStep, EdgeStep, OptimizerStep,
        AdvanceStep, ClipStep,
    )
}  # fmt: skip

_RUNS = "in steps, or in the ops of a program; what it runs is a program that was stored before"
NO_OPS |= {
    word: f'{word} is a step of its own: {{"{word}": …}}'
    + (f" {_RUNS}" if issubclass(kind, CallPart) else "")
    for word, kind in STEPS.items()
}
NO_OPS |= {
    name: f'{name} is a step of its own: {{"transform": "{name}", "call": …}} {_RUNS}'
    for name in get_args(Derivative)
}

# A word may also be another step's field (`call` has `backward`, a tensor has `requires_grad`), so
# those that are no one's field come first.
_FIRST = (
    "tensor", "op", "optimizer", "step", "clip_grad_norm", "transform", "vmap", "call",
    "cond", "scan", "while_loop",
    "hook", "unhook", "edge",
)  # fmt: skip
_ORDER = (*_FIRST, *(word for word in STEPS if word not in _FIRST))


def word_of(step: object) -> str | None:
    """The word that makes a step, or None where it has none of them."""
    if not isinstance(step, dict):
        return None
    for word in _ORDER:
        if word in step:
            return word
    return None


def one_of(kinds: Iterable[type[StepPart]]) -> Any:
    """The type of a step of any of these kinds, which its word tells from the others."""
    union = reduce(or_, (Annotated[kind, Tag(kind.word)] for kind in kinds))
    return Annotated[union, Discriminator(word_of)]


if TYPE_CHECKING:
    Step = StepPart
else:  # any step that a client may post
    Step = one_of(STEPS.values())
