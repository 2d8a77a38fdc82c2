"""Every bad request with a program is refused as the table says, and changes nothing."""

from __future__ import annotations

import pytest
from tests.service.bad_programs import PROGRAMS, TABLE
from tests.service.bad_requests import Bad
from tests.service.conftest import Client, Running
from tests.service.state import dump
from tests.service.test_bad_requests import assert_problem


@pytest.fixture(scope="module")
def prepared(server: Running) -> Client:
    session = server.session(label="programs")
    session.steps(
        {"seed": 7},
        {"tensor": "x", "value": [1.0, 2.0, 3.0], "requires_grad": True},
        {"tensor": "n", "value": [0.5, 1.5, 2.5]},
        {"tensor": "i", "value": [0, 2]},
        {"op": "exp", "args": ["x"], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "z"},
        {"backward": {"tensors": ["z"], "retain_graph": True}},
    )
    return session


@pytest.fixture(scope="module")
def ids(server: Running) -> dict[str, str]:
    """The ids of the stored programs, and one that nobody has."""
    found = {"self": "p_ffffffffffffffffffffffffffffffff"}
    for name, program in PROGRAMS.items():
        reply = server.client.post("/v1/programs", json=program)
        assert reply.status_code in (200, 201), reply.text
        found[name] = reply.json()["id"]
    return found


def test_each_case_has_a_name_of_its_own() -> None:
    assert len({case.name for case in TABLE}) == len(TABLE)


@pytest.mark.parametrize("case", TABLE, ids=lambda case: case.name)
def test_refused(server: Running, prepared: Client, ids: dict[str, str], case: Bad) -> None:
    path, body = case.path.replace("{s}", prepared.path), case.body.decode()
    for name, key in ids.items():
        path, body = path.replace(f"{{{name}}}", key), body.replace(f"{{{name}}}", key)
    host = server.service.host
    before, held = dump(host, prepared.id), exactly_held(server, prepared)
    reply = server.client.request(case.method, path, content=body, headers=case.headers)
    assert (reply.status_code, reply.json().get("code")) == (case.status, case.code), reply.text
    assert_problem(reply)
    assert dump(host, prepared.id) == before
    assert exactly_held(server, prepared) == held


def exactly_held(server: Running, session: Client) -> tuple[list[str], int, int]:
    """The programs, how many sessions there are, and bytes, counted anew."""
    host = server.service.host
    with host.using(session.id) as counted:
        counted.describe()
    return [s.program.id for s in host.programs.all()], len(host.sessions()), host.ledger.held
