"""`session.transaction()`: one request, all or nothing, however its block is entered and left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any
from uuid import uuid4

import pytest
from tests.clients.conftest import Counted

import gradwire as torch
from gradwire.session import Session
from gradwire_engine.errors import GradwireError


def _by_generator(session: Session, steps: Callable[[], None]) -> None:
    @contextmanager
    def step() -> Iterator[None]:
        with session.transaction():
            yield

    with step():
        steps()


def _by_stack(session: Session, steps: Callable[[], None]) -> None:
    with ExitStack() as stack:
        stack.enter_context(session.transaction())
        steps()


class _Wrapped:
    def __init__(self, session: Session) -> None:
        self._inner = session.transaction()

    def __enter__(self) -> None:
        self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, raised: Any, at: TracebackType | None
    ) -> None:
        self._inner.__exit__(kind, raised, at)


def _by_a_class_of_its_own(session: Session, steps: Callable[[], None]) -> None:
    with _Wrapped(session):
        steps()


def _in_a_coroutine(session: Session, steps: Callable[[], None]) -> None:
    async def other() -> None:
        for _ in range(5):
            torch.ones(2)
            await asyncio.sleep(0)

    async def train() -> None:
        with session.transaction():
            steps()
            await asyncio.sleep(0.01)

    async def both() -> None:
        await asyncio.gather(train(), other())

    asyncio.run(both())


def _beside_a_thread(session: Session, steps: Callable[[], None]) -> None:
    refused: list[str] = []

    def read() -> None:
        with session.here():
            try:
                torch.ones(2).tolist()
            except GradwireError as problem:
                refused.append(problem.code)

    with session.transaction():
        steps()
        other = threading.Thread(target=read)
        other.start()
        other.join()
    assert refused == ["invalid_argument"]


WAYS = [_by_generator, _by_stack, _by_a_class_of_its_own, _in_a_coroutine, _beside_a_thread]
ways = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))


@ways
def test_all_of_it_is_done_as_one_request(
    way: Callable[..., None], session: Session, counted: Counted
) -> None:
    n = torch.zeros(())
    n.tolist()
    counted.sent.clear()

    def steps() -> None:
        nonlocal n
        n += 1
        torch.ones(2) * 2
        n += 1

    way(session, steps)
    assert len(counted.sent) == 1
    assert n.item() == 2.0


@ways
def test_nothing_of_it_is_done_where_it_raises(way: Callable[..., None], session: Session) -> None:
    n = torch.zeros(())
    n.tolist()

    def steps() -> None:
        nonlocal n
        n += 1
        raise KeyError

    with pytest.raises(KeyError):
        way(session, steps)
    assert n.item() == 0.0
    with session.transaction():
        n += 1
    assert n.item() == 1.0


def test_one_whose_function_returned_is_not_ended_without_a_word(session: Session) -> None:
    n = torch.zeros(())
    n.tolist()

    def begin() -> Any:
        block = session.transaction()
        block.__enter__()
        return block

    block = begin()
    n += 1
    with pytest.raises(RuntimeError, match="it had returned, and it was undone"):
        block.__exit__(None)
    session.flush()
    assert n.item() in (0.0, 1.0)  # what came after it was undone was recorded for itself


def waiting(session: Session) -> Iterator[None]:
    """A transaction as another task has it: its block goes on when it is asked for more."""
    with session.transaction():
        yield


def test_one_that_ends_before_another_within_it_ends_both(session: Session) -> None:
    n = torch.zeros(())
    n.tolist()
    first, second = waiting(session), waiting(session)
    next(first)
    n += 1
    next(second)
    n += 1
    next(first, None)
    assert n.item() == 2.0
    with pytest.raises(RuntimeError, match="another thread or task ended the one around"):
        next(second, None)
    n += 1
    assert n.item() == 3.0
    with session.transaction():
        n += 1
    assert n.item() == 4.0


def test_two_within_one_end_in_any_order(session: Session, counted: Counted) -> None:
    n = torch.zeros(())
    n.tolist()
    counted.take()
    with session.transaction():
        first, second = waiting(session), waiting(session)
        next(first)
        n += 1
        next(second)
        n += 1
        next(first, None)
        n += 1
        next(second, None)
        n += 1
    assert len(counted.take()) == 1
    assert n.item() == 4.0


def test_an_undone_name_is_not_there(session: Session) -> None:
    x, y = torch.ones(2), torch.zeros(2)
    session.tensors["a"] = y
    with pytest.raises(KeyError), session.transaction():
        session.tensors["a"] = x
        raise KeyError
    assert session.tensors["a"].tolist() == [0.0, 0.0]
    assert session.tensors["a"] is y


def _delete(session: Session) -> None:
    del session.tensors["a"]


def _replace(session: Session) -> None:
    session.tensors["a"] = torch.zeros(2)


@pytest.mark.parametrize("undone", [_delete, _replace])
def test_what_an_undone_block_freed_is_there(
    session: Session, undone: Callable[[Session], None]
) -> None:
    session.tensors["a"] = torch.ones(2)  # Python holds it no longer
    with pytest.raises(KeyError), session.transaction():
        undone(session)
        raise KeyError
    torch.ones(1).tolist()
    assert session.tensors["a"].tolist() == [1.0, 1.0]
    undone(session)
    torch.ones(1).tolist()
    assert ("a" in session.tensors) == (undone is _replace)


def test_parts_stay_where_a_block_that_named_others_is_undone(door: str | None) -> None:
    client = torch.connect(door)
    with client.session(label=f"parts {uuid4()}") as session:
        x = torch.ones(1, 2)
        model = torch.nn.Linear(2, 2)
        model(x).tolist()
        kept = model.weight.tolist()
        del model
        with pytest.raises(KeyError), session.transaction():
            torch.nn.Linear(2, 2)(x)
            raise KeyError
        torch.ones(1).tolist()
        assert session.tensors["weight"].tolist() == kept
    session.close()


def test_what_a_transaction_names_is_there_in_it(session: Session) -> None:
    x = torch.ones(2)
    with session.transaction():
        session.tensors["a"] = x
        assert "a" in session.tensors
        with pytest.raises(GradwireError, match="a transaction is under way"):
            session.refresh()
    assert session.tensors["a"].tolist() == [1.0, 1.0]


@contextmanager
def failing(session: Session) -> Iterator[None]:
    """Record in the block what is undone after it, since a step before it fails at the host."""
    session.flush()
    limit = session.info()["memory_limit_bytes"]
    session.transport.change(session.id, {"memory_limit_bytes": 20_000})
    torch.zeros(10_000)
    assert session.waiting
    yield
    with pytest.raises(MemoryError):
        session.flush()
    session.transport.change(session.id, {"memory_limit_bytes": limit})


@pytest.mark.recorded
@pytest.mark.parametrize("undo", ["transaction", "failed request"])
def test_parts_are_named_anew_after_their_naming_was_undone(session: Session, undo: str) -> None:
    model = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2)
    if undo == "transaction":
        with pytest.raises(KeyboardInterrupt), session.transaction():
            model(x)
            raise KeyboardInterrupt
    else:
        with failing(session):
            model(x)
    model(x).tolist()
    assert {"weight", "bias"} <= set(session.tensors)


@pytest.mark.recorded
@pytest.mark.parametrize("undo", ["transaction", "failed request"])
def test_settings_of_an_optimizer_are_sent_again(session: Session, undo: str) -> None:
    w = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.125)
    w.sum().backward()
    optimizer.step()
    assert w.item() == 0.875
    if undo == "transaction":
        with pytest.raises(KeyError), session.transaction():
            optimizer.param_groups[0]["lr"] = 0.5
            optimizer.step()
            raise KeyError
    else:
        with failing(session):
            optimizer.param_groups[0]["lr"] = 0.5
            optimizer.step()
    optimizer.step()
    assert w.item() == 0.375


def test_the_default_dtype_of_before_is_that_of_the_block(session: Session) -> None:
    torch.set_default_dtype(torch.float64)
    with session.transaction():
        x = torch.zeros(2)
        with pytest.raises(GradwireError, match="within a transaction"):
            torch.set_default_dtype(torch.float32)
            torch.zeros(2)
        torch.set_default_dtype(torch.float64)
    assert x.numpy().dtype == "float64"
