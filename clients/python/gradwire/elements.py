"""The elements of a tensor: one request for all that is recorded, then kept for their version."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.facts import Facts
from gradwire.shared_memory import SharedMemory
from gradwire_engine.tensor import Tensor as Meta

if TYPE_CHECKING:
    from gradwire._typed.methods import Methods  # put on by `methods`
    from gradwire.grad_fn import GradFn
    from gradwire.session import Session
    from gradwire.transport import Received
else:
    Methods = object


class Elements(Facts, SharedMemory, Methods):
    """Reading, and Python's protocols that read."""

    __slots__ = ("_elements",)
    __array_priority__ = 1000  # NumPy's operators leave the work to ours

    if TYPE_CHECKING:  # a Tensor's, which is what all of these are

        @property
        def requires_grad(self) -> bool: ...
        @property
        def grad_fn(self) -> GradFn | None: ...

    def __init__(self, session: Session, meta: Meta) -> None:
        super().__init__(session, meta)
        self._elements: tuple[int, np.ndarray] | None = None

    def _read(self) -> np.ndarray:
        """The elements, not to be written; those of a host are read once for each version."""
        if self.session.runs_here:
            return self.session.elements(self)  # type: ignore[arg-type]
        if self.session.left:
            self.session.check_tensor(self._name)
        found = self._known()
        if found is None:
            version, found = self._meta.version, self.session.read(self._name)
            self._elements = (version, found)
        return found

    def _known(self) -> np.ndarray | None:
        """The elements, if they are here."""
        if self.session.runs_here:
            return self._read()
        found = self._elements
        return None if found is None or found[0] != self._meta.version else found[1]

    def _keep(self, found: Received | None) -> None:
        """Keep elements that came with a reply, for the version that the tensor has now."""
        if found is not None and found.array is not None:
            self._elements = (self._meta.version, found.array)

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """A copy of the elements; a tensor that requires grad has to be detached first."""
        if self.requires_grad and not force and not self.session.in_backward:
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

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element: Any) -> bool:
        return bool((self == element).any())

    def __repr__(self) -> str:
        from gradwire.printing import shown  # with the first that is shown

        return shown(self)

    def __format__(self, spec: str) -> str:
        if not self.ndim:
            return format(self.item(), spec)
        return object.__format__(self, spec)


def _as_python(array: np.ndarray) -> Any:
    """Nested lists of Python numbers; bfloat16's are floats too."""
    return (array.astype(np.float32) if array.dtype.kind == "V" else array).tolist()


__all__ = ["Elements"]
