"""A server somewhere: JSON for what is small, safetensors where arrays travel."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from json import dumps, loads
from typing import Any, TypeVar
from urllib.parse import quote
from weakref import finalize

import httpx
import numpy as np

from gradwire import forks
from gradwire.connections import close_copies, connected, direct
from gradwire.direct import Direct, Reply
from gradwire.posted import Posted
from gradwire.retrying import key_for, sent
from gradwire.transport import UNANSWERED, Arrays, Received, Request, Step, Values
from gradwire_engine.errors import CODES, GradwireError, LinAlgError, error
from gradwire_engine.spec import DTYPES

SAFETENSORS = "application/x-safetensors"
_BRIEF = 5.0
"""Seconds to wait for what matters little."""
_TRIES = 3
"""How often a request goes on where a program was gone."""
AReply = TypeVar("AReply", bound=Reply)
_NOT_KEPT = "the request was done, and its reply"
"""How a server's answer begins to a retry whose first reply is not there any more."""


class Part:
    """What was sent at once of a request, to be sent again as it is until it is answered.

    end: how many steps of the request are done after it. last: whether it reads what is wanted.
    binary: whether that comes as arrays. key: the header by which the server knows it again.
    """

    __slots__ = ("arrays", "binary", "body", "end", "key", "last")

    def __init__(
        self, end: int, last: bool, body: dict[str, Any], arrays: Arrays, binary: bool
    ) -> None:
        self.end, self.last, self.body, self.arrays, self.binary = end, last, body, arrays, binary
        self.key = key_for("POST")


class Http:
    """The transport to a server at a URL."""

    def __init__(self, url: str, key: str | None = None, timeout: float = 300.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise error(
                "invalid_argument",
                f"connect: {url!r} is no URL of a server",
                f"write http://{url}" if "://" not in url else "it begins with http:// or https://",
                raised=ValueError,
            )
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._timeout = timeout
        self._begin()
        forks.transports.add(self)

    def _begin(self) -> None:
        self._forgotten: deque[str] = deque()
        self._programs = Posted(self._post_program, self._delete_program)
        self._connect()

    def _connect(self) -> None:
        self._client = connected(self.url, self._headers, self._timeout)
        self._direct = direct(self._client, self.url, self._headers, self._timeout)
        self._ending = finalize(self, _end, self._client, self._direct, self._forgotten)
        self._ending.atexit = False  # sessions that stay have their last steps sent before

    def _connect_anew(self) -> None:
        """After an interrupt: what httpx knows of its connections may be half true."""
        left, ending = self._client, self._ending
        self._connect()
        ending.detach()
        with suppress(Exception):
            left.close()

    def end(self) -> None:
        """End the sessions that were forgotten, and close the connections."""
        if self._ending.detach() is not None:  # at a program's end it would do nothing itself
            _end(self._client, self._direct, self._forgotten)

    def renew(self) -> None:
        """In a forked child: begin with connections of its own; the parent's stay as they are."""
        self._ending.detach()
        close_copies(self._client)
        if self._direct is not None:
            self._direct.close()
        self._begin()

    def create(self, body: dict[str, Any]) -> dict[str, Any]:
        """Make a session; its resource."""
        return self._json("POST", "/v1/sessions", json=body)

    def describe(self, session_id: str) -> dict[str, Any]:
        """The session's resource."""
        in_no_path = "/" in session_id or session_id in ("", ".", "..")
        key = self._id_of(session_id) if in_no_path else quote(session_id, safe="")
        return self._json("GET", f"/v1/sessions/{key}")

    def _id_of(self, label: str) -> str:
        """The id of the only session of a label that can't stand in a path."""
        found = self.sessions(label)
        if len(found) == 1:
            return str(found[0]["id"])
        raise error(
            "invalid_argument" if found else "session_not_found",
            f"{len(found)} sessions have the label {label[:64]!r}",
            "client.sessions() lists all that there are, and attach takes an id too",
        )

    def change(self, session_id: str, body: dict[str, Any]) -> None:
        """Change what the body names."""
        self._send("PATCH", f"/v1/sessions/{session_id}", json=body)

    def delete(self, session_id: str) -> None:
        """End a session; a server that is gone has ended it already."""
        self.forget(session_id)
        self._drop()

    def _drop(self) -> None:
        """End what was forgotten."""
        _drop(self._client, self._forgotten)

    def forget(self, session_id: str) -> None:
        """End a session with the next request: Python forgot it, maybe in the midst of one."""
        self._forgotten.append(session_id)

    def let_go(self, session_id: str) -> None:
        """Nothing: connections are for all sessions."""

    def info(self) -> dict[str, Any]:
        """What the server is and can: version, devices, dtypes, limits."""
        return self._json("GET", "/v1/info")

    def graph(self, session_id: str, format: str, tensor: str | None) -> Any:
        """The graph: json as data, dot, mermaid and svg as text."""
        parameters = {"format": format} | ({"tensor": tensor} if tensor else {})
        reply = self._send("GET", f"/v1/sessions/{session_id}/graph", params=parameters)
        return reply.json() if format == "json" else reply.text

    def program(self, body: dict[str, Any]) -> str:
        """The id of a program that the host knows from now on."""
        return self._programs.put(body)

    def _post_program(self, text: str) -> str:
        json = {"Content-Type": "application/json"}
        return str(self._json("POST", "/v1/programs", content=text, headers=json)["id"])

    def _delete_program(self, key: str) -> None:
        self._send("DELETE", f"/v1/programs/{key}")

    def transform(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """A transform of a program in the body, in one call; for replies without arrays."""
        path = f"/v1/{name}"
        if isinstance(body.get("program"), str):
            path = f"/v1/programs/{body['program']}/{name}"
            body = {key: value for key, value in body.items() if key != "program"}
        return self._json("POST", path, json=body)

    def optimizers(self, session_id: str) -> list[dict[str, Any]]:
        """The session's optimisers; what they keep of parameters as numbers and Received."""
        headers = {"Accept": SAFETENSORS}
        reply = self._send("GET", f"/v1/sessions/{session_id}/optimizers", headers=headers)
        found, arrays = _content(reply)
        for item in found["items"]:
            item["state"] = [
                {n: _received(v, arrays) if isinstance(v, dict) else v for n, v in state.items()}
                for state in item["state"]
            ]
        return found["items"]  # type: ignore[no-any-return]

    def sessions(self, label: str | None = None) -> list[dict[str, Any]]:
        """The caller's sessions, all or those with a label, as resources, oldest first."""
        found: list[dict[str, Any]] = []
        asked = {"limit": "1000"} | ({} if label is None else {"label": label})
        cursor: dict[str, str] = {}
        while True:
            page = self._json("GET", "/v1/sessions", params=asked | cursor)
            found += page["items"]
            if page["next"] is None:
                return found
            cursor = {"cursor": page["next"]}

    def described(self, session_id: str) -> str:
        """What a snapshot says of the session beside its arrays, as JSON."""
        return self._send("GET", f"/v1/sessions/{session_id}/snapshot?data=none").text

    def names(self, session_id: str) -> list[str]:
        """The names of the session's tensors."""
        found = self._json("GET", f"/v1/sessions/{session_id}/tensors")
        return [one["name"] for one in found["items"]]

    def snapshot(self, session_id: str) -> bytes:
        """The session as one safetensors file."""
        headers = {"Accept": SAFETENSORS}
        return self._send("GET", f"/v1/sessions/{session_id}/snapshot", headers=headers).content

    def restore(self, metadata: dict[str, str], arrays: Arrays) -> dict[str, Any]:
        """A session of a snapshot, given as what its file says; its resource."""
        from gradwire_service.host import safetensors

        body, headers = b"".join(safetensors.write(arrays, metadata)), {"Content-Type": SAFETENSORS}
        return self._json("POST", "/v1/sessions", content=body, headers=headers)

    def steps(self, session_id: str, request: Request) -> Values:
        """Do the steps, then read tensors. An interrupted call is made again with its request.

        It goes in parts where the server can't hold the programs of all steps together. What was
        sent and not answered is sent again as it was, by the same key: the server does it once.
        """
        tries = _TRIES
        while True:
            part = request.part or self._part(request)
            request.part = part
            try:
                found = self._answer(session_id, part, request)
            except GradwireError as problem:
                if problem.code in UNANSWERED:
                    raise
                request.done, request.part = request.done + (problem.step or 0), None
                if tries and problem.code == "program_not_found":
                    tries -= 1
                    if self._programs.forgotten(request.steps[request.done :]):  # somebody else
                        continue  # deleted it
                done = request.done
                problem.step = done if done or problem.step is not None else None
                raise
            request.done, request.part = part.end, None
            if part.last:
                return found

    def _part(self, request: Request) -> Part:
        """What goes now of a request: all of it, if it is done whole or not at all."""
        rest = request.steps[request.done :]
        ready = rest[: self._programs.ready(rest, whole=request.atomic)]
        last = len(ready) == len(rest)
        body = request.body | {"steps": ready, "return": request.returns if last else []}
        binary = last and bool(request.returns) and request.data
        end = request.done + len(ready)
        return Part(end, last, body, _carried(request.arrays, ready), binary)

    def imagine(
        self, session_id: str, steps: Sequence[Step], arrays: Arrays, returns: Sequence[str]
    ) -> Values:
        """What tensors would be after some steps: these are done in a copy of the session."""
        copy = self._json("POST", f"/v1/sessions/{session_id}/fork")["id"]
        try:
            return self.steps(copy, Request(steps, returns, arrays))
        finally:
            self.delete(copy)

    def _answer(self, session_id: str, part: Part, request: Request) -> Values:
        """What a part gives; the values are missing where they were answered to nobody."""
        try:
            reply = self._asked(session_id, part, request.data)
        except GradwireError as problem:
            if not problem.detail.startswith(_NOT_KEPT):
                raise
            reply = self._read(session_id, part, request)
        found, received = _content(reply)
        if request.took is not None and "profile" in found:
            request.took.append(found["profile"])
        return _values(found, received)

    def _read(self, session_id: str, part: Part, request: Request) -> Reply:
        """The tensors that are wanted of a part that was done before."""
        body = {"steps": [], "return": request.returns if part.last else []}
        reading = Part(part.end, part.last, body, {}, part.binary)
        return self._asked(session_id, reading, request.data)

    def _asked(self, session_id: str, part: Part, data: bool) -> Reply:
        """The reply to a request for steps. data: whether elements of what is read are wanted."""
        content, kind = encoded(part.body, part.arrays)
        headers = {"Content-Type": kind} | part.key
        if part.binary:
            headers["Accept"] = SAFETENSORS
        url = f"/v1/sessions/{session_id}/steps" + ("" if data else "?data=none")
        if self._direct is None:
            return self._send("POST", url, content=content, headers=headers)
        if self._forgotten:
            self._drop()
        return checked(sent(partial(self._direct.post, url, content, headers), self.url))

    def _send(self, method: str, url: str, **fields: Any) -> httpx.Response:
        if self._forgotten:
            self._drop()
        headers = key_for(method) | fields.pop("headers", {})
        request = self._client.build_request(method, url, headers=headers, **fields)
        try:
            reply = sent(lambda: self._client.send(request), self.url)
        except GradwireError:
            raise
        except BaseException:
            self._connect_anew()
            raise
        return checked(reply)

    def _json(self, method: str, url: str, **fields: Any) -> dict[str, Any]:
        found: dict[str, Any] = self._send(method, url, **fields).json()
        return found


def _drop(client: httpx.Client, sessions: deque[str]) -> None:
    """End sessions; what the server says to it doesn't matter."""
    while sessions:
        with suppress(httpx.HTTPError):
            client.delete(f"/v1/sessions/{sessions.popleft()}", timeout=_BRIEF)


def _end(client: httpx.Client, direct: Direct | None, sessions: deque[str]) -> None:
    _drop(client, sessions)
    client.close()
    if direct is not None:
        direct.close()


def checked(reply: AReply) -> AReply:
    """The reply, unless it is a problem: that is raised."""
    if reply.status_code >= 400:
        raise problem_of(reply)
    return reply


def problem_of(reply: Reply) -> GradwireError:
    """The exception that a problem+json reply stands for."""
    try:
        found = reply.json()
    except ValueError:
        found = {}
    code = found.get("code") if isinstance(found, dict) else None
    if code not in CODES:
        return _of_another(reply)
    raised = _RAISED.get(found.get("raised") or "")
    problem = error(code, found.get("detail", ""), found.get("hint"), raised=raised)
    problem.step, problem.op = found.get("step"), found.get("op")
    problem.request_id = found.get("request_id")
    return problem


def _of_another(reply: Reply) -> GradwireError:
    """The exception for a reply that no gradwire server gave.

    From 502 on it is one of a proxy before it, which had no answer: the request may have been done.
    """
    said = f"the server answered {reply.status_code}: {reply.text[:200]}"
    if reply.status_code < 502:
        return error("internal", said)
    return error(
        "unanswered",
        f"{said}; that is what a proxy says which got no answer itself",
        "go on: the next call asks by the same key whether it was done",
        raised=TimeoutError if reply.status_code == 504 else ConnectionError,
    )


_RAISED: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, MemoryError,
        AttributeError, LookupError, SyntaxError, ArithmeticError, ZeroDivisionError,
        PermissionError, TimeoutError, ConnectionError, LinAlgError,
    )
}  # fmt: skip
"""The class that torch raises in the place of an error, as the server names it."""


def _carried(arrays: Arrays, steps: Sequence[Step]) -> Arrays:
    """The arrays of these steps."""
    needed = {step.get("tensor") for step in steps} if arrays else ()
    return {name: array for name, array in arrays.items() if name in needed}


def encoded(body: dict[str, Any], arrays: Arrays) -> tuple[bytes, str]:
    """A request as bytes, with its arrays if it has any, and the media type."""
    if not arrays:
        return dumps(body, allow_nan=False).encode(), "application/json"
    from gradwire_service.host import safetensors

    carried = {name: _pairs(array) for name, array in arrays.items()}
    return b"".join(safetensors.write(carried, {"request": dumps(body)})), SAFETENSORS


def _pairs(array: np.ndarray) -> np.ndarray:
    """complex128, which the format lacks, as float64 with a last axis of 2."""
    if array.dtype != np.complex128:
        return array
    return array.reshape(*array.shape, 1).view(np.float64)


def _content(reply: Reply) -> tuple[dict[str, Any], Arrays]:
    """A reply as JSON, and the arrays that came with it."""
    if not reply.headers.get("content-type", "").startswith(SAFETENSORS):
        return reply.json(), {}
    from gradwire_service.host import safetensors

    metadata, arrays = safetensors.read(reply.content)
    return loads(metadata["response"]), arrays


def _values(found: dict[str, Any], arrays: Arrays) -> Values:
    values: dict[str, Any] = found["values"]
    return {name: None if v is None else _received(v, arrays) for name, v in values.items()}


def _received(value: dict[str, Any], arrays: Arrays) -> Received:
    dtype, shape = DTYPES[value["dtype"]], tuple(value["shape"])
    array = arrays.get(value.get("binary", ""))
    if array is not None and array.dtype != dtype.numpy:
        array = array.view(dtype.numpy).reshape(shape)
    return Received(
        dtype,
        shape,
        value["requires_grad"],
        value["is_leaf"],
        value["grad_fn"],
        value["version"],
        array,
    )


__all__ = ["SAFETENSORS", "Http", "Part", "checked", "encoded", "problem_of"]
