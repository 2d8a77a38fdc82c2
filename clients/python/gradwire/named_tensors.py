"""The tensors that a session's host has by name, whichever client made them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING

from gradwire.tensor import Tensor
from gradwire_engine.errors import GradwireError, error
from gradwire_service.host.protocol.names import RULE, may_be_written

if TYPE_CHECKING:
    from gradwire.session import Session


class NamedTensors(MutableMapping[str, Tensor]):
    """`session.tensors`: a name gives its tensor, with its place in the graph.

    A tensor that is set here is called so at the host and stays there, whether Python holds it or
    not, until it is deleted here. One that is found here is never freed by this client either.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def __getitem__(self, name: str) -> Tensor:
        """The tensor of a name. Raises tensor_not_found, which is a KeyError."""
        session = self._session
        with session._lock:
            known = session.names.tensor(name)
            if known is not None:
                return known
            found = session.named(name)
            if found is None:
                raise _missing(name, session)
            return found

    def __setitem__(self, name: str, tensor: Tensor) -> None:
        """Call a tensor of this session so; a tensor that had the name loses it."""
        session = self._session
        if not isinstance(tensor, Tensor):
            raise TypeError(f"session.tensors[{name!r}]: it is a {type(tensor).__name__}")
        if tensor.session is not session:
            raise error(
                "invalid_argument",
                f"session.tensors[{name!r}]: the tensor lives in session {tensor.session.id}",
                f"make it in session {session.id}: torch.tensor(x.numpy())",
            )
        if not may_be_written(name):
            raise error("invalid_request", f"session.tensors: the name is {name[:140]!r}", RULE)
        with session._lock:
            if tensor._name == name:
                session.keep(tensor)
            else:
                self._take_name(name)
                session.rename([(tensor, name)], "kept")

    def _take_name(self, name: str) -> None:
        """Have nothing be called so; what Python holds goes on without the name."""
        session = self._session
        before = session.names.tensor(name)
        if before is not None:
            session.rename([(before, session.new_name())], "made")
        elif name in self:
            session.free([name])
            session.flush()

    def __delitem__(self, name: str) -> None:
        """Free the tensor of a name at the host, once Python forgot it too."""
        with self._session._lock:
            if self._session.names.tensor(name) is None and name not in self:
                raise _missing(name, self._session)
            self._take_name(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> list[str]:
        """The host's; in a transaction with what is only recorded yet."""
        return self._session.tensor_names()

    def __repr__(self) -> str:
        return f"<tensors of session {self._session.id}: {', '.join(self._names())}>"


def _missing(name: str, session: Session) -> GradwireError:
    return error(
        "tensor_not_found",
        f"session {session.id} has no tensor called {str(name)[:140]!r}",
        "list(session.tensors) has the names; another client of the session may have freed it",
        raised=KeyError,
    )


__all__ = ["NamedTensors"]
