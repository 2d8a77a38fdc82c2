"""`gradwire top`: the server's sessions, as the terminal shows them."""

from __future__ import annotations

from rich.console import Console
from tests.service.conftest import Running
from tests.service.test_cli import installed, run

from gradwire_service.commands.top import Look, look, shown, shown_tensors, size, span


def text(before: Look | None, now: Look, rows: int) -> str:
    console = Console(width=140)
    with console.capture() as captured:
        console.print(shown(before, now, rows))
    return captured.get()


def test_once_lists_the_sessions_and_what_the_server_holds(server: Running) -> None:
    session = server.session(label="mine [red]", ttl_seconds=7200)
    session.steps({"tensor": "x", "value": [1.0, 2.0]})
    done = installed("top", "--server", server.url, "--once", COLUMNS="140")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if session.id in line]
    assert line.split()[1:5] == ["mine", "[red]", "cpu", "1"]
    assert "2.0 h" in line
    assert "answered so far" in done.stdout


def test_a_label_does_not_steer_the_terminal(server: Running) -> None:
    session = server.session(label="red \x1b[31m\x9b2J\r\n then")
    for asked in (("top",), ("top", session.id)):
        done = run(*asked, "--server", server.url, "--once", COLUMNS="140")
        assert done.returncode == 0, done.stderr
        (line,) = [line for line in done.stdout.split("\n") if session.id in line]
        assert "red �[31m�2J�� then" in line


def test_a_session_by_id_or_label_has_its_tensors_largest_first(server: Running) -> None:
    session = server.session(label="runs/a model")
    session.steps(
        {"tensor": "head.bias", "value": [1.0], "requires_grad": True},
        {"tensor": "body.0.weight", "value": [[1.0, 2.0], [3.0, 4.0]], "requires_grad": True},
        {"op": "sum", "args": ["body.0.weight"], "out": "loss"},
        {"backward": {"tensors": ["loss"]}},
    )
    for key in (session.id, "runs/a model"):
        done = run("top", key, "--server", server.url, "--once", COLUMNS="140")
        assert done.returncode == 0, done.stderr
        first, *rows = [line.split() for line in done.stdout.splitlines() if line.strip()]
        assert first[:4] == [session.id, "runs/a", "model,", "3"]
        assert [row[0] for row in rows[1:]] == ["body.0.weight", "head.bias", "loss"]
        assert rows[1][1:] == ["float32", "[2,", "2]", "16", "B", "has", "a", "gradient"]
        assert rows[2][-2:] == ["requires", "grad"]


def test_a_session_that_isnt_there_is_said(server: Running) -> None:
    done = run("top", "no such ?label", "--server", server.url, "--once")
    assert done.returncode == 1
    assert "session_not_found" in done.stderr


def test_tensors_that_the_terminal_has_no_room_for_are_counted(server: Running) -> None:
    session = server.session()
    session.steps(*({"tensor": f"x{n}", "value": [0.0] * n} for n in range(1, 5)))
    url = f"/v1/sessions/{session.id}"
    about, found = (server.client.get(url + rest).json() for rest in ("", "/tensors"))
    console = Console(width=140)
    with console.capture() as captured:
        console.print(shown_tensors(about, found["items"], 3))
    assert "x2" in captured.get()
    assert "x1" not in captured.get()
    assert "and 1 more" in captured.get()


def test_those_used_last_come_first_and_the_rest_is_counted(server: Running) -> None:
    sessions = [server.session() for _ in range(4)]
    sessions[0].steps({"tensor": "x", "value": 1.0})
    before = look(server.client)
    server.client.get("/nowhere")
    now = look(server.client)
    found = text(before, now, 2)
    assert sessions[0].id in found
    assert f"and {len(now.sessions) - 2} more" in found
    assert "refusals a second" in found


def test_a_server_that_isnt_there_is_said() -> None:
    done = run("top", "--server", "http://127.0.0.1:9", "--once")
    assert done.returncode == 1
    assert "is the server running?" in done.stderr
    assert "no URL" in run("top", "--server", "127.0.0.1", "--once").stderr


def test_spans_and_sizes_read_well() -> None:
    assert [span(s) for s in (-1, 59, 60, 7200)] == ["0 s", "59 s", "1 min", "2.0 h"]
    assert [size(n) for n in (0, 1023, 1536, 2**40 * 5000)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "5000.0 TiB",
    ]
