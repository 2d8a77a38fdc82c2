"""DataLoader: batches of a data set, epoch after epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from gradwire.random import Generator
from gradwire.utils.data.collate import default_collate, default_convert
from gradwire.utils.data.dataset import Dataset, IterableDataset, TensorDataset
from gradwire.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

T = TypeVar("T")


class DataLoader(Generic[T]):
    """Batches of a data set, as torch's loader; samples are taken in this process.

    Options of torch's that are about other processes and pinned memory (num_workers, timeout,
    pin_memory, prefetch_factor, persistent_workers, …) are taken and change nothing.
    """

    def __init__(
        self,
        dataset: Dataset[T] | Iterable[T],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self.dataset: Any = dataset
        self.num_workers, self.pin_memory, self.timeout = num_workers, pin_memory, timeout
        self.worker_init_fn, self.generator = worker_init_fn, generator
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self._one_by_one = isinstance(dataset, IterableDataset)
        self._check(shuffle, sampler, batch_sampler, batch_size, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler: Any = self._order(bool(shuffle)) if sampler is None else sampler
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.batch_sampler: Any = batch_sampler
        made = default_convert if batch_sampler is None else default_collate
        self.collate_fn: Callable[[Any], Any] = collate_fn or made

    def _check(
        self, shuffle: Any, sampler: Any, batch_sampler: Any, batch_size: Any, drop_last: bool
    ) -> None:
        """Refuse what excludes one another."""
        if self.num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable "
                "multiprocessing."
            )
        if self._one_by_one:
            given = {"shuffle": shuffle or None, "sampler": sampler or None}
            for name, value in (given | {"batch_sampler": batch_sampler}).items():
                if value is not None:
                    raise ValueError(
                        "DataLoader with IterableDataset: expected unspecified "
                        f"{name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )

    def _order(self, shuffle: bool) -> Any:
        if self._one_by_one:
            return _Endless()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        if self._one_by_one:
            size = self.batch_size
            batched = None if size is None else BatchSampler(self.dataset, size, self.drop_last)
            return map(self.collate_fn, self.dataset if batched is None else batched)
        if self.batch_sampler is None:
            return (self.collate_fn(self.dataset[index]) for index in self.sampler)
        return (self._batch(list(indices)) for indices in self.batch_sampler)

    def _batch(self, indices: list[Any]) -> Any:
        if type(self.dataset) is TensorDataset and self.collate_fn is default_collate:
            return list(self.dataset[indices])  # the rows in one op, and not one for each
        if hasattr(self.dataset, "__getitems__"):
            return self.collate_fn(self.dataset.__getitems__(indices))
        return self.collate_fn([self.dataset[index] for index in indices])

    def __len__(self) -> int:
        if not self._one_by_one:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        if self.batch_size is None:
            return len(self.dataset)
        rounded = math.floor if self.drop_last else math.ceil
        return rounded(len(self.dataset) / self.batch_size)


class _Endless(Sampler[None]):
    """The sampler of a data set that has no numbers."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


def get_worker_info() -> None:
    """None: samples are taken in this process, and not in a worker."""
    return


__all__ = ["DataLoader", "get_worker_info"]
