"""Module: what a network is built of, as in torch: parameters, buffers and modules by name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from gradwire.nn import naming, state
from gradwire.nn.hooks import Hooks, RemovableHandle
from gradwire.nn.parameter import Buffer, Parameter
from gradwire.nn.tree import Tree
from gradwire.nn.zero_grad import zero_grad
from gradwire.pickling import read_together
from gradwire.shared_memory import refused
from gradwire.tensor import Tensor
from gradwire.trace import innermost

Self = TypeVar("Self", bound="Module")


class Module(Tree):
    """A piece of a network: assign parameters and modules to it, and say in `forward` what it does.

    What is assigned as an attribute is found again by `parameters()`, `state_dict()`, `to()`, …
    """

    training: bool

    def __init__(self) -> None:
        for name, value in {
            "training": True,
            "_parameters": {},
            "_buffers": {},
            "_modules": {},
            "_not_saved": set(),
            "_hooks": Hooks(),
        }.items():
            object.__setattr__(self, name, value)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every module says it for itself."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if naming.pending() and innermost() is None:
            naming.name_parts()
        hooks = self._hooks
        if not hooks:
            return self.forward(*args, **kwargs)
        args, kwargs = hooks.before(self, args, kwargs)
        around = hooks.around(self)
        if around is None:
            return hooks.after(self, args, kwargs, self.forward(*args, **kwargs))
        args = around.inputs(args)
        return around.outputs(hooks.after(self, args, kwargs, self.forward(*args, **kwargs)))

    # attributes that are parts

    def __setattr__(self, name: str, value: Any) -> None:
        if "_parameters" not in self.__dict__:
            if isinstance(value, Parameter | Module):
                kind = "parameters" if isinstance(value, Parameter) else "module"
                raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
            object.__setattr__(self, name, value)
        elif isinstance(value, Parameter):
            self._take(name, self._parameters)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._take(name, self._modules)
            self._modules[name] = value
            naming.took(self, value)
        elif isinstance(value, Buffer):
            self._take(name, self._buffers)
            self.register_buffer(name, value, value.persistent)
        else:
            self._set_plain(name, value)

    def _set_plain(self, name: str, value: Any) -> None:
        """Something else under a name: into the slot of a part that was there, or an attribute."""
        own: Any
        if name in self._parameters:
            own, kind, expected = self._parameters, "parameter", "torch.nn.Parameter"
        elif name in self._modules:
            own, kind, expected = self._modules, "child module", "torch.nn.Module"
        elif name in self._buffers:
            own, kind, expected = self._buffers, "buffer", "torch.Tensor"
        else:
            object.__setattr__(self, name, value)
            return
        if not (value is None or (kind == "buffer" and isinstance(value, Tensor))):
            raise TypeError(
                f"cannot assign '{type(value).__name__}' as {kind} '{name}' "
                f"({expected} or None expected)"
            )
        own[name] = value

    def _take(self, name: str, own: dict[str, Any] | None = None) -> None:
        """Free a name for a part of another kind. own: that kind's, where it keeps its place."""
        for places in (self.__dict__, self._parameters, self._buffers, self._modules):
            if places is not own:
                places.pop(name, None)
        self._not_saved.discard(name)

    def __getattr__(self, name: str) -> Any:
        for kind in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(kind, {})
            if name in found:
                return found[name]
        if name == "share_memory":
            raise refused("Module.share_memory", name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        if not any(name in p for p in (self._parameters, self._buffers, self._modules)):
            object.__delattr__(self, name)
        self._take(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Make a parameter part of this module; None keeps its place."""
        self._check_name(name, self._parameters, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'; model parameters must be "
                "created explicitly: compute it in forward() instead"
            )
        self._parameters[name] = param
        naming.took(self)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Make a tensor part of this module that isn't trained; saved unless not persistent."""
        self._check_name(name, self._buffers, "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' "
                "(torch.Tensor or None required)"
            )
        self._buffers[name] = tensor
        naming.took(self)
        if persistent:
            self._not_saved.discard(name)
        else:
            self._not_saved.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Make a module part of this one."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name(name, self._modules, "module")
        self._modules[name] = module
        naming.took(self, module)

    register_module = add_module

    def _check_name(self, name: str, own: dict[str, Any], kind: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f'{kind} name can\'t be empty or contain ".", got {name!r}')
        if hasattr(self, name) and name not in own:
            raise KeyError(f"attribute '{name}' already exists")

    # how it works

    def train(self: Self, mode: bool = True) -> Self:
        """Training mode for this module and all below: dropout drops, batch norm learns."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self: Self) -> Self:
        """The mode of use."""
        return self.train(False)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Whether gradients of all parameters are recorded."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        zero_grad(self.parameters(), set_to_none)

    def apply(self: Self, fn: Callable[[Module], None]) -> Self:
        """Call a function on every module below and then on this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # conversions

    def _convert(self: Self, change: Callable[[Tensor], Tensor]) -> Self:
        """Every parameter, its gradient and every buffer changed; parameters stay who they are."""
        for module in self.modules():
            for parameter in module._parameters.values():
                if parameter is not None:
                    parameter._become(change)
            for name, buffer in module._buffers.items():
                module._buffers[name] = None if buffer is None else change(buffer)
        return self

    def to(self: Self, *args: Any, **kwargs: Any) -> Self:
        """Convert floating and complex parameters and buffers to a dtype, or a memory format."""
        ndim = getattr(kwargs.get("memory_format"), "ndim", None)

        def change(tensor: Tensor) -> Tensor:
            lying = {"memory_format": None} if ndim not in (None, tensor.ndim) else {}
            converted: Tensor = tensor.to(*args, **(kwargs | lying))
            kept = not (tensor.is_floating_point() or tensor.is_complex())
            return tensor if kept else converted

        return self._convert(change)

    def type(self: Self, dst_type: Any) -> Self:
        """Convert all parameters and buffers to a dtype."""
        return self._convert(lambda tensor: tensor.to(dst_type))

    def float(self: Self) -> Self:
        """Convert floating parameters and buffers to float32."""
        return self._to_floating("float")

    def double(self: Self) -> Self:
        """Convert floating parameters and buffers to float64."""
        return self._to_floating("double")

    def half(self: Self) -> Self:
        """Convert floating parameters and buffers to float16."""
        return self._to_floating("half")

    def bfloat16(self: Self) -> Self:
        """Convert floating parameters and buffers to bfloat16."""
        return self._to_floating("bfloat16")

    def _to_floating(self: Self, method: str) -> Self:
        def change(tensor: Tensor) -> Tensor:
            found: Tensor = getattr(tensor, method)() if tensor.is_floating_point() else tensor
            return found

        return self._convert(change)

    def cpu(self: Self) -> Self:
        """On the CPU, where the session must live."""
        return self._convert(lambda tensor: tensor.to("cpu"))

    # saving

    def state_dict(
        self,
        *,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> OrderedDict[str, Any]:
        """Parameters and persistent buffers by name, detached unless keep_vars."""
        return state.collect(self, destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: dict[str, Any], strict: bool = True, assign: bool = False
    ) -> state.Incompatible:
        """Copy values into parameters and buffers; says which names were missing or unexpected."""
        return state.load(self, state_dict, strict, assign)

    def __getstate__(self) -> dict[str, Any]:
        """In pickles and copies: all that it is."""
        read_together([*self.parameters(), *self.buffers()])
        return dict(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        naming.took(self)
        for part in self._modules.values():
            if part is not None:
                naming.took(self, part)

    # hooks of modules

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before forward; what it returns replaces the arguments."""
        return self._hooks.add("before", hook, prepend, with_kwargs)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after forward; what it returns replaces the output."""
        return self._hooks.add("after", hook, prepend, with_kwargs)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the way back; what it returns replaces them."""
        return self._hooks.add("backward_before", hook, prepend, False)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after it; it may replace the former."""
        return self._hooks.add("backward", hook, prepend, False)

    # looks

    def extra_repr(self) -> str:
        """What is shown between the brackets beside the modules below."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        own = self.extra_repr().split("\n") if self.extra_repr() else []
        parts = [(name, repr(part).replace("\n", "\n  ")) for name, part in self._modules.items()]
        below = [f"({name}): {text}" for name, text in parts]
        if not below and len(own) <= 1:
            return f"{self._get_name()}({''.join(own)})"
        return f"{self._get_name()}(\n  " + "\n  ".join(own + below) + "\n)"


def settings(module: Module, *names: str, **usual: Any) -> str:
    """Settings as `extra_repr` shows them; of a bias whether there is one.

    usual: by name, those that are shown only where they are something else.
    """
    values = {name: getattr(module, name) for name in (*names, *usual)}
    if not isinstance(values.get("bias", False), bool):  # a parameter, or None
        values["bias"] = values["bias"] is not None
    return ", ".join(f"{n}={v}" for n, v in values.items() if n in names or v != usual[n])


Module.__hash__ = object.__hash__  # type: ignore[method-assign]

__all__ = ["Iterator", "Module", "settings"]
