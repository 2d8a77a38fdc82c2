"""Pickles and copies: by value, what PyTorch pickles; the rest is refused by name."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.clients.conftest import Counted

import gradwire as torch
from gradwire.session import Session
from gradwire_engine.errors import CODES, GradwireError, error
from gradwire_engine.spec import DTYPES

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
WAYS = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "deepcopy": copy.deepcopy}
Way = Callable[[Any], Any]
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


# exceptions


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_exceptions(code: str, protocol: int) -> None:
    for raised in (None, ValueError):
        before = error(code, "x is (2, 3)", "transpose it", raised=raised)
        before.step, before.op, before.request_id = 3, "matmul", "r_1"
        before.within("matmul")
        before.add_note("recorded at a.py:3")
        after = pickle.loads(pickle.dumps(before, protocol))
        assert type(after) is type(before)
        assert isinstance(after, raised or CODES[code].raised)
        assert (str(after), vars(after)) == (str(before), vars(before))
        assert str(copy.copy(before)) == str(before)


def test_groups_of_exceptions() -> None:
    both = ExceptionGroup("both", [error("not_scalar", "a"), error("graph_freed", "b", "c")])
    after = pickle.loads(pickle.dumps(both))
    assert [problem.code for problem in after.exceptions] == ["not_scalar", "graph_freed"]


def wrong(size: int) -> Any:
    """What a worker raises."""
    return torch.ones(2, 3) @ torch.ones(size, 4)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_a_workers_exception_is_what_it_was(method: str, door: str | None) -> None:
    torch.connect(door)
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool, pytest.raises(GradwireError) as caught:
        pool.map(wrong, [5])
    assert caught.value.code == "shape_mismatch"
    assert "(2, 3)" in caught.value.detail or "[2, 3]" in caught.value.detail
    with ProcessPoolExecutor(1, context) as executor, pytest.raises(RuntimeError) as caught:
        executor.submit(wrong, 6).result()
    assert isinstance(caught.value, GradwireError)


# what has no elements


@ways
def test_there_is_one_of_each(way: Way) -> None:
    ones = [*DTYPES.values(), torch.channels_last, torch.contiguous_format, torch.strided]
    ones += [torch.sin, torch.absolute, torch.add, torch.linalg.svd, torch.nn.functional.relu]
    ones += [torch.special.erfc, torch.fft.fft, torch.tensor, torch.nn.Linear, torch.optim.Adam]
    for one in ones:
        assert way(one) is one, one


@ways
def test_values(way: Way) -> None:
    for value in (torch.Size([2, 3]), torch.device("cpu"), torch.device("cuda:1")):
        after = way(value)
        assert (type(after), after, repr(after)) == (type(value), value, repr(value))
    assert repr(way(torch.finfo(torch.bfloat16))) == repr(torch.finfo(torch.bfloat16))
    assert way(torch.iinfo(torch.int8)).max == 127


@ways
def test_generators(way: Way, session: Session) -> None:
    generator = torch.Generator().manual_seed(3)
    torch.rand(2, generator=generator)
    again = way(generator)
    first, second = torch.rand(3, generator=generator), torch.rand(3, generator=again)
    assert first.tolist() == second.tolist()


@ways
def test_results_with_names(way: Way, session: Session) -> None:
    found = torch.max(torch.tensor([[1.0, 3.0], [2.0, 0.0]]), 1)
    after = way(found)
    assert type(after) is type(found)
    assert (after.values.tolist(), after.indices.tolist()) == ([3.0, 2.0], [1, 0])


# tensors


def of(dtype: Any) -> torch.Tensor:
    return torch.tensor([[0, 1, 2], [3, 0, 1]]).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_dtype(dtype: Any, protocol: int, session: Session) -> None:
    before = of(dtype)
    after = pickle.loads(pickle.dumps(before, protocol))
    assert (after.dtype, after.shape, after.tolist()) == (dtype, before.shape, before.tolist())


@given(
    shape=st.lists(st.integers(0, 4), max_size=4),
    seed=st.integers(0, 2**16),
    protocol=st.sampled_from(PROTOCOLS),
)
@settings(max_examples=60, deadline=None)
def test_every_shape_and_order(shape: list[int], seed: int, protocol: int) -> None:
    torch.connect()
    draws = np.random.default_rng(seed)
    whole = torch.tensor(draws.normal(size=shape)).permute(draws.permutation(len(shape)).tolist())
    cut = whole[tuple(slice(None, None, int(draws.integers(1, 3))) for _ in shape)]
    for before in (whole, cut, cut.clone(), cut.contiguous()):
        after = pickle.loads(pickle.dumps(before, protocol))
        assert after.tolist() == before.tolist()
        assert after.shape == before.shape
        if before.numel():
            longer = [axis for axis in range(before.ndim) if before.shape[axis] > 1]
            strides = [[x.stride(axis) for axis in longer] for x in (before, after)]
            assert strides[0] == strides[1]


def test_large_arrays_go_beside_a_pickle(session: Session) -> None:
    before, buffers = torch.arange(1000.0), []
    body = pickle.dumps(before, 5, buffer_callback=buffers.append)
    assert len(body) < 1000
    assert len(buffers) == 1
    after = pickle.loads(body, buffers=[bytes(buffer) for buffer in buffers])
    after += 1
    assert (after[0].item(), before[0].item()) == (1.0, 0.0)


@ways
def test_leaves_and_others(way: Way, session: Session) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x**2).sum().backward()
    after = way(x)
    assert (after.requires_grad, after.is_leaf, after.tolist()) == (True, True, [1.0, 2.0])
    (after * 3).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    kept = [5.0, 7.0] if way is copy.deepcopy else [3.0, 3.0]  # torch pickles no gradient
    assert after.grad.tolist() == kept


def test_what_has_a_history(session: Session) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    after = pickle.loads(pickle.dumps(x * 2))
    assert (after.is_leaf, after.requires_grad, after.tolist()) == (True, True, [2.0, 4.0])
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)


@ways
def test_shared_memory_stays_shared(way: Way, session: Session) -> None:
    whole = torch.zeros(2, 4)
    after, part, row = way([whole, whole[:, 1:3], whole[1]])
    part += 1
    row += 1
    assert after.tolist() == [[0, 1, 1, 0], [1, 2, 2, 1]]
    assert whole.tolist() == [[0.0] * 4] * 2
    one, other = way((whole, whole))
    assert one is other


def test_copy_shares_elements(session: Session) -> None:
    x = torch.nn.Parameter(torch.zeros(3))
    x.name_of_mine = "w"
    y = copy.copy(x)
    assert (type(y), y.requires_grad, y.name_of_mine) == (torch.nn.Parameter, True, "w")
    with torch.no_grad():
        y += 1
    assert x.tolist() == [1.0, 1.0, 1.0]


class Own(torch.nn.Parameter):
    """A class of the user's."""


@ways
def test_classes(way: Way, session: Session) -> None:
    parameter = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    parameter.tag = [1, 2]
    buffer = torch.nn.Buffer(torch.ones(2), persistent=False)
    own = Own(torch.ones(2))
    after = way([parameter, buffer, own])
    assert [type(x) for x in after] == [torch.nn.Parameter, torch.nn.Buffer, Own]
    assert (after[0].requires_grad, after[1].persistent) == (False, False)
    kept = None if way is copy.deepcopy else [1, 2]  # torch copies no attributes of parameters
    assert getattr(after[0], "tag", None) == kept
    assert after[2].requires_grad


# modules, optimizers, schedulers

MODULES: dict[str, Callable[[], torch.nn.Module]] = {
    "Linear": lambda: torch.nn.Linear(3, 3),
    "Sequential": lambda: torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.ReLU()),
    "BatchNorm1d": lambda: torch.nn.BatchNorm1d(3),
    "LayerNorm": lambda: torch.nn.LayerNorm(3),
    "Bilinear": lambda: torch.nn.Bilinear(3, 3, 2),
    "Conv1d": lambda: torch.nn.Conv1d(4, 2, 2),
    "LSTM": lambda: torch.nn.LSTM(3, 2, num_layers=2),
    "GRU": lambda: torch.nn.GRU(3, 2, bidirectional=True),
    "PReLU": lambda: torch.nn.PReLU(),
    "MultiheadAttention": lambda: torch.nn.MultiheadAttention(3, 1),
    "TransformerEncoderLayer": lambda: torch.nn.TransformerEncoderLayer(3, 1, 4, dropout=0.0),
    "ModuleList": lambda: torch.nn.ModuleList([torch.nn.Linear(3, 3)]),
    "ModuleDict": lambda: torch.nn.ModuleDict({"a": torch.nn.Linear(3, 3)}),
    "ParameterList": lambda: torch.nn.ParameterList([torch.nn.Parameter(torch.ones(3))]),
}


@ways
@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str, way: Way, session: Session) -> None:
    before = MODULES[name]()
    before.eval()
    after = way(before)
    assert repr(after) == repr(before)
    assert [m.training for m in after.modules()] == [False] * len(list(before.modules()))
    own, others = before.state_dict(), after.state_dict()
    assert list(own) == list(others)
    for key, value in own.items():
        assert others[key].tolist() == value.tolist()
    flags = [[p.requires_grad for p in m.parameters()] for m in (before, after)]
    assert flags[0] == flags[1]
    for parameter in after.parameters():
        with torch.no_grad():
            parameter.zero_()
    assert own[next(iter(own))].tolist() == before.state_dict()[next(iter(own))].tolist()


@ways
def test_tied_parameters_stay_tied(way: Way, session: Session) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    after = way(model)
    assert after[0].weight is after[1].weight
    assert len(list(after.parameters())) == 3


def test_a_module_is_read_by_one_request(session: Session, counted: Counted) -> None:
    model = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(5)])
    session.flush()
    counted.take()
    pickle.dumps(model)
    assert len(counted.take()) == 1
    copy.deepcopy(model)
    assert counted.take() == []


def _trained(model: Any, optimizer: Any, steps: int) -> list[float]:
    x = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]])

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (model(x) ** 2).sum()
        loss.backward()
        return loss

    return [float(optimizer.step(closure)) for _ in range(steps)]


KINDS = [name for name in torch.optim.__all__ if hasattr(getattr(torch.optim, name), "kind")]


@ways
@pytest.mark.parametrize("name", KINDS)
def test_optimizers_go_on(name: str, way: Way, session: Session) -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.01)
    _trained(model, optimizer, 3)
    other, again = way((model, optimizer))
    assert again.param_groups[0]["params"][0] is other.weight
    assert _trained(other, again, 3) == _trained(model, optimizer, 3)
    after, alone = way(model), way(optimizer)
    assert alone.param_groups[0]["lr"] == 0.01
    assert alone.param_groups[0]["params"][0] is not after.weight


@ways
def test_schedulers_go_on(way: Way, session: Session) -> None:
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    for _ in range(3):
        _trained(model, optimizer, 1)
        scheduler.step()
    other, again, goes_on = way((model, optimizer, scheduler))
    for scheduled in (scheduler, goes_on):
        scheduled.step()
    assert again.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"] == 0.025
    assert _trained(other, again, 2) == _trained(model, optimizer, 2)


def doubled(model: Any) -> list[float]:
    """What a worker does with a module that came by pickle."""
    return (model(torch.ones(1, 3)) * 2).reshape(-1).tolist()


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_workers_take_modules_by_value(method: str, session: Session) -> None:
    model = torch.nn.Linear(3, 2)
    expected = doubled(model)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(doubled, [model]) == [expected]


@pytest.mark.parametrize("name", ["Linear", "GRU", "CrossEntropyLoss"])
def test_a_fresh_process_reads_modules(name: str) -> None:
    module = getattr(torch.nn, name)(*([2, 3] if name != "CrossEntropyLoss" else []))
    program = "import pickle, sys; print(type(pickle.load(sys.stdin.buffer)).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(module), capture_output=True
    )
    assert done.stdout.decode().strip() == name, done.stderr.decode()


@pytest.mark.parametrize("way", [*WAYS.values(), copy.copy], ids=[*WAYS, "copy"])
def test_compiled_functions_are_copied(way: Way, session: Session) -> None:
    compiled, x = torch.compile(torch.nn.Linear(2, 1)), torch.ones(1, 2)
    wanted = compiled(x).tolist()
    assert way(compiled)(x).tolist() == wanted


def test_from_one_host_to_another(server_url: str) -> None:
    with torch.connect().session():
        body = pickle.dumps(torch.nn.Linear(3, 2))
    with torch.connect(server_url).session() as session:
        model = pickle.loads(body)
        assert model.weight.session is session
        assert model(torch.ones(3)).shape == (2,)
    torch.connect()


# what is refused


def test_what_lives_on_a_host_is_refused(session: Session) -> None:
    x = torch.ones(2, requires_grad=True)
    refused = {
        "client.attach": session, "connect": torch.connect(), "snapshot": (x * 2).grad_fn,
    }  # fmt: skip
    for instead, value in refused.items():
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=instead):
                way(value)


@pytest.mark.parametrize("name", ["share_memory_", "pin_memory", "untyped_storage", "data_ptr"])
def test_memory_of_the_process_is_refused_by_name(name: str, session: Session) -> None:
    x = torch.ones(2)
    with pytest.raises(AttributeError, match=f"(?s)Tensor.{name}.*attach"):
        getattr(x, name)
    assert not hasattr(x, name)
    assert not x.is_shared()
    with pytest.raises(AttributeError, match="share_memory"):
        torch.nn.Linear(2, 2).share_memory()


def test_no_function_of_the_data_is_called(session: Session) -> None:
    """A pickle of a tensor names functions of this package and of NumPy, and no others."""
    named: set[str] = set()

    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            named.add(module.partition(".")[0])
            return super().find_class(module, name)

    Reader(io.BytesIO(pickle.dumps(torch.nn.Linear(2, 2)))).load()
    assert named <= {"gradwire", "gradwire_engine", "numpy", "collections", "builtins"}
