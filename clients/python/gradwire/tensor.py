"""The SDK's tensor: a name on the host, a mirror of its spec and graph, elements on demand."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from gradwire.pending import Lost
from gradwire.printing import shown
from gradwire.size import Size, device
from gradwire_engine.journal import assign
from gradwire_engine.spec import DType
from gradwire_engine.tape import Node
from gradwire_engine.tensor import Tensor as Meta

if TYPE_CHECKING:
    from gradwire.session import Session
    from gradwire.transport import Received


class Tensor:
    """A multi-dimensional array on a host, with torch's attributes and methods.

    Ops, operators and in-place twins are put on by `methods`; what stands here is what a tensor is.
    Every attribute but the elements is answered by the mirror, without a request.
    """

    __slots__ = ("__dict__", "__weakref__", "_elements", "_grad", "_meta", "_name", "session")
    if TYPE_CHECKING:  # put on by `methods`

        def __getattr__(self, name: str) -> Any: ...

    __array_priority__ = 1000  # NumPy's operators leave the work to ours

    def __init__(self, session: Session, meta: Meta) -> None:
        self.session = session
        self._name = session.new_name()
        self._meta = meta
        self._elements: tuple[int, np.ndarray] | None = None
        self._grad: Tensor | None = None

    def __del__(self) -> None:
        try:
            if self._name:
                self.session.forget(self._name)
        except AttributeError:  # Python is shutting down, or __init__ did not finish
            return

    def _lose(self, why: Lost) -> None:
        """The host never made it: all that is asked of it from now on says why."""
        self._name, self._meta = "", why  # type: ignore[assignment]

    # what it is

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

    def is_contiguous(self) -> bool:
        """Whether the elements lie row by row."""
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

    # its elements: one request for all that is recorded

    def _read(self) -> np.ndarray:
        """The elements, read once for each version; not to be written."""
        version = self._meta.version
        if self._elements is None or self._elements[0] != version:
            self._elements = (version, self.session.read(self._name))
        return self._elements[1]

    def _keep(self, found: Received | None) -> None:
        """Keep elements that came with a reply, for the version that the tensor has now."""
        if found is not None and found.array is not None:
            self._elements = (self._meta.version, found.array)

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """A copy of the elements; a tensor that requires grad has to be detached first."""
        if self.requires_grad and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. "
                "Use tensor.detach().numpy() instead."
            )
        return self._read().copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype, copy=False)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return _as_python(self._read())

    def item(self) -> Any:
        """The only element as a Python number."""
        if self.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
            )
        return _as_python(self._read().reshape(()))

    def __bool__(self) -> bool:
        if self.numel() != 1:
            kind = "no values" if not self.numel() else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
        return bool(self.item())

    def _number(self) -> Any:
        if self.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        found = self._number()
        if isinstance(found, complex):
            if found.imag:
                raise RuntimeError("value cannot be converted to type double without overflow")
            return found.real
        return float(found)

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        if self.dtype.is_floating_point or self.dtype.is_complex or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._meta.spec.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        return bool((self == element).any())

    def __repr__(self) -> str:
        return shown(self)

    def __format__(self, spec: str) -> str:
        if not self.ndim and spec:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    __hash__ = object.__hash__

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment; detach() first"
            )
        made: Tensor = self.detach().clone()
        memo[id(self)] = made.requires_grad_(self.requires_grad)
        if self.grad is not None:
            made.grad = self.grad.__deepcopy__(memo)
        return made

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a tensor lives in its session and can't be pickled; pickle its .numpy()")

    # where it stands in the graph

    @property
    def requires_grad(self) -> bool:
        return self._meta.requires_grad

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    @property
    def is_leaf(self) -> bool:
        return self._meta.is_leaf

    @property
    def retains_grad(self) -> bool:
        return self._meta.retains_grad

    @property
    def grad_fn(self) -> Node | None:
        return self._meta.grad_fn

    @property
    def _version(self) -> int:
        return self._meta.version

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make a leaf record, or freeze it."""
        with self.session.recording() as recording:
            before = self.requires_grad
            self._meta.requires_grad_(requires_grad)
            if self.requires_grad != before:
                step = {"requires_grad": self._name, "value": requires_grad}
                self.session.record(step, mark=recording.mark)
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`."""
        with self.session.recording() as recording:
            self._meta.retain_grad()
            if not self.is_leaf:
                self.session.record({"retain_grad": self._name}, mark=recording.mark)

    def detach(self) -> Tensor:
        """The same elements and version counter, without history."""
        with self.session.recording() as recording:
            made = Tensor(self.session, self._meta.detach())
            step = {"detach": self._name, "out": made._name}
            self.session.record(step, [made], mark=recording.mark)
        return made

    @property
    def data(self) -> Tensor:
        """As detach(); assigned to, it takes the elements of a tensor of the same spec."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        if (value.shape, value.dtype) != (self.shape, self.dtype):
            raise RuntimeError(
                f"data: the tensor is {self._meta.spec}, the value assigned is {value._meta.spec}; "
                "they must agree"
            )
        self.detach().copy_(value.detach())

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated; None where there is none."""
        meta = self._meta.grad
        if meta is None:
            if not self.is_leaf and not self.retains_grad:
                warnings.warn(_NOT_A_LEAF, UserWarning, stacklevel=2)
            self._grad = None
        elif self._grad is None or self._grad._meta is not meta:
            self._grad = self._named_gradient(meta)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value)}")
        with self.session.recording() as recording:
            self._meta.set_grad(None if value is None else value._meta)
            step = {"set_grad": self._name, "value": None if value is None else value._name}
            self.session.record(step, mark=recording.mark)
            assign(self, "_grad", value)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def _named_gradient(self, meta: Meta) -> Tensor:
        """The gradient under a name of its own, so that it outlives a later zeroing."""
        session = self.session
        with session.recording() as recording:
            made = Tensor(session, meta)
            step: dict[str, Any] = {"detach": f"{self._name}.grad", "out": made._name}
            if meta.requires_grad:
                shape = list(meta.spec.shape)
                step = {"op": "view", "args": [f"{self._name}.grad", shape], "out": made._name}
            session.record(step, [made], mark=recording.mark, grad_mode="enable_grad")
        return made


_NOT_A_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
    "attribute won't be populated during autograd.backward(). If you indeed want the .grad field "
    "to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor."
)


def _place(dim: int, ndim: int) -> int:
    """A dim counted from the front; IndexError as in torch."""
    most = max(ndim, 1)
    if not -most <= dim < most or not ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-most}, {most - 1}], "
            f"but got {dim})"
        )
    return dim % ndim


def _as_python(array: np.ndarray) -> Any:
    """Nested lists of Python numbers; bfloat16's are floats too."""
    return (array.astype(np.float32) if array.dtype.kind == "V" else array).tolist()


__all__ = ["Tensor"]
