"""Servers and their clients as sides: one core for the server, another for the client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.messages import PROGRAM, QUESTIONS, STORED
from benchmarks.plain_http import Connection, post
from benchmarks.plain_stream import Stream
from benchmarks.servers import (
    Server,
    bare_command,
    free_port,
    gradwire_command,
    running,
    tesseract_command,
    umbridge_command,
)
from benchmarks.side import Side, all_cores

COMMANDS = {
    "gradwire": gradwire_command,
    "bare": bare_command,
    "tesseract": tesseract_command,
    "umbridge": umbridge_command,
}


_SEVERAL, _FEW = 1000, 1000
"""How many questions a client has, where they are of few numbers."""


def client(question: str, count: int, port: int) -> Callable[[], bytes]:
    """A connection that asks the question at other numbers at each call; one answer is checked.

    So many that no server gets by with remembering what it was asked; large ones are one.
    """
    several = _SEVERAL if count <= _FEW else 1
    asked = [QUESTIONS[question](count, seed) for seed in range(several)]
    exchange = _streamed(port) if question.startswith(STREAMED) else _posted(port)
    sent = [one.request for one in asked]
    if question == STEP:
        key = json.loads(_posted(port)(post("/v1/programs", json.dumps(PROGRAM).encode())))["id"]
        sent = [request.replace(STORED.encode(), key.encode()) for request in sent]
    asked[0].check(exchange(sent[0]))
    requests = cycle(sent)
    return lambda: exchange(next(requests))


STREAMED = "gradwire_stream"
"""The question that goes over a stream, and how others begin that do; all else is posted."""
STEP = "gradwire_stream_step"
"""One of them, which is a step that calls a program."""


def _posted(port: int) -> Callable[[bytes], bytes]:
    connection = Connection(port)
    return lambda request: connection.exchange(request)[1]


def _streamed(port: int) -> Callable[[bytes], bytes]:
    """Messages of a stream of a new session."""
    session = json.loads(_posted(port)(post("/v1/sessions", b"{}")))["id"]
    return Stream(port, f"/v1/sessions/{session}/stream").exchange


def server_core() -> int:
    """The core for servers."""
    return all_cores()[0]


def client_core() -> int:
    """The core for clients: another one where there is another."""
    return all_cores()[-1]


@contextmanager
def served(name: str, reply: tuple[str, bytes] | None = None) -> Iterator[Server]:
    """One of the servers, on the servers' core. reply: what the bare route sends, type first."""
    port = free_port()
    with TemporaryDirectory() as folder:
        extra = None
        if reply is not None:
            path = Path(folder) / "reply"
            path.write_bytes(reply[1])
            extra = {"BARE_REPLY": str(path), "BARE_TYPE": reply[0]}
        with running(COMMANDS[name](port), port, core=server_core(), extra=extra) as server:
            yield server


@contextmanager
def sides(questions: Sequence[str], count: int) -> Iterator[dict[str, Side]]:
    """A side for each question, its server up; the bare route replies as gradwire replied."""
    with ExitStack() as stack:
        found: dict[str, Side] = {}
        answer: tuple[str, bytes] | None = None
        for question in questions:
            name = question.partition("_")[0]
            server = stack.enter_context(served(name, answer if name == "bare" else None))
            if name == "gradwire" and not question.startswith(STREAMED):
                answer = _answer(server.port, question, count)
            found[question] = client_side(
                "benchmarks.exchange:client",
                {"question": question, "count": count, "port": server.port},
            )
        yield found


def client_side(target: str, arguments: dict[str, Any]) -> Side:
    """A side whose process is the client."""
    return Side(target, arguments, cores=(client_core(),), threads=1)


def _answer(port: int, question: str, count: int) -> tuple[str, bytes]:
    connection = Connection(port)
    head, body = connection.exchange(QUESTIONS[question](count).request)
    connection.close()
    for line in head.decode().splitlines():
        if line.lower().startswith("content-type:"):
            return line.partition(":")[2].strip(), body
    return "application/octet-stream", body
