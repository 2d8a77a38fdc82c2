"""What is said of hooks that can't do what they ask for."""

from __future__ import annotations

from typing import TypeGuard

from gradwire.autograd.registered import Registered
from gradwire_engine.errors import GradwireError, error


def looks(problem: Exception) -> TypeGuard[GradwireError]:
    """Whether a hook was refused a value, or anything else that can't be written down."""
    return isinstance(problem, GradwireError) and problem.code == "untraceable"


def replaces(hook: Registered) -> GradwireError:
    """The refusal of a replacement by a hook that can't be written down."""
    return error(
        "untraceable",
        f"hook {hook.id!r} looks at values and gives a gradient back; it can't be written "
        "down, and after the walk nothing is replaced any more",
        "write it in ops alone (torch.where, clamp, …), or return nothing",
    )


def differs(called: str) -> GradwireError:
    """The refusal of a look at gradients of which there are many."""
    return error(
        "untraceable",
        f"{called} sees gradients of a batched walk; their values differ from row to row",
        "look at them in a walk for each row, or write the hook in ops",
    )


def raised(problem: BaseException) -> GradwireError:
    """What is told of tensors that were lost as a hook raised."""
    return error("untraceable", f"a hook raised {type(problem).__name__}", "mend the hook")


def part_of_no_function(called: str, function: str) -> GradwireError:
    """The refusal of a hook that a walk comes to which is only written down."""
    return error(
        "untraceable",
        f"{called} is met by a walk in {function}; hooks are no part of a function that is only "
        "written down",
        "take the hook away for this walk, or walk outside of the function",
    )


__all__ = ["differs", "looks", "part_of_no_function", "raised", "replaces"]
