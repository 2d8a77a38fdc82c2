"""What every optimiser has: groups of parameters with settings, hooks around its steps, a state.

One of the user's own derives from `Optimizer`, and steps by ops on its parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from functools import wraps
from typing import Any

from gradwire.nn.hooks import Hooks, RemovableHandle
from gradwire.nn.zero_grad import zero_grad
from gradwire.tensor import Tensor

Group = dict[str, Any]
Hook = Callable[..., Any]


class Optimizer:
    """What all optimisers have in common. param_groups: parameters and settings, to be changed.

    defaults: the settings of groups that don't have their own. state: what is kept of parameters.
    """

    stepped = False  # what schedulers ask

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in vars(cls):
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Iterable[Any], defaults: Mapping[str, Any]) -> None:
        self.defaults = dict(defaults)
        self.param_groups: list[Group] = []
        for group in _grouped(params):
            self.add_param_group(group)
        if not self._tensors:
            raise ValueError("optimizer got an empty parameter list")

    @property
    def _tensors(self) -> list[Tensor]:
        return [p for group in self.param_groups for p in group["params"]]

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Take more parameters."""
        group = self.defaults | _named(param_group)
        for place, param in enumerate(group["params"]):
            if not isinstance(param, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {type(param)}"
                )
            if not param.is_leaf and not param.retains_grad:
                raise ValueError(f"can't optimize a non-leaf Tensor: parameter {place}")
        known = {id(p) for p in self._tensors}
        if any(id(p) in known for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    @property
    def state(self) -> MutableMapping[Tensor, dict[str, Any]]:
        """What is kept of each parameter."""
        found: MutableMapping[Tensor, dict[str, Any]]
        found = self.__dict__.setdefault("_state", defaultdict(dict))
        return found

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """To be written: change the parameters by their gradients."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        zero_grad(self._tensors, set_to_none)

    # hooks

    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) before each step; it may give other ones."""
        return self._hooks.add("before", hook, False, False)

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call hook(optimizer, args, kwargs) after each step."""
        return self._hooks.add("after", hook, False, False)

    @property
    def _hooks(self) -> Hooks:
        found: Hooks = self.__dict__.setdefault("_hooks_around", Hooks())
        return found

    # saving

    def __getstate__(self) -> dict[str, Any]:
        """In pickles and copies: all but the hooks, which are the program's, as in torch."""
        return {name: value for name, value in vars(self).items() if name != "_hooks_around"}

    def state_dict(self) -> dict[str, Any]:
        """Settings, and what is kept of each parameter, by the parameter's number."""
        numbers = iter(range(len(self._tensors)))
        groups = [
            {k: v for k, v in group.items() if k != "params"}
            | {"params": [next(numbers) for _ in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": self._numbered(), "param_groups": groups}

    def _numbered(self) -> dict[int, dict[str, Any]]:
        return {i: self.state[p] for i, p in enumerate(self._tensors) if p in self.state}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over settings and what was kept of parameters in the same order."""
        groups = self._take_settings(state_dict)
        numbers = [i for group in groups for i in group["params"]]
        self.state.clear()
        for param, number in zip(self._tensors, numbers, strict=True):
            if number in state_dict["state"]:
                self.state[param] = dict(state_dict["state"][number])

    def _take_settings(self, state_dict: Mapping[str, Any]) -> list[Group]:
        """The groups of a state, whose settings ours have from here on."""
        groups: list[Group] = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        sizes = [len(g["params"]) for g in groups]
        if sizes != [len(g["params"]) for g in self.param_groups]:
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        for group, given in zip(self.param_groups, groups, strict=True):
            group |= {name: value for name, value in given.items() if name != "params"}
        return groups

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
        return "\n".join([*lines, ")"])


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A class's step with its hooks around; one that another class's step calls has none."""

    @wraps(step)
    def wrapped(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if type(self).step is not wrapped:
            return step(self, *args, **kwargs)
        given: tuple[tuple[Any, ...], dict[str, Any]] = ((self, *args), kwargs)  # as in torch
        hooks = list(self._hooks.found.values())
        for hook in hooks:
            found = hook.call(self, *given) if hook.when == "before" else None
            given = given if found is None else _of_two(found)
        result = step(*given[0], **given[1])
        self.stepped = True
        for hook in hooks:
            if hook.when == "after":
                hook.call(self, *given)
        for param in self._tensors[:1]:
            param.session.send_walk()
        return result

    return wrapped


def _of_two(found: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            f"a step pre-hook has to give None or a tuple of (new_args, new_kwargs), not {found}"
        )
    return found


def _grouped(params: Iterable[Any]) -> list[Mapping[str, Any]]:
    """What an optimiser is given, as groups."""
    if isinstance(params, Tensor):
        raise TypeError(
            "params argument given to the optimizer should be an iterable of Tensors or dicts, "
            "but got a Tensor"
        )
    if hasattr(params, "parameters"):
        raise TypeError(
            "params argument given to the optimizer should be an iterable of Tensors or dicts, "
            f"but got a {type(params).__name__}; pass its .parameters()"
        )
    listed = list(params)
    if not listed:
        raise ValueError("optimizer got an empty parameter list")
    return listed if isinstance(listed[0], Mapping) else [{"params": listed}]


def _named(given: Mapping[str, Any]) -> Group:
    """A group as it is kept; of named parameters the names stand beside."""
    params = given["params"]
    listed = [params] if isinstance(params, Tensor) else list(params)
    group = dict(given) | {"params": listed}
    if listed and all(isinstance(p, tuple) for p in listed):
        names, found = zip(*listed, strict=True)
        group |= {"params": list(found), "param_names": list(names)}
    return group


__all__ = ["Group", "Optimizer"]
