"""Where the host is this process: what a walk has come to, taken down there and then."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

from gradwire.autograd.hook_run import Run
from gradwire.transport import Received, Step, Values
from gradwire_engine.errors import error
from gradwire_engine.tensor import Tensor as Value

_numbers = count(1)


class Seen:
    """A program to the host, of a hook that takes tensors down and ends the walk.

    What comes later in the walk may fail; it is not asked. kept: by the names in the hook under way
    those in the session, of what is looked at. found: the tensors, once the walk came here.
    """

    size = 1
    outputs = ()

    def __init__(self, run: Run, kept: Mapping[str, str]) -> None:
        self.id = f"seen_{next(_numbers)}"
        self.inputs = [f"v{place}" for place in range(len(run.names) + len(kept))]
        self._hook, self._kept = run.hook, kept
        self.found: Values = {}

    def also(self, names: Any) -> Seen:
        """It has no names of its own."""
        return self

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        """Never gives anything back."""
        looked_at = values[len(values) - len(self._kept) :]
        self.found = {n: _received(v) for n, v in zip(self._kept, looked_at, strict=True)}
        raise error("untraceable", "a hook looks at values: so far this walk was to go")

    def step(self) -> Step:
        """To be done where the hook under way was registered with these names."""
        return {
            "hook": self._hook.place,
            "kind": self._hook.kind,
            "program": self.id,
            "args": list(self._kept.values()),
            "observes": True,
            "id": self.id,
        }


def _received(value: Value) -> Received:
    array = value.numpy().copy()
    return Received(
        value.dtype, value.shape, value.requires_grad, value.is_leaf, None, value.version, array
    )


__all__ = ["Seen"]
