"""The campaign: work until the server dies, start it again, look at everything, go on."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any
from uuid import UUID

import httpx
import numpy as np
from tests.service.crash.process import TLS, Process
from tests.service.crash.reference import Asked, Reference, Told, program
from tests.service.crash.work import PROGRAM, request

from gradwire_service.host import safetensors
from gradwire_service.host.host import Host

FAULTS = (
    "", "", "after-commit:kill:0.05", "before-commit:kill:0.05", "snapshot:kill:0.5",
    "file:kill:0.3", "before-commit:full:0.2,file:full:0.2,snapshot:full:0.3",
    "after-commit:full:0.2,before-commit:odd:0.1", "after-commit:full:0.3,outcome:full:0.5",
    "after-commit:full:0.3,outcome:full:0.5,outcome:kill:0.05",
)  # fmt: skip
"""What may happen inside of the server, beside the kill from outside."""
_ENVIRONMENT = {"GRADWIRE_PARK_SECONDS": "0.3", "GRADWIRE_SNAPSHOT_CHANGES": "25"}
_REFUSED = (503, 507)
_CLIENTS = 4
_IN_DOUBT = "outcome"
"""Among the faults it leaves a request undecided: who is refused has to ask again."""
_AS_COMMAND = 0.1
"""How many servers are the command itself, and not forked."""
_PATIENCE = 10.0
"""Seconds after which a server is killed, however little it did."""


class Client:
    """A session, what it must be, and the request whose answer never came."""

    def __init__(self, reference: Reference, session: str, draw: Random) -> None:
        self.reference, self.session, self.draw = reference, session, draw
        self.pending: tuple[Asked, str] | None = None
        self.counts: Counter[str] = Counter()
        self.wrong: BaseException | None = None
        self.insists = False  # asks again where it is refused, with the same key

    def work(self, http: httpx.Client, program_id: str) -> None:
        """Ask until the server is gone."""
        try:
            while True:
                asked = request(self.draw, self.reference, program_id)
                self.pending = asked, str(UUID(int=self.draw.getrandbits(128)))
                reply = send(http, self.session, *self.pending)
                while self.insists and reply.status_code in _REFUSED:
                    self.counts["refused"] += 1
                    reply = send(http, self.session, *self.pending)
                self._answered(asked, reply)
                self.pending = None
        except httpx.HTTPError:
            return
        except BaseException as problem:
            self.wrong = problem

    def _answered(self, asked: Asked, reply: httpx.Response) -> None:
        if reply.status_code in _REFUSED:
            self.counts["refused"] += 1
            return
        expected = self.reference.apply(asked)
        assert told(asked, reply) == expected, (asked, reply.text, expected)
        self.counts["answered"] += 1

    def look(self, http: httpx.Client) -> None:
        """After a restart: the session is as before the unanswered request, or as after it."""
        before, found = self.reference.dump(), dump(http, self.session)
        if self.pending is None:
            assert found == before, "acknowledged work is gone"
            return
        asked, key = self.pending
        expected = self.reference.apply(asked)
        after = self.reference.dump()
        assert found in (before, after), f"half of {asked} is there"
        reply = send(http, self.session, asked, key)
        while reply.status_code in _REFUSED:
            self.counts["refused"] += 1
            reply = send(http, self.session, asked, key)
        assert told(asked, reply) == expected, (asked, reply.text, expected)
        if found == after and before != after:
            assert reply.headers.get("idempotency-replayed") == "true"
            self.counts["replayed"] += 1
        assert dump(http, self.session) == after, "the retry did more than the first"
        self.counts["retried"] += 1
        self.pending = None


def send(http: httpx.Client, session: str, asked: Asked, key: str) -> httpx.Response:
    """The request over HTTP."""
    headers = {"Idempotency-Key": key}
    path = f"/v1/sessions/{session}{asked.path}"
    if isinstance(asked.body, np.ndarray):
        text = '{"value": {"binary": "value"}, "requires_grad": true}'
        body = b"".join(map(bytes, safetensors.write({"value": asked.body}, {"request": text})))
        headers["content-type"] = "application/x-safetensors"
        return http.request(asked.method, path, content=body, headers=headers)
    return http.request(asked.method, path, json=asked.body, headers=headers)


def told(asked: Asked, reply: httpx.Response) -> Told:
    """What an answer says that has to be the same again."""
    if reply.status_code >= 400:
        problem = reply.json()
        return Told(reply.status_code, [problem["code"], problem["step"]])
    silent = asked.method in ("PATCH", "DELETE")
    return Told(200, None if silent else reply.json())


def dump(http: httpx.Client, session: str) -> Any:
    """Everything that the service shows of a session, as the reference shows it."""
    path = f"/v1/sessions/{session}"
    names = [item["name"] for item in _got(http, f"{path}/tensors")["items"]]
    returns = names + [f"{name}.grad" for name in names]
    body = {"steps": [], "return": returns}
    reply = http.post(f"{path}/steps", params={"data": "base64"}, json=body)
    assert reply.status_code == 200, reply.text
    return [reply.json()["values"], _got(http, f"{path}/optimizers"), _got(http, path)["label"]]


def _got(http: httpx.Client, path: str) -> Any:
    reply = http.get(path)
    assert reply.status_code == 200, reply.text
    return reply.json()


def run(data: str, kills: int, seed: int, tick: Callable[[], object] = int) -> Counter[str]:
    """Kill a server so often; what was counted. Raises AssertionError at the first wrong thing."""
    draw, host, clients = Random(seed), Host(), []
    counts: Counter[str] = Counter()
    program(host, PROGRAM)
    for number in range(kills + 1):
        faults = draw.choice(FAULTS) if number else ""
        server = Process(data, (), "", draw.random() < _AS_COMMAND, **_ENVIRONMENT)
        program_id = server.client.post("/v1/programs", json=PROGRAM).json()["id"]
        try:
            _look(server, clients)
        except AssertionError as problem:
            raise AssertionError(f"{problem}\n{server.said()}") from problem
        if number == kills:
            server.stop()
            break
        before, clients = clients, _changed(draw, server, host, clients)
        counts += sum([c.counts for c in before if c not in clients], Counter())
        server.plan(faults)  # what is looked at above has to be answered; now anything may happen
        for client in clients:
            client.insists = _IN_DOUBT in faults or draw.random() < 0.3
        _work_until_killed(draw, server, clients, program_id)
        counts["kills"] += 1
        tick()
    for client in clients:
        counts += client.counts
    return counts


def _look(server: Process, clients: list[Client]) -> None:
    for client in clients:
        client.look(server.client)
    listed = {item["id"] for item in _got(server.client, "/v1/sessions?limit=1000")["items"]}
    assert listed == {client.session for client in clients}, "sessions are missing, or too many"


def _changed(draw: Random, server: Process, host: Host, clients: list[Client]) -> list[Client]:
    """The clients that go on: sessions end, are forked, restored, begun."""
    kept = list(clients)
    if len(kept) == _CLIENTS:
        gone = kept.pop(draw.randrange(_CLIENTS))
        assert server.client.delete(f"/v1/sessions/{gone.session}").status_code == 204
    while len(kept) < _CLIENTS:
        kept.append(_new(draw, server.client, host, kept))
    return kept


def _new(draw: Random, http: httpx.Client, host: Host, others: list[Client]) -> Client:
    own, kind = Random(draw.getrandbits(64)), draw.random()
    if others and kind < 0.4:
        other = draw.choice(others)
        reply, reference = http.post(f"/v1/sessions/{other.session}/fork"), other.reference.forked()
    elif others and kind < 0.6:
        other = draw.choice(others)
        file = http.get(f"/v1/sessions/{other.session}/snapshot").content
        media = {"content-type": "application/x-safetensors"}
        reply = http.post("/v1/sessions", content=file, headers=media)
        reference = other.reference.restored()
    else:
        fields = {"seed": own.randrange(1000), "durable": True}
        reply = http.post("/v1/sessions", json=fields)
        reference = Reference.made(host, fields)
    assert reply.status_code == 201, reply.text
    return Client(reference, reply.json()["id"], own)


def _work_until_killed(
    draw: Random, server: Process, clients: list[Client], program_id: str
) -> None:
    """Everybody works; sooner or later the server is no more."""
    threads = []

    def answers() -> int:
        return sum(client.counts["answered"] for client in clients)

    with httpx.Client(base_url=server.url, timeout=60, verify=TLS) as http:
        for client in clients:
            thread = threading.Thread(target=client.work, args=(http, program_id))
            thread.start()
            threads.append(thread)
        enough = answers() + draw.choice([0, 1, 4, 15, 60])
        end = time.monotonic() + _PATIENCE
        while answers() < enough and time.monotonic() < end and server.process.poll() is None:
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.01))
        if draw.random() < 0.1:
            server.stop()  # in order: also nobody's work is lost
        else:
            server.kill()
        for thread in threads:
            thread.join(60)
    for client in clients:
        if client.wrong is not None:
            raise AssertionError(f"{client.wrong}\n{server.said()}") from client.wrong
