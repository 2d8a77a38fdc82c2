"""How requests reach a host: embedded in this process, or over HTTP. Same requests, same replies."""

from __future__ import annotations

from importlib import import_module
from json import dumps, loads
from typing import Any, NamedTuple, Protocol

import httpx
import numpy as np

from gradwire_engine.errors import CODES, GradwireError, error
from gradwire_engine.spec import DTYPES, DType


class Received(NamedTuple):
    """A tensor of a reply; `array` is None where its elements weren't asked for."""

    dtype: DType
    shape: tuple[int, ...]
    requires_grad: bool
    is_leaf: bool
    grad_fn: str | None
    version: int
    array: np.ndarray | None


class Transport(Protocol):
    """What a session needs of a host."""

    def create(self, body: dict[str, Any]) -> dict[str, Any]: ...
    def describe(self, session_id: str) -> dict[str, Any]: ...
    def delete(self, session_id: str) -> None: ...
    def graph(self, session_id: str, format: str, tensor: str | None) -> Any: ...
    def steps(
        self,
        session_id: str,
        steps: list[dict[str, Any]],
        returns: list[str],
        arrays: dict[str, np.ndarray],
        data: bool,
    ) -> dict[str, Any]: ...


SAFETENSORS = "application/x-safetensors"


class Http:
    """A server somewhere: JSON for what is small, safetensors where arrays travel."""

    def __init__(self, url: str, key: str | None = None, timeout: float = 300.0) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.url = url.rstrip("/")
        self._client = httpx.Client(base_url=self.url, headers=headers, timeout=timeout)

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._json("POST", "/v1/sessions", body)

    def describe(self, session_id: str) -> dict[str, Any]:
        return self._json("GET", f"/v1/sessions/{session_id}")

    def delete(self, session_id: str) -> None:
        try:
            self._client.delete(f"/v1/sessions/{session_id}")
        except (httpx.HTTPError, RuntimeError):  # the server is gone, or Python is shutting down
            return

    def graph(self, session_id: str, format: str, tensor: str | None) -> Any:
        parameters = {"format": format} | ({"tensor": tensor} if tensor else {})
        reply = self._send("GET", f"/v1/sessions/{session_id}/graph", params=parameters)
        return reply.json() if format == "json" else reply.text

    def steps(
        self,
        session_id: str,
        steps: list[dict[str, Any]],
        returns: list[str],
        arrays: dict[str, np.ndarray],
        data: bool,
    ) -> dict[str, Any]:
        body = {"steps": steps, "return": returns, "atomic": False}
        url = f"/v1/sessions/{session_id}/steps" + ("" if data else "?data=none")
        content, kind = _encode(body, arrays)
        headers = {"Content-Type": kind}
        if returns and data:
            headers["Accept"] = SAFETENSORS
        return _decode(self._send("POST", url, content=content, headers=headers))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _json(self, method: str, url: str, body: Any = None) -> dict[str, Any]:
        reply = self._send(method, url, json=body) if body is not None else self._send(method, url)
        found: dict[str, Any] = reply.json()
        return found

    def _send(self, method: str, url: str, **fields: Any) -> httpx.Response:
        try:
            reply = self._client.request(method, url, **fields)
        except httpx.TimeoutException as problem:
            raise error(
                "deadline_exceeded", f"{self.url} did not answer in time: {problem}"
            ) from problem
        except httpx.TransportError as problem:
            raise error(
                "overloaded", f"no connection to {self.url}: {problem}", "is the server running?",
                raised=ConnectionError,
            ) from problem
        if reply.status_code >= 400:
            raise problem_of(reply)
        return reply


def problem_of(reply: httpx.Response) -> GradwireError:
    """The exception that a problem+json reply stands for."""
    try:
        found = reply.json()
    except ValueError:
        found = {}
    code = found.get("code")
    if code not in CODES:
        return error("internal", f"the server answered {reply.status_code}: {reply.text[:200]}")
    raised = _RAISED.get(found.get("raised", ""))
    problem = error(code, found.get("detail", ""), found.get("hint"), raised=raised)
    problem.step, problem.op = found.get("step"), found.get("op")
    problem.request_id = found.get("request_id")
    return problem


_RAISED: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, MemoryError,
        AttributeError, LookupError, SyntaxError, ArithmeticError, ZeroDivisionError,
    )
}  # fmt: skip
"""The builtin class that torch raises in the place of an error, as the server names it."""


def _encode(body: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[Any, str]:
    if not arrays:
        return dumps(body).encode(), "application/json"
    safetensors = import_module("gradwire_service.host.safetensors")
    return b"".join(safetensors.write(arrays, {"request": dumps(body)})), SAFETENSORS


def _decode(reply: httpx.Response) -> dict[str, Any]:
    """The tensors of a reply by name."""
    if reply.headers.get("content-type", "").startswith(SAFETENSORS):
        safetensors = import_module("gradwire_service.host.safetensors")
        metadata, arrays = safetensors.read(reply.content)
        values = loads(metadata["response"])["values"]
    else:
        arrays, values = {}, reply.json()["values"]
    return {name: None if v is None else _received(v, arrays) for name, v in values.items()}


def _received(value: dict[str, Any], arrays: dict[str, np.ndarray]) -> Received:
    dtype = DTYPES[value["dtype"]]
    array = arrays.get(value.get("binary", ""))
    if array is not None and array.dtype != dtype.numpy:
        array = array.view(dtype.numpy).reshape(value["shape"])  # complex128 as pairs of float64
    return Received(
        dtype,
        tuple(value["shape"]),
        value["requires_grad"],
        value["is_leaf"],
        value["grad_fn"],
        value["version"],
        array,
    )
