"""Requests with programs that must be refused.

`{s}` is the session's path; `{square}` and the like are ids of stored programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.service import bad_control
from tests.service.bad_requests import Bad, bad

PROGRAMS: dict[str, dict[str, Any]] = {
    "square": {"inputs": ["x"], "source": "z = (x * x).sum()", "outputs": ["z"]},
    "vector": {"inputs": ["x"], "source": "y = x * x", "outputs": ["y"]},
    "two": {"inputs": ["x", "w"], "source": "a = x * w\nb = x + w", "outputs": ["a", "b"]},
    "fixed": {
        "inputs": [{"name": "x", "dtype": "float32", "shape": [None, 2]}],
        "source": "y = x + 1",
        "outputs": ["y"],
    },
    "writes": {"inputs": ["x"], "source": "x += 1\ny = x @ x.reshape(7, 7)", "outputs": ["y"]},
    "one": {"inputs": ["x", "w"], "source": "z = (x * w).sum()", "outputs": ["z"]},
    "doubles": {"inputs": ["x"], "source": "y = cat([x, x])", "outputs": ["y"]},
    "each": {"inputs": ["x"], "source": "p = x >= 0", "outputs": ["p"]},
    "collects": {"inputs": ["x"], "source": "y = x + 1\nz = y * 2", "outputs": ["y", "z"]},
    "positive": {"inputs": ["x"], "source": "p = x.sum() >= 0", "outputs": ["p"]},
    "draws": {"inputs": ["x"], "source": "y = x + rand(3)", "outputs": ["y"]},
    "whole": {"inputs": ["x"], "source": "i = x.argmax()", "outputs": ["i"]},
    "huge": {"inputs": ["x"], "source": "y = x.expand(1000000, 1000000) + 1", "outputs": ["y"]},
}
"""What is stored before; in steps `x` and `n` are the session's."""

INVALID = ("invalid_request", 422)
ARGUMENT = ("invalid_argument", 422)
MISSING = ("tensor_not_found", 404)
UNKNOWN = ("program_not_found", 404)
SHAPE = ("shape_mismatch", 422)
DTYPE = ("dtype_mismatch", 422)


def stored() -> Iterator[Bad]:
    """Programs that are refused when they are posted."""

    def program(name: str, code: str, status: int, **fields: Any) -> Bad:
        body = {"inputs": ["a"], "source": "b = a * 2", "outputs": ["b"]} | fields
        body = {key: value for key, value in body.items() if value is not ...}
        return bad(f"post: {name}", code, status, body, path="/v1/programs")

    def ops(name: str, code: str, status: int, *steps: Any) -> Bad:
        return program(name, code, status, source=..., ops=[*steps, {"op": "sin", "args": ["a"],
                       "out": "b"}])  # fmt: skip

    yield bad("post: no JSON", "invalid_json", 400, b"{", path="/v1/programs")
    yield bad("post: a list", *INVALID, [], path="/v1/programs")
    yield program("no inputs", *INVALID, inputs=...)
    yield program("neither ops nor source", *INVALID, source=...)
    yield program("both", *INVALID, ops=[])
    yield program("an unknown field", *INVALID, input=["a"])
    yield program("no outputs", *INVALID, outputs=[])
    yield program("outputs never made", *MISSING, outputs=["c"])
    yield program("an output twice", *INVALID, outputs=["b", "b"])
    yield program("an input twice", *INVALID, inputs=["a", "a"])
    yield program("a name with a space", *INVALID, inputs=["a b"])
    yield program("an input called .grad", *INVALID, inputs=["a.grad"])
    yield program("an output called %0", *INVALID, outputs=["%0"])
    yield program("a shape below zero", *INVALID, inputs=[{"name": "a", "shape": [-1]}])
    yield program("a dtype that isn't", *INVALID, inputs=[{"name": "a", "dtype": "int"}])
    yield program("source that isn't", "invalid_source", 422, source="b = ")
    yield program("source with an import", "invalid_source", 422, source="import os\nb = a")
    yield program("source with an unknown name", *MISSING, source="b = a + c")
    yield program("a name before it is made", *MISSING, source="b = c\nc = a")
    yield program("an accumulated gradient", *MISSING, source="b = a.grad + 1")
    yield program("an unknown op", "op_not_found", 404, source="b = sinus(a)")
    yield program("too many arguments", *ARGUMENT, source="b = sin(a, a)")
    yield program("an unknown parameter", *ARGUMENT, source="b = sum(a, axes=0)")
    yield program("too many results wanted", *ARGUMENT, source="b, c, d = max(a, 0)")
    yield program("too long", "limit_exceeded", 413, source="b = a + 1\n" * 5000)
    yield ops("too many steps", "limit_exceeded", 413,
              *[{"op": "sin", "args": ["a"], "out": "b"}] * 5000)  # fmt: skip
    yield ops("in place with out", *INVALID, {"op": "add_", "args": ["a", 1], "out": "c"})
    yield ops("in place on a number", *ARGUMENT, {"op": "add_", "args": [1, 1]})
    yield ops("in place that isn't", "op_not_found", 404, {"op": "cat_", "args": ["a"]})
    yield ops("a bad literal", *INVALID, {"op": "add", "args": ["a", {"data": "x"}], "out": "c"})
    yield ops("an array of no body", *INVALID,
              {"op": "add", "args": ["a", {"binary": "w"}], "out": "c"})  # fmt: skip
    for word, step in {
        "tensor": {"tensor": "c", "value": 1},
        "backward": {"backward": {"tensors": ["a"]}},
        "seed": {"seed": 1},
        "free": {"free": ["a"]},
        "retain_grad": {"retain_grad": "a"},
    }.items():
        yield ops(f"a {word} step", *INVALID, step)
    yield ops("a generator", *INVALID,
              {"op": "rand", "args": [[2]], "out": "c", "generator": {"seed": 1}})  # fmt: skip
    yield ops("requires_grad without a flag", *INVALID, {"requires_grad": "a"})
    yield ops("requires_grad of an unknown name", *MISSING, {"requires_grad": "c", "value": True})
    yield ops("grad of an unknown name", *MISSING, {"grad": {"outputs": ["a"], "inputs": ["c"]}})
    yield ops("grad with too many names", *ARGUMENT,
              {"grad": {"outputs": ["a"], "inputs": ["a"]}, "out": ["c", "d"]})  # fmt: skip
    yield ops("an unknown program", *UNKNOWN, {"call": "p_0", "args": ["a"], "out": "c"})
    yield ops("itself", *UNKNOWN, {"call": "{self}", "args": ["a"], "out": "c"})
    yield ops("a call with too few arguments", *ARGUMENT, {"call": "{two}", "args": ["a"]})
    yield ops("a call with an unknown name", *MISSING, {"call": "{square}", "args": ["c"]})
    yield ops("a call with too many names", *ARGUMENT,
              {"call": "{square}", "args": ["a"], "out": ["c", "d"]})  # fmt: skip
    yield ops("a vmap of an unknown program", *UNKNOWN, {"vmap": "p_0", "args": ["a"]})
    yield from bad_control.stored(ops)
    yield ops("a transform of an unknown program", *UNKNOWN,
              {"transform": "vjp", "call": "p_0", "args": ["a"]})  # fmt: skip
    yield ops("a transform with an unknown tangent", *MISSING,
              {"transform": "jvp", "call": "{square}", "args": ["a"], "tangents": {"x": "c"}},
              )  # fmt: skip


def resources() -> Iterator[Bad]:
    """Programs that aren't there, pages that can't be."""
    for method in ("GET", "DELETE"):
        yield bad(f"{method} unknown", *UNKNOWN, method=method, path="/v1/programs/p_0")
    yield bad("PUT", "method_not_allowed", 405, {}, method="PUT", path="/v1/programs/{square}")
    yield bad("limit 0", *INVALID, method="GET", path="/v1/programs?limit=0")
    yield bad("a bad cursor", *INVALID, method="GET", path="/v1/programs?cursor=x")
    yield bad("an unknown transform", "not_found", 404, {}, path="/v1/programs/{square}/vmap")
    for transform in ("evaluate", "value_and_grad", "vjp", "jvp", "hvp", "jacobian", "hessian"):
        yield bad(f"{transform} of an unknown program", *UNKNOWN, {"inputs": {}},
                  path=f"/v1/programs/p_0/{transform}")  # fmt: skip


def transforms() -> Iterator[Bad]:
    """Transforms of good programs with bad inputs."""

    def on(program: str, transform: str, name: str, code: str, status: int, **body: Any) -> Bad:
        body.setdefault("inputs", {"x": [1.0, 2.0]})
        path = f"/v1/programs/{{{program}}}/{transform}"
        return bad(f"{transform} of {program}: {name}", code, status, body, path=path)

    for transform in ("evaluate", "value_and_grad", "vjp", "jacobian", "hessian"):
        yield on("square", transform, "no inputs", *INVALID, inputs={})
        yield on("square", transform, "one too many", *INVALID, inputs={"x": 1, "y": 1})
        yield on("square", transform, "an unknown field", *INVALID, output={})
        yield on("square", transform, "no literal", *INVALID, inputs={"x": "y"})
        yield on("square", transform, "no session", "session_not_found", 404,
                 inputs={"x": {"session": "s_0", "tensor": "x"}})  # fmt: skip
        yield on("fixed", transform, "axes that don't fit", *SHAPE, inputs={"x": [[1, 2, 3]]})
        yield on("fixed", transform, "too few axes", *SHAPE, inputs={"x": [1, 2]})
        yield on("fixed", transform, "another dtype", *DTYPE,
                 inputs={"x": {"dtype": "float64", "data": [[1, 2]]}})  # fmt: skip
    yield on("square", "evaluate", "no object", *INVALID, inputs=[1])
    yield on("huge", "evaluate", "too large", "memory_limit", 507, inputs={"x": 1})
    yield on("writes", "evaluate", "fails on the way", *SHAPE, inputs={"x": [1.0] * 49})
    for transform in ("value_and_grad", "vjp", "jacobian", "hessian"):
        yield on("square", transform, "wrt unknown", *INVALID, wrt=["w"])
        yield on("square", transform, "wrt no list", *INVALID, wrt="x")
        yield on("square", transform, "wrt whole numbers", *DTYPE, wrt=["x"],
                 inputs={"x": {"dtype": "int64", "data": [1, 2]}})  # fmt: skip
    yield on("vector", "value_and_grad", "no scalar", "not_scalar", 422)
    yield on("vector", "vjp", "no scalar", "not_scalar", 422)
    yield on("whole", "vjp", "no derivative", *DTYPE)
    for field, transform in (("cotangents", "vjp"), ("grad_outputs", "value_and_grad")):
        yield on("vector", transform, "unknown output", *INVALID, **{field: {"q": 1}})
        yield on("vector", transform, "cotangents of nothing", *INVALID, **{field: {}})
        yield on("vector", transform, "another shape", *SHAPE, **{field: {"y": [1, 2, 3]}})
        yield on("vector", transform, "complex", *DTYPE,
                 **{field: {"y": {"dtype": "complex64", "data": [[1, 2], [1, 2]]}}})  # fmt: skip
    yield on("vector", "vjp", "batched without an axis", *SHAPE, batched=True,
             cotangents={"y": [1, 2]})  # fmt: skip
    yield on("vector", "vjp", "a strategy", *INVALID, strategy="forward-mode")
    yield on("vector", "jvp", "no tangents", *INVALID)
    yield on("vector", "jvp", "tangents of nothing", *INVALID, tangents={})
    yield on("vector", "jvp", "an unknown input", *INVALID, tangents={"w": 1})
    yield on("vector", "jvp", "another shape", *SHAPE, tangents={"x": [1, 2, 3]})
    yield on("vector", "jvp", "another dtype", *DTYPE,
             tangents={"x": {"dtype": "float64", "data": [1, 2]}})  # fmt: skip
    yield on("vector", "jvp", "whole numbers", *DTYPE, tangents={"x": [1, 2]},
             inputs={"x": {"dtype": "int64", "data": [1, 2]}})  # fmt: skip
    yield on("vector", "jvp", "batched without an axis", *ARGUMENT, batched=True,
             tangents={"x": 1.0})  # fmt: skip
    yield on("two", "jvp", "batches of two lengths", *ARGUMENT, batched=True,
             inputs={"x": 1.0, "w": 2.0}, tangents={"x": [1, 2], "w": [1, 2, 3]})  # fmt: skip
    for transform in ("hvp", "vhp"):
        yield on("square", transform, "no vector", *INVALID)
        yield on("square", transform, "an unknown input", *INVALID, vector={"w": 1})
        yield on("square", transform, "another shape", *SHAPE, vector={"x": [1, 2, 3]})
        yield on("vector", transform, "no scalar", "not_scalar", 422, vector={"x": [1, 2]})
        yield on("two", transform, "two outputs", *INVALID, vector={"x": 1},
                 inputs={"x": 1, "w": 1})  # fmt: skip
    yield on("vector", "hessian", "no scalar", "not_scalar", 422)
    yield on("two", "hessian", "two outputs", *INVALID, inputs={"x": 1, "w": 1})
    for transform in ("jacobian", "hessian"):
        yield on("square", transform, "an unknown strategy", *INVALID, strategy="sideways")
    yield bad("jvp: no program", *INVALID, {"inputs": {}, "tangents": {}}, path="/v1/jvp")
    yield bad("jvp: an id for a program", *INVALID,
              {"program": "{square}", "inputs": {"x": 1}, "tangents": {"x": 1}},
              path="/v1/jvp")  # fmt: skip
    yield bad("jvp: a bad program", "op_not_found", 404,
              {"program": {"inputs": ["x"], "source": "y = sinus(x)", "outputs": ["y"]},
               "inputs": {"x": 1}, "tangents": {"x": 1}}, path="/v1/jvp")  # fmt: skip


def steps() -> Iterator[Bad]:
    """Steps of a session that call programs, after others that did something to undo."""

    def step(name: str, code: str, status: int, step: dict[str, Any], **fields: Any) -> Bad:
        before = [
            {"op": "add_", "args": ["n", 1]},
            {"op": "rand", "args": [[2]], "out": "r"},
            {"call": "{square}", "args": ["n"], "out": "q"},
        ]
        return bad(f"step: {name}", code, status, {"steps": [*before, step], **fields})

    def transform(name: str, code: str, status: int, kind: str, **fields: Any) -> Bad:
        body = {"transform": kind, "call": "{square}", "args": ["x"], "out": "new"} | fields
        return step(f"{kind}: {name}", code, status, body)

    for word in ("call", "vmap"):
        yield step(f"{word} of an unknown program", *UNKNOWN, {word: "p_0", "args": ["x"]})
        yield step(f"{word} of a number", *INVALID, {word: 1, "args": ["x"]})
        yield step(f"{word} without arguments", *ARGUMENT, {word: "{square}", "args": []})
        yield step(f"{word} with one too many", *ARGUMENT, {word: "{square}", "args": ["x", "x"]})
        yield step(f"{word} of an unknown name", *MISSING, {word: "{square}", "args": ["nope"]})
        yield step(f"{word} with kwargs", *INVALID, {word: "{square}", "args": ["x"], "kwargs": {}})
        yield step(f"{word} with a bad literal", *INVALID, {word: "{square}", "args": [{}]})
        yield step(f"{word} with too many names", *ARGUMENT,
                   {word: "{square}", "args": ["n"], "out": ["a", "b"]})  # fmt: skip
        yield step(f"{word} with a bad name", *INVALID,
                   {word: "{square}", "args": ["x"], "out": "a b"})  # fmt: skip
    yield step("call of shapes that don't fit", *SHAPE, {"call": "{fixed}", "args": ["n"]})
    yield step("call that writes, then fails", *SHAPE, {"call": "{writes}", "args": ["n"]})
    yield step("call that writes a leaf", "leaf_in_place", 409, {"call": "{writes}", "args": ["x"]})
    yield step("call that is too large", "memory_limit", 507, {"call": "{huge}", "args": [1.0]})
    yield step("vmap over an axis that isn't", *ARGUMENT,
               {"vmap": "{vector}", "args": ["n"], "in_dims": 1})  # fmt: skip
    yield step("vmap over nothing", *ARGUMENT,
               {"vmap": "{vector}", "args": ["n"], "in_dims": [None]})  # fmt: skip
    yield step("vmap with too many in_dims", *ARGUMENT,
               {"vmap": "{vector}", "args": ["n"], "in_dims": [0, 0]})  # fmt: skip
    yield step("vmap with too many out_dims", *ARGUMENT,
               {"vmap": "{vector}", "args": ["n"], "out_dims": [0, 0]})  # fmt: skip
    yield step("vmap over a number", *ARGUMENT, {"vmap": "{vector}", "args": [1.0]})
    yield step("vmap over two lengths", *ARGUMENT, {"vmap": "{two}", "args": ["n", [1.0, 2.0]]})
    yield step("vmap with random ops", *ARGUMENT, {"vmap": "{draws}", "args": ["n"]})
    yield step("vmap with an unknown randomness", *INVALID,
               {"vmap": "{vector}", "args": ["n"], "randomness": "some"})  # fmt: skip
    yield from bad_control.steps(step)
    yield transform("no such transform", *INVALID, "evaluate")
    yield transform("an unknown program", *UNKNOWN, "vjp", call="p_0")
    yield transform("no arguments", *ARGUMENT, "vjp", args=[])
    yield transform("wrt unknown", *INVALID, "vjp", wrt=["w"])
    yield transform("unknown output", *INVALID, "vjp", cotangents={"q": 1})
    yield transform("a cotangent of another shape", *SHAPE, "vjp", cotangents={"z": [1, 2]})
    yield transform("an unknown cotangent", *MISSING, "vjp", cotangents={"z": "nope"})
    yield transform("no tangents", *INVALID, "jvp")
    yield transform("an unknown tangent", *MISSING, "jvp", tangents={"x": "nope"})
    yield transform("a tangent of another shape", *SHAPE, "jvp", tangents={"x": [1.0]})
    yield transform("no vector", *INVALID, "hvp")
    yield transform("no scalar", "not_scalar", 422, "hessian", call="{vector}")
    yield transform("too many names", *ARGUMENT, "hessian", out=["a", "b"])
    yield transform("too many names of values", *ARGUMENT, "hessian", values=["a", "b"])
    yield transform("whole numbers", *DTYPE, "vjp", args=["i"], wrt=["x"])
    yield transform("fails inside", "leaf_in_place", 409, "jacobian", call="{writes}", args=["n"])


TABLE: list[Bad] = [*stored(), *resources(), *transforms(), *steps()]
