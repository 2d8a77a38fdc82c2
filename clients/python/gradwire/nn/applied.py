"""Modules that are one op of the catalogue with its settings: activations, losses, dropout, ….

The op's signature is the constructor: what comes behind the operands, in torch's order.
"""

from __future__ import annotations

from typing import Any

from gradwire.functions import catalogued
from gradwire.nn.module import Module
from gradwire.tensor import Tensor
from gradwire_engine.catalogue import resolve
from gradwire_engine.signature import REQUIRED

_FORWARD_ONLY = ("dtype", "training")


class Applied(Module):
    """One op. A subclass names it: `class GELU(Applied, op="nn.functional.gelu")`.

    inplace: whether the module takes `inplace`.
    """

    operands = 1
    """How many of the op's parameters are given in forward."""
    order: tuple[str, ...] = ()
    """The constructor's parameters where torch orders them otherwise than the op's."""
    without: tuple[str, ...] = _FORWARD_ONLY
    """Parameters of the op that the module doesn't have."""
    shown: tuple[str, ...] | None = None
    """Settings that are printed; None: all."""
    named = True
    """Whether settings are printed with their names."""
    _op: str

    _inplace: bool = False

    def __init_subclass__(cls, op: str | None = None, inplace: bool = False, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if op is not None:
            cls._op, cls._inplace = op, inplace
            cls.__doc__ = cls.__doc__ or resolve(op).doc

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self._settings = self._bound(args, kwargs)
        for name, value in self._settings.items():
            if isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    @classmethod
    def _parameters_of(cls) -> dict[str, Any]:
        """The constructor's parameters with their defaults."""
        op = resolve(cls._op)
        behind = op.signatures[0].parameters[cls.operands :]
        found = {p.name: _plain(p.default) for p in behind if p.name not in cls.without}
        if cls.order:
            found = {name: found[name] for name in cls.order}
        return found | ({"inplace": False} if cls._inplace else {})

    @classmethod
    def _bound(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        known = cls._parameters_of()
        if len(args) > len(known):
            raise TypeError(f"{cls.__name__} takes {len(known)} settings, {len(args)} were given")
        given = dict(zip(known, args, strict=False))
        for name, value in kwargs.items():
            if name not in known or name in given:
                what = "twice" if name in given else "but has no such setting"
                raise TypeError(
                    f"{cls.__name__} was given {name!r} {what}; it has {', '.join(known) or 'none'}"
                )
            given[name] = value
        lacking = [n for n, v in known.items() if v is REQUIRED and n not in given]
        if lacking:
            raise TypeError(f"{cls.__name__} needs {', '.join(lacking)}")
        return {name: given.get(name, default) for name, default in known.items()}

    def forward(self, *inputs: Any) -> Any:
        settings = {name: getattr(self, name) for name in self._settings}
        if not settings.get("inplace", True):
            del settings["inplace"]
        if "training" in resolve(self._op).signatures[0].by_name:
            settings["training"] = self.training
        apply = catalogued(self._op)
        return apply(*inputs, **settings)

    def extra_repr(self) -> str:
        names = self._settings if self.shown is None else self.shown
        values = {name: getattr(self, name) for name in names}
        if values.get("inplace") is False and "p" not in values:
            del values["inplace"]
        return ", ".join(f"{n}={v!r}" if self.named else repr(v) for n, v in values.items())


def _plain(default: Any) -> Any:
    """A default as torch writes it: one number for all axes."""
    return default[0] if isinstance(default, tuple) and len(default) == 1 else default


class Loss(Applied):
    """A loss: of an input and a target."""

    operands = 2
    shown = ()


class Dropping(Applied):
    """A module that drops with a probability, which is looked at when it is made."""

    p: float

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not 0 <= self.p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")


__all__ = ["Applied", "Dropping", "Loss"]
