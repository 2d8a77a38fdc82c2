"""Tables of vectors, looked up by number."""

from __future__ import annotations

from typing import Any

from gradwire.functions import catalogued
from gradwire.nn import init
from gradwire.nn.module import Module
from gradwire.nn.parameter import Parameter, declare
from gradwire.tensor import Tensor
from gradwire.within import within


class Embedding(Module):
    """A vector for each number below num_embeddings. Shape: (…) of ints to (…, embedding_dim)."""

    weight: Parameter

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
            declare(self, device, dtype, weight=(num_embeddings, embedding_dim))
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
        _begin(self.weight, self.padding_idx)

    def forward(self, input: Tensor) -> Any:
        return catalogued("nn.functional.embedding")(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class EmbeddingBag(Module):
    """The sum, mean or maximum of the vectors of each bag of numbers."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.mode, self.sparse = scale_grad_by_freq, mode, sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = _place(padding_idx, num_embeddings)
        if _weight is None:
            declare(self, device, dtype, weight=(num_embeddings, embedding_dim))
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != (num_embeddings, embedding_dim):
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim"
                )
            self.weight = Parameter(_weight)

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, **settings: Any
    ) -> EmbeddingBag:
        """A table of given vectors, which isn't trained unless freeze is False."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        made = cls(rows, columns, _weight=embeddings, **settings)
        made.weight.requires_grad_(not freeze)
        return made

    def reset_parameters(self) -> None:
        """Begin normal, with zeros at the padding."""
        _begin(self.weight, self.padding_idx)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Any:
        return catalogued("nn.functional.embedding_bag")(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        plain = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "mode": ""}
        said = {n: v for n in (*plain, "padding_idx") if (v := getattr(self, n)) != plain.get(n)}
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        return ", ".join(parts + [f"{name}={value!r}" for name, value in said.items()])


def _begin(weight: Any, padding: int | None) -> None:
    init.normal_(weight)
    if padding is not None:
        with within(grad=False):
            weight[padding].fill_(0)


def _place(index: int | None, size: int) -> int | None:
    if index is None:
        return None
    if not -size <= index < size:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return index % size


__all__ = ["Embedding", "EmbeddingBag"]
