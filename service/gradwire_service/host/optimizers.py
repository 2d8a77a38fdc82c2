"""Optimisers of a session: steps that make, change and run them; what they show and hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire_engine import backward as reverse
from gradwire_engine.errors import error
from gradwire_engine.journal import drop, put
from gradwire_engine.mode import enable_grad
from gradwire_engine.optim import Optimizer, clip_grad_norm
from gradwire_engine.spec import Spec, dtype_of
from gradwire_engine.tensor import Tensor
from gradwire_service.host.calls import check_count
from gradwire_service.host.inside import Inside
from gradwire_service.host.protocol.optimizers import AdvanceStep, ClipStep, OptimizerStep
from gradwire_service.host.reply import Reply, TensorReply

if TYPE_CHECKING:
    from gradwire_service.host.sessions import Session
    from gradwire_service.host.steps import Steps

_Groups = list[tuple[list[Tensor], dict[str, Any]]]


def optimizer(steps: Steps, step: OptimizerStep) -> None:
    """Make an optimiser, or change settings and state of the one that has these parameters."""
    session = _session(steps)
    old = session.optimizers.get(step.optimizer)
    found = _same(steps, step, old)
    if found is None:
        if step.kind is None:
            raise error(
                "invalid_request",
                f"optimizer: there is none called {step.optimizer!r} yet, and kind is missing",
                "say which kind it is, and its params",
            )
        groups = _groups(steps, step)
        _check_room(session, step.optimizer, sum(len(params) for params, _ in groups))
        if old is not None and old.kind.name == step.kind:
            found = old.continued(groups)
        else:
            found = Optimizer(step.kind, groups)
        put(session.optimizers, step.optimizer, found)
    if step.state is not None:
        states = [{n: _kept(steps, v) for n, v in state.items()} for state in step.state]
        found.load(states)


def _check_room(session: Session, name: str, count: int) -> None:
    """Refuse an optimiser with which a session's would have more parameters than it has names."""
    others = [o for other, o in session.optimizers.items() if other != name]
    held = sum([len(other.states) for other in others])
    if held + count > session.limits.names:
        raise error(
            "limit_exceeded",
            f"the session's optimisers have {held} parameters, {name!r} would have {count} more, "
            f"and the limit is {session.limits.names}",
            "free optimisers that are no longer needed",
        )


def _same(steps: Steps, step: OptimizerStep, old: Optimizer | None) -> Optimizer | None:
    """The optimiser of this name with new settings; None if it is of another kind or params."""
    if old is None or step.kind not in (None, old.kind.name):
        return None
    if step.params is None and step.groups is None:
        old.set([step.model_extra or {}] * len(old.groups))
        return old
    groups = _groups(steps, step)
    if [params for params, _ in groups] != [list(group.params) for group in old.groups]:
        return None
    old.set([settings for _, settings in groups])
    return old


def _kept(steps: Steps, value: Any) -> Any:
    """A piece of state: a number, or a tensor that is named or given."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return steps.reader.operand(value)


def _groups(steps: Steps, step: OptimizerStep) -> _Groups:
    """The groups of parameters that a step names, settings of the step under those of a group."""
    if (step.params is None) is (step.groups is None):
        raise error(
            "invalid_request",
            "optimizer: give either params or groups",
            'params: ["w", "b"]; or groups: [{"params": ["w"], "lr": 0.1}, …]',
        )
    given = [{"params": step.params}] if step.groups is None else step.groups
    found: _Groups = []
    for place, group in enumerate(given):
        names = group.get("params")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise error(
                "invalid_request",
                f"optimizer: groups.{place}: params is missing, or no list of names",
                '{"params": ["w"], "lr": 0.1}',
            )
        settings = (step.model_extra or {}) | {
            name: value for name, value in group.items() if name != "params"
        }
        found.append(([steps.session.find(name) for name in names], settings))
    return found


def advance(steps: Steps, step: AdvanceStep) -> None:
    """Run an optimiser once."""
    found = _find(_session(steps), step.step)
    if step.closure is None:
        found.step()
        if step.out is not None:
            raise error(
                "invalid_request",
                f"step: out is {step.out!r}, and without a closure there is no loss",
                "leave out away, or give a closure",
            )
        return
    program = steps.session.program(step.closure)
    args: Sequence[Any] = program.inputs if step.args is None else step.args
    check_count("closure", program, args, "; or leave args away")
    values = [steps.reader.operand(value) for value in args]

    def closure() -> Tensor:
        steps.session.meter.tick()
        for x in found.params:
            x.set_grad(None)
        with enable_grad():
            loss: Tensor = Inside(program)(*values)[0]
            reverse.backward([loss])
        return loss

    loss = found.step(closure)
    if step.out is not None:
        assert loss is not None
        steps.name_results(program.id, step.out, loss.detach())


def forget(steps: Steps, name: str) -> bool:
    """Let the optimiser of this name go; whether there was one."""
    optimizers = getattr(steps.session, "optimizers", {})
    known = name in optimizers
    drop(optimizers, name)
    return known


def clip(steps: Steps, step: ClipStep) -> None:
    """Scale gradients in place."""
    params = [steps.session.find(name) for name in step.clip_grad_norm]
    norm = clip_grad_norm(params, step.max_norm, step.norm_type, step.error_if_nonfinite)
    if step.out is not None:
        steps.bind(step.out, norm)


def _session(steps: Steps) -> Session:
    """The session that steps run in; a program, which has none, has no optimisers."""
    session: Any = steps.session
    if not hasattr(session, "optimizers"):
        raise error(
            "invalid_request",
            "an optimiser belongs to a session, and a program has none",
            "post the step to the session",
        )
    return session  # type: ignore[no-any-return]


def _find(session: Session, name: str) -> Optimizer:
    found = session.optimizers.get(name)
    if found is None:
        known = ", ".join(session.optimizers) or "none"
        raise error(
            "not_found",
            f"there is no optimizer called {name[:140]!r}; there are: {known[:200]}",
            'make it first: {"optimizer": "opt", "kind": "sgd", "params": ["w"]}',
        )
    return found


# what they show and hold


def listed(session: Session) -> Reply:
    """Every optimiser: kind, settings, and what it keeps of each parameter."""
    names = {id(tensor): name for name, tensor in session.tensors.items()}
    return {"items": [_shown(name, o, names) for name, o in session.optimizers.items()]}


def _shown(name: str, found: Optimizer, names: Mapping[int, str]) -> Reply:
    def called(x: Tensor) -> str | None:
        return names.get(id(x))

    groups = [
        dict(group.settings) | {"params": [called(x) for x in group.params]}
        for group in found.groups
    ]
    state = [
        {"param": called(x)}
        | {n: _reply(v, x.spec) for n, v in kept.items() if not isinstance(v, list)}
        for x, kept in found.kept()
    ]
    return {"name": name, "kind": found.kind.name, "groups": groups, "state": state}


def _reply(value: Any, like: Spec) -> Any:
    if not hasattr(value, "dtype"):
        return value
    array = np.asarray(value) if like.device == "cpu" else value.get()
    return TensorReply(
        None, dtype_of(array.dtype), array.shape, like.device, False, True, None, 0, array
    )


def held(optimizers: Mapping[str, Optimizer]) -> Iterator[Tensor]:
    """The tensors that optimisers keep alive, and what they keep of them as tensors."""
    for found in optimizers.values():
        yield from found.params
        for state in found.states:
            for value in state.values():
                for array in value if isinstance(value, list) else (value,):
                    if hasattr(array, "nbytes"):
                        yield Tensor.of(array)
