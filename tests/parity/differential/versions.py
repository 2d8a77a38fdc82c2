"""Version counters: compared by what is added to them, wherever torch's start; names of gradients.

What torch writes inside an op or a walk while it makes a new tensor shows in the tensor's
`_version`: `vector @ matrix` begins at 1. From then on each write counts in both libraries. What
nodes a gradient's own history has is each library's affair: it shows in no derivative. So the node
of a result of a walk is not compared, nor where another tensor has the same one: `g.real` is `g`.
Nor that of what is made of inference tensors alone, where torch's kernel ends in a view: that is no
view of anything named, and shows in the node's name alone once it is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.parity.differential.observe import Seen, Sight
from tests.parity.differential.step import WALKS, Step, references
from tests.parity.differential.undefined import MAKE_NEW


class Starts:
    """For each name how much further torch's counter was when the name was given."""

    def __init__(self) -> None:
        self._ahead: dict[str, int] = {}
        self._gradients: set[str] = set()

    def found(self, step: Step, variables: Mapping[str, Any]) -> None:
        """Note which of the names that a step gave on torch are gradients', or share their node."""
        if step.kind in WALKS or step.name == "grad":
            self._gradients |= set(step.out)
            return
        if step.kind in MAKE_NEW and all(_is_inference(variables[n]) for n in references(step)):
            made = {name for name in step.out if name in variables}
            self._gradients |= {name for name in made if variables[name]._is_view()}
        nodes = [_node(variables.get(name)) for name in self._gradients - set(step.out)]
        for name in step.out:
            node = _node(variables.get(name))
            if node is not None and any(node is other for other in nodes):
                self._gradients.add(name)

    def level(self, step: Step, theirs: Mapping[str, Sight], ours: Mapping[str, Sight]) -> None:
        """Subtract what torch's counters are ahead; names new in this step learn it now."""
        of_gradient = step.kind in WALKS or step.name == "grad"
        passed_on = {self._ahead.get(name, 0) for name in references(step)} | {0}
        for name, seen in theirs.items():
            other = ours.get(name)
            if not isinstance(seen, Seen) or not isinstance(other, Seen):
                continue
            if name in self._gradients:
                seen.grad_fn = other.grad_fn
            if seen.version is None or not isinstance(other.version, int):
                continue
            if name in step.out:
                ahead = seen.version - other.version
                fresh = of_gradient or not other.version
                self._ahead[name] = ahead if fresh or ahead in passed_on else 0
            seen.version -= self._ahead.get(name, 0)


def _is_inference(x: Any) -> bool:
    return bool(getattr(x, "is_inference", bool)())


def _node(x: Any) -> Any:
    """The node that made a tensor of torch; None where there is none, or it may not be asked."""
    try:
        return None if x is None else x.grad_fn
    except (AttributeError, RuntimeError):
        return None
