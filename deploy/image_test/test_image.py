"""What the built image must do. Run by `make image-test`, in a network space of its own."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from deploy.image_test.container import Container, Image, loopback_up
from prometheus_client.parser import text_string_to_metric_families
from safetensors.numpy import load, save

PORT = 8000
KEY = "of-the-image-test"
SAFETENSORS = "application/x-safetensors"
PROGRAM = {"inputs": ["x"], "source": "y = x ** 2\nz = y.sum()", "outputs": ["z"]}


@pytest.fixture(scope="module")
def image() -> Image:
    loopback_up()
    return Image.load(Path(os.environ["GRADWIRE_IMAGE"]))


def until_ready(server: Container, client: httpx.Client, patience_s: float = 30) -> None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline and server.outer.poll() is None:
        try:
            if client.get("/health/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise TimeoutError(f"not ready within {patience_s} s; exit status {server.outer.poll()}")


def command(image: Image) -> list[str]:
    found: list[str] = image.config["Entrypoint"] + image.config["Cmd"]
    return found


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {KEY}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{PORT}", headers=headers, timeout=10) as made:
        yield made


@pytest.fixture(scope="module")
def server(image: Image, client: httpx.Client) -> Iterator[Container]:
    started = Container(image, command(image), {"GRADWIRE_KEYS": KEY})
    started.start()
    try:
        until_ready(started, client)
        yield started
    finally:
        started.outer.kill()
        started.outer.wait()


def test_without_keys_it_refuses_to_start(image: Image) -> None:
    alone = Container(image, command(image))
    alone.start()
    assert alone.outer.wait(30) not in (0, None)


@pytest.mark.usefixtures("server")
def test_a_stranger_is_refused() -> None:
    reply = httpx.post(f"http://127.0.0.1:{PORT}/v1/sessions", json={})
    assert reply.status_code == 401


@pytest.mark.usefixtures("server")
def test_prometheus_can_read_its_metrics(client: httpx.Client) -> None:
    families = list(text_string_to_metric_families(client.get("/metrics").text))
    assert any(family.name.startswith("gradwire_") for family in families)


@pytest.mark.usefixtures("server")
def test_a_session_remembers(client: httpx.Client) -> None:
    session = client.post("/v1/sessions", json={}).json()["id"]
    steps = [
        {"tensor": "x", "value": [1, 2, 3], "requires_grad": True},
        {"op": "pow", "args": ["x", 2], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "z"},
    ]
    client.post(f"/v1/sessions/{session}/steps", json={"steps": steps}).raise_for_status()
    walk = {"steps": [{"backward": {"tensors": ["z"]}}], "return": ["x.grad"]}
    reply = client.post(f"/v1/sessions/{session}/steps", json=walk)
    assert reply.status_code == 200, reply.text
    assert reply.json()["values"]["x.grad"]["data"] == [2.0, 4.0, 6.0]


@pytest.mark.usefixtures("server")
def test_a_gradient_over_json(client: httpx.Client) -> None:
    body = {"program": PROGRAM, "inputs": {"x": [1, 2, 3]}}
    reply = client.post("/v1/value_and_grad", json=body)
    assert reply.status_code == 200, reply.text
    assert reply.json()["outputs"]["z"]["data"] == 14.0
    assert reply.json()["grads"]["x"]["data"] == [2.0, 4.0, 6.0]


@pytest.mark.usefixtures("server")
def test_a_gradient_over_safetensors(client: httpx.Client) -> None:
    x = np.arange(6, dtype=np.float64).reshape(2, 3)
    request = {"program": PROGRAM, "inputs": {"x": {"binary": "x"}}}
    body = save({"x": x}, metadata={"request": json.dumps(request)})
    headers = {"Content-Type": SAFETENSORS, "Accept": SAFETENSORS}
    reply = client.post("/v1/value_and_grad", content=body, headers=headers)
    assert reply.status_code == 200, reply.text
    size = int.from_bytes(reply.content[:8], "little")
    response = json.loads(json.loads(reply.content[8 : 8 + size])["__metadata__"]["response"])
    gradient = load(reply.content)[response["grads"]["x"]["binary"]]
    assert gradient.dtype == np.float64
    np.testing.assert_array_equal(gradient, 2 * x)


def test_it_is_the_first_process_and_has_no_rights(server: Container, image: Image) -> None:
    status = server.status()
    uid = image.account[0]
    assert uid >= 1000
    assert status["NSpid"].split()[-1] == "1"
    assert set(status["Uid"].split()) == {str(uid)}
    assert int(status["CapEff"], 16) == 0


def test_the_root_is_read_only(server: Container) -> None:
    mounts = Path(f"/proc/{server.pid}/mountinfo").read_text().splitlines()
    points = {line.split()[4]: line.split()[5].split(",") for line in mounts}
    assert "ro" in points["/"]
    assert server.execute(["touch", "/data/kept"]) == 0
    assert server.execute(["touch", "/opt/gradwire/no"]) != 0


def test_what_built_it_stayed_behind(image: Image) -> None:
    left = [p.name for p in (image.root / "opt/gradwire/bin").iterdir() if p.name.startswith("pip")]
    built = [
        d for d in ("src", "build", "wheels", "run/secrets/ca.pem") if (image.root / d).exists()
    ]
    compilers = [c for c in ("gcc", "cc", "make") if (image.root / "usr/bin" / c).exists()]
    assert left + built + compilers == []


def test_the_health_check_tells_up_from_down(server: Container, image: Image) -> None:
    kind, *check = image.config["Healthcheck"]["Test"]
    assert kind == "CMD"
    assert server.execute(check) == 0
    assert server.execute([*check, "1"]) == 1


def test_it_stops_cleanly_when_asked(server: Container, client: httpx.Client) -> None:
    """Comes last: the server is gone afterwards."""
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 5
    with pytest.raises(httpx.ConnectError):
        client.get("/health/live")
