"""An optimiser: groups of parameters with their settings, what it keeps of each, and its step.

State is never written in place: an update makes new arrays, so undoing a step, or forking it, costs
no copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradwire_engine.arrays import backend
from gradwire_engine.errors import GradwireError, error
from gradwire_engine.inplace import check_writable, replace_elements, write
from gradwire_engine.journal import assign
from gradwire_engine.mode import charge, local, no_grad
from gradwire_engine.optim.lbfgs import lbfgs
from gradwire_engine.optim.rows import flat, is_like, nbytes, put_back, shaped
from gradwire_engine.optim.settings import checked, kind_of
from gradwire_engine.optim.update import State, refused
from gradwire_engine.tensor import Tensor

Closure = Callable[[], Tensor]
"""Computes the loss anew and leaves the gradients in `.grad`."""


Given = tuple[Iterable[Tensor], Mapping[str, Any]]
"""Parameters, and the settings that are not left to the defaults."""


class Group(NamedTuple):
    """Parameters with settings of their own."""

    params: tuple[Tensor, ...]
    settings: Mapping[str, Any]


class Optimizer:
    """One optimiser. states: what it keeps of each parameter, in the order of `params`."""

    __slots__ = ("groups", "kind", "states")

    def __init__(self, kind: str, groups: Sequence[Given], *, first: bool = True) -> None:
        self.kind = kind_of(kind)
        if not groups or not any(tuple(params) for params, _ in groups):
            raise refused(
                f"{kind}: optimizer got an empty parameter list",
                "name the tensors that it is to change",
            )
        made = [Group(tuple(p), checked(self.kind, s, first=first)) for p, s in groups]
        self.groups: tuple[Group, ...] = tuple(made)
        _check_params(kind, self.params)
        self.states: tuple[State, ...] = tuple({} for _ in self.params)

    @property
    def params(self) -> list[Tensor]:
        """All parameters, group by group."""
        return [x for group in self.groups for x in group.params]

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of the parameters."""
        return sum(nbytes(value) for state in self.states for value in state.values())

    def set(self, settings: Sequence[Mapping[str, Any]]) -> None:
        """Change settings, one mapping for each group; what isn't named stays.

        As in torch, a schedule may lead a rate below 0.
        """
        pairs = zip(self.groups, settings, strict=True)
        found = [checked(self.kind, {**g.settings, **s}, first=False) for g, s in pairs]
        groups = zip(self.groups, found, strict=True)
        assign(self, "groups", tuple([g._replace(settings=s) for g, s in groups]))

    def continued(self, groups: Sequence[Given]) -> Optimizer:
        """One of other groups, with what is kept of the parameters that both have.

        Where one state is of all parameters together, it's of no others.
        """
        made = Optimizer(self.kind.name, groups, first=False)
        known = {id(x): state for x, state in zip(self.params, self.states, strict=True)}
        if self.kind.update is not None or [id(x) for x in made.params] == [*known]:
            made.states = tuple(known.get(id(x), {}) for x in made.params)
        return made

    def load(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Take over what was kept of parameters in the same order: numbers, and arrays."""
        if len(states) != len(self.states):
            raise refused(
                f"{self.kind.name}: state for {len(states)} parameters, it has {len(self.states)}",
                "give one for each parameter, in order",
            )
        pairs = zip(self.params, states, strict=True)
        assign(self, "states", tuple({n: _row(n, v, x) for n, v in s.items()} for x, s in pairs))

    def forked(self, copy: Callable[[Tensor], Tensor]) -> Optimizer:
        """The same optimiser for a fork's tensors."""
        made = object.__new__(Optimizer)
        made.kind = self.kind
        made.groups = tuple(Group(tuple(map(copy, g.params)), g.settings) for g in self.groups)
        made.states = tuple(map(dict, self.states))
        return made

    # stepping

    def step(self, closure: Closure | None = None) -> Tensor | None:
        """Change every parameter that has a gradient; with a closure, gives the loss before.

        L-BFGS needs the closure; the others run it once first.
        """
        if self.kind.update is None:
            return self._minimise(closure)
        loss = None if closure is None else closure()
        with no_grad(), np.errstate(all="ignore"):
            states = list(self.states)
            place = 0
            for group in self.groups:
                settings = dict(group.settings)
                maximize = settings.pop("maximize")
                for x in group.params:
                    if x.grad is not None:
                        states[place] = self._update(x, x.grad, states[place], settings, maximize)
                    place += 1
            assign(self, "states", tuple(states))
        return loss

    def _update(
        self, x: Tensor, grad: Tensor, state: State, settings: Mapping[str, Any], maximize: bool
    ) -> State:
        """Write one parameter; its new state."""
        assert self.kind.update is not None
        check_writable(f"{self.kind.name}: step", x)
        if local.state.meter is not None:
            charge(2 * x.spec.nbytes + nbytes(list(state.values())))
        if x.device == "meta":
            write("step", x, x.detach())
            return state
        xp = backend(x.device).xp
        kept = dict(state)
        g = flat(xp, grad)
        try:
            found = self.kind.update(xp, flat(xp, x), -g if maximize else g, kept, **settings)
        except KeyError as missing:
            raise self._incomplete(missing) from missing
        replace_elements("step", x, shaped(xp, found, x))
        return kept

    def _minimise(self, closure: Closure | None) -> Tensor:
        """L-BFGS: one vector of all parameters, one state for all."""
        if closure is None:
            raise refused(
                "lbfgs: step needs a closure: it computes the loss several times",
                "give one that computes the loss and its gradients anew",
                TypeError,
            )
        if len(self.groups) != 1:
            raise refused(
                f"lbfgs: {len(self.groups)} groups of parameters; it doesn't support groups",
                "put all parameters in one",
            )
        params, state = self.params, dict(self.states[0])
        xp = backend(params[0].device).xp
        begin = xp.concatenate([flat(xp, x) for x in params])
        charge(4 * begin.nbytes)
        walk = lbfgs(xp, begin, state, **self.groups[0].settings)
        x, first = next(walk), None
        while True:
            if x is not begin:
                put_back(xp, params, x)
            versions = [p.version for p in params]
            loss = closure()
            first = loss if first is None else first
            if versions != [p.version for p in params]:
                x = xp.concatenate([flat(xp, p) for p in params])
            charge(2 * begin.nbytes)
            rows = [
                xp.zeros_like(flat(xp, p)) if p.grad is None else flat(xp, p.grad) for p in params
            ]
            g = xp.concatenate(rows)
            try:
                with np.errstate(all="ignore"):
                    x = walk.send((float(loss.numpy()), g, x))
            except KeyError as missing:
                raise self._incomplete(missing) from missing
            except StopIteration as end:
                put_back(xp, params, end.value)
                assign(self, "states", (state, *self.states[1:]))
                return first

    def _incomplete(self, missing: KeyError) -> GradwireError:
        """What is said of state that was loaded, and lacks what a step goes on from."""
        return refused(
            f"{self.kind.name}: step: the state that was loaded has no {missing.args[0]!r}",
            "load all that an optimiser of this kind gave, or nothing",
            KeyError,
        )

    # what it holds

    def kept(self) -> Iterator[tuple[Tensor, dict[str, Any]]]:
        """Each parameter with what is kept of it: numbers, and arrays of the parameter's shape."""
        for x, state in zip(self.params, self.states, strict=True):
            xp = backend(x.device).xp
            yield x, {n: shaped(xp, v, x) if is_like(v, x) else v for n, v in state.items()}


def _row(name: str, value: Any, x: Tensor) -> Any:
    """A piece of state as it is kept: a number, or a row with an element for each of x's."""
    if not isinstance(value, Tensor):
        return value
    found = flat(backend(x.device).xp, value)
    if not is_like(found, x):
        raise error(
            "shape_mismatch",
            f"state: {name} has shape {list(value.shape)}, the parameter {list(x.shape)}",
            "they must be equal",
        )
    return found.copy()


def _check_params(kind: str, params: Sequence[Tensor]) -> None:
    seen: set[int] = set()
    for place, x in enumerate(params):
        if not x.is_leaf and not x.retains_grad:
            raise refused(
                f"{kind}: can't optimize a non-leaf Tensor: parameter {place} has a grad_fn",
                "name leaves; or retain_grad() it",
            )
        if id(x) in seen:
            raise refused(f"{kind}: parameter {place} is there twice", "name each tensor once")
        seen.add(id(x))
