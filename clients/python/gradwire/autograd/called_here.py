"""A custom function on tensors that are here: its forward and backward are called as Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

from gradwire.autograd.context import FunctionCtx
from gradwire.autograd.written import Used
from gradwire.session import Session
from gradwire.tensor import Tensor, held_tensor
from gradwire.thread import as_user, refuse_others, with_callbacks
from gradwire_engine import function as engine
from gradwire_engine.errors import error
from gradwire_engine.function_rule import Function
from gradwire_engine.mode import local
from gradwire_engine.tensor import Tensor as Value


def called_here(session: Session, used: Used, args: tuple[Any, ...]) -> Any:
    """What the forward gives; its node's rule calls the backward."""
    refuse_others(session, args)
    call = _Call(session, used, args)
    values = [a._meta if isinstance(a, Tensor) else None for a in args]
    with session.recording():  # the forward too: one that raises has changed nothing
        found = with_callbacks(engine.apply, call.forward, values)
        if call.rule is not None:
            call.rule.note_versions()
        session.through()
    own = {id(a._meta): a for a in args if isinstance(a, Tensor)}
    outputs = [
        own[id(value)]
        if id(value) in own
        else held_tensor(session, value)
        if isinstance(output, Tensor)
        else output
        for output, value in zip(call.outputs, found, strict=True)
    ]
    if local.state.anomaly:
        session.note_line([o for o in outputs if isinstance(o, Tensor)])
    return outputs[0] if call.single else tuple(outputs)


class _Call:
    """One use of a function. outputs: what its forward gave; single: whether not in a tuple."""

    def __init__(self, session: Session, used: Used, args: tuple[Any, ...]) -> None:
        self._session, self._used, self._args = session, used, args
        self.outputs: list[Any] = []
        self.single = False
        self.rule: PythonRule | None = None

    def forward(self, *values: Any) -> engine.Made:
        """Call the user's forward, and say what its node is to be."""
        used, session = self._used, self._session
        given = [
            a if not isinstance(a, Tensor) else a if a._meta is v else held_tensor(session, v)
            for a, v in zip(self._args, values, strict=True)
        ]
        ctx = FunctionCtx(tuple([isinstance(a, Tensor) and a.requires_grad for a in given]))
        found = as_user(used.run, ctx, given)
        ctx.check_saved()
        self.single = not isinstance(found, tuple)
        self.outputs = [found] if self.single else list(found)
        used.check(self.outputs)
        refuse_others(session, self.outputs)
        saved = [None if t is None else t._meta for t in ctx.to_save]
        rule = self.rule = PythonRule(session, used, ctx, saved)
        made = engine.Made(
            Function(used.name, rule, ctx.materialize_grads, used.once_differentiable),
            [o._meta if isinstance(o, Tensor) else o for o in self.outputs],
            saved,
            [t._meta for t in ctx.non_differentiable],
            [t._meta for t in ctx.dirty_tensors],
            looks=False,
        )
        ctx.to_save = ctx.non_differentiable = ctx.dirty_tensors = ()
        return made


class PythonRule:
    """A backward as the graph holds it: a function of the program, which no file can hold.

    id: its name, for pictures and refusals.
    """

    def __init__(
        self, session: Session, used: Used, ctx: FunctionCtx, saved: Sequence[Any]
    ) -> None:
        self.id = f"{used.name}.backward"
        self._session, self._backward, self._ctx = session, used.backward, ctx
        self._saved = len(saved)
        # the graph holds them, and lets them go after its walk
        self._known = [(ref(v.storage), v.spec) if type(v) is Value else None for v in saved]
        self._versions: list[int] = []

    def note_versions(self) -> None:
        """Note the versions of what is saved; torch looks at them when the backward asks for it."""
        self._versions = [self._version(place) or 0 for place in range(self._saved)]

    def _version(self, place: int) -> int | None:
        known = self._known[place]
        storage = None if known is None else known[0]()
        return None if storage is None else storage.version

    def _look(self) -> None:
        for place, version in enumerate(self._versions):
            now = self._version(place)
            if now is not None and now != version:
                spec = self._known[place][1]  # type: ignore[index]
                raise error(
                    "modified_in_place",
                    f"{self.id}: saved tensor {place} ({spec}) was modified in place: it is at "
                    f"version {now}, expected version {version}",
                    "clone() it before the in-place op, or use the op that is not in place",
                )

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        """The gradients that the backward gives, from what was saved and those of results."""
        session = self._session
        values = [None if v is None else held_tensor(session, v) for v in given]
        ctx = self._ctx
        with ctx.unpacked(values[: self._saved], self._look):
            found = as_user(self._backward, ctx, *values[self._saved :])
        listed = found if isinstance(found, tuple) else (found,)
        refuse_others(session, listed)
        return tuple([g._meta if isinstance(g, Tensor) else g for g in listed])


__all__ = ["PythonRule", "called_here"]
