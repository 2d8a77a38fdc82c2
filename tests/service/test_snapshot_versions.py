"""Snapshots that older versions wrote: read, and the sessions go on as those of today.

The files in `version_1` are of the same names and steps as the kinds, written before version 2.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import Client, Running
from tests.service.snapshots import FILE, KINDS, op, restore, taken
from tests.service.test_http_snapshot import continued, everything

from gradwire_engine.tensor import TURNED
from gradwire_service.host import safetensors

FILES = Path(__file__).with_name("version_1")


def older(http: Any, name: str) -> Client:
    """A session out of a file of version 1."""
    return restore(http, (FILES / f"{name}.safetensors").read_bytes())


def metadata(snapshot: bytes) -> dict[str, str]:
    return dict(safetensors.read(snapshot)[0])


def undrawn(replies: list[Any]) -> list[Any]:
    """The same without what was drawn at the end: sessions of no seed have one of their own."""
    del replies[-1]["values"]["r"]
    return replies


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_of_version_1_goes_on_as_one_of_today(server: Running, kind: str) -> None:
    today, found = KINDS[kind](server), older(server.client, kind)
    assert everything(found) == everything(today)
    assert undrawn(continued(found)) == undrawn(continued(today))
    assert metadata(taken(found))["gradwire_snapshot"] == "3"


@pytest.mark.parametrize("kind", KINDS)
def test_version_2_is_the_same_without_a_digest(server: Running, kind: str) -> None:
    today = KINDS[kind](server)
    first = taken(today)
    said, arrays = safetensors.read(first)
    second = {"gradwire_snapshot": "2", "session": said["session"]}
    found = restore(server.client, b"".join(map(bytes, safetensors.write(arrays, second))))
    assert taken(found) == first
    assert everything(found) == everything(today)


def test_flags_of_version_1_have_moved(server: Running) -> None:
    found = older(server.client, "writes_of_inference")
    assert found.get("/tensors/d").json()["version"] == 3
    found.steps(op("add_", "d", 1))
    assert found.get("/tensors/d").json()["version"] == 4
    tensors = server.service.host.session(found.id).tensors
    assert {name for name, t in tensors.items() if t.flags & TURNED} == {"v", "turned"}
    found.steps(op("mul", "turned", 2, out="like"), op("view", "like", [3, 2], out="same"))
    found.steps(op("t", "like", out="rows"), op("view", "rows", [6], out="row"))
    assert found.data("row") == [2, 4, 6, 8, 10, 12]


def test_other_versions_are_refused(server: Running) -> None:
    said, arrays = safetensors.read((FILES / "a_freed_graph.safetensors").read_bytes())
    for version in ("0", "4", "", "1.0"):
        buffers = safetensors.write(arrays, {**said, "gradwire_snapshot": version})
        body = b"".join(map(bytes, buffers))
        reply = server.client.post("/v1/sessions", content=body, headers=FILE)
        assert (reply.status_code, reply.json()["code"]) == (422, "snapshot_incompatible")
        assert "reads '1', '2', '3'" in reply.json()["detail"]


@pytest.mark.parametrize("cells", [None, 1, [1], [[]], [[["tensor"]]], [["tensor"] * 7], {"a": 1}])
def test_what_only_says_to_be_of_version_1_is_refused(server: Running, cells: Any) -> None:
    said, arrays = safetensors.read((FILES / "a_freed_graph.safetensors").read_bytes())
    data = json.loads(said["session"])
    data["graph"] = data["graph"] | {"cells": cells} if cells is not None else None
    buffers = safetensors.write(arrays, {**said, "session": json.dumps(data)})
    body = b"".join(map(bytes, buffers))
    reply = server.client.post("/v1/sessions", content=body, headers=FILE)
    assert (reply.status_code, reply.json()["code"]) == (422, "snapshot_incompatible")
