"""Names that scripts call on the way and that no op is: shapes, and a device of one's own."""

from __future__ import annotations

from typing import Any

from gradwire.creation import as_tensor
from gradwire.size import Size
from gradwire.tensor import Tensor
from gradwire_engine import promote
from gradwire_engine.errors import error


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that these shapes, or whole numbers for one axis, broadcast to."""
    listed = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    for size in (n for shape in listed for n in shape):
        if size < 0:
            raise error(
                "invalid_argument",
                f"broadcast_shapes: {size} is no size of an axis",
                "give sizes from 0 on",
            )
    return Size(promote.broadcast_shapes("broadcast_shapes", *listed))


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of anything; the tensor itself where it is one already and nothing is to change.

    copy: True: never itself. False: refused where a copy is needed, as it is of all other data.
    """
    if copy is False and not isinstance(obj, Tensor):
        raise error(
            "invalid_argument",
            f"asarray: a {type(obj).__name__} can't be shared with a session, it is copied",
            "leave copy away",
            raised=ValueError,
        )
    found = as_tensor(obj, dtype=dtype, device=device)
    if copy is False and found is not obj:
        raise error(
            "invalid_argument",
            f"asarray: {obj.dtype.name} can't become {found.dtype.name} without a copy",
            "leave copy away, or the dtype",
            raised=ValueError,
        )
    if copy and found is obj:
        found = found.clone()
    return found.detach().requires_grad_() if requires_grad else found


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off, from here on."""
    from gradwire.anomaly import set_detect_anomaly

    set_detect_anomaly(mode, check_nan)


__all__ = ["asarray", "broadcast_shapes", "set_anomaly_enabled"]
