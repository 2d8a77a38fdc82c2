"""One run of a program: its own names, in the modes of whoever runs it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, cast

from gradwire_engine.dual import among_columns, levels_of, standing
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.levels import everywhere, fresh
from gradwire_engine.mode import local
from gradwire_engine.pullback import tensors_of
from gradwire_engine.random import Generator
from gradwire_engine.tensor import Tensor
from gradwire_service.host.limits import Limits
from gradwire_service.host.result_names import stands_under
from gradwire_service.host.scope import Callee, Meter

_LIMITS = Limits()


class _Nowhere:
    """The origin of a program's nodes is the step that called it, which was marked before."""

    def mark(self, step: int, out: object) -> None:
        """Note nothing."""


class _Unmetered:
    """Where a program runs outside of any request."""

    def tick(self) -> None:
        """Let it run."""

    def charge(self, nbytes: int, flops: int = 0, ops: int = 0) -> None:
        """Let it have them."""


_NOWHERE, _UNMETERED = _Nowhere(), _Unmetered()


class Frame:
    """The scope of a program's steps: what they bind lives as long as the run, and in it alone."""

    __slots__ = (
        "_calls", "_columns", "_levels", "_outside", "device", "dtype", "generator", "limits",
        "meter", "origins", "tensors", "variables",
    )  # fmt: skip

    def __init__(self, tensors: dict[str, Any], calls: Mapping[str, Callee]) -> None:
        state = local.state
        self._calls = calls
        self._levels: dict[int, int | None] = {}  # of the transforms that tensors may be moved by
        self._columns: dict[int, int | None] = {}  # those of them that are a Jacobian's own
        self._outside: set[int] = set()  # storages of what came in
        self.tensors = tensors
        self.variables = False  # whether steps made some of their own
        self.limits = _LIMITS
        self.dtype, self.device = state.default_dtype, state.device
        self.meter = cast(Meter, state.meter) if hasattr(state.meter, "tick") else _UNMETERED
        self.generator = state.generator or Generator()
        self.origins = _NOWHERE

    def find(self, name: str) -> Any:
        """The value of a name."""
        found = self.tensors.get(name)
        if found is None:
            raise self.missing(name)
        return found

    def given(self, name: str) -> Any:
        """The value of a result: None where the program hands on an absent gradient."""
        return None if name in self.tensors and self.tensors[name] is None else self.find(name)

    def missing(self, name: str) -> GradwireError:
        """The error of a name that stands for nothing here."""
        return unknown(name, self.tensors)

    def bind(self, name: str, tensor: Any) -> None:
        """Make the name stand for this value. Not journalled: the frame goes with a failure."""
        self.tensors[name] = self._movable(tensor) if self._levels else tensor

    def expect_writes(self, values: Sequence[Any]) -> None:
        """In a forward walk: what is made in here may have something written to it that moves."""
        levels: dict[int, int | None] = {}
        for value in values:
            levels |= levels_of(value)
        if None in levels.values():
            self._levels, self._columns = levels, among_columns(values)
            self._outside = {id(t.storage) for value in values for t in tensors_of(value)}

    def _movable(self, value: Any) -> Any:
        """A value that was made in here, with tangents for what may be written to it."""
        own = value is not None and value.dtype.differentiable
        if own and all(
            tensor.view is None and id(tensor.storage) not in self._outside
            for tensor in tensors_of(value)
        ):
            return standing(value, self._levels, self._columns)
        return value

    def require_grad(self, name: str, flag: bool) -> None:
        """From here on gradients can be asked by this name, or not: of this run's own tensor."""
        value = self.find(name)
        if type(value) is Tensor and not value.was_leaf:
            value.requires_grad_(flag)  # which is fine or refused
        elif not flag:
            self.tensors[name] = everywhere(value, Tensor.detach)
        elif not value.requires_grad:
            self.tensors[name] = fresh(value, tracked=False)
            self.variables = True

    def unbind(self, name: str) -> None:
        """Forget a name, if it is there."""
        self.tensors.pop(name, None)

    def program(self, key: str) -> Callee:
        """A program that this one calls; it is held, whatever becomes of the store's entry."""
        return self._calls[key]


def unknown(name: str, known: Container[str] = ()) -> GradwireError:
    """The error of a name that no input and no earlier step of a program makes.

    known: the names that there are.
    """
    if name.endswith(".grad"):
        return error(
            "tensor_not_found",
            f"{name[:140]!r}: a program sees no accumulated gradients",
            "make it an input of the program, or use a grad step in it",
        )
    return error(
        "tensor_not_found",
        f"there is no tensor called {name[:140]!r} in the program",
        stands_under(name, known) or "make it an input, or the result of a step before this one",
    )
