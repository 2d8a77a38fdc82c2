"""What a tensor is: answered by its mirror, without a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire import layouts
from gradwire.size import Size, device
from gradwire_engine.spec import DType
from gradwire_engine.tensor import Tensor as Meta

if TYPE_CHECKING:
    from typing import Any

    from gradwire.host_names import HostName
    from gradwire.session import Session


_HOW_TO_MAKE = (
    "make a tensor of data with torch.tensor(data), of a shape with torch.zeros(shape) or "
    "torch.empty(shape)"
)


class Facts:
    """Shape, dtype, device and what follows from them."""

    __slots__ = ("__dict__", "__weakref__", "_meta", "_own_name", "session")

    def __init__(self, session: Session, meta: Meta) -> None:
        if not hasattr(session, "new_name"):
            raise TypeError(_HOW_TO_MAKE)
        self._meta = meta
        self.session = session
        unnamed = session.runs_here and session.meter is None
        self._own_name = None if unnamed else session.give_name(self, meta.spec)

    @property
    def _host_name(self) -> HostName:
        """Its name at its session's host; one that is here has none until somebody asks."""
        found: HostName | None = getattr(self, "_own_name", None)
        if found is None:
            found = self._own_name = self.session.give_name(self, self._meta.spec)
        return found

    @property
    def _name(self) -> str:
        """The name of this tensor at its session's host."""
        return self._host_name.text

    @_name.setter
    def _name(self, name: str) -> None:
        self._host_name.text = name

    def _move(self, session: Session, name: str) -> None:
        """Stand for what a session's host has under a name, from now on."""
        self.session, self._own_name = session, session.give_name(self, self._meta.spec, name)

    @property
    def shape(self) -> Size:
        return Size(self._meta.spec.shape)

    @property
    def dtype(self) -> DType:
        return self._meta.spec.dtype

    @property
    def device(self) -> device:
        return device(self.session.device)

    @property
    def is_cuda(self) -> bool:
        return self.session.device.startswith("cuda")

    @property
    def is_cpu(self) -> bool:
        return self.session.device == "cpu"

    @property
    def is_sparse(self) -> bool:
        return False

    @property
    def is_quantized(self) -> bool:
        return False

    @property
    def ndim(self) -> int:
        return len(self._meta.spec.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._meta.spec.nbytes

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one axis."""
        return self.shape if dim is None else self.shape[_place(dim, self.ndim)]

    def stride(self, dim: int | None = None) -> Any:
        """Elements from one to the next along each axis, or along one."""
        steps = tuple(s // self.itemsize for s in self._meta.strides)
        return steps if dim is None else steps[_place(dim, self.ndim)]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie row by row, or as a memory format says."""
        if memory_format is not None:
            wanted = layouts.checked("is_contiguous", memory_format)
            return layouts.lies(self, wanted)  # type: ignore[arg-type]
        return bool(self._meta.array.flags.c_contiguous)

    def dim(self) -> int:
        """Number of axes."""
        return self.ndim

    ndimension = dim

    def numel(self) -> int:
        """Number of elements."""
        return self._meta.spec.size

    nelement = numel

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.itemsize

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating one."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is a complex one."""
        return self.dtype.is_complex

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self._meta.is_inference


def _place(dim: int, ndim: int) -> int:
    """A dim counted from the front; IndexError as in torch."""
    most = max(ndim, 1)
    if not -most <= dim < most or not ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], "
            f"but got {dim})"
        )
    return dim % ndim


__all__ = ["Facts"]
