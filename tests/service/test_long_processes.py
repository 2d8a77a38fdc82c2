"""The processes that long calls run in: what they give, how they end, what they leave."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.service.children import children

from gradwire_engine.arrays import backend
from gradwire_engine.kernels.large_matrices import singular, solved
from gradwire_engine.long_calls import Function, Functions, Work
from gradwire_engine.mode import using
from gradwire_service.host.long_calls.processes import Processes

XP = backend("cpu").xp
ROWS = 200


class Apart:
    """A watch that has each large call run in a process."""

    def __init__(self, processes: Processes) -> None:
        self.processes, self.ran = processes, 0
        self._others = children()

    @property
    def pid(self) -> int:
        """The process that is kept."""
        (found,) = set(children()) - set(self._others)
        return found

    def foresee(self, work: Work) -> None:
        """Let it go on."""

    def look(self) -> None:
        """Let it go on."""

    def learn(self, work: Work, seconds: float) -> None:
        """Remember nothing."""

    def run(self, work: Work, call: Function, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        self.ran += 1
        return self.processes.run(call, args, named, self.look)


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    processes = Processes()
    yield Apart(processes)
    processes.close()


def hermitian(a: np.ndarray) -> np.ndarray:
    return a + a.T.conj()


def far_from_singular(a: np.ndarray) -> np.ndarray:
    return a @ a.T.conj() + np.eye(len(a), dtype=a.dtype)


CALLS: dict[str, Callable[[np.ndarray], Any]] = {
    "svd": lambda a: singular(XP, a, False),
    "svd by NumPy": lambda a: XP.linalg.svd(a, True),
    "svdvals": lambda a: XP.linalg.svd(a, compute_uv=False),
    "eig": XP.linalg.eig,
    "eigh": lambda a: XP.linalg.eigh(hermitian(a), "U"),
    "eigvalsh": lambda a: XP.linalg.eigvalsh(hermitian(a)),
    "qr": lambda a: XP.linalg.qr(a, mode="complete"),
    "inv": XP.linalg.inv,
    "solve": lambda a: solved(XP, a, np.ascontiguousarray(a[:, :70])),
    "solve by NumPy": lambda a: XP.linalg.solve(a, a[:, ::3]),
    "det": lambda a: XP.linalg.det(a / 10),
    "slogdet": XP.linalg.slogdet,
    "cholesky": lambda a: XP.linalg.cholesky(far_from_singular(a)),
    "lu": lambda a: XP.scipy_linalg.lu(a, check_finite=False),
    "expm": lambda a: XP.scipy_linalg.expm(a / 100),
    "solve_triangular": lambda a: XP.scipy_linalg.solve_triangular(
        np.tril(a) + 30 * np.eye(len(a), dtype=a.dtype), a[:, :9], lower=True
    ),
    "sytrf": lambda a: Functions("scipy.linalg.lapack").dsytrf(a.real.astype(float), lower=1),
}
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "gaps": lambda a: np.repeat(a, 2, axis=0)[::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", CALLS)
def test_what_a_process_gives_is_the_same_to_the_last_bit(
    apart: Apart, name: str, dtype: str, layout: str
) -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((ROWS, ROWS))
    if dtype.startswith("complex"):
        a = a + 1j * rng.standard_normal((ROWS, ROWS))
    a = LAYOUTS[layout](a.astype(dtype))
    before, ran = a.copy(), apart.ran
    here = CALLS[name](a)
    with using(watch=apart):
        there = CALLS[name](a)
    assert apart.ran > ran
    assert (a == before).all()
    for one, other in zip(listed(here), listed(there), strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.asarray(one).strides == np.asarray(other).strides
        if isinstance(other, np.ndarray):
            assert other.flags.writeable
            assert other.base is None


def listed(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple) else (found,)


def test_what_a_call_raises_comes_out_and_the_process_stays(apart: Apart) -> None:
    with using(watch=apart):
        XP.linalg.inv(np.eye(ROWS))
        before = apart.pid
        with pytest.raises(np.linalg.LinAlgError, match="Singular"):
            XP.linalg.inv(np.zeros((ROWS, ROWS)))
        with pytest.raises(np.linalg.LinAlgError, match="square"):
            XP.linalg.inv(np.zeros((ROWS, ROWS + 1)))
        with pytest.raises(TypeError):
            XP.linalg.svd(np.eye(ROWS), unheard_of=1)
        assert (XP.linalg.inv(np.eye(ROWS)) == np.eye(ROWS)).all()
    assert apart.pid == before


def test_one_that_was_killed_while_it_waited_is_made_again(apart: Apart) -> None:
    with using(watch=apart):
        XP.linalg.inv(np.eye(ROWS))
        before = apart.pid
        os.kill(before, signal.SIGKILL)
        assert (XP.linalg.inv(np.eye(ROWS)) == np.eye(ROWS)).all()
    assert apart.pid != before


def long_call() -> tuple[Function, tuple[np.ndarray]]:
    """A call that takes a minute, or at least far longer than it is let run."""
    rows = 3000
    return XP.linalg.eig, (np.random.default_rng(0).standard_normal((rows, rows)),)


def ready() -> Processes:
    """Processes of which one waits for a call."""
    processes = Processes()
    processes.run(XP.linalg.det, (np.eye(ROWS),), {}, lambda: None)
    return processes


def test_one_that_is_killed_while_it_works_has_used_up_the_memory() -> None:
    known = children()
    processes = ready()
    raised: list[BaseException] = []
    begun = threading.Event()

    def work() -> None:
        try:
            processes.run(*long_call(), {}, begun.set)
        except BaseException as problem:
            raised.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(60)
    (found,) = set(children()) - set(known)
    os.kill(found, signal.SIGKILL)
    thread.join(60)
    assert [type(problem) for problem in raised] == [MemoryError]
    assert processes.run(XP.linalg.det, (np.eye(ROWS),), {}, lambda: None) == 1
    processes.close()
    assert children() == known


def test_a_look_that_raises_ends_the_process_at_once() -> None:
    known = children()
    processes = ready()
    began = time.monotonic()

    def look() -> None:
        if time.monotonic() > began + 1:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        processes.run(*long_call(), {}, look)
    assert children() == known
    assert processes.run(XP.linalg.det, (np.eye(ROWS),), {}, lambda: None) == 1
    processes.close()


def test_one_that_had_no_time_to_start_is_ready_later() -> None:
    processes = Processes()
    known = children()

    def look() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        processes.run(XP.linalg.det, (np.eye(ROWS),), {}, look)
    (begun,) = set(children()) - set(known)
    assert processes.run(XP.linalg.det, (np.eye(ROWS),), {}, lambda: None) == 1
    assert set(children()) - set(known) == {begun}
    processes.close()


def test_as_many_run_at_a_time_as_are_asked_for_and_one_is_kept() -> None:
    processes = Processes()
    known = set(children())
    together = threading.Barrier(3)
    seen: list[int] = []

    def look() -> None:
        """Wait for the others, and end this call when all were seen to run."""
        together.wait(60)
        seen.append(len(set(children()) - known))
        together.wait(60)
        raise InterruptedError

    def work() -> None:
        with pytest.raises(InterruptedError):
            processes.run(*long_call(), {}, look)
        processes.run(XP.linalg.det, (np.eye(ROWS),), {}, lambda: None)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert seen == [3, 3, 3]
    assert len(set(children()) - known) == 1
    processes.close()
    assert set(children()) == known
