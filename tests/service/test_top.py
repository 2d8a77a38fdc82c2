"""`gradwire top`: the server's sessions, as the terminal shows them."""

from __future__ import annotations

from rich.console import Console
from tests.service.conftest import Running
from tests.service.test_cli import run

from gradwire_service.commands.top import Look, look, shown, size, span


def text(before: Look | None, now: Look, rows: int) -> str:
    console = Console(width=140)
    with console.capture() as captured:
        console.print(shown(before, now, rows))
    return captured.get()


def test_once_lists_the_sessions_and_what_the_server_holds(server: Running) -> None:
    session = server.session(label="mine [red]", ttl_seconds=7200)
    session.steps({"tensor": "x", "value": [1.0, 2.0]})
    done = run("top", "--server", server.url, "--once", COLUMNS="140")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if session.id in line]
    assert line.split()[1:5] == ["mine", "[red]", "cpu", "1"]
    assert "2.0 h" in line
    assert "answered so far" in done.stdout


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
