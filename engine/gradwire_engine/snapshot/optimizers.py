"""Optimisers in a snapshot: kind, groups of parameters with their settings, what is kept of each.

State is tried out before it is believed: the update itself, on one element, says whether it can go
on from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradwire_engine.arrays import backend
from gradwire_engine.errors import GradwireError
from gradwire_engine.optim.optimizer import Group, Optimizer
from gradwire_engine.optim.rows import elements, flat
from gradwire_engine.optim.settings import checked, kind_of
from gradwire_engine.optim.update import Kind, State
from gradwire_engine.snapshot.arrays import META
from gradwire_engine.snapshot.fields import incompatible, listed, named, need, text
from gradwire_engine.snapshot.reader import Reader
from gradwire_engine.snapshot.values import read_value
from gradwire_engine.snapshot.writer import Writer
from gradwire_engine.tensor import Tensor

_NUMBERS = (int, float)
_LBFGS = {
    "n_iter": int, "func_evals": int, "H_diag": float, "t": float,
    "d": None, "prev_flat_grad": None, "old_dirs": list, "old_stps": list, "ro": float,
}  # fmt: skip
"""What L-BFGS keeps: numbers, None for a row of all elements, list for a list of rows."""


def write_optimizer(writer: Writer, optimizer: Optimizer) -> dict[str, Any]:
    """An optimiser as data; its parameters are cells of the writer's."""
    device = optimizer.params[0].device
    return {
        "kind": optimizer.kind.name,
        "groups": [
            [
                list(map(writer.cell, group.params)),
                {name: writer.value(value) for name, value in group.settings.items()},
            ]
            for group in optimizer.groups
        ],
        "states": [
            {name: _written(writer, value, device) for name, value in state.items()}
            for state in optimizer.states
        ],
    }


def _written(writer: Writer, value: Any, device: str) -> Any:
    if isinstance(value, list):
        return {"list": [_written(writer, item, device) for item in value]}
    if hasattr(value, "shape") and value.shape:
        return {"array": writer.arrays.add(value, device)}
    return writer.value(value)


def read_optimizer(reader: Reader, data: Any) -> Optimizer:
    """The optimiser that data stands for."""
    named(data, "an optimizer", "kind", "groups", "states")
    made = object.__new__(Optimizer)
    try:
        made.kind = kind_of(text(data["kind"], "the kind of an optimizer"))
        given = listed(data["groups"], "groups")
        made.groups = tuple([_group(reader, made.kind, group) for group in given])
    except GradwireError as problem:
        raise incompatible(problem.detail.removeprefix("snapshot: ")) from problem
    params = made.params
    need(len(set(map(id, params))) == len(params) > 0, "an optimizer has no parameters, or twice")
    states = listed(data["states"], "states of an optimizer", len(params))
    rows = [named(state, "state").items() for state in states]
    made.states = tuple([{name: _kept(reader, value) for name, value in row} for row in rows])
    _check(made)
    return made


def _group(reader: Reader, kind: Kind, data: Any) -> Group:
    params, settings = listed(data, "a group", 2)
    found = named(settings, "settings")
    need(found.keys() == kind.settings.keys(), f"{kind.name} has other settings")
    read = {name: reader.value(value) for name, value in found.items()}
    tensors = map(reader.tensor, listed(params, "params"))
    return Group(tuple(tensors), checked(kind, read))


def _kept(reader: Reader, value: Any) -> Any:
    if type(value) is dict and value.keys() == {"array"}:
        return reader.arrays.array(value["array"])[0]
    if type(value) is dict and value.keys() == {"list"}:
        return [_kept(reader, item) for item in listed(value["list"], "a list of state")]
    found = read_value(value, _nothing_else)
    need(type(found) in _NUMBERS, "a piece of state is no number")
    return found


def _nothing_else(key: str, value: Any) -> Any:
    raise incompatible(f"a piece of state is an object with {key[:60]!r}")


def _check(optimizer: Optimizer) -> None:
    params, states = optimizer.params, optimizer.states
    if optimizer.kind.update is None:
        _check_lbfgs(params, states)
        return
    of = {id(x): group.settings for group in optimizer.groups for x in group.params}
    for x, state in zip(params, states, strict=True):
        size, dtype = elements(x), _row_dtype(x)
        fits = all(type(v) in _NUMBERS or _is_row(v, size, dtype) for v in state.values())
        need(fits, f"{optimizer.kind.name}: state has another form than its tensor")
        _try(optimizer.kind, x, state, of[id(x)])


def _row_dtype(x: Tensor) -> np.dtype:
    """The dtype of the row that an update sees."""
    row: np.ndarray = flat(np, Tensor.of(np.zeros(1, x.dtype.numpy)))
    return row.dtype


def _is_row(value: Any, size: int, dtype: np.dtype) -> bool:
    return getattr(value, "shape", None) == (size,) and value.dtype == dtype


def _try(kind: Kind, x: Tensor, state: State, settings: Mapping[str, Any]) -> None:
    """Run the update on one element with a state like this one."""
    assert kind.update is not None
    if x.device == META:
        return
    one = np.zeros(1, _row_dtype(x))
    kept = {n: v if type(v) in _NUMBERS else one.copy() for n, v in state.items()}
    given = {name: value for name, value in settings.items() if name != "maximize"}
    try:
        with np.errstate(all="ignore"):
            kind.update(backend("cpu").xp, one, one.copy(), kept, **given)
    except Exception as problem:  # whatever it says: from this state no step is possible
        raise incompatible(f"{kind.name}: it can't go on from its state") from problem


def _check_lbfgs(params: Sequence[Tensor], states: Sequence[State]) -> None:
    state, size = states[0], sum(map(elements, params))
    need(not any(states[1:]), "lbfgs: state for more than all parameters together")
    if not state:
        return
    dtype = np.result_type(*map(_row_dtype, params))
    need(state.keys() == _LBFGS.keys(), "lbfgs: it can't go on from its state")
    for name, value in state.items():
        need(_is_kept(name, value, size, dtype), f"lbfgs: it can't go on from {name[:60]}")
    count = len(state["ro"])
    same = len(state["old_dirs"]) == len(state["old_stps"]) == count
    need(same, "lbfgs: its history has gaps")


def _is_kept(name: str, value: Any, size: int, dtype: np.dtype) -> bool:
    wanted = _LBFGS[name]
    if name == "ro":
        return type(value) is list and all(type(item) is float for item in value)
    if wanted is list:
        return type(value) is list and all(_is_row(item, size, dtype) for item in value)
    return _is_row(value, size, dtype) if wanted is None else type(value) in _NUMBERS
