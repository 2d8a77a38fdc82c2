"""Several results come in what torch gives them in: a list, a tuple, or one with the same names."""

from __future__ import annotations

import warnings
from functools import reduce
from typing import Any

import numpy as np
import pytest
import torch
from tests.engine.batches import visit
from tests.engine.samples import samples_of
from tests.engine.trial import on

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.mode import no_grad


def in_torch(name: str) -> Any:
    """torch's function of this name; None where it has none, as for the tensor's operators."""
    try:
        return reduce(getattr, name.split("."), torch)
    except AttributeError:
        return getattr(torch.Tensor, name, None)


def container(result: Any) -> tuple[str, tuple[str, ...]]:
    """Whether it is a list or a tuple, and the names of its items, if it has any."""
    if hasattr(result, "n_fields"):  # how torch's named tuples are written
        names = {id(getattr(result, n)): n for n in dir(result) if not n.startswith(("_", "n_"))}
        return "tuple", tuple(names[id(item)] for item in result)
    kind = "list" if isinstance(result, list) else "tuple"
    return kind, tuple(getattr(result, "_fields", ()))


@pytest.mark.parametrize("name", sorted(filter(in_torch, CATALOGUE)))
def test_results_come_in_what_torch_has_them_in(name: str) -> None:
    for call in samples_of(name):
        args, kwargs = visit(call, lambda array: on("cpu", array))
        with no_grad(), np.errstate(all="ignore"):
            found = CATALOGUE[name](*args, **kwargs)
        if not isinstance(found, list | tuple):
            continue
        args, kwargs = visit(call, torch.from_numpy)
        args = args[0] if name == "broadcast_tensors" else args  # torch's takes no list
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.* is deprecated")
            wanted = in_torch(name)(*args, **kwargs)
        assert container(found) == container(wanted)
