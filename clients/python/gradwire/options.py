"""Keywords that torch's functions take and ops don't: they are obeyed here, or mean nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from gradwire.layouts import checked, memory_format, strided
from gradwire.random import Generator
from gradwire_engine.errors import error
from gradwire_engine.op import Op
from gradwire_engine.signature import SPELLINGS, respelled

_WITHOUT_MEANING = ("pin_memory", "non_blocking", "out")


class Options(NamedTuple):
    """What a call asks for beside the op: a leaf, a device, whose random numbers, how it lies."""

    requires_grad: bool = False
    device: Any = None
    generator: Generator | None = None
    lying: memory_format | None = None

    @property
    def drawing(self) -> dict[str, Any]:
        """The generator again, as a keyword."""
        return {} if self.generator is None else {"generator": self.generator}

    def on(self, step: dict[str, Any]) -> dict[str, Any]:
        """The step, drawing from the generator where there is one."""
        return step if self.generator is None else self.generator.on(step)

    def lent(self, session: Any) -> AbstractContextManager[object]:
        """A block in which a session that is here draws from the generator, where there is one."""
        return nullcontext() if self.generator is None else self.generator.lent(session)

    def check(self, device: str) -> None:
        """Refuse a device that is not the session's."""
        if self.device is not None and str(self.device) not in (device, f"{device}:0"):
            raise error(
                "unsupported_device",
                f"device {str(self.device)!r} was asked for; the session's tensors are on {device}",
                f"make a session there: gradwire.connect(…).session(device={str(self.device)!r})",
            )


def take_options(op: Op, kwargs: dict[str, Any]) -> Options:
    """Take the options out of a call's keywords, and write the rest torch's way."""
    known = {name for signature in op.signatures for name in signature.by_name}
    if SPELLINGS.keys() & kwargs:
        written = respelled(op.signatures, kwargs)
        kwargs.clear()
        kwargs.update(written)
    for word in _WITHOUT_MEANING:
        if word not in known and kwargs.pop(word, None) is not None:
            raise error(
                "invalid_argument",
                f"{op.name}: {word} is not available here",
                f"leave {word} out",
                raised=TypeError,
            )
    generator = kwargs.pop("generator", None)
    if generator is not None:
        _check_drawn(op, generator)
    lying = None
    if kwargs.get("memory_format") is not None:
        lying = checked(op.name, kwargs["memory_format"])
    if kwargs.get("layout") not in (None, strided):
        raise error(
            "invalid_argument",
            f"{op.name}: layout {kwargs['layout']} is not available here",
            "leave layout out",
            raised=TypeError,
        )
    for word in {"memory_format", "layout"} - known:
        kwargs.pop(word, None)
    requires_grad = False if "requires_grad" in known else kwargs.pop("requires_grad", False)
    return Options(bool(requires_grad), kwargs.pop("device", None), generator, lying)


def takes_generator(op: Op) -> bool:
    """Whether torch has `generator=` there: in what draws, but for layers."""
    layer = op.name in ("dropout", "rrelu") or op.name.startswith("nn.functional.")
    return not layer and any(overload.random for overload in op.overloads)


def _check_drawn(op: Op, generator: Any) -> None:
    """Refuse what is no Generator, and any for an op that takes none."""
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{op.name}(): argument 'generator' must be Generator, not {type(generator).__name__}"
        )
    if not takes_generator(op):
        raise TypeError(f"{op.name}() got an unexpected keyword argument 'generator'")


__all__ = ["Options", "take_options", "takes_generator"]
