"""The SDK's tensor: a name on the server, a mirror of its spec and graph, elements on demand."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from gradwire_engine.spec import DType
from gradwire_engine.tape import AccumulateGrad, Node
from gradwire_engine.tensor import Tensor as Meta

if TYPE_CHECKING:
    from gradwire.session import Session


class Size(tuple[int, ...]):
    """A shape, printed as torch prints it."""

    __slots__ = ()

    def numel(self) -> int:
        """Number of elements."""
        return int(np.prod(self, dtype=np.int64))

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class Tensor:
    """A multi-dimensional array on a server, or embedded, with torch's methods.

    Methods for ops are put on by `namespace`; what stands here is what a tensor is.
    """

    __slots__ = ("__weakref__", "_elements", "_grad", "_meta", "_name", "session")

    def __init__(self, session: Session, name: str, meta: Meta) -> None:
        self.session = session
        self._name = name
        self._meta = meta
        self._elements: tuple[int, np.ndarray] | None = None
        self._grad: Tensor | None = None

    def __del__(self) -> None:
        try:
            self.session.forget(self._name)
        except AttributeError:  # Python is shutting down, or __init__ did not finish
            return

    # what it is: answered by the mirror

    @property
    def shape(self) -> Size:
        return Size(self._meta.spec.shape)

    @property
    def dtype(self) -> DType:
        return self._meta.spec.dtype

    @property
    def device(self) -> str:
        return self.session.device

    @property
    def ndim(self) -> int:
        return len(self._meta.spec.shape)

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

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._meta.spec.nbytes

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of one axis."""
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Elements from one to the next along each axis, or along one."""
        steps = tuple(s // self.itemsize for s in self._meta.strides)
        return steps if dim is None else steps[dim]

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
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return self.dtype.is_complex

    def is_inference(self) -> bool:
        return self._meta.is_inference

    # its elements: one request for all that is recorded

    def _read(self) -> np.ndarray:
        """The elements, read once for each version; not to be written."""
        version = self._meta.version
        if self._elements is None or self._elements[0] != version:
            self._elements = (version, self.session.read(self._name))
        return self._elements[1]

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """A copy of the elements; a tensor that requires grad has to be detached first."""
        if self.requires_grad and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() "
                "instead."
            )
        return self._read().copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._read().tolist()

    def item(self) -> Any:
        """The only element as a Python number."""
        if self.numel() != 1:
            raise RuntimeError(
                f"a Tensor with {self.numel()} elements cannot be converted to Scalar"
            )
        return self._read().reshape(()).tolist()

    def __bool__(self) -> bool:
        if self.numel() != 1:
            kind = "no values" if not self.numel() else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self.dtype.category > 1 or self.numel() != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))  # type: ignore[attr-defined]

    def __contains__(self, element: Any) -> bool:
        return bool((self == element).any())  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        from gradwire.printing import show

        return show(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if not self.ndim and spec else repr(self)

    __hash__ = object.__hash__

    # where it stands in the graph

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make a leaf record, or freeze it."""
        self._meta.requires_grad_(requires_grad)
        self.session.record({"requires_grad": self._name, "value": requires_grad})
        return self

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`."""
        leaf = self.is_leaf
        self._meta.retain_grad()
        if not leaf:
            self.session.record({"retain_grad": self._name})

    def detach(self) -> Tensor:
        """The same elements and version counter, without history."""
        made = Tensor(self.session, self.session.new_name(), self._meta.detach())
        self.session.record({"detach": self._name, "out": made._name})
        return made

    @property
    def data(self) -> Tensor:
        """As detach()."""
        return self.detach()

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward accumulated; None where there is none."""
        meta = self._meta.grad
        if meta is None:
            if not self.is_leaf and not self.retains_grad:
                warnings.warn(
                    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
                    "Its .grad attribute won't be populated during autograd.backward(). "
                    "Call .retain_grad() on it if you need it.",
                    UserWarning,
                    stacklevel=2,
                )
            self._grad = None
        elif self._grad is None or self._grad._meta is not meta:
            self._grad = _gradient(self, meta)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None, got {type(value)}")
        self._meta.set_grad(None if value is None else value._meta)
        self.session.record(
            {"set_grad": self._name, "value": None if value is None else value._name}
        )
        self._grad = value

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """Add the gradients of this tensor into the leaves' `.grad`."""
        from gradwire import autograd

        autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def _gradient(owner: Tensor, meta: Meta) -> Tensor:
    """A name for a gradient of its own, so that it outlives a later zeroing."""
    session = owner.session
    made = Tensor(session, session.new_name(), meta)
    if meta.requires_grad:
        step: dict[str, Any] = {"op": "view_as", "args": [f"{owner._name}.grad"] * 2}
    else:
        step = {"detach": f"{owner._name}.grad"}
    session.record({**step, "out": made._name})
    return made


__all__ = ["AccumulateGrad", "Size", "Tensor", "ref"]
