"""Messages that are answered where they are read: in order, once, whatever else comes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from io import StringIO
from random import Random

import pytest
from tests.service.conftest import Client, Running, until
from tests.service.streams import packed, streaming
from tests.service.test_http_lanes import SLOW
from tests.service.test_stream_hostile import Raw, frame
from websockets.exceptions import ConnectionClosed

from gradwire_service.http.stream import stream as streams

ADD = {"op": "add_", "args": ["x", 1]}


def sent(key: int, *steps: object) -> bytes:
    """A message that counts on, or these steps."""
    body = {"id": key, "steps": steps or [ADD], "return": ["x"]}
    return frame(0x81, json.dumps(body).encode())


def replies(raw: Raw, count: int) -> list[dict[str, object]]:
    """The next ones, which are short."""
    received, found = b"", []
    while len(found) < count:
        came = raw.socket.recv(65536)
        assert came, "the server has closed"
        received += came
        while len(received) > 4:
            size, start = received[1], 2
            if size == 126:
                size, start = int.from_bytes(received[2:4], "big"), 4
            if len(received) < start + size:
                break
            if received[0] == 0x81:
                found.append(json.loads(received[start : start + size]))
            received = received[start + size :]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_order_is_theirs_wherever_what_comes_is_cut(server: Running, seed: int) -> None:
    random = Random(seed)
    messages = [sent(1, {"tensor": "x", "value": 0.0})] + [sent(i) for i in range(2, 60)]
    messages[20:20] = [frame(0x89, b"ping"), sent(100, *SLOW, ADD)]
    whole, at = b"".join(messages), 0
    with Raw(server) as raw:
        while at < len(whole):
            size = random.choice((1, len(messages[1]), len(messages[1]), 300))
            raw.send(whole[at : at + size])
            at += size
            time.sleep(random.choice((0, 0, 0.002)))
        found = replies(raw, 60)
    assert [reply["id"] for reply in found] == [*range(1, 21), 100, *range(21, 60)]
    numbers = [reply["values"]["x"]["data"] for reply in found]  # type: ignore[index]
    assert numbers == [float(number) for number in range(60)]


def test_an_answer_is_one_write(server: Running) -> None:
    with Raw(server) as raw:
        for steps in ([{"tensor": "x", "value": [0.5] * 200}], [{"op": "none"}]):
            raw.send(sent(7, *steps))
            found = raw.socket.recv(65536)
            assert found[:2] == b"\x81\x7e"
            assert len(found) == 4 + int.from_bytes(found[2:4], "big")
            assert json.loads(found[4:])["id"] == 7


def test_small_messages_that_come_alone_begin_where_they_are_read(
    serve: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as few do in one turn of the event loop."""
    server = serve()
    asked: list[bool] = []
    may_begin = server.service.may_begin
    with streaming(server, server.session()) as stream:
        monkeypatch.setattr(server.service, "may_begin", lambda: asked.append(may_begin()) or True)
        for _ in range(5):
            stream.ask({"tensor": "x", "value": [1.0]})
            stream.send(packed(stream.message(), {}))
            assert isinstance(stream.connection.recv(30), bytes)
        assert asked == [True] * 10
        stream.ask({"tensor": "x", "value": [0.5] * 10_000})
        assert len(asked) == 10
        monkeypatch.setattr(server.service, "may_begin", lambda: False)
        assert stream.values(returns=("x",)) == {"x": [0.5] * 10_000}


def test_what_waits_for_a_thread_is_waited_for(server: Running, session: Client) -> None:
    """Of those behind it none begins before; a message of another stream does."""
    session.steps({"tensor": "x", "value": 0.0})
    other = server.session()
    with streaming(server, session) as stream, streaming(server, other) as beside:
        for key in range(3):
            for steps in ([*SLOW, ADD], [ADD], [ADD]):
                stream.send({"id": key, "steps": steps, "return": ["x"]})
                assert beside.ask()["values"] == {}
        found = [stream.take()["values"]["x"]["data"] for _ in range(9)]
    assert found == [float(number) for number in range(1, 10)]
    until(lambda: server.service.underway == 0)


def test_a_fault_of_ours_closes_the_stream_and_is_logged(
    serve: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(log="json")
    written = StringIO()
    monkeypatch.setattr(server.service.log, "_stream", written)
    with streaming(server, server.session()) as stream:
        assert stream.ask()["values"] == {}
        monkeypatch.delattr(streams, "framed")
        with pytest.raises(ConnectionClosed) as closed:
            stream.ask()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1011
    assert "NameError" in written.getvalue()
    until(lambda: not server.service.everybody.streams)
    assert server.service.underway == 0
