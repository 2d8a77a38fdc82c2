"""Data sets: what has samples, by number or one after the other."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, Generic, TypeVar

from gradwire.functions import catalogued
from gradwire.random import Generator
from gradwire.tensor import Tensor

T = TypeVar("T")


class Dataset(Generic[T]):
    """Samples by number: `__getitem__`, and `__len__` where a loader is to know how many."""

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[T]) -> ConcatDataset[T]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Samples one after the other: `__iter__`."""

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[T]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors: sample i is row i of each. All have as many."""

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(len(tensors[0]) != len(tensor) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset[Any]):
    """Several data sets side by side: sample i is a tuple, or a dict, of each one's sample i."""

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError(
                "Supported either `tuple`- (via `args`) or `dict`- (via `kwargs`) like input/output"
            )
        self.datasets: Any = kwargs or args
        lengths = {len(each) for each in (*args, *kwargs.values())}  # type: ignore[arg-type]
        if len(lengths) != 1:
            raise ValueError("Size mismatch between datasets")
        (self._length,) = lengths

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {key: each[index] for key, each in self.datasets.items()}
        return tuple(each[index] for each in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T]):
    """Data sets one behind the other."""

    datasets: list[Dataset[T]]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Dataset[T]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T:
        if index < -len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        index += len(self) if index < 0 else 0
        place = bisect_right(self.cumulative_sizes, index)
        return self.datasets[place][index - (self.cumulative_sizes[place - 1] if place else 0)]


class ChainDataset(IterableDataset[Any]):
    """Iterable data sets one behind the other."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.datasets)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return sum(map(len, self.datasets))  # type: ignore[arg-type]


class Subset(Dataset[T]):
    """Some samples of a data set, by their numbers."""

    def __init__(self, dataset: Dataset[T], indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> T:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[T]:
        """Samples by several numbers at once, where the data set can."""
        found = [self.indices[i] for i in indices]
        if hasattr(self.dataset, "__getitems__"):
            return self.dataset.__getitems__(found)  # type: ignore[no-any-return]
        return [self.dataset[i] for i in found]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[T]]:
    """Parts of a data set, at random and without overlap. lengths: numbers, or shares of 1."""
    total = len(dataset)  # type: ignore[arg-type]
    shares = math.isclose(sum(lengths), 1) and sum(lengths) <= 1
    counts = _counts(lengths, total) if shares else lengths
    if sum(counts) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = catalogued("randperm")(total, generator=generator).tolist()
    ends = accumulate(int(count) for count in counts)
    return [
        Subset(dataset, order[end - int(count) : end])
        for end, count in zip(ends, counts, strict=True)
    ]


def _counts(shares: Sequence[float], total: int) -> list[int]:
    """Shares as numbers, rounded down; what remains goes round from the first on."""
    for place, share in enumerate(shares):
        if not 0 <= share <= 1:
            raise ValueError(f"Fraction at index {place} is not between 0 and 1")
    counts = [math.floor(total * share) for share in shares]
    for place in range(total - sum(counts)):
        counts[place % len(counts)] += 1
    return counts


__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset",
    "TensorDataset", "random_split",
]  # fmt: skip
