"""state_dict and load_state_dict: a module's parameters and persistent buffers by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradwire.nn.parameter import Parameter
from gradwire.tensor import Tensor
from gradwire.within import within

if TYPE_CHECKING:
    from gradwire.nn.module import Module


class Incompatible(NamedTuple):
    """What load_state_dict could not place."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        missing, unexpected = self
        return f"_IncompatibleKeys(missing_keys={missing}, unexpected_keys={unexpected})"


def collect(
    module: Module, destination: dict[str, Any] | None, prefix: str, keep_vars: bool
) -> OrderedDict[str, Any]:
    """The tensors of a module by dotted name, detached unless keep_vars."""
    found: Any = OrderedDict() if destination is None else destination
    for path, holder, name in _places(module):
        tensor = holder._parameters.get(name, holder._buffers.get(name))
        found[prefix + path] = tensor if keep_vars or tensor is None else tensor.detach()
    return found  # type: ignore[no-any-return]


def _places(module: Module) -> Iterator[tuple[str, Module, str]]:
    """Every place of a saved tensor: its dotted name, its module, its name there."""
    for prefix, holder in module.named_modules(remove_duplicate=False):
        dot = f"{prefix}." if prefix else ""
        for name, parameter in holder._parameters.items():
            if parameter is not None:
                yield dot + name, holder, name
        for name, buffer in holder._buffers.items():
            if buffer is not None and name not in holder._not_saved:
                yield dot + name, holder, name


def load(module: Module, given: dict[str, Any], strict: bool, assign: bool) -> Incompatible:
    """Copy (or put, if assign) what is given; nothing is written where something doesn't fit."""
    places = {path: (holder, name) for path, holder, name in _places(module)}
    result = Incompatible(
        [path for path in places if path not in given],
        [path for path in given if path not in places],
    )
    wrong = _unfit(module, places, given)
    sorts = {"Unexpected": result.unexpected_keys, "Missing": result.missing_keys}
    for sort, keys in sorts.items():
        if strict and keys:
            names = ", ".join(f'"{n}"' for n in keys)
            wrong.insert(0, f"{sort} key(s) in state_dict: {names}. ")
    if wrong:
        told = "\n\t".join(wrong)
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t{told}")
    for path, (holder, name) in places.items():
        if path in given:
            _put(holder, name, given[path], assign)
    return result


def _unfit(module: Module, places: dict[str, Any], given: dict[str, Any]) -> list[str]:
    wrong = []
    for path, (holder, name) in places.items():
        if path not in given:
            continue
        value, target = given[path], getattr(holder, name)
        if not isinstance(value, Tensor):
            wrong.append(
                f"While copying the parameter named {path!r}, expected torch.Tensor from "
                f"checkpoint but received {type(value)}"
            )
        elif value.shape != target.shape:
            wrong.append(
                f"size mismatch for {path}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {target.shape}."
            )
    return wrong


def _put(holder: Module, name: str, value: Tensor, assign: bool) -> None:
    target = getattr(holder, name)
    if not assign:
        with within(grad=False):
            target.copy_(value)
    elif isinstance(target, Parameter):
        kept = value if isinstance(value, Parameter) else Parameter(value, target.requires_grad)
        holder._parameters[name] = kept
    else:
        holder._buffers[name] = value


__all__ = ["Incompatible", "collect", "load"]
