"""compile: the function's own results, without its Python, and a report of when that ran."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict, deque
from functools import partial
from typing import Any

import numpy as np
import pytest

import gradwire as torch
from gradwire import nn
from gradwire.session import Session
from gradwire.watched import Watched
from gradwire_engine.errors import GradwireError

SCALE = 2.0


def close(found: torch.Tensor, wanted: torch.Tensor) -> None:
    """The same numbers to rounding."""
    np.testing.assert_allclose(
        found.detach().numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_it_gives_what_the_function_does(session: Session) -> None:
    """Op by op at first, by plans then; values and gradients of first and second order."""
    w = torch.tensor([[0.5, 0.1], [0.2, -0.3]], requires_grad=True)
    ran = deque()  # whose elements are not watched, as a list's are

    def function(x, power=2, **named):
        ran.append(x.shape)
        h = torch.tanh(x @ w)
        return {"h": h, "again": h, "power": power, "loss": (h**power).sum() * named["by"], "x": x}

    compiled = torch.compile(function)
    x = torch.linspace(-1, 1, 6).reshape(3, 2)
    for _ in range(12):
        found, wanted = compiled(x, by=3), function(x, by=3)
        assert found["x"] is x
        assert found["power"] == 2
        close(found["h"], wanted["h"])
        close(found["again"], wanted["again"])
        slopes = [torch.autograd.grad(f["loss"], w, create_graph=True)[0] for f in (found, wanted)]
        close(*slopes)
        close(*[torch.autograd.grad((s**2).sum(), w)[0] for s in slopes])
    assert len(ran) == 13


def test_when_and_why_it_is_written_down(session: Session) -> None:
    runs = deque()

    @torch.compile
    def function(x, n=1):
        runs.append(n)
        return x * n

    x = torch.ones(3)
    for _ in range(3):
        function(x)
    function(torch.ones(4))
    function(torch.ones(3, dtype=torch.float64))
    function(x, 2)
    function(x, 2.0)
    with torch.no_grad():
        function(x)
    function(x.clone().requires_grad_())
    function(x)
    assert list(runs) == [1, 1, 1, 2, 2.0, 1, 1]
    assert function.hits == 3
    assert function.retraces == [
        "first call",
        "tensor 0 was float32[3], and is float32[4]",
        "tensor 0 was float32[4], and is float64[3]",
        "tensor 0 was float64[3], and is float32[3]",
        "another static argument",
        "another grad mode or default dtype",
        "another grad mode or default dtype",
    ]


def test_what_it_looks_up_outside_may_change(session: Session, monkeypatch) -> None:
    factor, settings = torch.tensor(3.0), {"shift": 1.0}

    def helped(x):
        return x * SCALE

    def function(x):
        return helped(x) * factor + settings["shift"]

    compiled, x = torch.compile(function), torch.ones(2)
    assert compiled(x).tolist() == [7.0, 7.0]
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    assert compiled(x).tolist() == [13.0, 13.0]
    settings["shift"] = 0.0
    assert compiled(x).tolist() == [12.0, 12.0]
    factor = torch.tensor(1.0)
    assert compiled(x).tolist() == [4.0, 4.0]
    assert [why.split(" is not")[0].split(", ")[-1] for why in compiled.retraces] == [
        "first call", "global SCALE", "shift", "closure factor",
    ]  # fmt: skip
    factor.add_(1)  # the same tensor, with other elements
    assert compiled(x).tolist() == [8.0, 8.0]
    assert len(compiled.retraces) == 4


class Scaled:
    """A callable object with attributes."""

    def __init__(self) -> None:
        self.by, self.parts = 2.0, [1.0]

    def __call__(self, x):
        return (x * self.by).sum() + sum(self.parts)


def _of_keyword(x, by=1.0):
    return (x * by * SCALE).sum()


@pytest.mark.parametrize(
    "around",
    [lambda f: f, torch.func.vmap, lambda f: partial(_given, f)],
    ids=["f", "vmap", "part"],
)
def test_what_is_looked_up_behind_other_functions_may_change(
    session: Session, monkeypatch, around
) -> None:
    """By functions that transforms and partial ones were given, in lists, by new attributes."""
    scaled = Scaled()
    compiled, x = torch.compile(around(scaled)), torch.ones(2, 1)

    def asked() -> float:
        return compiled(x).sum().item()

    def wanted() -> float:
        return around(scaled)(x).sum().item()

    for change in (
        lambda: None,
        lambda: setattr(scaled, "by", 3.0),
        lambda: scaled.parts.append(5.0),
        lambda: scaled.parts.__setitem__(0, 7.0),
        lambda: scaled.parts.clear(),
        lambda: setattr(scaled, "parts", [4.0]),
    ):
        change()
        assert asked() == asked() == wanted()
    assert len(compiled.retraces) == 6
    scaled.by = float("3.0")  # equal, though another object
    assert asked() == wanted()
    assert len(compiled.retraces) == 6
    known = torch.compile(torch.func.grad(partial(_of_keyword, by=2.0)))
    assert known(x).tolist() == [[4.0], [4.0]]
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert known(x).tolist() == [[6.0], [6.0]]


def _given(function, x):
    return function(x)


def test_what_is_watched_is_the_users(session: Session) -> None:
    """And not what the library's own functions are made of."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act, self.settings = torch.tanh, {"scale": [2.0]}

        def forward(self, x):
            return self.act(x) * self.settings["scale"][0]

    net, x = Net(), torch.ones(2)
    for function in (net, lambda x: torch.relu(x), torch.sin, nn.TransformerEncoderLayer(4, 2)):
        assert len(Watched(function).seen) < 400
    compiled = torch.compile(net)
    for scale in (2.0, 5.0):
        net.settings["scale"][0] = scale
        close(compiled(x), net(x))
        close(compiled(x), net(x))
    assert len(compiled.retraces) == 2


def test_the_order_of_a_dict_counts_and_no_dict_is_asked_for_what_it_lacks(
    session: Session,
) -> None:
    ordered, lacking, x = {"a": 2.0, "b": 3.0}, defaultdict(lambda: 2.0, a=1.0), torch.ones(2)

    def of_order(x):
        for factor in ordered.values():
            x = x * factor + 1
        return x

    by_order = torch.compile(of_order)
    by_lack = torch.compile(lambda x: x * lacking["a"] if "a" in lacking else x * 100)
    by_keyword = torch.compile(part := partial(lambda x, m: x * m, m=2.0))
    assert by_order(x).tolist() == [10.0, 10.0]
    assert by_lack(x).tolist() == [1.0, 1.0]
    assert by_keyword(x).tolist() == [2.0, 2.0]
    ordered["a"] = ordered.pop("a")
    del lacking["a"]
    lacking["b"] = 1.0
    part.keywords["m"] = 7.0
    assert by_order(x).tolist() == [9.0, 9.0]
    assert by_lack(x).tolist() == [100.0, 100.0]
    assert list(lacking) == ["b"]
    assert by_keyword(x).tolist() == [7.0, 7.0]


def test_what_stands_where_nothing_stood(session: Session, monkeypatch) -> None:
    """Names that are bound later, and attributes that are gone."""

    def function(x):
        try:
            return x * LATER
        except NameError:
            return x + missing()

    def missing() -> float:
        return bound if late else 1.0

    late, holder = False, Scaled()
    compiled, x = torch.compile(function), torch.ones(2)
    assert compiled(x).tolist() == [2.0, 2.0]
    late = True
    bound = 4.0
    assert compiled(x).tolist() == [5.0, 5.0]
    monkeypatch.setitem(globals(), "LATER", 7.0)
    assert compiled(x).tolist() == [7.0, 7.0]
    held = torch.compile(lambda x: x * getattr(holder, "by", 9.0))
    assert held(x).tolist() == [2.0, 2.0]
    del holder.by
    assert held(x).tolist() == [9.0, 9.0]


WITHOUT_LLVM = """
import sys, warnings
sys.modules["llvmlite"] = None
import gradwire as torch
x = torch.linspace(-1, 1, 120_000)
small, large = torch.compile(lambda x: x * 2), torch.compile(lambda x: (torch.tanh(x) * x).sum())
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    of_complex = torch.compile(lambda z: (z * z + z) * z)
    for _ in range(30):
        small(x[:4])
        of_complex(x.to(torch.complex64))  # which isn't compiled anyway
    assert not told
    for _ in range(30):
        large(x)
    for _ in range(30):
        torch.compile(lambda x: (torch.sin(x) * x).sum())(x)
print(len(told), told[0].filename, told[0].message)
"""


def test_who_has_no_compiler_is_told_once_how_to_get_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LLVM], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 <string> "), done.stdout
    assert "pip install 'gradwire[compiled]'" in done.stdout


def test_one_tensor_in_two_places_is_recorded_as_both(session: Session) -> None:
    """Op by op and by a plan, with the gradient of each place."""
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    compiled = torch.compile(lambda a, b: (a * a * b).sum())
    for _ in range(12):
        w.grad = None
        compiled(w, w).backward()
        close(w.grad, 3 * w.detach() ** 2)


def test_what_was_made_in_inference_mode_is_not_kept_for_gradients(session: Session) -> None:
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    with torch.inference_mode():
        x = torch.ones(2)
    compiled = torch.compile(lambda a, b: (a * b).sum())
    for _ in range(10):
        with pytest.raises(RuntimeError, match="nference tensors cannot be saved for backward"):
            compiled(w, x).item()
    with torch.inference_mode():
        assert compiled(w, x).is_inference()
        assert compiled(w, x).item() == 5


def test_a_module_learns(session: Session) -> None:
    models = [nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    compiled = torch.compile(models[0])
    x, y = torch.linspace(-1, 1, 8).reshape(4, 2), torch.tensor([[1.0], [0.0], [0.5], [-1.0]])
    for run, model in ((compiled, models[0]), (models[1], models[1])):
        step = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(12):
            step.zero_grad()
            ((run(x) - y) ** 2).mean().backward()
            step.step()
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        close(a, b)
    assert compiled.retraces == ["first call"]
    assert list(compiled.state_dict()) == list(models[0].state_dict())
    models[0].eval()
    compiled(x)
    assert "attribute training" in compiled.retraces[-1]


def test_within_transforms_it_is_a_part(session: Session) -> None:
    compiled, x = torch.compile(lambda x: (x**3).sum()), torch.tensor([1.0, 2.0])
    close(torch.func.grad(compiled)(x), 3 * x**2)
    close(torch.func.hessian(compiled)(x), torch.diag(6 * x))
    assert compiled.retraces == []


def test_constants_that_are_written_are_made_anew(session: Session) -> None:
    @torch.compile
    def counted(x):
        count = torch.tensor([0.0, 0.0])
        count[1:].add_(x.sum())
        return count + 1

    for _ in range(12):
        assert counted(torch.ones(3)).tolist() == [1.0, 4.0]


def test_random_numbers_stay_random(session: Session) -> None:
    compiled = torch.compile(lambda x: x + torch.rand_like(x))
    first, second = compiled(torch.zeros(8)), compiled(torch.zeros(8))
    assert first.tolist() != second.tolist()


def test_explain(session: Session) -> None:
    compiled = torch.compile(lambda x: torch.tanh(x) * 2)
    x = torch.ones(5)
    found = compiled.explain(x)
    assert found.program is not None
    assert found.plan["outputs"] and found.plan["flops"] == 10
    assert [region["ops"] for region in found.plan["regions"]] == [["tanh"], ["mul"]]
    assert found.planned["runs"] == 0
    for _ in range(10):
        compiled(x)
    x.tolist(), compiled(x).tolist()
    found = compiled.explain(x)
    assert found.hits == 11
    assert found.planned["made"] == 1
    # on a busy machine a server begins a call anew, on a thread, that took too long on its loop
    assert 11 <= found.planned["runs"] <= (11 if session.runs_here else 22)
    assert found.planned["seconds"] > 0
    assert "11 calls needed no trace; 1 traces:\n  first call" in str(found)


def test_explain_lists_regions_and_draws_them(session: Session) -> None:
    compiled = torch.compile(lambda x, w: (torch.tanh(x @ w) * 2).sum(1))
    x, w = torch.ones(128, 64), torch.ones(64, 200)
    found = compiled.explain(x, w)
    matmul, region = str(found).splitlines()[3:5]
    assert matmul == f"  matmul: {2 * 128 * 64 * 200:,} FLOP"
    assert region.startswith("  tanh · mul · sum (")
    assert region.endswith(f", over [128, 200]): {3 * 128 * 200:,} FLOP")
    assert "no plan yet, 0 runs op by op" in str(found)
    assert "tanh · mul · sum" in found.picture()
    assert found.picture().startswith("<svg")
    assert "matmul" in found.picture("dot")
    with pytest.raises(ValueError, match="one of svg, dot, mermaid"):
        found.picture("png")
    looks = torch.compile(lambda x: x * 2 if x.sum() > 0 else x)
    with pytest.raises(RuntimeError, match="no plan to draw"):
        looks.explain(x).picture()


def test_explain_shows_loops_with_their_steps(session: Session) -> None:
    compiled = torch.compile(
        lambda h, xs, w: torch.scan(lambda c, x: ((c @ w + x).tanh(), c.sum()), h, xs)[1]
    )
    found = compiled.explain(torch.ones(4, 64), torch.ones(20, 4, 64), torch.ones(64, 64))
    step = 2 * 4 * 64 * 64 + 3 * 4 * 64
    lines = str(found).splitlines()
    assert f"  scan × 20: {20 * step:,} FLOP" in lines
    assert lines[lines.index(f"  scan × 20: {20 * step:,} FLOP") + 1].startswith("    matmul: ")
    assert found.plan["flops"] == 20 * step
    assert "runs op by op; the steps of its loops are planned" in lines
    assert "scan × 20" in found.picture()


def test_explain_tells_shapes_apart_and_counts_what_each_took(session: Session) -> None:
    compiled = torch.compile(lambda x: torch.tanh(x).sum())
    for size in (5, 7):
        x = torch.ones(size)
        for _ in range(12):
            compiled(x).tolist()
        found = compiled.explain(x)
        assert (found.inputs, found.plan["flops"]) == ((f"float32[{size}]",), 2 * size)
        assert found.planned["made"] == (1 if size == 5 else 2)
        assert found.trace_seconds > 0
    assert (found.hits, len(found.retraces)) == (22, 2)
    assert compiled.explain(torch.ones(5)).plan["flops"] == 10
    first = compiled.explain(torch.ones(9))  # of what was never called: written down, not run
    assert (first.hits, len(first.retraces)) == (22, 3)


def test_what_it_writes_to_is_written_to(session: Session) -> None:
    count, w = torch.zeros((), dtype=torch.int64), torch.tensor([1.0, 2.0], requires_grad=True)

    def function(x, y):
        count.add_(1)
        x.add_(y.sum())
        with torch.no_grad():
            w.mul_(0.5)
        return x, (x * y * w).sum()

    def run(called):
        count.zero_()
        with torch.no_grad():
            w.copy_(torch.tensor([1.0, 2.0]))
        x, seen = torch.tensor([0.5, -1.0]), []
        for _ in range(12):
            y = torch.tensor([1.0, 3.0], requires_grad=True)
            same, loss = called(x, y)
            assert same is x
            slopes = torch.autograd.grad(loss, (y, w))
            seen += [x.tolist(), loss.tolist(), *(g.tolist() for g in slopes), w.tolist()]
            assert x.requires_grad
            x = x.detach()
        return [*seen, count.tolist()]

    compiled = torch.compile(function)
    wanted, found = run(function), run(compiled)
    assert found == wanted
    x, y = torch.tensor([0.5, -1.0]), torch.tensor([1.0, 3.0], requires_grad=True)
    assert compiled.explain(x, y).planned["made"] == 2  # there and back
    assert compiled.explain(x, x[:1]).program is None  # they share elements
    inner = torch.compile(lambda h: h.mul_(2).sum())
    grads = [torch.autograd.grad(called(y * 3), y)[0] for called in (inner, inner.__wrapped__)]
    assert grads[0].tolist() == grads[1].tolist() == [6.0, 6.0]
    with pytest.raises(RuntimeError, match="leaf"):
        inner(y)


def test_batch_norm_learns_by_plans(session: Session) -> None:
    """Running statistics and their count are what they are op by op."""
    models = []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()).double())
    compiled = torch.compile(models[0])
    x = torch.linspace(-1, 1, 24, dtype=torch.float64).reshape(8, 3) ** 3
    for number in range(12):
        for run, model in ((compiled, models[0]), (models[1], models[1])):
            step = torch.optim.SGD(model.parameters(), lr=0.1)
            ((run(x * (number + 1)) - 1) ** 2).mean().backward()
            step.step()
            step.zero_grad()
    for a, b in zip(models[0].state_dict().values(), models[1].state_dict().values(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)
    assert compiled.explain(x).planned["made"] == 2
    for model in models:
        model.eval()
    np.testing.assert_allclose(
        compiled(x).detach().numpy(), models[1](x).detach().numpy(), rtol=1e-12, atol=1e-12
    )


def test_what_can_not_be_written_down_runs_as_python_or_is_refused(door, session: Session) -> None:
    def looks(x):
        return x * 2 if x.sum() > 0 else x

    def shares(x):
        x.add_(1)
        return x[:1]

    for function in (looks, shares):
        compiled = torch.compile(function)
        assert compiled(torch.ones(2)).tolist() == function(torch.ones(2)).tolist()
        found = compiled.explain(torch.ones(2))
        assert found.program is None
        assert "runs as Python" in str(found)
    with pytest.raises(RuntimeError, match="looks at"):
        torch.compile(looks, fullgraph=True)(torch.ones(2))
    assert torch.compile(looks, disable=True) is looks


def test_a_call_that_raises_keeps_what_it_wrote_before(session: Session) -> None:
    """As a program that raised: whether Python, shapes or elements make it fail."""
    table, kept = torch.arange(6.0).reshape(3, 2), torch.zeros(2)

    def by_elements(x, places):
        x.add_(1)
        kept.copy_(x)
        found = table[places].sum(0)
        x.mul_(found)
        return found * 2

    def by_shapes(x, places):
        x.add_(1)
        kept.copy_(x)
        return x @ table

    def by_python(x, places):
        x.add_(1)
        kept.copy_(x)
        raise ValueError("no more")

    good, bad = torch.tensor([0, 2]), torch.tensor([0, 7]) * 1
    for function, error in (
        (by_elements, IndexError),
        (by_shapes, RuntimeError),
        (by_python, ValueError),
    ):
        seen = []
        for called in (function, torch.compile(function)):
            x, texts = torch.ones(2), []
            for _ in range(3):
                x = x * 2
                with pytest.raises(error) as raised:
                    called(x, bad)
                texts += [str(raised.value).partition("\n")[0], x.tolist(), kept.tolist()]
            seen.append(texts)
        assert seen[0] == seen[1]
        assert seen[0][1:3] == [[3.0, 3.0]] * 2
    compiled = torch.compile(by_elements)
    for _ in range(12):
        x, y = torch.ones(2), torch.ones(2)
        assert compiled(x, good).tolist() == by_elements(y, good).tolist()
        assert x.tolist() == y.tolist() == [8.0, 12.0]
    with pytest.raises(IndexError):
        compiled(x, bad)
    assert x.tolist() == kept.tolist() == [9.0, 13.0]
    assert compiled(x, good).tolist() == [8.0, 12.0]


@pytest.mark.recorded
def test_an_error_before_a_call_is_not_the_calls_own(session: Session) -> None:
    wrote = deque()

    def function(x, places):
        wrote.append(1)
        x.add_(1)
        return torch.arange(3.0)[places]

    compiled, x = torch.compile(function), torch.zeros(2)
    compiled(x, torch.tensor([0]))
    session.record({"op": "index_select", "args": [x._name, 0, 7], "out": "gone"})
    with pytest.raises(GradwireError, match="index_select"):
        compiled(x, torch.tensor([0]))
    assert len(wrote) == 1
    assert x.tolist() == [1.0, 1.0]


def test_what_torch_is_told_is_taken() -> None:
    """Without effect, but for what torch itself refuses."""
    said: dict[str, Any] = {"mode": "reduce-overhead", "dynamic": True, "backend": "inductor"}
    made = torch.compile(torch.sin, fullgraph=True, **said)
    assert made(torch.zeros(2)).tolist() == [0, 0]
    assert torch.compile(options={}, **{**said, "mode": None})(torch.exp)(torch.zeros(1)) == 1
    with pytest.raises(RuntimeError, match="Unrecognized mode"):
        torch.compile(torch.sin, mode="fastest")
    with pytest.raises(RuntimeError, match="both"):
        torch.compile(torch.sin, mode="default", options={})
    with pytest.raises(AssertionError, match="callable"):
        torch.compile(3)  # type: ignore[arg-type]


def test_it_is_shown_by_what_it_did(session: Session) -> None:
    """Kinds that it is written down for, and calls; not those within another function's trace."""

    @torch.compile
    def double(x):
        return x * 2

    assert repr(double) == "<compiled double: 0 kinds of arguments, 0 calls>"
    double(torch.ones(2))
    assert repr(double) == "<compiled double: 1 kind of arguments, 1 call>"
    double(torch.ones(2)), double(torch.ones(3))
    torch.func.vmap(double)(torch.ones(2, 2))
    double.explain(torch.ones(3))
    assert repr(double) == "<compiled double: 2 kinds of arguments, 3 calls>"
    assert repr(torch.compile(nn.ReLU())) == "<compiled ReLU: 0 kinds of arguments, 0 calls>"
