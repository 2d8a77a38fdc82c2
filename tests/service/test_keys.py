"""Keys: made, listed and revoked on the command line, kept by their hash, checked by a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from tests.service.conftest import Running
from tests.service.test_cli import installed, run, serving

from gradwire_engine.errors import GradwireError
from gradwire_service.keys import KeyFile, Ring

ONE, TWO, THREE, FOUR = (f"{name}-key-of-the-tests" for name in ("one", "two", "three", "four"))


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def status(server: Running, key: str) -> int:
    return server.client.get("/v1/sessions", headers=bearer(key)).status_code


def test_a_key_is_made_listed_and_revoked(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    made = installed("keys", "create", "alice", "--file", file, "--note", "laptop")
    key = made.stdout.strip()
    assert key.startswith("gw_")
    assert len(key) >= 43
    assert "alice" in made.stderr
    assert key not in made.stderr
    assert key not in file.read_text()
    assert key.removeprefix("gw_") not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    shown = run("keys", "list", GRADWIRE_KEYS_FILE=str(file)).stdout
    assert "alice" in shown
    assert "laptop" in shown
    key_id = json.loads(file.read_text())["keys"][0]["id"]
    assert key_id in shown
    assert run("keys", "revoke", key_id, "--file", file).returncode == 0
    assert KeyFile(file).rows() == []
    refused = run("keys", "revoke", key_id, "--file", file)
    assert (refused.returncode, "there is no key" in refused.stderr) == (1, True)


@pytest.mark.parametrize("tenant", ["", "a b", "../x", "a" * 65, "*", "ä"])
def test_odd_names_of_tenants_are_refused(tmp_path: Path, tenant: str) -> None:
    with pytest.raises(GradwireError, match="no name for a tenant"):
        KeyFile(tmp_path / "keys").create(tenant)
    with pytest.raises(GradwireError, match="no name for a tenant"):
        Ring([f"{tenant}:{'k' * 16}"])


@pytest.mark.parametrize("key", ["", "alice:", "alice: ", "short", f"alice:{'k' * 15}"])
def test_keys_that_can_be_guessed_are_refused(key: str) -> None:
    with pytest.raises(GradwireError, match=r"has (0|5|15) characters") as raised:
        Ring([key])
    assert "k" * 15 not in str(raised.value)
    Ring([f"alice:{'k' * 16}"])


def test_a_server_does_not_start_with_them() -> None:
    refused = run("serve", "--port", 0, GRADWIRE_KEYS="alice:,bob:" + "k" * 16)
    assert refused.returncode == 1
    assert "the key of 'alice' has 0 characters" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_keys_made_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: KeyFile(file).create(f"t{i}"), range(24)))
    assert {row.tenant for row in KeyFile(file).rows()} == {f"t{i}" for i in range(24)}


def test_a_revoked_key_is_refused_at_once(serve: Callable[..., Running], tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    first, row = keys.create("alice")
    server = serve(keys_file=keys.path)
    assert status(server, first) == 200
    second, _ = keys.create("bob")
    assert status(server, second) == 200
    keys.revoke(row.id)
    assert (status(server, first), status(server, second)) == (401, 200)
    keys.path.write_text("{broken")
    assert (status(server, first), status(server, second)) == (401, 200)
    keys.path.unlink()
    assert status(server, second) == 401


def test_keys_of_the_environment_have_tenants(serve: Callable[..., Running]) -> None:
    server = serve(keys=[f"alice:{ONE}", f"alice:{TWO}", THREE, FOUR])
    session = server.client.post("/v1/sessions", json={}, headers=bearer(ONE)).json()["id"]
    path = f"/v1/sessions/{session}"
    found = {
        key: server.client.get(path, headers=bearer(key)).status_code
        for key in (ONE, TWO, THREE, FOUR)
    }
    assert found == {ONE: 200, TWO: 200, THREE: 404, FOUR: 404}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2, "keys": []}', '{"version": 1, "keys": [{"id": 1}]}',
             '{"version": 1, "keys": [{"id": "a", "tenant": "a", "hash": "zz", "created": 1}]}'],
)  # fmt: skip
def test_a_broken_file_is_no_file_of_keys(tmp_path: Path, text: str) -> None:
    file = tmp_path / "keys.json"
    file.write_text(text)
    refused = run("serve", "--port", 0, "--keys-file", file)
    assert refused.returncode == 1
    assert str(file) in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_server_with_a_file_of_keys(tmp_path: Path) -> None:
    key, _ = KeyFile(tmp_path / "keys.json").create("alice")
    options = ("--host", "0.0.0.0", "--port", 0, "--keys-file", tmp_path / "keys.json")
    with serving(*options, "--log", "json") as (process, url):
        url = url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.post(f"{url}/v1/sessions", json={}).status_code == 401
        assert httpx.post(f"{url}/v1/sessions", json={}, headers=bearer(key)).status_code == 201
        assert httpx.get(f"{url}/metrics").status_code == 401
        process.terminate()
        logged = process.communicate(timeout=30)[1]
    assert '"tenant":"alice"' in logged
    assert key not in logged
    assert run("serve", "--port", 0, "--keys-file", tmp_path / "nope").returncode == 1
