"""Two ways to a host for the command line: in this process, or a server by its URL."""

from __future__ import annotations

from typing import Any

import httpx
import orjson

from gradwire_engine.errors import CODES, GradwireError, error
from gradwire_service.host import graph, picture
from gradwire_service.host.host import Host
from gradwire_service.host.protocol import read
from gradwire_service.host.protocol.requests import OpsRequest, Program, SessionCreate, StepsRequest
from gradwire_service.host.protocol.transforms import ValueAndGradRequest
from gradwire_service.host.sessions import Session
from gradwire_service.http.codec.reply import write_reply

_REQUESTS: dict[str, Any] = {"steps": StepsRequest, "ops": OpsRequest}


class Here:
    """A host in this process."""

    def __init__(self) -> None:
        self.host = Host()
        self.session: Session = self.host.create(SessionCreate())

    def program(self, body: dict[str, Any]) -> str:
        """The id of a program, which is stored."""
        return self.host.programs.put(read(Program, body), {})[0].program.id

    def run(self, call: str, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request, as JSON shows it."""
        if call == "value_and_grad":
            reply = self.host.transform(read(ValueAndGradRequest, body))
        else:
            reply = self.host.run(self.session, read(_REQUESTS[call], body))
        found: dict[str, Any] = orjson.loads(b"".join(write_reply(reply).buffers))
        return found

    def graph(self, form: str) -> str:
        """The graph of the session as a picture or as JSON."""
        data = graph.graph(self.session)
        return orjson.dumps(data).decode() if form == "json" else picture.DRAW[form](data)


class There:
    """A server."""

    def __init__(self, url: str, key: str | None) -> None:
        self.client = client_of(url, key, timeout=300)
        self.session = f"/v1/sessions/{self._send('POST', '/v1/sessions', json={}).json()['id']}"

    def program(self, body: dict[str, Any]) -> str:
        """The id of a program, which is stored, and stays: others may have posted the same."""
        return str(self._send("POST", "/v1/programs", json=body).json()["id"])

    def run(self, call: str, body: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request."""
        path = "/v1/value_and_grad" if call == "value_and_grad" else f"{self.session}/{call}"
        found: dict[str, Any] = self._send("POST", path, json=body).json()
        return found

    def graph(self, form: str) -> str:
        """The graph of the session as a picture or as JSON."""
        return self._send("GET", f"{self.session}/graph", params={"format": form}).text

    def close(self) -> None:
        """Close the session and the connection."""
        self._send("DELETE", self.session)
        self.client.close()

    def _send(self, method: str, path: str, **fields: Any) -> httpx.Response:
        return answered(self.client, method, path, **fields)


Door = Here | There
"""Either; everything happens in one new session."""


def client_of(url: str, key: str | None, timeout: float) -> httpx.Client:
    """A connection to what --server names, which sends the key. timeout: seconds."""
    headers = {} if key is None else {"authorization": f"Bearer {key}"}
    return httpx.Client(base_url=server_url(url), headers=headers, timeout=timeout)


def answered(client: httpx.Client, method: str, path: str, **fields: Any) -> httpx.Response:
    """A server's answer, if it gives one that is no refusal."""
    try:
        reply = client.request(method, path, **fields)
    except httpx.HTTPError as problem:
        raise error(
            "unreachable", f"no answer from {client.base_url}: {problem}", "is the server running?"
        ) from None  # fmt: skip
    if reply.is_error:
        raise problem_of(reply)
    return reply


def server_url(url: str) -> str:
    """What --server says, if it can be the URL of one."""
    if not url.startswith(("http://", "https://")):
        raise error(
            "invalid_argument",
            f"--server: {url!r} is no URL of a server",
            f"write http://{url}" if "://" not in url else "it begins with http:// or https://",
        )
    return url.rstrip("/")


def problem_of(reply: httpx.Response) -> GradwireError:
    """The error that a server answered with."""
    try:
        found = reply.json()
    except ValueError:
        found = {}
    code = found.get("code")
    if code not in CODES:
        return error("internal", f"the server answered with status {reply.status_code}")
    raised = error(code, found["detail"], found["hint"])
    raised.step, raised.op = found["step"], found["op"]
    return raised
