"""What torch's tensors say of this process's memory, where their elements don't lie here."""

from __future__ import annotations

from typing import Any

from gradwire_engine.errors import error


class _Refused:
    """An attribute of torch's tensors that is refused by name, on a tensor and on the class."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, tensor: object, kind: type) -> Any:
        raise refused(f"Tensor.{self._name}", self._name)


class SharedMemory:
    """Whether memory is shared or pinned; what would need that is refused by name."""

    __slots__ = ()
    share_memory_, pin_memory, data_ptr = _Refused(), _Refused(), _Refused()
    storage, untyped_storage = _Refused(), _Refused()

    def is_shared(self) -> bool:
        """Whether processes share the elements: never."""
        return False

    def is_pinned(self) -> bool:
        """Whether the elements lie in page-locked memory: never."""
        return False


def refused(called: str, name: str) -> Exception:
    """The error of a name that speaks of memory of this process."""
    return error(
        "op_not_found",
        f"{called}: the elements of a tensor lie at its session's host, in no memory of this "
        f"process, so there is no {name}",
        "hand a process the values, by pickle or as x.numpy(); several processes use one session "
        "by client.attach(id)",
    )


__all__ = ["SharedMemory", "refused"]
