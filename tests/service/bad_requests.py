"""Requests that must be refused, each with its status and code. `{s}` is the session's path."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

JSON = "application/json"
SAFETENSORS = "application/x-safetensors"
NPY = "application/x-npy"


class Bad(NamedTuple):
    """One request, and how it must be refused."""

    name: str
    status: int
    code: str
    method: str
    path: str
    body: bytes
    headers: dict[str, str]


def bad(
    name: str,
    code: str,
    status: int,
    body: object = b"",
    method: str = "POST",
    path: str = "{s}/steps",
    **headers: str,
) -> Bad:
    """A request; a body that is no bytes goes as JSON."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    if sent and "content-type" not in named:
        named["content-type"] = JSON
    return Bad(name, status, code, method, path, sent, named)


def step(name: str, code: str, status: int, *steps: Any, **fields: Any) -> Bad:
    """Steps, the last of which is the bad one; those before it did something to undo."""
    undone = [
        {"tensor": "x", "value": [9.0], "requires_grad": True},
        {"op": "add_", "args": ["n", 1]},
        {"op": "rand", "args": [[2]], "out": "r"},
        {"free": ["i"]},
        {"zero_grad": ["x", "w"]},
    ]
    return bad(name, code, status, {"steps": [*undone, *steps], **fields})


def plain(name: str, code: str, status: int, *steps: Any, **fields: Any) -> Bad:
    """Steps alone."""
    return bad(name, code, status, {"steps": list(steps), **fields})


def op(name: str, code: str, status: int, op: str, *args: Any, **fields: Any) -> Bad:
    """One op."""
    return plain(name, code, status, {"op": op, "args": list(args), "out": "new", **fields})


def literal(name: str, code: str, status: int, value: Any, **fields: Any) -> Bad:
    """One tensor literal."""
    return plain(name, code, status, {"tensor": "new", "value": value, **fields})


def source(name: str, text: str, code: str = "invalid_source", status: int = 422) -> Bad:
    """Source text in place of ops."""
    return bad(f"source: {name}", code, status, {"source": text}, path="{s}/ops")


def value_and_grad(name: str, code: str, status: int, **fields: Any) -> Bad:
    """A program run in one call."""
    program = {"inputs": ["a"], "source": "b = (a * a).sum()", "outputs": ["b"]}
    body = {"program": program, "inputs": {"a": [1.0, 2.0]}} | fields
    return bad(f"value_and_grad: {name}", code, status, body, path="/v1/value_and_grad")


def safetensors(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    """A file of that format, as right or wrong as its header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def npy(array: np.ndarray[Any, Any], **fields: Any) -> bytes:
    """An npy file."""
    file = io.BytesIO()
    np.save(file, array, **fields)
    return file.getvalue()


REQUEST = json.dumps({"steps": [{"tensor": "q", "value": {"binary": "a"}}]})
METADATA = {"__metadata__": {"request": REQUEST}}
F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
DEEP = b"[" * 5000 + b"]" * 5000


def bodies() -> Iterator[Bad]:
    """What isn't JSON, or not an object, or nests too deeply."""
    for name, body in {
        "empty": b"",
        "blank": b"  \n",
        "half an object": b'{"steps": [',
        "half a string": b'{"steps": "a',
        "half a number": b'{"steps": [1.',
        "a word": b"steps",
        "bare NaN": b'{"steps": [], "x": NaN}',
        "bare Infinity": b'{"steps": [{"tensor": "q", "value": Infinity}]}',
        "a comment": b'{"steps": [] /* none */}',
        "a trailing comma": b'{"steps": [],}',
        "single quotes": b"{'steps': []}",
        "two values": b"{} {}",
        "not UTF-8": b'{"steps": "\xff\xfe"}',
        "UTF-16": '{"steps": []}'.encode("utf-16"),
        "a lone surrogate": b'{"steps": "\xed\xa0\x80"}',
        "control characters": b'{"steps": "\x01"}',
        "a leading zero": b'{"steps": [{"tensor": "q", "value": 01}]}',
        "a byte order mark": b"\xef\xbb\xbf{}",
    }.items():
        yield bad(f"body: {name}", "invalid_json", 400, body)
    for name, value in {
        "a list": [],
        "a number": 1,
        "a string": "steps",
        "null": None,
        "true": True,
    }.items():
        yield bad(f"body: {name}", "invalid_request", 422, json.dumps(value).encode())
    yield bad("body: 5000 lists", "limit_exceeded", 413, DEEP)
    yield bad("body: 150 objects", "limit_exceeded", 413, b'{"a":' * 150 + b"1" + b"}" * 150)
    for name, whole in {"65 bits": 2**64, "a sign": -(2**63) - 1, "many digits": 10**200}.items():
        yield literal(f"body: an int of {name}", "invalid_request", 422, [1.5, whole])
        yield op(f"body: an operand of {name}", "invalid_request", 422, "xlogy", "x", whole)
    yield bad("body: unclosed lists", "invalid_json", 400, b"[" * 500)
    yield bad(
        "body: a deep literal", "limit_exceeded", 413,
        b'{"steps": [{"tensor": "q", "value": ' + b"[" * 99 + b"]" * 99 + b"}]}",
    )  # fmt: skip


def media() -> Iterator[Bad]:
    """Content types and encodings."""
    good = {"steps": []}
    for kind in (
        "text/plain", "application/xml", "multipart/form-data", "application/x-www-form-urlencoded",
        "application/json; charset=latin-1", "application/octet-stream", "json", ";",
    ):  # fmt: skip
        yield bad(f"content type {kind}", "unsupported_media_type", 415, good, content_type=kind)
    yield bad("npy as steps", "unsupported_media_type", 415, npy(np.zeros(2)), content_type=NPY)
    yield bad("encoding br", "unsupported_media_type", 415, good, content_encoding="br")
    yield bad("encoding twice", "unsupported_media_type", 415, good, content_encoding="gzip, gzip")
    yield bad("gzip that isn't", "invalid_body", 400, good, content_encoding="gzip")
    yield bad("zstd that isn't", "invalid_body", 400, good, content_encoding="zstd")
    yield bad("gzip cut short", "invalid_body", 400, b"\x1f\x8b\x08\x00", content_encoding="gzip")
    for kind in ("text/html", "image/png", "application/json;q=0", "application/x-npy"):
        yield bad(f"accept {kind}", "not_acceptable", 406, good, accept=kind)
    yield bad("data=all", "invalid_request", 422, good, path="{s}/steps?data=all")
    yield bad("data=", "invalid_request", 422, good, path="{s}/steps?data=")


def shapes_of_requests() -> Iterator[Bad]:
    """Wrong types in every field of a request that runs steps."""
    request = ("invalid_request", 422)
    yield bad("no steps", *request, {})
    yield bad("steps null", *request, {"steps": None})
    yield bad("steps an object", *request, {"steps": {}})
    yield bad("steps a string", *request, {"steps": "add"})
    yield bad("an unknown field", *request, {"steps": [], "retun": []})
    yield bad("return a string", *request, {"steps": [], "return": "x"})
    yield bad("return numbers", *request, {"steps": [], "return": [1]})
    yield bad("return a bad name", *request, {"steps": [], "return": ["a b"]})
    yield bad("return x.grad.grad", *request, {"steps": [], "return": ["x.grad.grad"]})
    yield bad("grad_mode unknown", *request, {"steps": [], "grad_mode": "off"})
    yield bad("grad_mode a bool", *request, {"steps": [], "grad_mode": False})
    yield bad("atomic a string", *request, {"steps": [], "atomic": "yes"})
    yield bad("atomic a number", *request, {"steps": [], "atomic": 1})
    yield bad("anomaly", *request, {"steps": [], "anomaly": "on"})
    yield bad("anomaly of another kind", *request, {"steps": [], "anomaly": {"inf": True}})
    for device in ("recording", "symbol", "tpu"):
        yield op(f"device {device!r}", "unsupported_device", 422, "zeros", [4],
                 kwargs={"device": device})  # fmt: skip
    yield bad("return what isn't there", "tensor_not_found", 404, {"steps": [], "return": ["no"]})
    yield bad(
        "return a gradient of what isn't there", "tensor_not_found", 404,
        {"steps": [], "return": ["no.grad"]},
    )  # fmt: skip
    many = [{"seed": 1}] * 4097
    yield bad("too many steps", "limit_exceeded", 413, {"steps": many})
    yield bad(
        "too many ops", "limit_exceeded", 413,
        {"ops": [{"op": "sin", "args": ["x"], "out": "y"}] * 4097}, path="{s}/ops",
    )  # fmt: skip
    yield bad("ops and source", *request, {"ops": [], "source": ""}, path="{s}/ops")
    yield bad("neither ops nor source", *request, {}, path="{s}/ops")
    yield bad("a tensor step among ops", *request,
              {"ops": [{"tensor": "q", "value": 1}]}, path="{s}/ops")  # fmt: skip
    yield bad("source a number", *request, {"source": 3}, path="{s}/ops")
    yield bad("source too long", "limit_exceeded", 413,
              {"source": "#" * 70_000}, path="{s}/ops")  # fmt: skip


def step_words() -> Iterator[Bad]:
    """Steps that are none, or of words that are not available yet."""
    request = ("invalid_request", 422)
    for name, value in {
        "a string": "add", "a number": 1, "null": None, "a list": [], "empty": {},
        "an unknown word": {"tensr": "x", "value": 1},
        "hook": {"hook": "x"},
        "hook that keeps without a program": {"hook": "x", "out": "g", "keep": {"g": "k"}},
        "hook of another kind": {"hook": "x", "program": "p_1", "kind": "leaf"},
        "unhook": {"unhook": 1},
        "edge": {"edge": "x"},
        "optimizer": {"optimizer": 1},
        "step": {"step": 1},
        "clip_grad_norm": {"clip_grad_norm": ["x"]},
        "bind": {"bind": "x", "out": "q"},
    }.items():  # fmt: skip
        yield step(f"step: {name}", *request, value)


def names() -> Iterator[Bad]:
    """Names that break the pattern."""
    for name in (
        "", "1a", "a b", "a-b", "é", "x.grad", "NaN", "Infinity", "a" * 129, "%0", ".a", "a\n",
    ):  # fmt: skip
        yield plain(f"name {name[:12]!r}", "invalid_request", 422, {"tensor": name, "value": 1.0})
        yield op(f"out {name[:12]!r}", "invalid_request", 422, "sin", "x", out=name)
    yield op("out a number", "invalid_request", 422, "sin", "x", out=1)
    yield op("out an object", "invalid_request", 422, "sin", "x", out={})
    yield op("out a nested list", "invalid_request", 422, "split", "x", 1, out=[["a"]])
    yield op("too long with a number", "invalid_request", 422, "split", "x", 1, out="a" * 127)


def literals() -> Iterator[Bad]:
    """Tensor literals that aren't."""
    request, shape, dtype = (
        ("invalid_request", 422),
        ("shape_mismatch", 422),
        ("dtype_mismatch", 422),
    )
    yield literal("literal: null", *request, None)
    yield literal("literal: a word", *request, "three")
    yield literal("literal: an empty object", *request, {})
    yield literal("literal: two forms", *request, {"data": [1], "base64": "AAAA"})
    yield literal("literal: an unknown field", *request, {"data": [1], "shap": [1]})
    yield literal("literal: ragged", *shape, [[1, 2], [3]])
    yield literal("literal: numbers beside lists", *shape, [1, [2]])
    yield literal("literal: null inside", *request, [1, None])
    yield literal("literal: an object inside", *request, [1, {}])
    yield literal("literal: a word inside", *request, [1, "two"])
    yield literal("literal: shape disagrees", *shape, {"shape": [3], "data": [1, 2]})
    yield literal("literal: nested shape disagrees", *shape, {"shape": [1, 2], "data": [[1], [2]]})
    yield literal("literal: a negative size", *shape, {"shape": [-1], "data": [1]})
    yield literal("literal: a size that is no int", *shape, {"shape": [1.5], "data": [1]})
    yield literal("literal: 65 axes", *shape, {"shape": [1] * 65, "data": [1]})
    yield literal("literal: a terabyte of nothing", *shape, {"shape": [2**40], "data": []})
    yield literal(
        "literal: a huge shape with a zero", *shape, {"shape": [2**62, 4, 0], "data": [1]}
    )
    yield literal("literal: an unknown dtype", *dtype, {"dtype": "float128", "data": [1]})
    yield literal("literal: a dtype that is no word", *dtype, {"dtype": 32, "data": [1]})
    yield literal("literal: a float in an int", *dtype, {"dtype": "int64", "data": [1.5]})
    yield literal("literal: a number as bool", *dtype, {"dtype": "bool", "data": [2]})
    yield literal("literal: out of range", *dtype, {"dtype": "uint8", "data": [256]})
    yield literal("literal: negative in uint8", *dtype, {"dtype": "uint8", "data": [-1]})
    yield literal("literal: complex without pairs", *shape, {"dtype": "complex64", "data": [1.0]})
    yield literal("literal: base64 without a shape", *request, {"dtype": "uint8", "base64": "AA=="})
    b64 = {"dtype": "uint8", "shape": [2]}
    yield literal("literal: base64 too short", *shape, b64 | {"base64": "A"})
    yield literal("literal: base64 too long", *shape, b64 | {"base64": "AAAAAAAA"})
    yield literal("literal: not base64", *request, b64 | {"base64": "*A=="})
    yield literal("literal: base64 with a newline", *request, b64 | {"base64": "AA\n="})
    yield literal("literal: a bool of 2", *request,
                  {"dtype": "bool", "shape": [1], "base64": "Ag=="})  # fmt: skip
    yield literal("literal: binary without a file", *request, {"binary": "a"})
    yield literal("literal: complex of three", *request, {"complex": [1, 2, 3]})
    yield literal("literal: complex of words", *request, {"complex": ["a", "b"]})
    yield literal("literal: a session", *request, {"session": "s_1", "tensor": "x"})
    yield literal("literal: ints require grad", *dtype,
                  {"dtype": "int64", "data": [1]}, requires_grad=True)  # fmt: skip
    yield literal("literal: bools require grad", *dtype, [True], requires_grad=True)
    yield literal("tensor: an unknown dtype", *request, 1, dtype="double")
    yield literal("tensor: requires_grad a number", *request, 1.0, requires_grad=1)
    yield literal("tensor: an unknown field", *request, 1.0, require_grad=True)
    yield plain("tensor: no value", *request, {"tensor": "q"})
    yield plain("tensor: no name", *request, {"value": 1})


def ops() -> Iterator[Bad]:
    """Ops that aren't there, or get what they don't take."""
    argument, request = ("invalid_argument", 422), ("invalid_request", 422)
    missing, shape, dtype = (
        ("tensor_not_found", 404),
        ("shape_mismatch", 422),
        ("dtype_mismatch", 422),
    )
    yield op("op: a list for an order", "invalid_argument", 422, "norm", [1.0], [2.0])
    yield op("op: an object for an order", "invalid_argument", 422, "linalg.norm", [1.0], {"a": 1})
    yield op("op: a number for a tensor", "invalid_argument", 422, "abs", 1.0)
    yield op("op: numbers for both tensors", "invalid_argument", 422, "matmul", 1.0, 2.0)
    yield op("op: a huge number for a tensor", "invalid_request", 422, "exp", 2**70)
    yield op("op: in place, on a name of no letters", *missing, "add_", "", 1, out=None)
    yield op("op: unknown", "op_not_found", 404, "sinus", "x")
    yield op("op: empty", *request, "", "x")
    yield op("op: a number", *request, 7, "x")  # type: ignore[arg-type]
    yield op("op: very long", *request, "s" * 200, "x")
    yield op("op: unknown in place", "op_not_found", 404, "sinus_", "x", out=None)
    yield op("op: without an in-place form", "op_not_found", 404, "matmul_", "w", "w", out=None)
    yield op("op: an attribute", "op_not_found", 404, "__class__", "x")
    yield op("op: a module", "op_not_found", 404, "os.system", "x")
    yield op("op: an unknown tensor", *missing, "sin", "nope")
    yield op("op: an absent gradient", *missing, "sin", "w.grad")
    yield op("op: an unknown tensor in a list", *missing, "cat", ["x", "nope"])
    yield op("op: a bad name", *missing, "sin", "a b")
    yield op("op: too few", *argument, "add", "x")
    yield op("op: none", *argument, "sin")
    yield op("op: too many", *argument, "sin", "x", "x")
    yield op("op: an unknown keyword", *argument, "sum", "x", kwargs={"axes": 0})
    yield op("op: a keyword given twice", *argument, "add", "x", 1, kwargs={"other": 2})
    yield op("op: a string as dim", *argument, "softmax", "x", "zero")
    yield op("op: a float as dim", *argument, "softmax", "x", 0.5)
    yield op("op: a bool as dim", *argument, "softmax", "x", True)
    yield op("op: dim out of range", *argument, "sum", "x", 5)
    yield op("op: dim far out of range", *argument, "sum", "x", -9)
    yield op("op: dim twice", *argument, "sum", "w", [0, 0])
    yield op("op: a string as a flag", *argument, "sum", "x", 0, kwargs={"keepdim": "yes"})
    yield op("op: a number as a flag", *argument, "sum", "x", 0, kwargs={"keepdim": 1})
    yield op("op: an unknown dtype", *argument, "sum", "x", kwargs={"dtype": "float8"})
    yield op("op: a list as a tensor", *shape, "sin", [[1, 2], [3]])
    yield op("op: a bad literal", *request, "sin", {"data": ["x"]})
    yield op("op: null as a tensor", *argument, "add", "x", None)
    yield op("op: an object as a number", *argument, "full", [2], {"a": 1})
    yield op("op: args an object", *request, "sin", args={})
    yield op("op: kwargs a list", *request, "sin", "x", kwargs=[])
    yield op("op: shapes that don't broadcast", *shape, "add", "x", "i4")
    yield op("op: matmul of wrong shapes", *shape, "matmul", "w", "w")
    yield op("op: reshape to a negative size", *shape, "reshape", "x", [-2, 3])
    yield op("op: reshape to two unknowns", *argument, "reshape", "x", [-1, -1])
    yield op("op: reshape to another count", *shape, "reshape", "x", [2, 2])
    yield op("op: expand smaller", *shape, "expand", "w", [1, 3])
    yield op("op: neg of bool", *dtype, "neg", "b")
    yield op("op: cat of other shapes", *shape, "cat", ["x", "w"])
    yield op("op: cat of nothing", *argument, "cat", [])
    yield op("op: an index out of range", *argument, "__getitem__", "x", 3)
    yield op("op: an index below range", *argument, "__getitem__", "x", -4)
    yield op("op: too many indices", *argument, "__getitem__", "x", {"index": [0, 0]})
    yield op("op: an index list out of range", *argument, "__getitem__", "x", [0, 3])
    yield op("op: a float index", *argument, "__getitem__", "x", 1.5)
    yield op("op: an unknown index", *missing, "__getitem__", "x", "nope")
    yield op("op: a slice of four", *argument, "__getitem__", "x", {"slice": [0, 1, 2, 3]})
    yield op("op: a slice of strings", *argument, "__getitem__", "x", {"slice": ["a", "b", 1]})
    yield op("op: a slice with step 0", *argument, "__getitem__", "x", {"slice": [0, 2, 0]})
    yield op("op: a slice backwards", *argument, "__getitem__", "x", {"slice": [None, None, -1]})
    yield op("op: an index of an unknown kind", *request, "__getitem__", "w", {"from": 0})
    yield op("op: a terabyte", "memory_limit", 507, "zeros", [1000000, 1000000])
    yield op("op: more bytes than an int has", "memory_limit", 507, "zeros", [2**40, 2**40])
    yield op("op: a terabyte by broadcasting", "memory_limit", 507, "add", "long", "long2")
    yield op("op: a terabyte of random numbers", "memory_limit", 507, "rand", [2**40])
    yield op("op: a terabyte by arange", "memory_limit", 507, "arange", 1e12)
    for name, *args in (
        ("split", "long", 1),
        ("unbind", "long"),
        ("tensor_split", "x", 10**12),
        ("chunk", [], 10**12),
    ):
        yield op(f"op: too many tensors by {name}", "limit_exceeded", 413, name, *args)
    yield op("op: endless combinations", *argument, "combinations", "x", 10**12)
    yield op("op: endless sums", *argument, "mvlgamma", "x", 10**12)
    yield op("op: zeros of a negative size", *argument, "zeros", [-1])
    yield op("op: results that aren't named", *argument, "split", "x", 1, out=["a", "b"])
    yield op("op: too many names for one", *argument, "sin", "x", out=["a", "b"])
    yield op("op: out of an in-place op", *request, "add_", "n", 1, out="q")
    yield plain("in place: a leaf", "leaf_in_place", 409, {"op": "add_", "args": ["x", 1]})
    yield plain("in place: a view of a leaf", "leaf_in_place", 409,
                {"op": "add_", "args": ["xv", 1]})  # fmt: skip
    yield plain("in place: one of several views", "view_in_place", 409,
                {"op": "add_", "args": ["p.0", 1]})  # fmt: skip
    yield plain("in place: an expanded view", "view_in_place", 409,
                {"op": "add_", "args": ["ne", 1]})  # fmt: skip
    yield plain("in place: an inference tensor", "inference_tensor", 409,
                {"op": "add_", "args": ["inf", 1]})  # fmt: skip
    yield plain("in place: a literal", *argument, {"op": "add_", "args": [[1.0], 1]})
    yield plain("in place: a number", *argument, {"op": "add_", "args": [1, 1]})
    yield plain("in place: nothing", *argument, {"op": "add_", "args": []})
    yield plain("in place: a wider result", *shape, {"op": "add_", "args": ["n", "w"]})
    yield plain("in place: a float into ints", *dtype, {"op": "add_", "args": ["i", 1.5]})
    yield plain("in place: an absent gradient", *missing, {"op": "zero_", "args": ["w.grad"]})
    yield op("inference tensors can't be saved", "inference_tensor", 409, "mul", "x", "inf")


def walks() -> Iterator[Bad]:
    """grad and backward."""
    argument, request, missing = (
        ("invalid_argument", 422),
        ("invalid_request", 422),
        ("tensor_not_found", 404),
    )

    def backward(name: str, code: str, status: int, **fields: Any) -> Bad:
        return plain(f"backward: {name}", code, status, {"backward": fields})

    def grad(name: str, code: str, status: int, out: Any = None, **fields: Any) -> Bad:
        made = {"outputs": ["z"], "inputs": ["x"]} | fields
        return plain(f"grad: {name}", code, status, {"grad": made, **({"out": out} if out else {})})

    yield backward("nothing", *request)
    yield backward("no tensors", *argument, tensors=[])
    yield backward("a string", *request, tensors="z")
    yield backward("an unknown tensor", *missing, tensors=["nope"])
    yield backward("not a scalar", "not_scalar", 422, tensors=["y"])
    yield backward("no history", "requires_no_grad", 422, tensors=["i"])
    yield backward("a detached one", "requires_no_grad", 422, tensors=["n0"])
    yield backward("freed", "graph_freed", 409, tensors=["u"])
    yield backward("modified", "modified_in_place", 409, tensors=["es"])
    yield backward(
        "a cotangent of another shape", "shape_mismatch", 422, tensors=["y"], grad_tensors=[[1.0]]
    )
    yield backward(
        "a complex cotangent",
        "dtype_mismatch",
        422,
        tensors=["z"],
        grad_tensors=[{"complex": [1, 1]}],
    )
    yield backward("an unknown cotangent", *missing, tensors=["z"], grad_tensors=["nope"])
    yield backward("two cotangents for one", *argument, tensors=["z"], grad_tensors=[1.0, 1.0])
    yield backward("a cotangent that is no list", *request, tensors=["z"], grad_tensors=1.0)
    yield backward("inputs empty", *argument, tensors=["z"], inputs=[])
    yield backward("inputs without grad", "requires_no_grad", 422, tensors=["z"], inputs=["i"])
    yield backward("retain_graph a word", *request, tensors=["z"], retain_graph="yes")
    yield backward("an unknown field", *request, tensors=["z"], retain=True)
    yield backward("a complex output", "dtype_mismatch", 422, tensors=["cz"])
    yield grad("no outputs", *argument, outputs=[])
    yield grad("no inputs", *argument, inputs=[])
    yield grad("inputs missing", *request, inputs=None)
    yield grad("an unknown input", *missing, inputs=["nope"])
    yield grad("unused", "unused_input", 422, inputs=["x", "w"])
    yield grad("without grad", "requires_no_grad", 422, inputs=["i"])
    yield grad("not a scalar", "not_scalar", 422, outputs=["y"])
    yield grad("freed", "graph_freed", 409, outputs=["u"])
    yield grad("modified", "modified_in_place", 409, outputs=["es"])
    yield grad("zeros that are not allowed", *argument, allow_unused=False, materialize_grads=True)
    yield grad("batched by a number", *request, is_grads_batched=1)
    yield grad("batched without cotangents", "shape_mismatch", 422, is_grads_batched=True)
    yield grad("batched, no axis in front", "shape_mismatch", 422, outputs=["y"],
               grad_outputs=[[1.0, 1.0, 1.0]], is_grads_batched=True)  # fmt: skip
    yield grad("too many names", *request, out=["a", "b"])
    yield grad("a bad name", *request, out=["x.grad"])
    yield grad("names that are no list", *request, out="gx")
    yield bad("…/grad: not a scalar", "not_scalar", 422,
              {"outputs": ["y"], "inputs": ["x"]}, path="{s}/grad")  # fmt: skip
    yield bad("…/grad: a field of another", *request,
              {"outputs": ["z"], "inputs": ["x"], "tensors": ["z"]}, path="{s}/grad")  # fmt: skip
    yield bad("…/grad: too few names", *request,
              {"outputs": ["z"], "inputs": ["x"], "out": []}, path="{s}/grad")  # fmt: skip
    yield bad("…/backward: freed", "graph_freed", 409, {"tensors": ["u"]}, path="{s}/backward")
    yield bad("…/backward: steps", *request, {"steps": []}, path="{s}/backward")


def other_steps() -> Iterator[Bad]:
    """The rest of the steps."""
    argument, request, missing = (
        ("invalid_argument", 422),
        ("invalid_request", 422),
        ("tensor_not_found", 404),
    )
    yield step("zero_grad: a name", *request, {"zero_grad": "x"})
    yield step("zero_grad: unknown", *missing, {"zero_grad": ["nope"]})
    yield step("zero_grad: a gradient", *request, {"zero_grad": ["x.grad"]})
    yield step("set_grad: unknown", *missing, {"set_grad": "nope", "value": 1.0})
    yield step("set_grad: an unknown value", *missing, {"set_grad": "w", "value": "nope"})
    yield plain("set_grad: another shape", "shape_mismatch", 422, {"set_grad": "w", "value": [1.0]})
    yield plain("set_grad: another dtype", "dtype_mismatch", 422,
                {"set_grad": "x", "value": {"dtype": "float64", "data": [1, 2, 3]}})  # fmt: skip
    yield step("set_grad: no value", *request, {"set_grad": "w"})
    yield step("requires_grad: unknown", *missing, {"requires_grad": "nope", "value": True})
    yield step("requires_grad: a result", *argument, {"requires_grad": "y", "value": False})
    yield step("requires_grad: ints", "dtype_mismatch", 422, {"requires_grad": "b", "value": True})
    yield step("requires_grad: an inference tensor", "inference_tensor", 409,
               {"requires_grad": "inf", "value": True})  # fmt: skip
    yield step("requires_grad: a word", *request, {"requires_grad": "x", "value": "yes"})
    yield step("retain_grad: unknown", *missing, {"retain_grad": "nope"})
    yield step("retain_grad: without grad", "requires_no_grad", 422, {"retain_grad": "b"})
    yield step("detach: unknown", *missing, {"detach": "nope", "out": "q"})
    yield step("detach: no out", *request, {"detach": "y"})
    yield step("seed: negative", *request, {"seed": -1})
    yield step("seed: too large", *request, {"seed": 2**64})
    yield step("seed: a float", *request, {"seed": 1.5})
    yield step("seed: a bool", *request, {"seed": True})
    yield step("seed: draws below 0", *request, {"seed": 1, "draws": -1})
    drawn = {"op": "rand", "args": [[2]], "out": "q"}
    yield step("generator: no seed", *request, drawn | {"generator": {"draws": 1}})
    yield step("generator: a number", *request, drawn | {"generator": 1})
    yield step("generator: too many draws", *request,
               drawn | {"generator": {"seed": 1, "draws": 2**62}})  # fmt: skip
    yield step("generator: nothing is drawn", *argument,
               {"op": "exp", "args": ["x"], "out": "q", "generator": {"seed": 1}})  # fmt: skip
    yield step(
        "generator: no such op",
        "op_not_found",
        404,
        drawn | {"op": "rund", "generator": {"seed": 1}},
    )
    yield step("free: unknown", *missing, {"free": ["nope"]})
    yield step("free: twice", *missing, {"free": ["w", "w"]})
    yield step("free: a string", *request, {"free": "w"})
    yield step("a mode on a step", *request, {"seed": 1, "grad_mode": "grad"})
    yield step("after much else", "not_scalar", 422,
               {"op": "exp", "args": ["x"], "out": "y"}, {"detach": "y", "out": "z"},
               {"seed": 5}, {"requires_grad": "w", "value": False},
               {"set_grad": "x", "value": [1.0]},
               {"op": "zero_", "args": ["n"]}, {"retain_grad": "y"},
               {"backward": {"tensors": ["y"], "grad_tensors": [[1.0]]}},
               {"backward": {"tensors": ["es2"], "retain_graph": False}},
               {"zero_grad": ["w"]},
               {"backward": {"tensors": ["w3"]}})  # fmt: skip


def sources() -> Iterator[Bad]:
    """Text outside of the grammar."""
    for text in (
        "for i in range(3): y = x", "import os", "y = __import__('os')", "y = x.__class__",
        "y = lambda a: a", "def f(): pass", "y = [x for x in y]", "y = x if x else x", "y =",
        "y = x +", "y = 'a' + x", "y = f'{x}'", "del x", "x.data = 1", "y = open('f')()",
        "y := x", "y = x < x < x", "y = x and x", "y = sin(*x)", "y = sin(**x)", "eval('1')",
        "y = (yield)", "await x", "y = x\n  z = x", "y = 10 ** 10 ** 10", "while x: pass",
        "y = '\\x00'", "global x", "assert x", "with x: pass", "x.grad = y", "y = {}",
    ):  # fmt: skip
        yield source(text[:30], text)
    yield source("brackets", "y = " + "(" * 200 + "x" + ")" * 200)
    yield source("a sum of 100,000 terms", "y = " + "+".join(["x"] * 30_000))
    yield source("an unknown op", "y = sinus(x)", "op_not_found", 404)
    yield source("an unknown tensor", "y = sin(nope)", "tensor_not_found", 404)
    yield source("a leaf in place", "x += 1", "leaf_in_place", 409)
    yield source("wrong shapes", "y = x\nz = y + i4", "shape_mismatch", 422)
    yield source("too many names", "a, b = split(x, 1)", "invalid_argument", 422)


def tensors() -> Iterator[Bad]:
    """Tensors as resources, in every format."""
    put: dict[str, Any] = {"method": "PUT", "path": "{s}/tensors/q"}
    request, missing = ("invalid_request", 422), ("tensor_not_found", 404)
    yield bad("PUT: no body", "invalid_json", 400, **put)
    yield bad("PUT: no value", *request, {}, **put)
    yield bad("PUT: a bare number", *request, 3, **put)
    yield bad("PUT: an unknown field", *request, {"value": 1, "name": "q"}, **put)
    yield bad("PUT: a bad literal", *request, {"value": "x"}, **put)
    yield bad("PUT: ints require grad", "dtype_mismatch", 422,
              {"value": [True], "requires_grad": True}, **put)  # fmt: skip
    yield bad("PUT: a bad name", *request, {"value": 1}, method="PUT", path="{s}/tensors/1a")
    yield bad("PUT: a gradient's name", *request, {"value": 1},
              method="PUT", path="{s}/tensors/x.grad")  # fmt: skip
    yield bad("PUT: a terabyte", "shape_mismatch", 422,
              {"value": {"shape": [2**40], "data": [1]}}, **put)  # fmt: skip
    pickled = npy(np.array([{"a": 1}], object), allow_pickle=True)
    yield bad("npy: objects", "invalid_body", 400, pickled, content_type=NPY, **put)
    good = npy(np.arange(3.0))
    for name, body in {
        "nothing": b"\x93",
        "another format": b"PK\x03\x04" + bytes(64),
        "cut short": good[:-1],
        "too long": good + b"\0",
        "an unknown version": good[:6] + b"\x09\x00" + good[8:],
        "a header that is code": good[:10] + b"__import__('os')" + good[26:],
        "a header that lies": good.replace(b"(3,)", b"(9,)"),
        "a huge shape": good.replace(b"(3,), ", b"(2**40,)"),
    }.items():
        yield bad(f"npy: {name}", "invalid_body", 400, body, content_type=NPY, **put)
    yield bad("npy: strings", "dtype_mismatch", 422, npy(np.array(["a"])), content_type=NPY, **put)
    yield bad("npy: uint64", "dtype_mismatch", 422,
              npy(np.zeros(2, np.uint64)), content_type=NPY, **put)  # fmt: skip
    yield bad("npy: raw bytes", "unsupported_media_type", 415,
              npy(np.zeros(2, "V2")), content_type=NPY, **put)  # fmt: skip
    yield bad("npy: ?requires_grad=maybe", *request, good, content_type=NPY, method="PUT",
              path="{s}/tensors/q?requires_grad=maybe")  # fmt: skip
    yield bad("npy: ?dtype=double", *request, good, content_type=NPY, method="PUT",
              path="{s}/tensors/q?dtype=double")  # fmt: skip
    yield bad("GET: unknown", *missing, method="GET", path="{s}/tensors/nope")
    yield bad("GET: no gradient", *missing, method="GET", path="{s}/tensors/w/grad")
    yield bad("GET: gradient of nothing", *missing, method="GET", path="{s}/tensors/nope/grad")
    yield bad("GET: bfloat16 as npy", "not_acceptable", 406,
              method="GET", path="{s}/tensors/bf", accept=NPY)  # fmt: skip
    yield bad("GET: a list as npy", "not_acceptable", 406,
              method="GET", path="{s}/tensors", accept=NPY)  # fmt: skip
    yield bad("GET: as a picture", "not_acceptable", 406,
              method="GET", path="{s}/tensors/x", accept="image/png")  # fmt: skip
    yield bad("DELETE: unknown", *missing, method="DELETE", path="{s}/tensors/nope")
    yield bad(
        "DELETE: gradient of nothing", *missing, method="DELETE", path="{s}/tensors/nope/grad"
    )


def files() -> Iterator[Bad]:
    """safetensors bodies that lie."""
    data = bytes(8)
    for name, body in {
        "nothing": b"\0\0",
        "no header": b"",
        "a header longer than the body": safetensors(METADATA, length=10**9),
        "a header of all the memory": safetensors(METADATA, length=2**63),
        "a pickle": b"\x80\x04\x95" + bytes(40),
        "a header that is no JSON": safetensors(b"{'a': 1}"),
        "a header that is a list": safetensors([]),
        "a header that nests": safetensors(b'{"a":' * 2000 + b"1" + b"}" * 2000),
        "no request": safetensors({"a": F32}, data),
        "metadata of numbers": safetensors({"__metadata__": {"request": 1}}),
        "an array past the end": safetensors(METADATA | {"a": F32}, data[:4]),
        "bytes after the end": safetensors(METADATA | {"a": F32}, data + data),
        "offsets that disagree": safetensors(
            METADATA | {"a": F32 | {"data_offsets": [0, 4]}}, data
        ),
        "offsets backwards": safetensors(METADATA | {"a": F32 | {"data_offsets": [8, 0]}}, data),
        "offsets below zero": safetensors(METADATA | {"a": F32 | {"data_offsets": [-8, 0]}}, data),
        "arrays that overlap": safetensors(METADATA | {"a": F32, "b": F32}, data),
        "a gap": safetensors(METADATA | {"a": F32 | {"data_offsets": [8, 16]}}, data + data),
        "an unknown dtype": safetensors(METADATA | {"a": F32 | {"dtype": "PICKLE"}}, data),
        "a negative size": safetensors(METADATA | {"a": F32 | {"shape": [-2]}}, data),
        "a shape that overflows": safetensors(
            METADATA | {"a": F32 | {"shape": [2**62, 2**62]}}, data
        ),
        "a missing field": safetensors(METADATA | {"a": {"dtype": "F32", "shape": [2]}}, data),
        "a bool of 7": safetensors(
            METADATA | {"a": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}}, b"\x07"
        ),
    }.items():
        yield bad(f"safetensors: {name}", "invalid_body", 400, body, content_type=SAFETENSORS)
    broken = {"__metadata__": {"request": "{"}}
    yield bad("safetensors: a broken request", "invalid_json", 400,
              safetensors(broken), content_type=SAFETENSORS)  # fmt: skip
    yield bad("safetensors: an array that isn't there", "invalid_request", 422,
              safetensors(METADATA), content_type=SAFETENSORS)  # fmt: skip


def routes() -> Iterator[Bad]:
    """Paths, methods and queries."""
    get: dict[str, Any] = {"method": "GET"}
    yield bad("route: unknown", "not_found", 404, **get, path="/v2/sessions")
    yield bad("route: the root, posted to", "method_not_allowed", 405, path="/")
    yield bad("route: a trailing slash", "not_found", 404, **get, path="/v1/sessions/")
    yield bad("route: under a session", "not_found", 404, {}, path="{s}/nothing")
    yield bad("route: an encoded slash", "not_found", 404, **get, path="{s}%2Fgraph%2Fx%2Fy%2Fz")
    yield bad("route: traversal", "not_found", 404, **get, path="/../../etc/passwd")
    yield bad(
        "method: PUT sessions", "method_not_allowed", 405, {}, method="PUT", path="/v1/sessions"
    )
    yield bad("method: GET steps", "method_not_allowed", 405, **get, path="{s}/steps")
    yield bad("method: POST a tensor", "method_not_allowed", 405, {}, path="{s}/tensors/x")
    yield bad("method: unknown", "method_not_allowed", 405, method="TRACE", path="{s}/steps")
    yield bad(
        "session: unknown", "session_not_found", 404, {"steps": []}, path="/v1/sessions/s_0/steps"
    )
    yield bad("session: unknown, read", "session_not_found", 404, **get, path="/v1/sessions/s_0")
    yield bad(
        "session: very long", "session_not_found", 404, **get, path="/v1/sessions/" + "s" * 3000
    )
    yield bad(
        "session: odd characters", "session_not_found", 404, **get, path="/v1/sessions/%00%ff"
    )
    yield bad("session: closed", "session_closed", 410, {"steps": []}, path="{closed}/steps")
    yield bad("session: closed twice", "session_closed", 410, method="DELETE", path="{closed}")
    yield bad("session: fork of a closed one", "session_closed", 410, path="{closed}/fork")
    yield bad("sessions: a bad limit", "invalid_request", 422, **get, path="/v1/sessions?limit=-1")
    yield bad("sessions: limit 0", "invalid_request", 422, **get, path="/v1/sessions?limit=0")
    yield bad("sessions: a bad cursor", "invalid_request", 422, **get, path="/v1/sessions?cursor=x")
    yield bad("sessions: a cursor of 19 digits", "invalid_request", 422, **get,
              path=f"/v1/sessions?cursor={'0' * 19}")  # fmt: skip
    yield bad(
        "graph: an unknown format", "invalid_request", 422, **get, path="{s}/graph?format=png"
    )
    yield bad(
        "graph: an unknown tensor", "tensor_not_found", 404, **get, path="{s}/graph?tensor=no"
    )
    unknown = ("invalid_request", 422)
    yield bad("query: unknown, of steps", *unknown, {"steps": []}, path="{s}/steps?dta=none")
    yield bad("query: unknown beside a known one", *unknown, {"steps": []},
              path="{s}/steps?data=none&x")  # fmt: skip
    yield bad("query: unknown, of a list", *unknown, **get, path="/v1/sessions?limt=3")
    yield bad("query: of a call that takes none", *unknown, **get, path="/v1/info?verbose=1")
    yield bad("query: unknown, of a new session", *unknown, {}, path="/v1/sessions?label=a")
    yield bad("query: unknown, of a deletion", *unknown, method="DELETE", path="{s}?force=1")
    yield bad("query: unknown, of a transform", *unknown,
              {"program": {"inputs": [], "ops": [], "outputs": []}, "inputs": {}},
              path="/v1/evaluate?x=1")  # fmt: skip
    yield bad("query: what no text is", *unknown, **get, path="/v1/info?%ff%00=%f0")
    yield bad("ops: unknown", "op_not_found", 404, **get, path="/v1/ops/sinus")
    yield bad("errors: unknown", "not_found", 404, **get, path="/errors/nope")


def sessions() -> Iterator[Bad]:
    """Sessions to make and to change."""
    request = ("invalid_request", 422)
    make: dict[str, Any] = {"path": "/v1/sessions"}
    change: dict[str, Any] = {"path": "{s}", "method": "PATCH"}
    for name, metadata in {
        "a version from the future": {"gradwire_snapshot": "4", "session": "{}"},
        "no session": {"gradwire_snapshot": "2"},
        "more than a session": {"gradwire_snapshot": "2", "session": "{}", "request": "{}"},
        "no JSON": {"gradwire_snapshot": "2", "session": "{"},
        "JSON that nests": {"gradwire_snapshot": "2", "session": "[" * 9000},
        "a number too long": {"gradwire_snapshot": "2", "session": "1" * 9000},
        "an empty object": {"gradwire_snapshot": "2", "session": "{}"},
        "no digest": {"gradwire_snapshot": "3", "session": "{}"},
        "the digest of another one": {
            "gradwire_snapshot": "3",
            "session": "{}",
            "digest": "sha256:0",
        },
        "a version without digests that has one": {
            "gradwire_snapshot": "2",
            "session": "{}",
            "digest": "sha256:0",
        },
    }.items():
        body = safetensors({"__metadata__": metadata})
        yield bad(f"restore: {name}", "snapshot_incompatible", 422, body,
                  content_type=SAFETENSORS, **make)  # fmt: skip
    yield bad("restore: half a file", "invalid_body", 400,
              safetensors({"__metadata__": {"gradwire_snapshot": "2"}})[:-3],
              content_type=SAFETENSORS, **make)  # fmt: skip
    yield bad("snapshot: of a closed session", "session_closed", 410, method="GET",
              path="{closed}/snapshot")  # fmt: skip
    yield bad("snapshot: as JSON", "not_acceptable", 406, method="GET", path="{s}/snapshot",
              accept=JSON)  # fmt: skip
    yield bad("create: a list", *request, [], **make)
    yield bad("create: an unknown field", *request, {"name": "a"}, **make)
    yield bad("create: label a number", *request, {"label": 1}, **make)
    yield bad("create: label too long", *request, {"label": "a" * 201}, **make)
    yield bad("create: an unknown device", "unsupported_device", 422, {"device": "tpu"}, **make)
    yield bad(
        "create: the device of phantoms", "unsupported_device", 422, {"device": "meta"}, **make
    )
    yield bad("create: device null", *request, {"device": None}, **make)
    yield bad("create: an integer dtype", *request, {"dtype": "int64"}, **make)
    yield bad("create: a negative seed", *request, {"seed": -1}, **make)
    yield bad("create: a float seed", *request, {"seed": 0.5}, **make)
    yield bad("create: ttl 0", *request, {"ttl_seconds": 0}, **make)
    yield bad("create: ttl negative", *request, {"ttl_seconds": -5}, **make)
    yield bad("create: ttl a word", *request, {"ttl_seconds": "long"}, **make)
    yield bad("create: ttl too long", "limit_exceeded", 413, {"ttl_seconds": 1e12}, **make)
    yield bad("create: memory 0", *request, {"memory_limit_bytes": 0}, **make)
    yield bad("create: memory a float", *request, {"memory_limit_bytes": 1.5}, **make)
    yield bad(
        "create: too much memory", "limit_exceeded", 413, {"memory_limit_bytes": 2**50}, **make
    )
    yield bad("create: durable, and nothing is kept", "invalid_argument", 422,
              {"durable": True}, **make)  # fmt: skip
    yield bad("create: durable a word", *request, {"durable": "yes"}, **make)
    yield bad("create: detect_anomaly", *request, {"detect_anomaly": "yes"}, **make)
    yield bad("patch: detect_anomaly", *request, {"detect_anomaly": 1}, **change)
    yield bad("patch: an unknown field", *request, {"seed": 1}, **change)
    yield bad("patch: ttl too long", "limit_exceeded", 413, {"ttl_seconds": 1e12}, **change)
    yield bad("patch: ttl good, memory bad", *request,
              {"ttl_seconds": 5, "memory_limit_bytes": -1}, **change)  # fmt: skip
    yield bad("patch: label good, memory too much", "limit_exceeded", 413,
              {"label": "new", "memory_limit_bytes": 2**50}, **change)  # fmt: skip
    yield bad("patch: no body", "invalid_json", 400, **change)


def programs() -> Iterator[Bad]:
    """Programs run in one call."""
    request = ("invalid_request", 422)
    yield value_and_grad("no program", *request, program=None)
    yield value_and_grad("inputs missing", *request, inputs={})
    yield value_and_grad("an input too many", *request, inputs={"a": 1.0, "c": 1.0})
    yield value_and_grad("inputs a list", *request, inputs=[[1.0]])
    yield value_and_grad("a bad literal", *request, inputs={"a": "x"})
    yield value_and_grad("an unknown field", *request, wtr=["a"])
    yield value_and_grad("wrt what is no input", *request, wrt=["b"])
    yield value_and_grad("wrt ints", "dtype_mismatch", 422,
                         inputs={"a": {"dtype": "int64", "data": [1]}}, wrt=["a"])  # fmt: skip
    yield value_and_grad("a cotangent of no output", *request, grad_outputs={"c": 1.0})
    yield value_and_grad("a cotangent of another shape", "shape_mismatch", 422,
                         grad_outputs={"b": [1.0, 1.0]})  # fmt: skip
    yield value_and_grad("a session that isn't there", "session_not_found", 404,
                         inputs={"a": {"session": "s_0", "tensor": "x"}})  # fmt: skip
    yield value_and_grad("half a reference", *request, inputs={"a": {"session": "s_0"}})

    def program(name: str, code: str, status: int, **fields: Any) -> Bad:
        made = {"inputs": ["a"], "source": "b = (a * a).sum()", "outputs": ["b"]} | fields
        return value_and_grad(name, code, status, program=made)

    yield program("outputs that aren't there", "tensor_not_found", 404, outputs=["c"])
    yield program("not a scalar", "not_scalar", 422, source="b = a * 2")
    yield program("no history", "requires_no_grad", 422, source="b = a.detach().sum()")
    yield program("bad source", "invalid_source", 422, source="b = ")
    yield program("both", *request, ops=[])
    yield program("a tensor step", *request, source=None, ops=[{"tensor": "b", "value": 1}])
    yield program("a dtype that isn't", *request, inputs=[{"name": "a", "dtype": "double"}])
    yield program(
        "another dtype", "dtype_mismatch", 422, inputs=[{"name": "a", "dtype": "float64"}]
    )
    yield program("another shape", "shape_mismatch", 422, inputs=[{"name": "a", "shape": [3]}])
    yield program("another number of axes", "shape_mismatch", 422,
                  inputs=[{"name": "a", "shape": [None, None]}])  # fmt: skip
    yield program("an unknown op", "op_not_found", 404, source="b = sinus(a)")
    yield program("a terabyte", "memory_limit", 507, source="b = zeros([1000000, 1000000]).sum()")
    yield bad("evaluate: wrt", *request, {"program": {"inputs": [], "source": "", "outputs": []},
              "inputs": {}, "wrt": []}, path="/v1/evaluate")  # fmt: skip


TABLE: list[Bad] = [
    *bodies(), *media(), *shapes_of_requests(), *step_words(), *names(), *literals(), *ops(),
    *walks(), *other_steps(), *sources(), *tensors(), *files(), *routes(), *sessions(), *programs(),
]  # fmt: skip
