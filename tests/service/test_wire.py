"""Short messages past the parser of frames: the same messages, wherever what comes is cut."""

from __future__ import annotations

import struct
from random import Random

import pytest
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.uri import parse_uri

from gradwire_service.http.stream.wire import Wire, framed

LONGEST = 2**17


def opened(longest: int = LONGEST) -> Wire:
    """A protocol whose handshake is done."""
    client, wire = ClientProtocol(parse_uri("ws://here/")), Wire(longest)
    client.send_request(client.connect())
    wire.receive_data(b"".join(client.data_to_send()))
    (request,) = wire.events_received()
    wire.send_response(wire.accept(request))
    assert wire.state is State.OPEN
    return wire


def sent(data: bytes, opcode: Opcode = Opcode.TEXT, fin: bool = True) -> bytes:
    """A frame as clients send it, with a mask."""
    return Frame(opcode, data, fin).serialize(mask=True)


def longer(data: bytes) -> bytes:
    """The same with a head that is longer than need be, which the parser takes."""
    return struct.pack("!BBQ", 0x81, 0xFF, len(data)) + bytes(4) + data


def some_frames(random: Random) -> bytes:
    """What a message comes in, or something between messages."""
    data = random.randbytes(random.choice((0, 1, 20, 125, 126, 300, 40_000)))
    kind = random.choice((Opcode.TEXT, Opcode.BINARY))
    which = random.random()
    if which < 0.1:
        return sent(data[:100], random.choice((Opcode.PING, Opcode.PONG)))
    if which < 0.2:
        pieces = sent(data, kind, fin=False) + sent(b"", Opcode.PING)
        return pieces + sent(data, Opcode.CONT, fin=False) + sent(b"end", Opcode.CONT)
    return longer(data) if which < 0.21 else sent(data, kind)


def cut(random: Random, frames: list[bytes]) -> list[bytes]:
    """The frames as they might come: alone, joined, in halves."""
    found: list[bytes] = []
    for frame in frames:
        place = random.randrange(len(frame)) if random.random() < 0.2 else 0
        if found and random.random() < 0.2:
            found[-1] += frame
        else:
            found += [part for part in (frame[:place], frame[place:]) if part]
    return found


def read(wire: Wire, pieces: list[bytes], short: bool) -> tuple[list[tuple[int, bytes]], int]:
    """What came, and how often the parser wasn't asked."""
    found: list[tuple[int, bytes]] = []
    alone, inside = 0, False
    for piece in pieces:
        message = wire.alone(piece) if short and not inside else None
        if message is not None:
            alone += 1
            found.append((Opcode.BINARY if message.binary else Opcode.TEXT, message.data))
            continue
        wire.receive_data(piece)
        for event in wire.events_received():
            found.append((event.opcode, bytes(event.data)))
            if event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                inside = not event.fin
    assert wire.parser_exc is None
    return found, alone


@pytest.mark.parametrize("seed", range(40))
def test_the_same_messages_with_the_parser_and_past_it(seed: int) -> None:
    random = Random(seed)
    pieces = cut(random, [some_frames(random) for _ in range(60)])
    with_parser, _ = read(opened(), pieces, short=False)
    past_it, alone = read(opened(), pieces, short=True)
    assert past_it == with_parser
    assert alone or seed


def test_what_comes_alone_is_read_past_the_parser() -> None:
    wire = opened()
    pieces = [sent(b"a" * n) for n in (1, 125, 126, 30_000)] + [sent(b"b", Opcode.BINARY)] * 3
    found, alone = read(wire, pieces, short=True)
    assert alone == len(found) == 7
    halves = [pieces[1][:50], pieces[1][50:], pieces[0]]
    found, alone = read(wire, halves, short=True)
    assert (len(found), alone) == (2, 1)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x81", b"\x81\x82abcd", b"\x81\x02hi", b"\x01\x82abcdhi", b"\xc1\x82abcdhi",
        b"\x80\x82abcdhi", b"\x83\x82abcdhi", b"\x89\x82abcdhi", b"\x88\x82abcdhi",
        b"\x81\x82abcdhi!", b"\x81\x83abcdhi", sent(b""), longer(b"a" * 300),
        b"\x81\xff" + (300).to_bytes(2, "big") + bytes(6 + 4) + b"a" * 300, sent(b"a" * 40_000),
        sent(b"a") + sent(b"a"),
    ],
    ids=lambda data: f"{len(data)} bytes",  # masks are drawn anew in each process
)  # fmt: skip
def test_what_is_no_short_message_alone_is_the_parsers(data: bytes) -> None:
    assert opened().alone(data) is None


def test_within_a_frame_and_behind_an_end_all_is_the_parsers() -> None:
    wire, message = opened(), sent(b"hello")
    for first in (b"\x81", sent(b"a" * 50)[:-1], message + b"\x81"):
        wire = opened()
        wire.receive_data(first)
        wire.events_received()
        assert wire.alone(message) is None
    wire = opened()
    wire.receive_data(sent(struct.pack("!H", 1000), Opcode.CLOSE))
    wire.events_received()
    assert wire.alone(message) is None
    assert Wire(LONGEST).alone(message) is None
    assert opened(longest=4).alone(message) is None
    assert opened(longest=5).alone(message) is not None


def test_what_comes_with_the_handshake_is_counted() -> None:
    client, wire = ClientProtocol(parse_uri("ws://here/")), Wire(LONGEST)
    client.send_request(client.connect())
    message = sent(b"hello")
    wire.receive_data(b"".join(client.data_to_send()) + message[:3])
    (request,) = wire.events_received()
    wire.send_response(wire.accept(request))
    assert wire.alone(message) is None
    wire.receive_data(message[3:])
    assert [event.data for event in wire.events_received()] == [b"hello"]
    assert wire.alone(message) is not None


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 300, 65_535, 65_536])
@pytest.mark.parametrize("binary", [False, True])
def test_a_short_message_as_a_frame(size: int, binary: bool) -> None:
    data = bytes(range(256)) * 256 + b"!"
    found = framed([data[:100][:size], memoryview(data)[100:size]], size, binary)
    opcode = Opcode.BINARY if binary else Opcode.TEXT
    wanted = Frame(opcode, data[:size]).serialize(mask=False)
    assert found == (wanted if size < 2**16 else None)
