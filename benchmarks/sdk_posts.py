"""What the SDK posts to a server for a step, and what memory steps leave behind."""

from __future__ import annotations

import gc
from collections.abc import Callable
from http.client import HTTPConnection
from itertools import cycle
from time import monotonic, perf_counter
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from benchmarks.cases.sdk import by_engine, by_sdk
from benchmarks.messages import WrongAnswerError
from benchmarks.plain_http import IDLE
from benchmarks.programs import FOUR
from benchmarks.resident import status
from benchmarks.worker import FEWEST

OPS = 50
SETTLED = 30
"""Steps after which the messages of a loop are alike."""


class Posts:
    """The requests for steps that this process posts from now on."""

    def __init__(self) -> None:
        from gradwire.direct import Direct

        self.sent: list[tuple[str, bytes, dict[str, str]]] = []
        post = Direct.post

        def noted(direct: Any, path: str, content: bytes, headers: dict[str, str]) -> Any:
            self.sent.append((path, content, dict(headers)))
            return post(direct, path, content, headers)

        Direct.post = noted  # type: ignore[method-assign,assignment]

    def cycle(self) -> list[tuple[str, bytes, dict[str, str]]]:
        """Return the messages that repeat in turn: names that are free again are given again."""
        said = [content for _, content, _ in self.sent]
        for length in range(1, SETTLED // 2):
            if said[-length:] == said[-2 * length : -length]:
                return self.sent[-length:]
        raise WrongAnswerError("the messages of a loop don't come again")


def by_http_client(name: str, url: str) -> Callable[[], bytes]:
    """The bytes that the SDK posts in each step of a program, posted as they are.

    Each request has a key of its own, as the SDK's have: by the same one nothing would be done.
    """
    posts, step = Posts(), by_sdk(name, url)
    for _ in range(SETTLED):
        step()
    messages = cycle(posts.cycle())
    address = urlsplit(url)
    connection = HTTPConnection(str(address.hostname), address.port)
    used = monotonic()

    def exchange() -> bytes:
        nonlocal used
        now = monotonic()
        if now - used > IDLE:
            connection.close()
        used = now
        path, content, headers = next(messages)
        connection.request("POST", path, content, headers | {"Idempotency-Key": str(uuid4())})
        reply = connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise WrongAnswerError(f"{reply.status}: {body[:500]!r}")
        return body

    exchange()
    return exchange


class Counted:
    """Counts the messages that a step of each of the four programs takes."""

    def __init__(self, url: str) -> None:
        self._url = url

    def measure(self, seconds: float) -> dict[str, float]:  # noqa: ARG002 - a count takes its time
        """Return messages for one step by the program's name, once its messages repeat."""
        posts = Posts()
        found = {}
        for name in FOUR:
            step = by_sdk(name, self._url)
            for _ in range(SETTLED):
                step()
            posts.sent.clear()
            for _ in range(SETTLED):
                step()
            found[name] = len(posts.sent) / SETTLED
        return found


class Recording:
    """Times the recording of products for a server, which is sent them between two times."""

    def __init__(self, url: str) -> None:
        self._step = by_sdk("product", url)

    def measure(self, seconds: float) -> dict[str, list[float]]:
        """Return seconds for one op, each averaged over as many as a small model's step has."""
        from gradwire.current import session

        step, times, end = self._step, [], perf_counter() + seconds
        while perf_counter() < end or len(times) < FEWEST:
            held = []  # to let a result go is a step of its own
            started = perf_counter()
            for _ in range(OPS):
                held.append(step())  # noqa: PERF401 - as a program does
            times.append((perf_counter() - started) / OPS)
            del held
            session().flush()
        return {"times": times}


class Beside:
    """Times what the SDK, embedded, does around the engine's product, in turns with the engine.

    Both run in one process: the difference is a part of what a noisy machine changes either by.
    """

    def __init__(self) -> None:
        self._sdk, self._engine = by_sdk("product"), by_engine("product")

    def measure(self, seconds: float) -> dict[str, list[float]]:
        """Return differences in seconds for one op, each averaged over some."""
        times: list[float] = []
        end = perf_counter() + seconds
        while perf_counter() < end or len(times) < FEWEST:
            engine = _averaged(self._engine)
            times.append(max(0.0, _averaged(self._sdk) - engine))
        return {"times": times}


def _averaged(step: Callable[[], Any]) -> float:
    started = perf_counter()
    for _ in range(OPS):
        step()
    return (perf_counter() - started) / OPS


class Kept:
    """Memory that steps of the four programs leave behind, in this process and in a server's."""

    def __init__(self, url: str | None, server: int | None, steps: int) -> None:
        self._steps, self._server = steps, server
        self._programs = [by_sdk(name, url) for name in FOUR]

    def measure(self, seconds: float) -> dict[str, int]:  # noqa: ARG002 - steps are counted
        """Bytes resident after all steps, less those after ten."""
        self._run(10)
        before = self._resident()
        self._run(self._steps - 10)
        after = self._resident()
        return {of: after[of] - before[of] for of in before}

    def _run(self, steps: int) -> None:
        for program in self._programs:
            for _ in range(steps):
                program()

    def _resident(self) -> dict[str, int]:
        gc.collect()
        if self._server is None:
            return {"embedded": status("VmRSS")}
        return {"client": status("VmRSS"), "server": status("VmRSS", self._server)}
