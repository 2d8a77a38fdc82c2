"""Methods and functions that torch has and no op is: made of others, or answered by the mirror."""

from __future__ import annotations

from typing import Any

from gradwire import defaults
from gradwire.creation import as_tensor, tensor
from gradwire.functions import op
from gradwire.tensor import Tensor
from gradwire.wire import plain
from gradwire_engine import promote
from gradwire_engine.errors import error
from gradwire_engine.spec import DTYPES, DType


def is_tensor(obj: Any) -> bool:
    """Whether it is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating one."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex one."""
    return input.is_complex()


def is_inference(input: Tensor) -> bool:
    """Whether it was made in inference mode."""
    return input.is_inference()


def is_nonzero(input: Tensor) -> bool:
    """Whether its only element is not zero."""
    return bool(input)


def numel(input: Tensor) -> int:
    """Number of elements."""
    return input.numel()


def promote_types(type1: DType, type2: DType) -> DType:
    """The smallest dtype that holds both."""
    return promote.promote_types(plain(type1), plain(type2))


def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype of an operation on two tensors or numbers."""
    return promote.result_type([_operand(tensor1), _operand(tensor2)])


def _operand(value: Any) -> promote.Operand:
    if isinstance(value, Tensor):
        return value._meta.spec
    return promote.weak_kinds(defaults.dtype())[type(plain(value))]


def can_cast(from_: DType, to: DType) -> bool:
    """Whether promotion allows it: to a category that is not lower."""
    return bool(plain(from_).category <= plain(to).category)


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor without axes; of the default dtype where none is given."""
    made = tensor(s, device=device).to(defaults.dtype() if dtype is None else dtype)
    return made.requires_grad_(requires_grad)


def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """A leaf of this data, in this tensor's dtype where none is given."""
    return tensor(data, dtype=dtype or self.dtype, requires_grad=requires_grad)


def _new(name: str) -> Any:
    def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        kwargs.setdefault("dtype", self.dtype)
        with self.session.here():
            return op(name)(*args, **kwargs)

    new.__name__ = f"new_{name}"
    new.__doc__ = f"torch.{name} in this tensor's dtype and session."
    return new


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return self.shape == other.shape


def type_(self: Tensor, dtype: DType | str | None = None) -> Any:
    """The tensor in a dtype; without one the name that torch has for a tensor of its dtype."""
    if dtype is not None and not isinstance(dtype, str):
        return self.to(plain(dtype))
    if dtype is None:
        return f"torch.{SHORT[self.dtype.name]}Tensor"
    named = {f"torch.{word}Tensor": name for name, word in SHORT.items()}
    if dtype not in named:
        raise error(
            "invalid_argument",
            f"type: invalid type: {dtype!r}",
            f"give a dtype, or one of {', '.join(named)}",
            raised=ValueError,
        )
    return self.to(DTYPES[named[dtype]])


SHORT = {"int32": "Int", "int64": "Long", "int16": "Short", "int8": "Char", "uint8": "Byte"}
SHORT |= {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16"}
SHORT |= {"complex64": "ComplexFloat", "complex128": "ComplexDouble", "bool": "Bool"}
"""What a tensor of each dtype is called: "FloatTensor" without the last word."""


def is_conj(input: Tensor) -> bool:
    """False: conjugates are computed, no tensor has a bit that says it is to be read as one."""
    return False


def is_neg(input: Tensor) -> bool:
    """False: there is no such bit either."""
    return False


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, as no bit is to be resolved."""
    return input


def get_device(input: Tensor) -> int:
    """The number of its CUDA device; -1 on the CPU."""
    found = input.device
    return -1 if found.type == "cpu" else found.index or 0


def typename(obj: Any) -> str:
    """What its type is called, of a tensor with its dtype: "torch.FloatTensor"."""
    return str(type_(obj)) if isinstance(obj, Tensor) else _qualified(type(obj))


def _qualified(kind: type) -> str:
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"{module}{kind.__qualname__}"


def is_signed(self: Tensor) -> bool:
    """Whether the dtype has numbers below zero."""
    return self.dtype.numpy.kind not in "bu"


def _is_view(self: Tensor) -> bool:
    """Whether writes go to the elements of another tensor, of which it has its history."""
    view = self._meta.view
    return view is not None and view.base is not None


METHODS = {f"new_{name}": _new(name) for name in ("zeros", "ones", "full", "empty")} | {
    "_is_view": _is_view,
    "get_device": get_device,
    "is_conj": is_conj,
    "is_neg": is_neg,
    "is_nonzero": is_nonzero,
    "is_same_size": is_same_size,
    "is_signed": is_signed,
    "new_tensor": new_tensor,
    "resolve_neg": resolve_neg,
    "type": type_,
}
"""Methods beside those that `methods` makes of ops."""

__all__ = [
    "METHODS", "as_tensor", "can_cast", "is_complex", "is_floating_point", "is_inference",
    "is_nonzero", "is_tensor", "numel", "promote_types", "result_type", "scalar_tensor",
]  # fmt: skip
