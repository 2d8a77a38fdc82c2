"""An optimiser as the SDK sees it: settings, and the engine's optimiser.

That is the one which steps, where tensors are here. Of a host's it is a mirror, on meta tensors,
which counts writes; a step is recorded like any op.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, ClassVar, Self

from gradwire.creation import tensor
from gradwire.leaf import leaf
from gradwire.modes import enable_grad
from gradwire.nn import naming
from gradwire.optim.groups import Group, Optimizer
from gradwire.session import Session
from gradwire.tensor import Tensor
from gradwire.thread import quietly, timed
from gradwire.trace import innermost
from gradwire_engine.arrays import backend
from gradwire_engine.journal import assign
from gradwire_engine.optim import KINDS
from gradwire_engine.optim import Optimizer as Engine

_IGNORED = ("foreach", "fused", "capturable", "differentiable")
"""torch's choices of how to compute, of which there is one here."""


class Hosted(Optimizer):
    """What the optimisers have in common that the host steps."""

    kind: ClassVar[str]

    def __init__(self, params: Iterable[Any], *args: Any, **kwargs: Any) -> None:
        super().__init__(params, self._defaults(args, kwargs))
        if naming.pending() and innermost() is None:
            naming.name_parts()
        self._begin()

    def _begin(self) -> None:
        """Make it on the host, where the parameters are."""
        self._mirror = Engine(self.kind, [(_metas(g), _settings(g)) for g in self.param_groups])
        self._session: Session = self._tensors[0].session
        self._be_called(self._session.new_name())
        self._sent: list[Any] = []
        self._send()

    def _be_called(self, name: str) -> None:
        params = [p._host_name for p in self._tensors]
        self._host_name = self._session.give_name(self, None, name, params)

    @property
    def _name(self) -> str:
        """The name of this optimizer at its session's host."""
        return self._host_name.text

    def take_over(self, session: Session, name: str, mirror: Engine) -> None:
        """Be the optimizer that a session's host has under a name, with its settings and state."""
        self._session.names.forget(self._host_name)
        self._session, self._mirror = session, mirror
        self._be_called(name)
        self._host_name.kind = "kept"
        for group, known in zip(self.param_groups, mirror.groups, strict=True):
            group |= dict(known.settings)
        self._sent = self._now()

    def begin_again(self) -> None:
        """Begin anew at the host, where the parameters are now."""
        self._session.names.forget(self._host_name)
        self._begin()

    def _defaults(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The settings given in the constructor, in torch's order or by name, and the rest."""
        known = KINDS[self.kind].settings
        given = dict(zip(known, args, strict=False))
        for name, value in kwargs.items():
            if name in _IGNORED:
                continue
            if name not in known or name in given:
                raise TypeError(
                    f"{type(self).__name__}: there is no setting {name!r}, or it was given twice; "
                    f"it has {', '.join(known)}"
                )
            given[name] = value
        return {name: _number(given.get(name, default)) for name, default in known.items()}

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Take more parameters; what is kept of the others stays."""
        super().add_param_group(param_group)
        if not hasattr(self, "_mirror"):  # it's being made, of all its groups together
            return
        mirror = self._mirror
        try:
            self._sync()
        except BaseException:
            self.param_groups.pop()
            self._mirror = mirror
            raise

    def _send(self) -> None:
        """Record the groups as they are now."""
        groups = self._now()
        with self._session.recording(self) as mark:
            self._mirror.set([_settings(group) for group in self.param_groups])
            step = {"optimizer": self._name, "kind": self.kind, "groups": groups}
            assign(self, "_sent", groups)
            self._session.record(step, mark=mark)

    def _now(self) -> list[Group]:
        """The groups as they travel; or as they are known again, where they are here."""
        called = _itself if self._session.runs_here else _name_of
        return [
            _settings(group) | {"params": [*map(called, group["params"])]}
            for group in self.param_groups
        ]

    def _sync(self) -> None:
        """Record groups again where they were changed since."""
        now = self._now()
        if now != self._sent:
            if [g["params"] for g in now] != [g["params"] for g in self._sent]:
                groups = [(_metas(g), _settings(g)) for g in self.param_groups]
                self._mirror = self._mirror.continued(groups)
            self._send()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient; gives the closure's loss, if there is one."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self._sync()
        with self._session.recording(self) as mark:
            timed("step", "step", quietly, self._mirror.step)
            self._session.record({"step": self._name}, mark=mark)
        return loss

    # saving

    @property
    def state(self) -> defaultdict[Tensor, dict[str, Any]]:
        """What is kept of each parameter, fetched from the host."""
        found = zip(self._tensors, self._fetched(), strict=True)
        return defaultdict(dict, {param: kept for param, kept in found if kept})

    def _fetched(self) -> list[dict[str, Any]]:
        if self._session.runs_here:
            return [
                {
                    name: _tensor(self._session, _copied(value, x.device))
                    for name, value in state.items()
                    if not isinstance(value, list)
                }
                for x, state in self._mirror.kept()
            ]
        self._session.flush()
        items = self._session.transport.optimizers(self._session.id)
        kept = next(item["state"] for item in items if item["name"] == self._name)
        return [
            {
                name: _tensor(self._session, getattr(value, "array", value))
                for name, value in state.items()
                if name != "param"
            }
            for state in kept
        ]

    def _numbered(self) -> dict[int, dict[str, Any]]:
        return {i: state for i, state in enumerate(self._fetched()) if state}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over settings and what was kept of parameters in the same order."""
        groups = self._take_settings(state_dict)
        self._sync()
        numbers = [i for group in groups for i in group["params"]]
        of: Callable[[Tensor], Any] = _meta_of if self._session.runs_here else _name_of
        state = [
            {name: _given(value, of) for name, value in state_dict["state"].get(i, {}).items()}
            for i in numbers
        ]
        with self._session.recording(self) as mark:
            if self._session.runs_here:
                self._mirror.load(state)
            step = {"optimizer": self._name, "state": state}
            self._session.record(step, mark=mark)

    def __getstate__(self) -> dict[str, Any]:
        kept = self.state_dict()["state"]
        lost = ("_mirror", "_session", "_host_name", "_sent")
        state = super().__getstate__()
        return {n: v for n, v in state.items() if n not in lost} | {"state": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = state.pop("state")
        self.__dict__.update(state)
        self._begin()
        if kept:
            self.load_state_dict(self.state_dict() | {"state": kept})

    def _said(self) -> dict[str, Any]:
        """What a snapshot of the session would lack of it: entries that the host doesn't know."""
        self._sync()
        groups = [{k: v for k, v in g.items() if k != "params"} for g in self.param_groups]
        return {"groups": groups, "defaults": self.defaults}

    @classmethod
    def _again(
        cls,
        session: Session,
        name: str,
        mirror: Engine,
        params: list[list[Tensor]],
        said: dict[str, Any] | None,
    ) -> Self:
        """The optimizer that a restored session has under a name. said: what `_said` gave."""
        found = cls.__new__(cls)
        found._session, found._mirror = session, mirror
        known = [dict(group.settings) for group in mirror.groups]
        found.defaults = said["defaults"] if said else dict(known[0])
        groups = said["groups"] if said else known
        pairs = zip(params, groups, strict=True)
        found.param_groups = [{"params": own} | group for own, group in pairs]
        found._be_called(name)
        found._sent = found._now()
        return found


def _itself(param: Tensor) -> int:
    """What tells the engine's tensor from others, which the optimizer holds."""
    return id(param._meta)


_name_of: Callable[[Tensor], Any] = attrgetter("_name")
_meta_of: Callable[[Tensor], Any] = attrgetter("_meta")


def _metas(group: Group) -> list[Any]:
    return [*map(_meta_of, group["params"])]


_KNOWN = frozenset(name for kind in KINDS.values() for name in kind.settings)


def _settings(group: Group) -> dict[str, Any]:
    """What the host knows of a group's entries; a scheduler may keep others there."""
    return {name: _number(value) for name, value in group.items() if name in _KNOWN}


def _number(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.item()
    return tuple([float(v) for v in value]) if isinstance(value, tuple | list) else value


def _tensor(session: Session, value: Any) -> Any:
    """What an optimizer keeps of a parameter, an array or a number."""
    if hasattr(value, "dtype"):
        made = leaf(session, value)
        made._elements = (made._meta.version, value)  # it came from there
        return made
    with session.here():
        return tensor(float(value))


def _copied(value: Any, device: str) -> Any:
    """What an optimizer that is here keeps, apart from it."""
    return backend(device).to_numpy(value).copy() if hasattr(value, "dtype") else value


def _given(value: Any, of: Callable[[Tensor], Any]) -> Any:
    """What the optimizer is given for a value of its state; `of` tells it a tensor with axes."""
    if not isinstance(value, Tensor):
        return value
    return of(value) if value.ndim else value.item()


__all__ = ["Hosted"]
