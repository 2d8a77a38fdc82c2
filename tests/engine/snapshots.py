"""Tensors to a snapshot and back, as tests do it: through JSON, programs by their names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradwire_engine.errors import GradwireError
from gradwire_engine.snapshot import Reader, Writer
from gradwire_engine.tensor import Tensor

PROGRAMS: dict[str, Any] = {}


def to_data(program: Any) -> Any:
    """A program by a name, for the table above."""
    PROGRAMS[program.id] = program
    return program.id


def written(*tensors: Tensor) -> tuple[list[int | None], dict[str, Any], dict[str, np.ndarray]]:
    """The numbers of tensors, and a snapshot of them that went through JSON."""
    writer = Writer(to_data)
    found = [writer.cell(tensor) for tensor in tensors]
    data, arrays = writer.finish()
    return found, json.loads(json.dumps(data, allow_nan=False)), arrays


def again(*tensors: Tensor) -> list[Tensor]:
    """The tensors out of a snapshot of them, which says the same as one of those."""
    found, data, arrays = written(*tensors)
    reader = Reader(data, arrays, PROGRAMS.__getitem__)
    made = [reader.tensor(number) for number in found]
    reader.finish()
    assert written(*made)[1] == data
    return made


def refused(change: Callable[[dict[str, Any]], object], *tensors: Tensor) -> str:
    """Why the snapshot of some tensors is refused once it was changed."""
    _, data, arrays = written(*tensors)
    change(data)
    with pytest.raises(GradwireError) as problem:
        Reader(data, arrays, PROGRAMS.__getitem__).finish()
    assert problem.value.code == "snapshot_incompatible"
    return problem.value.detail
