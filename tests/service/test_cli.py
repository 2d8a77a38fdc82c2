"""The command line, run as its users run it: each command once from its file, and forked else."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import httpx
import pytest
from tests import nursery
from tests.service.conftest import Running, until
from tests.service.test_http_lanes import SLOW

from gradwire_service.settings import misspelt

COMMAND = Path(sys.executable).with_name("gradwire")
STEPS = {
    "steps": [
        {"tensor": "x", "value": [1, 2, 3], "requires_grad": True},
        {"op": "pow", "args": ["x", 2], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "z"},
        {"backward": {"tensors": ["z"]}},
    ],
    "return": ["z", "x.grad", "y.grad"],
}
PROGRAM = {
    "program": {"inputs": ["x"], "source": "y = x ** 2\nz = y.sum()", "outputs": ["z"]},
    "inputs": {"x": [1, 2, 3]},
}
LOOP = {
    "programs": {
        "grow": {"inputs": ["s", "x"], "source": "t = s * x", "outputs": ["t"]},
        "all": {
            "inputs": ["x"],
            "ops": [{"scan": "grow", "init": [1.0], "xs": ["x"], "out": "p"}],
            "outputs": ["p"],
        },
    },
    "steps": [
        {"tensor": "x", "value": [1, 2, 3], "requires_grad": True},
        {"call": "all", "args": ["x"], "out": "y"},
        {"backward": {"tensors": ["y"]}},
    ],
    "return": ["y", "x.grad"],
}


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, forked."""
    return nursery.run(nursery.COMMAND, *arguments, **variables)


def installed(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, from its file: it imports what it needs."""
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | variables,
        check=False,
    )


def _started(
    *arguments: object, as_command: bool, **variables: str
) -> subprocess.Popen[str] | nursery.Child:
    if not as_command:
        place = nursery.nursery()
        return place.spawn(nursery.COMMAND, "serve", *arguments, environment=variables)
    return subprocess.Popen(
        [COMMAND, "serve", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    )


@contextmanager
def serving(
    *arguments: object, as_command: bool = False, **variables: str
) -> Iterator[tuple[subprocess.Popen[str] | nursery.Child, str]]:
    """A server process, and the URL that it prints."""
    with _started(*arguments, as_command=as_command, **variables) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield process, line.rpartition(" ")[2].strip()
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(30)


def test_help_names_every_command() -> None:
    shown = installed("--help")
    assert shown.returncode == 0
    for command in ("serve", "ops", "run", "graph", "top"):
        assert command in shown.stdout


def test_serve_on_a_free_port_and_end_with_sigterm() -> None:
    with serving("--port", 0, "--log", "json", as_command=True) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        assert httpx.get(f"{url}/health/ready").status_code == 200
        assert httpx.post(f"{url}/v1/sessions", json={}).status_code == 201
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == ""
    lines = [json.loads(line) for line in err.splitlines()]
    assert [line["route"] for line in lines] == ["/health/ready", "/v1/sessions"]
    assert lines[1]["session"].startswith("s_")


def test_requests_under_way_are_answered_before_the_end() -> None:
    with serving("--port", 0, "--log", "none") as (process, url):
        key = httpx.post(f"{url}/v1/sessions", json={}).json()["id"]
        found: list[httpx.Response] = []

        def slow() -> None:
            path = f"{url}/v1/sessions/{key}/steps"
            found.append(httpx.post(path, json={"steps": SLOW, "return": ["r"]}, timeout=60))

        thread = threading.Thread(target=slow)
        with httpx.Client(base_url=url) as other:
            thread.start()
            until(lambda: "gradwire_requests_waiting 1.0" in other.get("/metrics").text)
        process.send_signal(signal.SIGTERM)
        thread.join()
        assert process.wait(30) == 0
    assert found[0].status_code == 200


def test_what_takes_too_long_is_stopped_at_the_end() -> None:
    with serving("--port", 0, "--log", "none", GRADWIRE_SHUTDOWN_SECONDS="1") as (process, url):
        key = httpx.post(f"{url}/v1/sessions", json={}).json()["id"]
        host, _, port = url.removeprefix("http://").partition(":")
        body = json.dumps({"steps": SLOW * 50}).encode()
        head = (
            f"POST /v1/sessions/{key}/steps HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}"
        )
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode() + b"\r\n\r\n" + body)
            time.sleep(0.2)
            began = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
            assert time.monotonic() - began < 10


def test_limits_by_option_and_by_variable() -> None:
    with serving("--port", 0, "--body-bytes", 1234, GRADWIRE_STEPS="7") as (_, url):
        limits = httpx.get(f"{url}/v1/info").json()["limits"]
    assert (limits["body_bytes"], limits["steps"]) == (1234, 7)


def test_a_unix_socket_is_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "gradwire.sock"
    with serving("--uds", path, "--log", "none"):
        assert path.stat().st_mode & 0o777 == 0o600
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
            assert client.get("http://local/health/ready").status_code == 200
    assert not path.exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1"])
def test_other_machines_need_keys(host: str) -> None:
    refused = installed("serve", "--host", host, "--port", 0)
    assert refused.returncode == 1
    assert "no keys are configured" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_other_machines_with_keys() -> None:
    for more, headers in (
        ({"GRADWIRE_KEYS": f"{'a' * 16}, {'b' * 16}"}, {"authorization": f"Bearer {'b' * 16}"}),
        ({"GRADWIRE_INSECURE": "1"}, {}),
    ):
        with serving("--host", "0.0.0.0", "--port", 0, **more) as (_, url):
            url = url.replace("0.0.0.0", "127.0.0.1")
            reply = httpx.post(f"{url}/v1/sessions", json={}, headers=headers)
            assert reply.status_code == 201


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = run("serve", "--port", taken.getsockname()[1])
    assert refused.returncode == 1
    assert "can't listen" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(("name", "value"), [("log", "yes"), ("traces", "localhost:4318")])
def test_a_wrong_setting(name: str, value: str) -> None:
    refused = run("serve", "--port", 0, **{f"GRADWIRE_{name.upper()}": value})
    assert refused.returncode == 1
    assert f"setting {name}" in refused.stderr


def test_ops() -> None:
    shown = installed("ops")
    assert shown.returncode == 0
    assert any(line.startswith("matmul ") for line in shown.stdout.splitlines())
    shown = run("ops", "softmax")
    assert "(input: tensor, dim: dim" in shown.stdout.replace("\n", " ")
    refused = run("ops", "sofmax")
    assert refused.returncode == 1
    assert "softmax" in refused.stderr


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    contents = {
        "steps.json": json.dumps(STEPS),
        "program.json": json.dumps(PROGRAM),
        "text.gw": "x = tensor([1.0, 2.0, 3.0])\ny = x ** 2\nz = y.sum()\n",
        "wrong.gw": "x = tensor([1.0])\nfor y in x: pass\n",
        "failing.json": json.dumps(
            {"steps": [{"seed": 1}, {"op": "sin", "args": ["nope"], "out": "y"}]}
        ),
        "unknown.json": json.dumps({"steps": [{"seed": 1}, {"seed": 2, "sed": 3}]}),
        "failing.gw": "x = tensor([1.0])\ny = sin(nope)\n",
        "loop.json": json.dumps(LOOP),
        "loop_program.json": json.dumps(
            {
                "programs": LOOP["programs"],
                "program": LOOP["programs"]["all"],
                "inputs": {"x": [1, 2, 3]},
            }
        ),
        "late.json": json.dumps(LOOP | {"programs": dict(reversed(LOOP["programs"].items()))}),
        "absent.json": json.dumps(LOOP | {"programs": {}}),
        "listed.json": json.dumps(LOOP | {"programs": []}),
        "broken.json": "{",
        "other.json": "[]",
    }
    for name, text in contents.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in contents}


@pytest.mark.parametrize("remote", [False, True], ids=["embedded", "server"])
def test_run(server: Running, files: dict[str, Path], remote: bool) -> None:
    where = ["--server", server.url] if remote else []
    before = len(server.service.host.sessions())
    rows = table(installed("run", files["steps.json"], *where))
    assert rows == [
        ["name", "dtype", "shape", "grad_fn", "value"],
        ["z", "float32", "[]", "SumBackward0", "14.0"],
        ["x.grad", "float32", "[3]", "[2.0, 4.0, 6.0]"],
        ["y.grad", "none"],
    ]
    rows = table(run("run", files["program.json"], *where))
    assert rows[1:] == [  # a program's outputs belong to no graph
        ["z", "float32", "[]", "14.0"],
        ["x.grad", "float32", "[3]", "[2.0, 4.0, 6.0]"],
    ]
    rows = table(run("run", files["text.gw"], *where))
    assert [row[0] for row in rows] == ["name", "x", "y", "z"]
    assert rows[2][-1] == "[1.0, 4.0, 9.0]"
    for name in ("loop.json", "loop_program.json"):
        rows = table(run("run", files[name], *where))
        assert [(row[0], row[-1]) for row in rows[1:]] == [
            ("y" if name == "loop.json" else "p", "6.0"),
            ("x.grad", "[6.0, 3.0, 2.0]"),
        ]
    assert len(server.service.host.sessions()) == before


def table(shown: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """The cells of a printed table that aren't empty."""
    assert shown.returncode == 0, shown.stderr
    return [
        [cell.strip() for cell in line.split("  ") if cell.strip()]
        for line in shown.stdout.splitlines()
    ]


@pytest.mark.parametrize("remote", [False, True], ids=["embedded", "server"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wrong.gw", "invalid_source: source, line 2, column 1: "),
        ("failing.json", "tensor_not_found, step 1 (sin): there is no tensor called 'nope'"),
        ("unknown.json", "invalid_request, step 1: steps[1].sed"),
        ("failing.gw", "tensor_not_found: source, line 2: there is no tensor called 'nope'"),
        (
            "late.json",
            "program_not_found, step 0: programs.all: there is no program 'grow'\n  hint: a f",
        ),
        (
            "absent.json",
            "program_not_found, step 1: there is no program 'all'\n  hint: a file gives",
        ),
        ("listed.json", "invalid_request: "),
        ("broken.json", "invalid_json: "),
        ("other.json", "invalid_request: "),
    ],
)
def test_run_says_what_is_wrong(
    server: Running, files: dict[str, Path], name: str, said: str, remote: bool
) -> None:
    where = ["--server", server.url] if remote else []
    refused = run("run", files[name], *where)
    assert refused.returncode == 1
    assert refused.stderr.startswith(said)
    assert "Traceback" not in refused.stderr


def test_run_without_a_server_or_a_file(files: dict[str, Path], tmp_path: Path) -> None:
    refused = run("run", files["steps.json"], "--server", "http://127.0.0.1:1")
    assert refused.returncode == 1
    assert "is the server running?" in refused.stderr
    assert run("run", tmp_path / "nope.json").returncode == 1


@pytest.mark.parametrize("remote", [False, True], ids=["embedded", "server"])
def test_graph(server: Running, files: dict[str, Path], tmp_path: Path, remote: bool) -> None:
    where = ["--server", server.url] if remote else []
    for name in ("steps.json", "program.json", "text.gw"):
        out = tmp_path / f"{name}.svg"
        assert run("graph", files[name], "-o", out, *where).returncode == 0
        text = " ".join(ElementTree.parse(out).getroot().itertext())
        assert ("pow" in text) == (name != "text.gw")
    assert run("graph", files["loop.json"], "-o", tmp_path / "loop.svg", *where).returncode == 0
    assert "Scan" in (tmp_path / "loop.svg").read_text()
    out = tmp_path / "program.svg"
    assert run("graph", files["loop_program.json"], "-o", out, *where).returncode == 0
    assert "Scan" in out.read_text()
    for suffix, start in ((".dot", "digraph"), (".mmd", "flowchart"), (".json", "{")):
        out = tmp_path / f"graph{suffix}"
        assert run("graph", files["steps.json"], "-o", out, *where).returncode == 0
        assert start in out.read_text()
    assert installed("graph", files["steps.json"]).stdout.startswith("<svg")
    assert "suffix" in run("graph", files["steps.json"], "-o", tmp_path / "a.png").stderr


def test_the_version_is_printed() -> None:
    said = installed("--version")
    assert said.returncode == 0
    assert said.stdout.split()[0] == "gradwire"
    assert said.stdout.split()[1][0].isdigit()


def test_an_op_in_place_is_found_by_its_name() -> None:
    assert run("ops", "relu_").stdout.startswith("nn.functional.relu(")


@pytest.mark.parametrize("command", ["run", "graph"])
def test_a_server_with_keys_is_sent_one(tmp_path: Path, command: str) -> None:
    file = tmp_path / "steps.json"
    file.write_text(json.dumps(STEPS))
    secret = "a-key-that-is-long-enough"
    with serving("--port", 0, GRADWIRE_KEYS=f"alice:{secret}") as (_, url):
        refused = run(command, file, "--server", url)
        assert refused.returncode == 1
        assert refused.stderr.startswith("unauthorized")
        assert "GRADWIRE_KEY" in refused.stderr
        given = run(command, file, "--server", url, "--key", secret)
        found = run(command, file, "--server", url, GRADWIRE_KEY=secret)
        assert (given.returncode, found.returncode) == (0, 0), given.stderr + found.stderr
        assert given.stdout == found.stdout != ""


def test_a_server_without_a_scheme_is_told_how_to_write_it(tmp_path: Path) -> None:
    file = tmp_path / "steps.json"
    file.write_text(json.dumps(STEPS))
    said = run("run", file, "--server", "localhost:8000")
    assert said.returncode == 1
    assert "http://localhost:8000" in said.stderr


def test_misspelt_settings_are_named() -> None:
    given = ("GRADWIRE_PROT", "GRADWIRE_PORT", "GRADWIRE_KEY", "HOME")
    assert misspelt(given) == ["GRADWIRE_PROT"]


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    steps = tmp_path / "steps.json"
    steps.write_text('{"steps": [{"op": "ones", "args": [[2]], "out": "x"}], "return": ["x"]}')
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    refused = run("run", steps, "--server", url)
    assert refused.returncode == 1
    assert refused.stderr.startswith("unreachable: no answer from")
    assert "Traceback" not in refused.stderr
