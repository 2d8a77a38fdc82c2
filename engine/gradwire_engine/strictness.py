"""What torch.autograd.functional asks of inputs, outputs and, in strict mode, of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradwire_engine.levels import everywhere
from gradwire_engine.op import APPLY
from gradwire_engine.pullback import refusal
from gradwire_engine.reading import zeros
from gradwire_engine.tensor import Tensor

Values = tuple[Any, ...]


def as_tuple(asked: str, what: str, given: Any) -> tuple[bool, Values]:
    """Whether a tuple was given, and what was given as a tuple of tensors; TypeError if not."""
    several = isinstance(given, tuple)
    values = given if several else (given,)
    for index, value in enumerate(values):
        if type(value) not in APPLY:
            where = f"entry {index} of {what}" if several else what
            raise refusal(
                f"{asked}: {where} is a {type(value).__name__}",
                "it must be a tensor, or a tuple of tensors",
                raised=TypeError,
            )
    return several, values


def as_given(several: bool, values: Sequence[Any]) -> Any:
    """Results in the form of what was given: a tuple, or the only one."""
    return tuple(values) if several else values[0]


def released(create_graph: bool, values: Sequence[Any]) -> Values:
    """Values as the caller gets them: with a history only if it was asked for."""
    return tuple(v if create_graph else everywhere(v, Tensor.detach) for v in values)


def check_v(asked: str, v: Values, like: Values, several: bool) -> None:
    """v has one tensor for each of what it is multiplied with, of the same shape."""
    if len(v) != len(like):
        raise refusal(
            f"{asked}: v has {len(v)} tensors, it should have {len(like)}",
            "give a tuple with one for each" if several else "give a single tensor",
        )
    for index, (given, wanted) in enumerate(zip(v, like, strict=True)):
        if given.shape != wanted.shape:
            raise refusal(
                f"{asked}: entry {index} of v has shape {list(given.shape)}, "
                f"it should have {list(wanted.shape)}",
                "v has the shapes of what it is multiplied with",
                "shape_mismatch",
            )


def check_lone(asked: str, values: Values, what: str) -> None:
    """Only where there is a single number can v be left out."""
    if len(values) != 1 or values[0].spec.size != 1:
        raise refusal(
            f"{asked}: v can only be left out where {what} is a single tensor with one element",
            "give v",
            "not_scalar",
        )


def check_scalar(asked: str, several: bool, outputs: Values) -> None:
    """The function of which a Hessian is asked gives a single number."""
    if several:
        raise refusal(f"{asked}: the function gives a tuple", "it must give a single tensor")
    if outputs[0].spec.size != 1:
        raise refusal(
            f"{asked}: the function gives a tensor of shape {list(outputs[0].shape)}",
            "it must give a single element; sum() it, or use jacobian",
            "not_scalar",
        )


def independent(asked: str, what: str) -> Exception:
    """What strict mode says to a missing dependence."""
    return refusal(
        f"{asked}: {what}, which strict mode does not allow",
        "leave strict out to get zeros",
        "unused_input",
    )


def check_dependent(asked: str, strict: bool, values: Sequence[Any], what: str) -> None:
    """In strict mode each of these has to depend on the inputs. what: "output", ..."""
    for index, value in enumerate(values if strict else ()):
        if value is None:
            raise independent(asked, f"the output is independent of input {index}")
        if not value.requires_grad:
            raise independent(asked, f"{what} {index} is independent of the inputs")


def filled(
    asked: str,
    found: Sequence[Any],
    like: Sequence[Any],
    strict: bool,
    create_graph: bool,
    what: tuple[str, str],
) -> Values:
    """Products with zeros for None, which strict mode refuses.

    what: of what a product is, and of what it may be independent: ("output", "input").
    """
    for index, g in enumerate(found if strict else ()):
        if g is None:
            raise independent(asked, f"the {what[0]} is independent of {what[1]} {index}")
        if create_graph and not g.requires_grad:
            raise independent(
                asked, f"with create_graph, what is found for {what[1]} {index} is a constant"
            )
    return tuple(zeros(x.spec) if g is None else g for g, x in zip(found, like, strict=True))
