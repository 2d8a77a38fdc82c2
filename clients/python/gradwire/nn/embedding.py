"""Tables of vectors, looked up by number."""

from __future__ import annotations

from typing import Any

from gradwire.functions import catalogued
from gradwire.modes import no_grad
from gradwire.nn import init
from gradwire.nn.linear import parameter
from gradwire.nn.module import Module
from gradwire.nn.parameter import Parameter
from gradwire.tensor import Tensor


class Embedding(Module):
    """A vector for each number below num_embeddings. Shape: (…) of ints to (…, embedding_dim)."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = _place(padding_idx, num_embeddings)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = parameter(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.weight.requires_grad_(not _freeze)
            self.reset_parameters()
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **settings: Any) -> Embedding:
        """A table of given vectors, which isn't trained unless freeze is False."""
        if embeddings.ndim != 2:
            raise ValueError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, _weight=embeddings, _freeze=freeze, **settings)

    def reset_parameters(self) -> None:
        """Begin normal, with zeros at the padding."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Any:
        return catalogued("nn.functional.embedding")(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


def _place(index: int | None, size: int) -> int | None:
    if index is None:
        return None
    if not -size <= index < size:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return index % size


__all__ = ["Embedding"]
