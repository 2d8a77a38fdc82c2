"""Programs by the SDK, embedded, over HTTP and by stream, against torch in process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from benchmarks.exchange import served
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Measured, Spread
from benchmarks.programs import FOUR, PROGRAMS
from benchmarks.side import Side, Worker, all_cores

EMBEDDED, LARGEST, HTTP = 1.0, 1.4, 3.0
"""What the geometric means of the four programs, and the largest embedded, are to come to."""
SMALL = "small gradient"
BARE, STREAM = 1.3, 1.0
"""The largest ratios allowed: the small gradient over HTTP to the same bytes by http.client, and by
stream to HTTP."""
MORE, RECORDED = 0.5, 5.0
"""The most microseconds allowed: an embedded op less the engine's, and recording one op."""
STEPS, MEGABYTES = 1000, 20.0


def by_torch(name: str) -> Callable[[], Any]:
    """A program on torch."""
    return PROGRAMS[name](import_module("torch"))


def by_sdk(name: str, url: str | None = None, transport: str = "http") -> Callable[[], Any]:
    """A program on the SDK, embedded or with a server."""
    gradwire = import_module("gradwire")
    gradwire.connect(url, transport=transport)
    return PROGRAMS[name](gradwire)


def by_engine(name: str) -> Callable[[], Any]:
    """The product on the engine's own tensors."""
    assert name == "product"
    from gradwire_engine.catalogue import resolve
    from gradwire_engine.tensor import Tensor

    x, y = (Tensor.of(np.ones((8, 8), np.float32)) for _ in range(2))
    mul = resolve("mul")
    return lambda: mul(x, y)


def _side(function: str, **arguments: Any) -> Side:
    return Side(f"benchmarks.cases.sdk:{function}", arguments, all_cores(), threads=1)


def figures(harness: Harness) -> Sequence[Figure]:
    """A line for each program and way, the means, and what is beside the four."""
    found: list[Figure] = []
    ratios: dict[str, dict[str, Spread]] = {}
    steps = harness.settings.sized(STEPS, 20)
    with served("gradwire") as server:
        url = f"http://127.0.0.1:{server.port}"
        remote = [*_sent(harness, url), *_kept(harness, steps, url, server.pid)]
        for name in FOUR:
            sides = {
                "embedded": _side("by_sdk", name=name),
                "HTTP": _side("by_sdk", name=name, url=url),
                "stream": _side("by_sdk", name=name, url=url, transport="stream"),
                "torch": _side("by_torch", name=name),
            }
            measured = harness.take_turns(sides)
            for way in ("embedded", "HTTP", "stream"):
                ratio, note = _over(measured, way, "torch")
                ratios.setdefault(way, {})[name] = ratio
                found.append(Figure(f"{name} by the SDK, {way} / torch", None, ratio, note))
    largest = max(ratios["embedded"].items(), key=lambda item: item[1].middle)
    found += [
        Figure(
            "four programs, embedded / torch: geometric mean", EMBEDDED, *_mean(ratios["embedded"])
        ),
        Figure("four programs, embedded / torch: largest", LARGEST, largest[1], largest[0]),
        Figure("four programs, HTTP / torch: geometric mean", HTTP, *_mean(ratios["HTTP"])),
        Figure("four programs, stream / torch: geometric mean", None, *_mean(ratios["stream"])),
    ]
    return [*found, *remote, *_kept(harness, steps), *_beside(harness)]


def _sent(harness: Harness, url: str) -> list[Figure]:
    """Measure what the SDK posts for a step against http.client, and the recording of an op."""
    bare = "benchmarks.sdk_posts:by_http_client"
    sides = {
        "HTTP": _side("by_sdk", name=SMALL, url=url),
        "stream": _side("by_sdk", name=SMALL, url=url, transport="stream"),
        "http.client": Side(bare, {"name": SMALL, "url": url}, all_cores(), threads=1),
    }
    measured = harness.take_turns(sides)
    recording = Side("benchmarks.sdk_posts:Recording", {"url": url}, all_cores(), threads=1)
    recorded = harness.take_turns({"op": recording})["op"]
    counting = Side("benchmarks.sdk_posts:Counted", {"url": url}, all_cores(), threads=1)
    with Worker(counting) as worker:
        counts = worker.measure(0.0)
    most = max(counts, key=lambda name: counts[name])
    return [
        Figure(
            f"{SMALL} by the SDK, HTTP / the same bytes by http.client", BARE,
            *_over(measured, "HTTP", "http.client"),
        ),
        Figure(
            f"{SMALL} by the SDK, stream / HTTP", STREAM, *_over(measured, "stream", "HTTP"),
        ),
        Figure("8×8 product by the SDK, recorded for a server, in µs", RECORDED,
            Spread.of([1e6 * seconds for seconds in recorded.medians]),
            "one of fifty in a row, whose results are held"),
        Figure("messages a step of the four programs, HTTP: most", 1.0,
            Spread.of([counts[most]]), most),
    ]  # fmt: skip


def _kept(
    harness: Harness, steps: int, url: str | None = None, server: int | None = None
) -> list[Figure]:
    """Measure how resident memory grows from ten steps to many. server: its process's id."""
    harness.tick(f"{steps} steps of the four programs")
    arguments = {"url": url, "server": server, "steps": steps}
    with Worker(Side("benchmarks.sdk_posts:Kept", arguments, all_cores(), threads=1)) as worker:
        grown = worker.measure(0.0)
    return [
        Figure(
            f"resident after {steps} steps of the four programs less after 10, {of}, in MB",
            MEGABYTES, Spread.of([max(0, nbytes) / 1e6]), f"of {', '.join(FOUR)}",
        )
        for of, nbytes in grown.items()
    ]  # fmt: skip


def _beside(harness: Harness) -> list[Figure]:
    """One op beside the engine's, items written, and a compiled function, all embedded."""
    sides = {
        "embedded": _side("by_sdk", name="product"),
        "engine": _side("by_engine", name="product"),
        "torch": _side("by_torch", name="product"),
    }
    product = harness.take_turns(sides)
    ratio, note = _over(product, "embedded", "engine")
    beside = Side("benchmarks.sdk_posts:Beside", {}, all_cores(), threads=1)
    more = harness.take_turns({"op": beside})["op"]
    found = [
        Figure("8×8 product, embedded / engine", None, ratio, note),
        Figure(
            "8×8 product, embedded less engine, in µs",
            MORE,
            Spread.of([1e6 * seconds for seconds in more.medians]),
            "in turns in one process",
        ),
        Figure("8×8 product, embedded / torch", None, *_over(product, "embedded", "torch")),
    ]
    for name, said, limit in (
        ("items", "x[i] = v on 200,000 elements, embedded / torch", 2.0),
        ("compiled", "compile(grad_and_value) of the mlp, embedded / torch eager", None),
    ):
        sides = {"embedded": _side("by_sdk", name=name), "torch": _side("by_torch", name=name)}
        found.append(Figure(said, limit, *_over(harness.take_turns(sides), "embedded", "torch")))
    return found


def _over(found: Mapping[str, Measured], one: str, other: str) -> tuple[Spread, str]:
    ours, theirs = found[one], found[other]
    return ours.over(theirs), f"{duration(ours.seconds)} against {duration(theirs.seconds)}"


def _mean(ratios: Mapping[str, Spread]) -> tuple[Spread, str]:
    """The geometric mean, quartile by quartile."""

    def mean(pick: Callable[[Spread], float]) -> float:
        return prod(map(pick, ratios.values())) ** (1 / len(ratios))

    found = Spread(mean(lambda s: s.middle), mean(lambda s: s.low), mean(lambda s: s.high))
    return found, f"of {', '.join(ratios)}"
