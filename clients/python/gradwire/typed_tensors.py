"""torch.FloatTensor and its like: constructors of old, that are also asked what a tensor is."""

from __future__ import annotations

from typing import Any

from gradwire import creation
from gradwire.functions import op
from gradwire.more import SHORT
from gradwire.size import Size
from gradwire.tensor import Tensor
from gradwire_engine.errors import error
from gradwire_engine.spec import DTYPES, DType


class TypedTensors(type):
    """The type of these types: a call makes a tensor, isinstance asks for its dtype."""

    dtype: DType

    def __call__(cls, *args: Any) -> Tensor:
        """A tensor of sizes, whose elements are unset, or of a sequence; () has no elements."""
        if not args:
            args = (0,)
        if all(type(size) is int for size in args) or isinstance(args[0], Size):
            sizes = args[0] if isinstance(args[0], Size) else args
            return op("empty")(tuple(sizes), dtype=cls.dtype)
        (data,) = args
        if isinstance(data, Tensor):
            if data.dtype is not cls.dtype:
                raise TypeError(f"{cls.__name__}: expected {cls.dtype.name}, got {data.dtype.name}")
            return data.detach()
        if not hasattr(data, "__len__"):
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
        return creation.tensor(data, dtype=cls.dtype)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype


NAMES = {f"{word}Tensor": dtype for dtype, word in SHORT.items() if not dtype.startswith("complex")}
"""What each is called, and its dtype."""

for _name, _dtype in NAMES.items():
    globals()[_name] = TypedTensors(_name, (), {"dtype": DTYPES[_dtype], "__module__": "torch"})


def set_default_tensor_type(t: Any) -> None:
    """As set_default_dtype, by torch.DoubleTensor or its name."""
    from gradwire.defaults import set_default_dtype

    name = t.removeprefix("torch.") if isinstance(t, str) else t.__name__
    if name not in NAMES:
        raise error(
            "invalid_argument",
            f"set_default_tensor_type: invalid type object {t!r}",
            f"give one of {', '.join(f'torch.{known}' for known in NAMES)}",
            raised=TypeError,
        )
    set_default_dtype(DTYPES[NAMES[name]])


__all__ = ["NAMES", "TypedTensors", "set_default_tensor_type"]
