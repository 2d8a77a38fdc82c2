"""What torch's tensors say of this process's memory, where their elements don't lie here."""

from __future__ import annotations

from gradwire_engine.errors import error

REFUSED = frozenset({"share_memory_", "pin_memory", "storage", "untyped_storage", "data_ptr"})
"""Names of torch's tensors that aren't here, for they speak of memory of this process."""


class SharedMemory:
    """Whether memory is shared or pinned; what would need that is refused by name."""

    __slots__ = ()

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


__all__ = ["REFUSED", "SharedMemory", "refused"]
