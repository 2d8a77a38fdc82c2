"""Step lists that were posted before do what they did as new ones, bit by bit, whatever changed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import orjson
import pytest

from gradwire_engine.errors import GradwireError
from gradwire_service.host import snapshot
from gradwire_service.host.host import Host
from gradwire_service.host.posted import Posted
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import SessionCreate, StepsRequest
from gradwire_service.host.sessions import Session
from gradwire_service.http.codec import json
from gradwire_service.http.codec.reply import write_reply
from gradwire_service.http.outline import apart, outline_of
from gradwire_service.http.seen import Seen

DEPTH = 100
TEN = {"inputs": ["g"], "source": "h = g * 10", "outputs": ["h"]}


def posted(seen: Seen, text: bytes) -> StepsRequest:
    """The request of a text, as the service reads it."""
    found = seen.get(StepsRequest, text, DEPTH)
    if found is None:
        value = json.loads(text, DEPTH)
        found = read(StepsRequest, value)
        seen.put(StepsRequest, text, value, found)
    return found  # type: ignore[no-any-return]


def new(_: Seen, text: bytes) -> StepsRequest:
    """The same, with nothing known about it."""
    return read(StepsRequest, json.loads(text, DEPTH))


class Place:
    """A session that requests are posted to, read in one of the two ways."""

    def __init__(self, way: Callable[[Seen, bytes], StepsRequest]) -> None:
        self.way, self.seen, self.host = way, Seen(), Host()
        self.session: Session = self.host.create(SessionCreate(seed=5))

    def post(self, text: bytes) -> object:
        """The reply's bytes, or all that is said of the error."""
        try:
            reply = self.host.run(self.session, self.way(self.seen, text))
        except GradwireError as e:
            return e.code, e.detail, e.hint, e.step, e.op, type(e)
        return b"".join(write_reply(reply).buffers)

    def state(self) -> tuple[object, ...]:
        """All that a session is, what it has used among it."""
        meter = self.session.meter
        whole = b"".join(map(bytes, snapshot.written(self.session)))
        used = meter.ops, meter.flops, meter.peak, meter.bound, meter.asked
        return whole.replace(self.session.id.encode(), b""), used


def op(name: str, *args: Any, out: str | None = None, **kwargs: Any) -> dict[str, Any]:
    """An op step."""
    step: dict[str, Any] = {"op": name, "args": list(args)}
    mode = kwargs.pop("grad_mode", None)
    if kwargs:
        step["kwargs"] = kwargs
    if out is not None:
        step["out"] = out
    return step if mode is None else step | {"grad_mode": mode}


FORWARD = [op("mul", "x", "w", out="xw"), op("tanh", "xw", out="t"), op("sum", "t", out="y")]
LISTS: dict[str, list[dict[str, Any]]] = {
    "gradient": [*FORWARD, {"grad": {"outputs": ["y"], "inputs": ["x", "w"]}, "out": ["gx", "gw"]}],
    "backward": [*FORWARD, {"backward": {"tensors": ["y"]}}],
    "kept": [*FORWARD, {"backward": {"tensors": ["y"], "retain_graph": True}}],
    "again": [{"backward": {"tensors": ["y"]}}],
    "second order": [
        *FORWARD,
        {"grad": {"outputs": ["y"], "inputs": ["x"], "create_graph": True}, "out": ["gx"]},
        op("sum", "gx", out="s"),
        {"backward": {"tensors": ["s"]}},
    ],
    "update": [
        *FORWARD,
        {"backward": {"tensors": ["y"]}},
        op("sub_", "w", "w.grad", alpha=0.5, grad_mode="no_grad"),
        {"zero_grad": "all"},
    ],
    "zeros": [{"zero_grad": "all", "set_to_none": False}],
    "in place": [op("exp", "x", out="e"), op("add_", "e", 1), op("sum", "e", out="y")],
    "leaf in place": [op("add_", "w", 1)],
    "view": [op("reshape", "x", [-1], out="v"), op("mul", "v", 2.0, out="d")],
    "write to a view": [
        op("mul", "x", 1.0, out="c"), op("__getitem__", "c", 0, out="v"), op("mul_", "v", 3),
        op("sum", "c", out="y"),
    ],
    "several": [op("split", "x", 1, out="p"), op("add", "p.0", "p.0", out="q")],
    "named": [op("max", "x", 0, out=["m", None])],
    "literal": [op("add", "x", [1.5], out="z"), op("sum", "z", axis=0, keepdims=True, out="y")],
    "third fails": [*FORWARD[:2], op("matmul", "x", "nowhere", out="q"), *FORWARD[2:]],
    "random": [op("rand", [2], out="r"), op("mul", "r", "r", out="r2")],
    "retains": [*FORWARD, {"retain_grad": "t"}, {"backward": {"tensors": ["y"]}}],
    "hook": [{"hook": "w", "program": TEN, "id": "ten"}],
    "unhook": [{"unhook": "ten"}],
    "freeze": [{"requires_grad": "w", "value": False}],
    "thaw": [{"requires_grad": "w", "value": True}],
    "detach": [{"detach": "x", "out": "x"}],
    "free": [{"free": ["t"]}],
    "inference": [op("mul", "x", "w", out="i", grad_mode="inference_mode")],
    "composite": [
        op("nn.functional.mse_loss", "x", "w", out="y"), {"backward": {"tensors": ["y"]}},
    ],
}  # fmt: skip
RETURNS = {"gradient": ["y", "gx", "gw"], "backward": ["y", "x.grad", "w.grad"], "kept": ["y"]}
SHAPES = ([3], [3], [3], [1], [2, 3], [3, 1], [])


def numbers(random: Random, shape: list[int]) -> Any:
    """A nested list of floats, or of whole numbers."""
    if shape:
        return [numbers(random, shape[1:]) for _ in range(shape[0])]
    return random.choice((random.uniform(-2, 2), float(random.randint(-2, 2))))


def leaf(random: Random, name: str) -> dict[str, Any]:
    """A tensor with new numbers, mostly of the same kind."""
    step: dict[str, Any] = {"tensor": name, "value": numbers(random, random.choice(SHAPES))}
    if random.random() < 0.85:
        step["requires_grad"] = True
    if random.random() < 0.1:
        step["dtype"] = random.choice(("float64", "int64", "float16", "complex64"))
    return step


def message(random: Random) -> bytes:
    """A list of steps, alone or behind new leaves."""
    which = random.choice((*LISTS, *["gradient", "backward", "update"] * 5))
    leaves = [leaf(random, name) for name in "xw" if random.random() < 0.4]
    body: dict[str, Any] = {"steps": [*leaves, *LISTS[which]], "return": RETURNS.get(which, [])}
    if random.random() < 0.1:
        body["atomic"] = False
    if random.random() < 0.05:
        body["grad_mode"] = random.choice(("no_grad", "inference_mode"))
    if random.random() < 0.05:
        body["anomaly"] = True
    return orjson.dumps(body)


@pytest.mark.parametrize("seed", range(6))
def test_posted_again_is_as_new(seed: int) -> None:
    random = Random(seed)
    known, fresh = Place(posted), Place(new)
    first = orjson.dumps({"steps": [leaf(random, name) for name in "xw"]})
    for text in [first, *(message(random) for _ in range(250))]:
        assert known.post(text) == fresh.post(text), text
        if random.random() < 0.2:  # which counts what is held: not each time, as in life
            assert known.state() == fresh.state(), text
    assert known.state() == fresh.state()


def test_each_list_posted_four_times_is_as_new() -> None:
    random = Random(1)
    known, fresh = Place(posted), Place(new)
    for name, steps in LISTS.items():
        for _ in range(4):
            leaves = [
                {"tensor": n, "value": numbers(random, [3]), "requires_grad": True} for n in "xw"
            ]
            text = orjson.dumps({"steps": [*leaves, *steps], "return": RETURNS.get(name, ["x"])})
            assert known.post(text) == fresh.post(text), name
        assert known.state() == fresh.state(), name


def steps_of(*values: str) -> bytes:
    leaves = ", ".join(f'{{"tensor": "x", "value": {value}}}' for value in values)
    return f'{{"steps": [{leaves}], "return": ["x"]}}'.encode()


def test_texts_that_differ_in_numbers_are_checked_once() -> None:
    seen = Seen()
    first = posted(seen, steps_of("[1, 2]", "3"))
    other = seen.get(StepsRequest, steps_of("[[4.5], [-5e1]]", "[ ]"), DEPTH)
    assert other == new(seen, steps_of("[[4.5], [-5e1]]", "[]"))
    assert type(other.steps) is Posted
    assert other.steps.ways is first.steps.ways  # type: ignore[attr-defined]
    assert other is seen.get(StepsRequest, steps_of("[[4.5], [-5e1]]", "[ ]"), DEPTH)
    assert first == new(seen, steps_of("[1, 2]", "3"))


@pytest.mark.parametrize(
    "value",
    [
        "[1],[2]", "[1,]", "01", "1.", "-", "[1]]", "[[1]", "99999999999999999999", "1e",
        "[" * 98 + "]" * 98, '["NaN"]', "true", "null", '{"dtype": "float32", "data": [1]}',
    ],
)  # fmt: skip
def test_what_are_no_numbers_is_read_like_new(value: str) -> None:
    seen, text = Seen(), steps_of(value)
    posted(seen, steps_of("[1, 2]"))
    assert seen.get(StepsRequest, text, DEPTH) is None


@pytest.mark.parametrize(
    "text",
    [
        b'{"steps": [{"op": "full", "args": [[2]], "kwargs": {"value": 3}, "out": "x"}]}',
        b'{"steps": [{"tensor": "x", "value": [5], "value": "NaN"}]}',
        b'{"steps": [{"tensor": "x", "value": {"value": [1]}}]}',
        b'{"steps": [{"set_grad": "x", "value": [1]}]}',
        b'{"steps": [{"tensor": "x", "value": [5]}], "steps": []}',
    ],
)
def test_numbers_that_are_no_tensors_stay_in_the_text(text: bytes) -> None:
    parts = apart(text)
    assert parts is not None
    assert outline_of(parts, read(StepsRequest, json.loads(text, DEPTH))) is None


def test_a_string_may_hide_numbers() -> None:
    assert apart(rb'{"steps": [{"op": "\"value\": 1", "args": []}]}') is None
    assert apart(b'{"steps": []}') is None
