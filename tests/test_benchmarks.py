"""The benchmarks run, and judge rightly. Nothing here depends on how fast anything is."""

from __future__ import annotations

import io
import json
import socket
import time
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import chart, machine, report
from benchmarks.__main__ import CASES, QUICK, main, measure
from benchmarks.cases import memory
from benchmarks.cases.fifteen import compiled, op_by_op
from benchmarks.cases.planned import planned
from benchmarks.exchange import STREAMED, client_side, served
from benchmarks.fifteen import FIFTEEN
from benchmarks.figures import Figure, duration
from benchmarks.harness import Harness, Measured, Spread
from benchmarks.libraries import LIBRARIES
from benchmarks.messages import QUESTIONS, WrongAnswerError, gradwire
from benchmarks.op_kinds import KINDS
from benchmarks.peers import by_hand
from benchmarks.plain_http import Connection, get, post
from benchmarks.plain_stream import Stream
from benchmarks.servers import RIVALS, running
from benchmarks.side import OTHER_KERNELS, Side, SideFailedError, Worker, environment
from benchmarks.workloads import WORKLOADS
from rich.console import Console

NEEDS_TORCH = {
    "eager", "engine", "fifteen", "hessian", "loops", "memory", "op_kinds", "planned", "rows",
    "sdk", "training",
}  # fmt: skip
NEEDS_RIVALS = {"million", "planned", "small_gradient"}

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch isn't installed")


def case(name: str) -> Any:
    missing = [
        (name in NEEDS_TORCH and find_spec("torch") is None, "torch isn't installed"),
        (name in NEEDS_RIVALS and not RIVALS.exists(), "`make bench` installs the rivals"),
    ]
    marks = [pytest.mark.skipif(absent, reason=why) for absent, why in missing]
    return pytest.param(name, marks=[*marks, pytest.mark.slow])


@pytest.mark.parametrize("name", [case(name) for name in CASES])
def test_a_case_measures_all_its_figures(name: str) -> None:
    figures = measure([name], QUICK, Console(file=io.StringIO()))
    assert figures
    for figure in figures:
        assert figure.measured is not None, figure.note
        assert figure.measured.middle >= 0
        assert figure.note


@needs_torch
@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_workload_gives_the_same_on_both_libraries(workload: str) -> None:
    found = {}
    for name, library in LIBRARIES.items():
        lib = library()
        loss, gradients = WORKLOADS[workload](lib)()
        found[name] = [lib.numpy(t) for t in (loss, *gradients)]
    for ours, theirs in zip(found["engine"], found["torch"], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


@needs_torch
@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_planned_workload_gives_the_same(workload: str) -> None:
    lib = LIBRARIES["torch"]()
    loss, gradients = WORKLOADS[workload](lib)()
    wanted = [lib.numpy(t) for t in (loss, *gradients)]
    for ours, theirs in zip(planned(WORKLOADS[workload])(), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("program", FIFTEEN)
def test_a_program_of_the_fifteen_is_the_same_compiled(program: str) -> None:
    loss, gradients = op_by_op(program, "gradwire")()
    for _ in range(3):  # by a plan from the second call on
        found, again = compiled(program)()
        np.testing.assert_allclose(again.item(), loss.item(), rtol=1e-4)
        for mine, other in zip(found, gradients, strict=True):
            np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-2, atol=1e-4)


def given_by_the_engine(workload: str) -> list[Any]:
    lib = LIBRARIES["engine"]()
    loss, gradients = WORKLOADS[workload](lib)()
    return [lib.numpy(t) for t in (loss, *gradients)]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_by_hand_gives_the_same(workload: str) -> None:
    loss, gradients = by_hand.prepare(workload)()
    for mine, other in zip((loss, *gradients), given_by_the_engine(workload), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-5)


@pytest.mark.skipif(not RIVALS.exists(), reason="`make bench` installs the rivals")
@pytest.mark.slow
@pytest.mark.parametrize("library", ["jax", "autograd"])
@pytest.mark.parametrize("workload", ["mlp", "logreg", "lenet", "scalars", "hess200"])
def test_libraries_that_differentiate_functions_give_the_same(workload: str, library: str) -> None:
    given = {"workload": workload, "library": library}
    python = str(RIVALS / "bin" / "python")
    target = "benchmarks.peers.differentiated:answer"
    with Worker(Side(target, given, threads=2, python=python)) as worker:
        found = worker.measure(0.0)["found"]
    for mine, other in zip(found, given_by_the_engine(workload), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-5)


def test_the_chart_has_what_was_measured(tmp_path: Path) -> None:
    def ratio(name: str, middle: float) -> Figure:
        return Figure(f"planned {name}", None, Spread.of([middle]))

    figures = [
        ratio("mlp / torch eager", 0.5), ratio("mlp / JAX jit", 0.25),
        ratio("chain / torch eager", 2.0), ratio("conv2d of 1×3×16×16 / torch eager", 3.0),
        Figure("planned lenet / torch eager", None, None),
    ]  # fmt: skip
    assert chart.times(figures) == {
        chart.OURS: {"mlp": 0.5, "chain": 2.0},
        "torch eager": {"mlp": 1.0, "chain": 1.0},
        "JAX jit": {"mlp": 2.0},
    }
    path = tmp_path / "chart.png"
    assert chart.draw(figures, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert not chart.draw(figures[3:], path)


@pytest.mark.parametrize("workload", memory.MEASURED)
def test_a_plan_takes_the_memory_that_it_says(workload: str) -> None:
    found = memory.once("Forecast", 2, workload=workload)
    assert 0.9 <= found["bytes"] / found["said"] <= 1.1


CALLS = {name: row for kind in KINDS.values() for name, row in kind.items()}


@needs_torch
@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_an_op_gives_the_same_on_both_libraries(name: str) -> None:
    found = {}
    for library, make in LIBRARIES.items():
        lib = make()
        results, gradients = CALLS[name].prepare(lib, "float64")()
        found[library] = [np.abs(lib.numpy(t)) for t in results], [*map(lib.numpy, gradients)]
    for ours, theirs in zip(found["engine"], found["torch"], strict=True):
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-8 * np.abs(other).max())


@needs_torch
@pytest.mark.parametrize("name", CALLS)
def test_a_planned_call_of_an_op_gives_the_same(name: str) -> None:
    lib = LIBRARIES["torch"]()
    results, gradients = CALLS[name].prepare(lib, "float64")()
    wanted = [*(np.abs(lib.numpy(t)) for t in results), *map(lib.numpy, gradients)]
    made, pulled = CALLS[name].planned("float64")()
    for mine, other in zip([*map(np.abs, made), *pulled], wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-8 * np.abs(other).max())


def test_verdicts() -> None:
    def verdict(middle: float, at_least: bool) -> str:
        return Figure("f", 2.0, Spread(middle, 0, 9), at_least=at_least).verdict

    assert verdict(2.0, at_least=False) == "reached"
    assert verdict(2.1, at_least=False) == "short"
    assert verdict(2.0, at_least=True) == "reached"
    assert verdict(1.9, at_least=True) == "short"
    assert Figure("f", 2.0, None, "why").verdict == "not measured"


def test_ratios_are_taken_round_by_round() -> None:
    slow, fast = Measured([2.0, 4.0, 8.0], [], {}), Measured([1.0, 2.0, 4.0], [], {})
    assert slow.over(fast) == Spread(2.0, 2.0, 2.0)
    assert Spread.of([1.0, 2.0, 3.0, 4.0, 5.0]) == Spread(3.0, 2.0, 4.0)
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.0, "2 s"), (0.0123, "12.3 ms"), (4.5e-5, "45 µs"), (1.25e-7, "125 ns")],
)
def test_durations_have_a_fitting_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_connection_that_lay_idle_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.plain_http.IDLE", 0.0)
    with served("bare") as server:
        connection = Connection(server.port)
        connection.exchange(get("/ready"))
        connection._socket.shutdown(socket.SHUT_RDWR)  # as a server does that waited too long
        connection.exchange(get("/ready"))
        connection.close()


def test_the_header_says_what_it_was_measured_on() -> None:
    text = "\n".join(machine.header(2, 0.1, 2.5))
    assert f"numpy {np.__version__}" in text
    assert "limited to 2 each" in text
    assert "Load before the start: 0.1, at most 2.5" in text


def test_no_side_is_kept_to_kernels_of_another_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OTHER_KERNELS:
        monkeypatch.delenv(name, raising=False)
    assert not any("Kernels" in line for line in machine.header(1, 0.0, 0.0))
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    monkeypatch.setenv("BENCHMARKS_TEST", "stays")
    found = environment(1)
    assert found["BENCHMARKS_TEST"] == "stays"
    assert not found.keys() & set(OTHER_KERNELS)
    (said,) = [line for line in machine.header(1, 0.0, 0.0) if "Kernels" in line]
    assert "OPENBLAS_CORETYPE=Haswell, ATEN_CPU_CAPABILITY=default" in said


def test_the_page_has_a_row_for_each_figure() -> None:
    figures = [
        Figure("first", 1.5, Spread(1.234, 1.1, 1.3), "1 µs against 2 µs"),
        Figure("second", 2.0, None, "no | server", at_least=True),
    ]
    page = report.markdown(["a machine"], figures)
    assert "- a machine" in page
    assert "| first | ≤ 1.5 | 1.23 (1.1 to 1.3) | reached | 1 µs against 2 µs |" in page
    assert "| second | ≥ 2 | – | not measured | no / server |" in page


def test_a_case_that_is_measured_again_replaces_its_rows_and_says_so() -> None:
    first, second = (Figure(name, 1.5, Spread(1.2, 1.1, 1.3), "") for name in ("first", "second"))
    page = report.markdown(["a machine"], [first, second])
    again = Figure("second", 1.5, Spread(1.6, 1.6, 1.6), "")
    new = Figure("third", 1.5, None, "")
    found = report.renewed(page, ["starting"], [0.1, 0.4], [again, new])
    kept, about = page.splitlines(), "- Measured again later, by themselves: starting (load before"
    assert found.splitlines()[:7] == kept[:7]
    assert found.splitlines()[7] == f"{about} 0.1, at most 0.4)."
    assert found.splitlines()[8:11] == kept[7:10]
    assert found.splitlines()[11].startswith("| first | ≤ 1.5 | 1.2 (1.1 to 1.3) | reached |")
    assert found.splitlines()[12].startswith("| second | ≤ 1.5 | 1.6 (1.6 to 1.6) | short |")
    assert found.splitlines()[13].startswith("| third | ≤ 1.5 | – | not measured |")
    said = report.renewed(page, ["starting"], [0.1], [again], ["More of it."]).splitlines()[7]
    assert said == f"{about} 0.1, at most 0.1). More of it."


def test_sides_take_turns_and_every_round_counts() -> None:
    side = Side("benchmarks.cases.calls:bare", {"op": "mul"})
    found = Harness(QUICK).take_turns({"a": side, "b": side})
    assert {len(m.medians) for m in found.values()} == {QUICK.rounds}
    assert all(t > 0 for m in found.values() for reply in m.replies for t in reply["times"])


def test_a_side_that_fails_is_not_taken_for_a_fast_one() -> None:
    with pytest.raises(SideFailedError, match="exit status 1"), Worker(Side("benchmarks.none:x")):
        pass


def test_the_plain_client_reads_small_and_large_replies() -> None:
    body = bytes(range(256)) * 20_000
    with served("bare", ("application/octet-stream", body)) as server:
        connection = Connection(server.port)
        assert connection.exchange(post("/", b"{}"))[1] == body
        assert connection.exchange(post("/up", body))[1] == b""
        assert connection.drain(get("/down")) == len(body)
        with pytest.raises(RuntimeError, match="404"):
            connection.exchange(get("/nowhere"))
        assert server.peak_bytes() > len(body)
        connection.close()


def test_the_plain_stream_reads_what_is_asked_and_answers_pings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRADWIRE_PING_SECONDS", "1")
    with served("gradwire") as server:
        with closing(Connection(server.port)) as connection:
            made = json.loads(connection.exchange(post("/v1/sessions", b"{}"))[1])
        small, large = (QUESTIONS[STREAMED](count) for count in (3, 50_000))
        with closing(Stream(server.port, f"/v1/sessions/{made['id']}/stream")) as stream:
            for _ in range(3):
                small.check(stream.exchange(small.request))
                large.check(stream.exchange(large.request))
                time.sleep(1.5)  # a ping comes in between, in most rounds
    with served("bare") as server, pytest.raises(RuntimeError, match="40"):
        Stream(server.port, "/nowhere")


def test_a_wrong_answer_is_not_measured() -> None:
    question = gradwire(3)
    wrong = b'{"grads": {"x": {"data": [0, 0, 0]}}}'
    with pytest.raises(WrongAnswerError, match="gradwire"):
        question.check(wrong)


@pytest.mark.parametrize("name", [n for n in QUESTIONS if not n.startswith(STREAMED)])
def test_a_question_is_a_whole_request(name: str) -> None:
    head, _, body = QUESTIONS[name](3).request.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert head.startswith(b"POST /")


def test_a_server_that_ends_at_once_is_reported_with_its_last_words() -> None:
    module = import_module("benchmarks.figures")
    command = ["python3", "-c", "raise SystemExit('no such thing')"]
    with pytest.raises(module.UnavailableError, match="no such thing"), running(command, 1):
        pass


def test_the_command_line_names_its_cases(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "small_gradient" in capsys.readouterr().out


def test_clients_run_on_the_clients_core() -> None:
    assert len(client_side("m:f", {}).cores) == 1
