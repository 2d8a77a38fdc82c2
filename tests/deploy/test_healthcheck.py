"""The image's health check against servers that are well, unwell, silent, and not there."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "deploy/healthcheck.py"


@contextmanager
def answering(reply: bytes | None) -> Iterator[int]:
    """Serve one connection on a free loopback port: send `reply`, or nothing where it is None."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = threading.Event()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                if reply is None:
                    done.wait(10)
                else:
                    connection.sendall(reply)

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            done.set()
            thread.join()


def check(port: int) -> int:
    return subprocess.run([sys.executable, "-I", SCRIPT, str(port)]).returncode


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 0),
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", 1),
        (b"SSH-2.0-OpenSSH_9.2\r\n", 1),
        (b"", 1),
    ],
)
def test_only_a_ready_server_is_healthy(reply: bytes, status: int) -> None:
    with answering(reply) as port:
        assert check(port) == status


def test_a_silent_server_is_unhealthy_within_the_checks_timeout() -> None:
    began = time.monotonic()
    with answering(None) as port:
        assert check(port) == 1
    assert time.monotonic() - began < 3


def test_no_server_is_unhealthy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert check(port) == 1
