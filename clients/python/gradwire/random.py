"""Random state: of the session in force, and generators of one's own.

A state is a seed and a number of draws made since. A generator's lies here, and each call that
draws from it sends it along; the session's lies where its tensors are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from random import SystemRandom
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire import current
from gradwire.leaf import leaf
from gradwire.size import device as Device
from gradwire.thread import drawing_from
from gradwire.trace import innermost
from gradwire_engine.errors import error
from gradwire_engine.random import MOST_DRAWS
from gradwire_engine.random import Generator as Drawn

if TYPE_CHECKING:
    from gradwire.tensor import Tensor

_SYSTEM = SystemRandom()
_FIRST_SEED = 67280421310721
"""Of a generator that nobody seeded, as in torch."""
_STATE = np.dtype([("seed", "<u8"), ("draws", "<u8")])


class Generator:
    """Random numbers of one's own: `generator=` of torch's random functions.

    The same seed gives what `manual_seed` gives the session: not torch's numbers, but the same each
    time.
    """

    def __init__(self, device: Any = "cpu") -> None:
        self.device = Device(str(device))
        self._seed, self._draws = _FIRST_SEED, 0

    def manual_seed(self, seed: int) -> Generator:
        """Begin again from a seed; the generator itself."""
        self._set(int(seed) % 2**64, 0)
        return self

    def seed(self) -> int:
        """Begin again from a seed that nobody knows before; the seed."""
        found = _SYSTEM.getrandbits(63)
        self._set(found, 0)
        return found

    def initial_seed(self) -> int:
        """The seed that it began with."""
        return self._get()[0]

    def get_state(self) -> Tensor:
        """Where it is, as a tensor of bytes for `set_state`."""
        written = np.array([self._get()], _STATE)
        return leaf(current.session(), np.frombuffer(written.tobytes(), np.uint8).copy())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go on from where a generator was; the generator itself."""
        self._set(*_read(new_state))
        return self

    def clone_state(self) -> Generator:
        """Another generator that gives the same numbers from here on."""
        made = Generator(self.device)
        made._set(*self._get())
        return made

    def on(self, step: dict[str, Any]) -> dict[str, Any]:
        """A step that draws from here; it counts as one draw, however many numbers it makes."""
        _refuse_traces()
        seed, draws = self._get()
        self._set(seed, draws + 1)
        return {**step, "generator": {"seed": seed, "draws": draws}}

    @contextmanager
    def lent(self, session: Any) -> Iterator[None]:
        """A block in which a session that is here draws from it; that counts as one draw."""
        seed, draws = self._get()
        with drawing_from(Drawn(seed, draws)):
            yield
        self._set(seed, draws + 1)

    def _get(self) -> tuple[int, int]:
        return self._seed, self._draws

    def _set(self, seed: int, draws: int) -> None:
        self._seed, self._draws = seed, draws

    def __repr__(self) -> str:
        return f"<torch.Generator on {self.device}>"


class _OfSession(Generator):
    """The random state of the session in force, as a generator."""

    def on(self, step: dict[str, Any]) -> dict[str, Any]:
        return step

    def lent(self, session: Any) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()

    def _get(self) -> tuple[int, int]:
        session = current.session()
        if session.runs_here:
            session._check_usable()
            return session.generator.seed, session.generator.draws
        found = current.session().info()["random"]
        return found["seed"], found["draws"]

    def _set(self, seed: int, draws: int) -> None:
        session = current.session()
        step = {"seed": seed, "draws": draws} if draws else {"seed": seed}
        with session.recording() as mark:
            session.record(step, mark=mark)


default_generator: Generator = _OfSession()


def manual_seed(seed: int) -> Generator:
    """Seed the session's random numbers; they are not torch's, but the same each time."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seed the session's random numbers by what nobody knows before; the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed that the session's random numbers began with."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The session's random state, as a tensor of bytes for `set_rng_state`."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Have the session's random numbers go on from a state."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Iterable[Any] | None = None, enabled: bool = True) -> Iterator[None]:
    """A block behind which random numbers go on as if nothing had been drawn in it."""
    if not enabled:
        yield
        return
    before = default_generator._get()
    try:
        yield
    finally:
        default_generator._set(*before)


def _read(state: Any) -> tuple[int, int]:
    found = np.asarray(state.numpy()) if hasattr(state, "numpy") else None
    if found is None or found.dtype != np.uint8:
        raise TypeError("expected a torch.ByteTensor, but got another type or dtype")
    if found.size != _STATE.itemsize:
        raise error(
            "invalid_argument",
            f"set_state: a state has {_STATE.itemsize} bytes, and these are {found.size}",
            "give what get_state gave",
        )
    seed, draws = np.frombuffer(found.tobytes(), _STATE)[0].tolist()
    if draws >= MOST_DRAWS:
        raise error(
            "invalid_argument",
            f"set_state: a state of {draws} draws; it has fewer than {MOST_DRAWS}",
            "give what get_state gave",
        )
    return seed, draws


def _refuse_traces() -> None:
    """A function that is written down would draw the same numbers each time."""
    inside = innermost()
    if inside is not None:
        inside.read("")


__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed",
    "seed", "set_rng_state",
]  # fmt: skip
