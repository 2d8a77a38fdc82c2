"""Programs over HTTP: a server keeps a bounded number, and no user has to know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.clients.serving import serving

import gradwire as torch
from gradwire.posted import Posted
from gradwire.session import Session
from gradwire_engine.errors import error

FEW = 20


@pytest.fixture(scope="module")
def small_server() -> Iterator[str]:
    with serving("--log", "none", programs=FEW) as url:
        yield url


@pytest.fixture
def small(small_server: str) -> Iterator[Session]:
    with torch.connect(small_server).session() as session:
        yield session


def _power(exponent: int) -> Any:
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**exponent

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * exponent * x ** (exponent - 1)

    return Power.apply


def test_more_functions_than_a_server_keeps(small: Session) -> None:
    x = torch.tensor(1.1, dtype=torch.float64, requires_grad=True)
    total = sum(_power(n)(x) for n in range(2, 2 + 3 * FEW))  # two programs each, sent at the end
    total.backward()
    assert x.grad.item() == pytest.approx(sum(n * 1.1 ** (n - 1) for n in range(2, 2 + 3 * FEW)))
    y = _power(2)(x)  # deleted meanwhile, and the same again
    assert y.item() == pytest.approx(1.21)


def _delete_all(small: Session) -> None:
    """Delete the programs that a server has, as other clients may."""
    url = small.transport.url
    for item in httpx.get(f"{url}/v1/programs").json()["items"]:
        httpx.delete(f"{url}/v1/programs/{item['id']}")


def test_a_transaction_with_more_of_them_is_not_done_in_part(small: Session) -> None:
    _delete_all(small)  # those of clients before would leave no room at all
    x, n = torch.tensor(1.1), torch.zeros(())
    n.tolist()
    with pytest.raises(RuntimeError, match="no room for them together"), small.transaction():
        for exponent in range(2, 2 + 3 * FEW):
            n += 1
            _power(exponent)(x)
    assert n.item() == 0.0
    with small.transaction():
        for exponent in range(2, 2 + FEW // 4):
            n += 1
            _power(exponent)(x)
    assert n.item() == FEW // 4


def test_what_another_client_deleted_is_posted_again(small: Session) -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    total = _power(2)(x) + _power(3)(x)
    assert total.tolist() == [12.0, 36.0]
    _delete_all(small)
    again = torch.tensor([1.0, 1.0]) + _power(2)(x) + torch.ones(2) * _power(3)(x)
    assert again.tolist() == [13.0, 37.0]


def test_programs_that_call_programs(small: Session) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    for n in range(2, 2 + FEW):
        inner = _power(n)
        made = torch.utils.checkpoint.checkpoint(lambda t, f=inner: f(t) * 2, x)
        assert made.item() == 2.0 ** (n + 1)
    made.backward()
    assert x.grad.item() == 2 * (FEW + 1) * 2.0**FEW


class _Full:
    """A server with room for two programs."""

    def __init__(self) -> None:
        self.held: set[str] = set()
        self.posts = 0

    def post(self, text: str) -> str:
        if len(self.held) >= 2 and text not in self.held:
            raise error("limit_exceeded", "there are 2 programs, and the limit is 2")
        self.held.add(text)
        self.posts += 1
        return text

    def delete(self, key: str) -> None:
        self.held.discard(key)


def test_a_program_is_posted_once_while_it_is_there() -> None:
    server = _Full()
    posted = Posted(server.post, server.delete)
    keys = [posted.put({"ops": [], "outputs": [name]}) for name in "aabba"]
    assert len(set(keys)) == 2
    assert server.posts == 2
    posted.put({"ops": [], "outputs": ["c"]})
    assert server.posts == 3
    posted.ensure([{"call": keys[0]}, {"op": "add"}, {"call": "foreign"}])
    assert keys[0] in server.held
    assert not posted.forgotten([{"call": "foreign"}])
