"""Calls of a real server, counted; and what a session says it holds, held against the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import httpx
import numpy as np
from tests.fuzz.sessions.model import Tensor

Tensors = dict[str, Tensor]
_SECONDS = 30.0
"""What an answer may take: past it the server hangs."""


class Unlike(AssertionError):
    """The server did what the model doesn't."""


class Calls:
    """Requests to one server; none of them may be answered 500, and each has an answer in time."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=_SECONDS)
        self.count = 0
        self.codes: Counter[str] = Counter()  # of refusals

    def ask(self, method: str, path: str, **fields: Any) -> httpx.Response:
        """Any request."""
        self.count += 1
        reply = self.http.request(method, path, **fields)
        if reply.status_code >= 500 and reply.json()["code"] != "memory_limit":
            raise Unlike(f"{method} {path} {fields}: {reply.status_code} {reply.text}")
        return reply

    def expect(self, status: int, method: str, path: str, **fields: Any) -> Any:
        """One that must have this status; what it says."""
        reply = self.ask(method, path, **fields)
        if reply.status_code != status:
            raise Unlike(f"{method} {path} {fields}: {status} expected, and it is {reply.text}")
        return reply.json() if reply.content and "json" in reply.headers["content-type"] else reply

    def refused(self, codes: tuple[str, ...], method: str, path: str, **fields: Any) -> None:
        """One that must be refused with one of these codes."""
        reply = self.ask(method, path, **fields)
        if reply.status_code < 400 or reply.json()["code"] not in codes:
            raise Unlike(f"{method} {path} {fields}: {codes} expected, and it is {reply.text}")
        self.codes[reply.json()["code"]] += 1

    def compare(self, session: str, tensors: Tensors) -> None:
        """The session holds what the model does: names, elements, flags, versions, gradients."""
        path = f"/v1/sessions/{session}"
        listed = self.expect(200, "GET", f"{path}/tensors")["items"]
        same({item["name"] for item in listed}, set(tensors), f"names of {session}")
        wanted = [text for name in tensors for text in (name, f"{name}.grad")]
        values = self.expect(200, "POST", f"{path}/steps", json={"steps": [], "return": wanted})
        for name, tensor in tensors.items():
            _compare(f"{name} of {session}", values["values"], name, tensor)


def _compare(where: str, values: Mapping[str, Any], name: str, tensor: Tensor) -> None:
    found = values[name]
    same(found["requires_grad"], tensor.requires_grad, f"requires_grad of {where}")
    same(found["is_leaf"], tensor.edge() in (tensor, None), f"is_leaf of {where}")
    same(found["version"], tensor.storage.version, f"version of {where}")
    close(found["data"], tensor.array, where)
    grad = values[f"{name}.grad"]
    same(grad is None, tensor.grad is None, f"whether there is a gradient of {where}")
    if tensor.grad is not None:
        close(grad["data"], tensor.grad, f"gradient of {where}")


def same(found: Any, expected: Any, where: str) -> None:
    """Unlike, where these differ."""
    if found != expected:
        raise Unlike(f"{where}: {expected} expected, and it is {found}")


def close(found: Any, expected: Any, where: str) -> None:
    """Unlike, where these differ by more than what a sum of many terms may be rounded by."""
    values = np.array(found, np.float64)
    if values.shape != np.shape(expected) or not np.allclose(values, expected, 1e-12, 0):
        raise Unlike(f"{where}: {expected} expected, and it is {found}")
