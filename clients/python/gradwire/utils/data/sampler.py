"""In which order a loader takes samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from gradwire.creation import as_tensor
from gradwire.functions import catalogued
from gradwire.random import Generator
from gradwire_engine.spec import float64

T = TypeVar("T")


class Sampler(Generic[T]):
    """What goes through numbers of samples, or lists of them, once for each epoch."""

    def __init__(self, data_source: Sized | None = None) -> None:
        pass

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """In order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """In random order, each once; or drawn anew each time, with replacement."""

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement = data_source, replacement
        self._num_samples, self.generator = num_samples, generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got {replacement=}")
        if not isinstance(self.num_samples, int) or self.num_samples < 0:
            raise ValueError(
                f"num_samples should be a non-negative integer value, but got {self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many samples an epoch has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = _own_or_fresh(self.generator)
        size, wanted = len(self.data_source), self.num_samples
        if self.replacement:
            drawn = catalogued("randint")(size, (wanted,), generator=generator)
            yield from drawn.tolist()
            return
        while wanted > 0:
            order = catalogued("randperm")(size, generator=generator).tolist()
            yield from order[:wanted]
            wanted -= size

    def __len__(self) -> int:
        return self.num_samples


def _own_or_fresh(generator: Generator | None) -> Generator:
    """The generator; or one whose seed is drawn from the session, so that it takes one draw of it.

    However many samples are taken, what the program draws between them stays the same.
    """
    if generator is not None:
        return generator
    return Generator().manual_seed(int(catalogued("randint")(2**63 - 1, ()).item()))


class SubsetRandomSampler(Sampler[int]):
    """Some numbers, in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        order = catalogued("randperm")(len(self.indices), generator=self.generator)
        for place in order.tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Numbers drawn in proportion to weights."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got {num_samples=}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got {replacement=}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        drawn = catalogued("multinomial")(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of numbers from another sampler; drop_last: the last only where it is full."""

    def __init__(
        self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool
    ) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got {batch_size=}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got {drop_last=}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers: Any = iter(self.sampler)
        while found := list(islice(numbers, self.batch_size)):
            if len(found) == self.batch_size or not self.drop_last:
                yield found

    def __len__(self) -> int:
        full, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return full + bool(rest and not self.drop_last)


__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler",
    "WeightedRandomSampler",
]  # fmt: skip
