"""Every op's example runs in a session, as the text it is, and gives what it says."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.examples import example
from gradwire_service.host.host import Host
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import OpsRequest, SessionCreate, StepsRequest
from gradwire_service.host.reply import TensorReply

ARROW = " -> "


@pytest.fixture(scope="module")
def host() -> Host:
    return Host()


class Example:
    """One example, taken apart: tensors made first, a call with its results, gradients."""

    def __init__(self, text: str) -> None:
        parts = text.split("; ")
        self.made = [part for part in parts if ARROW not in part]
        (call, gives), *grads = [part.split(ARROW) for part in parts if ARROW in part]
        self.call = call
        node = ast.parse(gives, mode="eval").body
        self.several = isinstance(node, ast.Tuple)
        self.gives = [_value(item) for item in (node.elts if self.several else [node])]
        self.grads = {place.removesuffix(".grad"): numbers for place, numbers in grads}

    @property
    def written(self) -> str | None:
        """The tensor that the call writes to, if it does."""
        match ast.parse(self.call).body[0]:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
                return name
            case ast.Expr(value=ast.Call(func=func, args=[ast.Name(id=name), *_])):
                return name if ast.unparse(func).endswith("_") else None
        return None


def _value(node: ast.expr) -> str | None:
    """Source text that makes a result that the example shows; None where it shows none."""
    text = ast.unparse(node)
    if text == "None":
        return None
    return text if text.startswith("tensor(") else f"tensor({text})"


class Run:
    """An example in a session of its own."""

    def __init__(self, host: Host, shown: Example) -> None:
        self.host, self.shown = host, shown
        self.id = host.create(read(SessionCreate, {"seed": 0})).id
        self.source("\n".join(shown.made))
        self.steps([{"requires_grad": name, "value": True} for name in shown.grads])

    def source(self, text: str, *names: str) -> dict[str, TensorReply]:
        request = read(OpsRequest, {"source": text, "return": list(names)})
        found: dict[str, TensorReply] = self.host.handle(self.id, request)["values"]
        return found

    def steps(self, steps: list[dict[str, Any]], *names: str) -> dict[str, TensorReply]:
        request = read(StepsRequest, {"steps": steps, "return": list(names)})
        found: dict[str, TensorReply] = self.host.handle(self.id, request)["values"]
        return found

    def results(self) -> list[TensorReply]:
        """What the call gives; afterwards the gradients are there."""
        gives, written = self.shown.gives, self.shown.written
        names = ["_" if text is None else f"result{i}" for i, text in enumerate(gives)]
        target = "" if written else f"{', '.join(names)}{',' * self.shown.several} = "
        names = [written] if written else [name for name in names if name != "_"]
        found = self.source(target + self.shown.call, *names)
        if self.shown.grads:
            rooted = [name for name in names if found[name].requires_grad]
            counted = [_counted(found[name]) for name in rooted]
            self.steps([{"backward": {"tensors": rooted, "grad_tensors": counted}}])
        return [found[name] for name in names]

    def wanted(self, text: str) -> TensorReply:
        return self.source(f"wanted = {text}", "wanted")["wanted"]


def _counted(result: TensorReply) -> dict[str, Any]:
    """1, 2, 3, … in the result's shape and dtype, as a literal."""
    numbers: list[Any] = list(range(1, result.array.size + 1))
    if result.array.dtype.kind == "c":
        numbers = [[n, 0] for n in numbers]
    return {"dtype": result.dtype.name, "shape": list(result.array.shape), "data": numbers}


def _agree(found: TensorReply, wanted: TensorReply) -> None:
    """To the digits that are shown."""
    assert (found.dtype, found.array.shape) == (wanted.dtype, wanted.array.shape)
    shown = np.asarray(wanted.array).astype(complex)
    np.testing.assert_allclose(found.array.astype(complex), shown, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_an_example_gives_what_it_says(name: str, host: Host) -> None:
    text = example(name)
    assert text is not None, "run make docs"
    run = Run(host, Example(text))
    shown = [wanted for wanted in run.shown.gives if wanted is not None]
    for found, wanted in zip(run.results(), shown, strict=True):
        _agree(found, run.wanted(wanted))
    for place, numbers in run.shown.grads.items():
        found = run.steps([], f"{place}.grad")[f"{place}.grad"]
        _agree(found, run.wanted(f"tensor({numbers})"))


def test_a_wrong_number_is_found(host: Host) -> None:
    run = Run(host, Example("x = tensor([0.0, 1.0]); sin(x) -> [0.0, 0.85]"))
    with pytest.raises(AssertionError):
        _agree(run.results()[0], run.wanted("tensor([0.0, 0.85])"))
