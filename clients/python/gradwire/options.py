"""Keywords that torch's functions take and ops don't: they are obeyed here, or mean nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradwire_engine.errors import error
from gradwire_engine.op import Op
from gradwire_engine.signature import SPELLINGS, respelled

_WITHOUT_MEANING = ("layout", "memory_format", "pin_memory", "non_blocking", "generator", "out")


class Options(NamedTuple):
    """What a call asks for beside the op: a leaf that records, a device."""

    requires_grad: bool = False
    device: Any = None

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
    requires_grad = False if "requires_grad" in known else kwargs.pop("requires_grad", False)
    return Options(bool(requires_grad), kwargs.pop("device", None))


__all__ = ["Options", "take_options"]
