"""Bytes that a request is lent: counted for its tenant, and given back whatever happens."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.service.conftest import Running
from tests.service.test_stream import until

from gradwire_engine.errors import GradwireError
from gradwire_service.host.ledger import Ledger, Loan
from gradwire_service.host.limits import Limits

MIB = 2**20


def test_a_loan_goes_back_whole() -> None:
    above = Ledger(100)
    ledger = Ledger(60, above, "tenant")
    loan = Loan(ledger)
    loan.take(40)
    loan.take(-10)
    assert (loan.held, ledger.held, above.held) == (30, 30, 30)
    with pytest.raises(GradwireError, match="the tenant's limit of 60 bytes"):
        loan.take(31)
    loan.end()
    assert (ledger.held, above.held) == (0, 0)


def test_none_is_taken_behind_its_end() -> None:
    """A thread that still reads for a request that is gone takes nothing that stays."""
    ledger = Ledger(100)
    loan = Loan(ledger)
    loan.take(20)
    loan.end()
    with pytest.raises(GradwireError) as raised:
        loan.take(1)
    assert raised.value.code == "deadline_exceeded"
    loan.take(-20)
    loan.end()
    assert ledger.held == 0


def test_one_that_has_lent_stays_where_it_lent() -> None:
    one, other = Ledger(100), Ledger(100)
    loan = Loan(one)
    loan.move(other)
    loan.take(5)
    loan.move(one)
    assert (one.held, other.held) == (0, 5)
    loan.end()
    assert other.held == 0


def test_threads_that_take_while_it_ends_leave_nothing() -> None:
    ledger = Ledger(10**9)
    for _ in range(200):
        loan, start = Loan(ledger), threading.Barrier(3)

        def take(loan: Loan = loan, start: threading.Barrier = start) -> None:
            start.wait()
            try:
                for _ in range(20):
                    loan.take(7)
            except GradwireError:
                pass

        with ThreadPoolExecutor(2) as pool:
            pool.submit(take), pool.submit(take)
            start.wait()
            loan.end()
        loan.end()
        assert ledger.held == 0


def test_who_hangs_up_while_a_body_is_opened_leaves_nothing(
    serve: Callable[..., Running],
) -> None:
    """The thread that decompresses goes on for a while, and its bytes are nobody's."""
    server = serve(Limits(body_bytes=64 * MIB))
    before = server.service.host.ledger.held
    body = gzip.compress(b" " * (64 * MIB - 2) + b"{}", 1)
    head = (
        "POST /v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head.encode() + body)
    until(lambda: not server.service.underway)
    until(lambda: server.service.host.ledger.held == before)
    assert server.client.get("/health/ready").status_code == 200
