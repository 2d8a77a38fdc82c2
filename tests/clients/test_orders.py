"""How tensors lie in memory is known at the client as it is at the server: views hang on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradwire as torch
from gradwire import func
from gradwire.autograd import functional
from gradwire.utils.checkpoint import checkpoint


def _turned() -> Any:
    return torch.arange(6.0).reshape(2, 3).t()


def _tripled(x: Any) -> Any:
    return x * 3 + 1


def _squares(x: Any) -> Any:
    return (x * x).sum()


RESULTS: dict[str, Callable[[Any], Any]] = {
    "an op": _tripled,
    "of two orders": lambda x: x + torch.ones(3, 2),
    "like another": torch.zeros_like,
    "sorted": lambda x: x.sort()[1],
    "looked up": lambda x: x[:, [1, 0]],
    "an inverse": lambda x: torch.linalg.inv(x.t() @ x),
    "grad of": lambda x: torch.autograd.grad(_squares(x.requires_grad_()), x)[0],
    "grad": func.grad(_squares),
    "vjp": lambda x: func.vjp(_tripled, x)[0],
    "jvp": lambda x: func.jvp(_tripled, (x,), (x,))[1],
    "jacfwd": func.jacfwd(_tripled),
    "hessian": func.hessian(_squares),
    "vmap": func.vmap(_tripled),
    "vmap of views": func.vmap(lambda row: row.expand(3, 2)),
    "functional": lambda x: functional.vjp(_tripled, x, x)[1],
    "compiled": torch.compile(_tripled),
    "a compiled view": torch.compile(lambda x: x.t()),
    "checkpointed": lambda x: checkpoint(_tripled, x, use_reentrant=False),
    "cond": lambda x: torch.cond(torch.tensor(True), _tripled, lambda y: y * 2, (x,)),
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("recording", [False, True])
def test_what_the_client_says_of_a_result_holds_at_the_server(name: str, recording: bool) -> None:
    x = _turned()
    found = RESULTS[name](x.requires_grad_() if recording else x)
    order = sorted(range(found.ndim), key=found.stride, reverse=True)
    rows = found if found.is_contiguous() else found.permute(order)
    assert rows.view(-1).tolist() == rows.flatten().tolist()
