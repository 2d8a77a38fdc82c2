"""torch.nn.utils.rnn: sequences of different lengths, padded to one tensor or packed in rows.

A packed batch has the rows of all sequences by time: of the first step those of all sequences, of
later ones those of the sequences that are still going on, longest first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradwire.creation import tensor
from gradwire.functions import catalogued
from gradwire.tensor import Tensor
from gradwire_engine.errors import error


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Rows of sequences by time. Made by `pack_padded_sequence` and `pack_sequence`.

    batch_sizes: how many sequences have each step. sorted_indices: which sequence stands where, by
    length; unsorted_indices: the way back. Both are None where the sequences came sorted.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, list | tuple) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        assert batch_sizes is not None
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def with_data(self, data: Tensor) -> PackedSequence:
        """The same batch with other rows, as many as there are."""
        return self if data is self.data else type(self)(data, *self[1:])

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The rows in another dtype."""
        return self.with_data(self.data.to(*args, **kwargs))

    def cpu(self) -> PackedSequence:
        """Itself: tensors of a session live on one device."""
        return self.with_data(self.data.cpu())

    def double(self) -> PackedSequence:
        """The rows in float64."""
        return self.with_data(self.data.double())

    def float(self) -> PackedSequence:
        """The rows in float32."""
        return self.with_data(self.data.float())

    def half(self) -> PackedSequence:
        """The rows in float16."""
        return self.with_data(self.data.half())

    def long(self) -> PackedSequence:
        """The rows in int64."""
        return self.with_data(self.data.long())

    @property
    def is_cuda(self) -> bool:
        """Whether it lives on a GPU."""
        return bool(self.data.is_cuda)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The way back of a permutation of indices; None of None."""
    return None if permutation is None else permutation.argsort()


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """The rows of a padded batch, (time, batch, …) or batch first, without the padding.

    lengths: of the sequences, longest first; in any order with enforce_sorted=False.
    """
    given = _lengths(lengths)
    order = None
    if not enforce_sorted:
        order = np.argsort([-n for n in given], kind="stable").tolist()
        given = [given[place] for place in order]
    time = input.transpose(0, 1) if batch_first else input
    if order is not None:
        time = time.index_select(1, tensor(order))
    _check(given, time)
    sizes = [sum(n > step for n in given) for step in range(given[0])]
    rows = [step * len(given) + place for step, size in enumerate(sizes) for place in range(size)]
    data = time.flatten(0, 1).index_select(0, tensor(rows))
    return PackedSequence(data, tensor(sizes), None if order is None else tensor(order))


def _lengths(lengths: Any) -> list[int]:
    if not isinstance(lengths, Tensor):
        return [int(n) for n in lengths]
    if lengths.ndim != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D cpu "
            "tensor"
        )
    found: list[int] = lengths.long().tolist()
    return found


def _check(lengths: list[int], time: Tensor) -> None:
    """Refuse lengths that the batch, (time, batch, …), does not have."""
    if len(lengths) != time.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
            f"(batch_size={time.shape[1]})"
        )
    if any(n <= 0 for n in lengths):
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if lengths != sorted(lengths, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if lengths[0] > time.shape[0]:
        raise error(
            "shape_mismatch",
            f"pack_padded_sequence: a sequence has {lengths[0]} steps, the batch {time.shape[0]}",
            "give the lengths that the sequences had before they were padded",
        )


def unfolded(sequence: PackedSequence, steps: int) -> tuple[Tensor, Tensor]:
    """The rows as (time, batch, …), sequences by length; and which of them are none of padding.

    The former has any row where padding stands, the latter is (time, batch, 1, …), of bools.
    """
    sizes = sequence.batch_sizes.tolist()
    most = sizes[0]
    sizes += [0] * (steps - len(sizes))
    first = np.cumsum([0, *sizes[:-1]])[:, None]
    there = np.arange(most) < np.array(sizes)[:, None]
    places = np.where(there, first + np.arange(most), 0)
    data = sequence.data
    time = data.index_select(0, tensor(places.reshape(-1))).unflatten(0, (steps, most))
    return time, tensor(there.reshape(steps, most, *[1] * (data.ndim - 1)))


def folded(sequence: PackedSequence, time: Tensor) -> PackedSequence:
    """The rows of (time, batch, …) that are none of padding, in a batch packed as another one."""
    sizes, most = sequence.batch_sizes.tolist(), time.shape[1]
    rows = [step * most + place for step, size in enumerate(sizes) for place in range(size)]
    return sequence.with_data(time.flatten(0, 1).index_select(0, tensor(rows)))


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """A packed batch as (time, batch, …), or batch first, and the lengths, in their first order.

    total_length: how many steps to pad to; as many as the longest sequence has where left out.
    """
    steps = len(sequence.batch_sizes)
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but "
            f"got total_length={total_length} and max sequence length being {steps}"
        )
    time, there = unfolded(sequence, total_length or steps)
    padded = catalogued("where")(there, time, padding_value)
    padded = padded.transpose(0, 1) if batch_first else padded
    lengths = there.reshape(there.shape[:2]).sum(0)
    if sequence.unsorted_indices is None:
        return padded, lengths
    order = sequence.unsorted_indices
    return padded.index_select(0 if batch_first else 1, order), lengths[order]


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Tensors (time, …) of different lengths as one, (time, batch, …) or batch first."""
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    listed = list(sequences)
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    steps, many = max(len(each) for each in listed), len(listed)
    shape = (many, steps) if batch_first else (steps, many)
    padded: Tensor = listed[0].new_full((*shape, *listed[0].shape[1:]), padding_value)
    for place, each in enumerate(listed):
        first = steps - len(each) if padding_side == "left" else 0
        rows = slice(first, first + len(each))
        padded[(place, rows) if batch_first else (rows, place)] = each
    return padded


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Tensors (time, …) of different lengths as a packed batch."""
    lengths = [len(each) for each in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch, each as long as it was."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    pairs = zip(rows.unbind(0), _lengths(lengths), strict=True)
    return [row[list(range(n))] for row, n in pairs]


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch, each as long as it was."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip
