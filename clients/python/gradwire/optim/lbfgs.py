"""L-BFGS: the engine's algorithm, asking the user's closure for losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from gradwire.creation import tensor
from gradwire.leaf import leaf
from gradwire.modes import enable_grad
from gradwire.optim.optimizer import Hosted
from gradwire.session import Session
from gradwire.tensor import Tensor
from gradwire.within import within
from gradwire_engine.optim.lbfgs import lbfgs
from gradwire_engine.optim.settings import checked, kind_of

Row = np.ndarray


class LBFGS(Hosted):
    """Limited-memory BFGS; the closure clears gradients, computes the loss and its backward.

    What the closure does is the user's Python, so the steps are taken here, and what is kept of
    them stays here; over REST a step with a closure program is one request.
    """

    kind = "lbfgs"

    def __init__(self, params: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(params, *args, **kwargs)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._kept: dict[str, Any] = {}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Several evaluations of the closure; gives the first loss."""
        if closure is None:
            raise TypeError("LBFGS.step() missing 1 required positional argument: 'closure'")
        if len(self.param_groups) != 1:  # of torch's class
            raise AssertionError(f"LBFGS has one group of parameters, not {len(self.param_groups)}")
        kind = kind_of(self.kind)
        settings = checked(
            kind,
            {k: v for k, v in self.param_groups[0].items() if k in kind.settings},
            first=False,
        )
        begin = np.concatenate([_row(p.detach()) for p in self._tensors])
        walk = lbfgs(np, begin, self._kept, **settings)
        x, first = next(walk), None
        while True:
            if x is not begin:
                self._put(x)
            versions = [p._version for p in self._tensors]
            with enable_grad():
                loss = closure()
            first = loss if first is None else first
            if versions != [p._version for p in self._tensors]:
                x = np.concatenate([_row(p.detach()) for p in self._tensors])
            g = np.concatenate(
                [np.zeros_like(_row(p.detach())) if p.grad is None else _row(p.grad.detach())
                 for p in self._tensors]
            )  # fmt: skip
            try:
                with np.errstate(all="ignore"):
                    x = walk.send((float(loss), g, x))
            except StopIteration as end:
                self._put(end.value)
                return first

    def _put(self, row: Row) -> None:
        """Write one row of all elements into the parameters."""
        at = 0
        for param in self._tensors:
            size = param.numel() * (2 if param.is_complex() else 1)
            part = row[at : at + size]
            if param.is_complex():
                part = part.view(param.dtype.numpy)
            with within(grad=False), param.session.here():
                param.copy_(tensor(part.reshape(param.shape)))
            at += size

    def _fetched(self) -> list[dict[str, Any]]:
        kept = {name: _shown(self._session, value) for name, value in self._kept.items()}
        return [kept, *({} for _ in self._tensors[1:])]

    def load_state_dict(self, state_dict: Any) -> None:
        """Take over settings and what was kept."""
        self._take_settings(state_dict)
        self._kept = {n: _taken(v) for n, v in state_dict["state"].get(0, {}).items()}

    def _said(self) -> dict[str, Any]:
        return super()._said() | {"kept": self._fetched()[0]}

    @classmethod
    def _again(cls, *of: Any) -> Self:
        found = super()._again(*of)
        said = of[-1] or {"kept": {}}
        found._kept = {n: _taken(v) for n, v in said["kept"].items()}
        return found


def _shown(session: Session, value: Any) -> Any:
    """What is kept, rows as tensors."""
    if isinstance(value, list):
        return [_shown(session, item) for item in value]
    return leaf(session, value) if isinstance(value, np.ndarray) else value


def _taken(value: Any) -> Any:
    """The opposite."""
    if isinstance(value, list):
        return [_taken(item) for item in value]
    return value.numpy() if isinstance(value, Tensor) else value


def _row(x: Tensor) -> Row:
    array = x.numpy().reshape(-1)
    if array.dtype.kind == "c":
        return array.view(array.real.dtype)
    return array.astype(np.float32) if array.dtype.itemsize == 2 else array


__all__ = ["LBFGS"]
