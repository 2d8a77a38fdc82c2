"""What a custom function's forward and backward share: torch's ctx."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gradwire.tensor import Tensor


class FunctionCtx:
    """Takes what forward wants kept and marked, and gives it to backward; attributes stay.

    needs_input_grad: for each argument of the forward whether it requires grad.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.materialize_grads = True
        self.to_save: tuple[Any, ...] = ()
        self.dirty_tensors: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()
        self.asked = False  # by backward, for what was saved
        self.look: Callable[[], None] | None = None  # whether what was saved may be used still
        self._unpacked: tuple[Any, ...] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors, or None, for backward; called once, in forward or setup_context."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Kept for a jvp of one's own, which isn't asked here: accepted."""
        _check("save_for_forward", tensors, absent=True)

    def mark_dirty(self, *tensors: Any) -> None:
        """These arguments are written in place, and given back."""
        _check("mark_dirty", tensors)
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """These outputs never require grad."""
        _check("mark_non_differentiable", tensors)
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, rather than None, for outputs without gradient."""
        self.materialize_grads = bool(value)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What save_for_backward was given, in order; to be looked at in backward."""
        self.asked = self._unpacked is not None
        if self.look is not None and self._unpacked:
            self.look()
        return self._unpacked or ()

    @contextmanager
    def unpacked(self, tensors: Sequence[Any], look: Callable[[], None]) -> Iterator[None]:
        """Have `saved_tensors` give these for a block; another walk may be around it."""
        before = self._unpacked, self.look
        self._unpacked, self.look = tuple(tensors), look
        try:
            yield
        finally:
            self._unpacked, self.look = before  # what is handed out leads back here

    def unpack(self, tensors: Sequence[Any]) -> None:
        """From here on `saved_tensors` gives these."""
        self._unpacked = tuple(tensors)

    def check_saved(self) -> None:
        """Only tensors can be saved."""
        _check("save_for_backward", self.to_save, absent=True)


def _check(what: str, tensors: Sequence[Any], *, absent: bool = False) -> None:
    asked = "save" if what.startswith("save") else what
    for place, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor) and not (absent and tensor is None):
            raise TypeError(
                f"{what} can only {asked} variables, but argument {place} is of type "
                f"{type(tensor).__name__}"
            )


__all__ = ["FunctionCtx"]
