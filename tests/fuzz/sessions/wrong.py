"""Requests that no session takes."""

from __future__ import annotations

from typing import Any, NamedTuple

JSON = {"content-type": "application/json"}


class Wrong(NamedTuple):
    """A request, or a step where `step`, and its code. early: it is refused before others run."""

    code: str
    fields: dict[str, Any]
    step: bool = True
    early: bool = False
    method: str = "POST"
    path: str = "{s}/steps"


def _sent(code: str, body: bytes, method: str = "POST", path: str = "{s}/steps") -> Wrong:
    return Wrong(code, {"content": body, "headers": JSON}, False, True, method, path)


WRONG = (
    Wrong("op_not_found", {"op": "sinus", "args": ["w"], "out": "x"}),
    Wrong("tensor_not_found", {"op": "add", "args": ["w", "nothing"], "out": "x"}),
    Wrong("tensor_not_found", {"backward": {"tensors": ["w.grad"]}}),
    Wrong("requires_no_grad", {"backward": {"tensors": ["w"]}}),
    Wrong("shape_mismatch", {"op": "matmul", "args": [[[1.0, 2.0]], [[1.0, 2.0]]], "out": "x"}),
    Wrong("invalid_argument", {"op": "sum", "args": ["w"], "kwargs": {"way": 1}, "out": "x"}),
    Wrong("dtype_mismatch", {"op": "svd", "args": [[[1, 2]]], "out": "x"}),
    Wrong("memory_limit", {"op": "ones", "args": [[10**6, 10**6]], "out": "x"}),
    Wrong("program_not_found", {"call": "p_0", "args": [], "out": "x"}),
    Wrong("shape_mismatch", {"tensor": "x", "value": [[1.0], [1.0, 2.0]]}),
    Wrong("invalid_request", {"tensor": "x", "value": 1, "value2": 1}, early=True),
    Wrong("invalid_request", {"tensor": "1x", "value": 1}, early=True),
    Wrong("invalid_request", {"add": ["w", 1]}, early=True),
    _sent("invalid_json", b'{"steps": ['),
    _sent("invalid_request", b"[]"),
    _sent("invalid_request", b'{"steps": [], "stops": []}'),
    _sent("invalid_source", b'{"source": "import os"}', path="{s}/ops"),
    _sent("tensor_not_found", b'{"source": "w = nothing + 1"}', path="{s}/ops"),
    _sent("dtype_mismatch", b'{"value": 1.5, "dtype": "int64"}', "PUT", "{s}/tensors/w"),
    _sent("limit_exceeded", b'{"ttl_seconds": 1e300}', "PATCH", "{s}"),
    Wrong(
        "unsupported_media_type", {"content": b"1", "headers": {"content-type": "text/x"}}, False
    ),
    Wrong("not_found", {}, False, method="GET", path="{s}/nothing"),
    Wrong("method_not_allowed", {}, False, method="DELETE", path="{s}/steps"),
    Wrong("session_not_found", {}, False, method="GET", path="/v1/sessions/s_0123456789abcdef"),
    Wrong("invalid_request", {}, False, method="GET", path="{s}/graph?format=png"),
)
