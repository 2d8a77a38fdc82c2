"""Coming back to a session: lists, attach, tensors by name, names of modules' parts, resume."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.clients.conftest import Counted

import gradwire as torch
from gradwire.session import Session
from gradwire_engine.errors import GradwireError


@pytest.fixture(params=["embedded", "http", "stream"])
def client(request: pytest.FixtureRequest) -> Iterator[torch.Client]:
    """A client of each door."""
    if request.param == "embedded":
        yield torch.connect()
    else:
        yield torch.connect(request.getfixturevalue("server_url"), transport=request.param)
    torch.connect()


@pytest.fixture
def label(request: pytest.FixtureRequest, client: torch.Client) -> Iterator[str]:
    """A label that nobody else uses; its sessions end with the test."""
    found = f"label of {request.node.name}"
    yield found
    for one in client.sessions():
        if one["label"] == found:
            client.attach(one["id"]).close()


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = torch.nn.TransformerEncoder(
            torch.nn.TransformerEncoderLayer(4, 1, 8, dropout=0.0), 2
        )
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.encoder(x))


# names


def test_parts_have_their_modules_names(session: Session) -> None:
    model = Net()
    model(torch.ones(3, 4)).sum().backward()
    expected = {name for name, _ in (*model.named_parameters(), *model.named_buffers())}
    assert "encoder.layers.0.linear1.weight" in expected
    assert expected <= set(session.tensors)
    drawn = session.graph("dot")
    assert "encoder.layers.0.linear1.weight" in drawn
    with pytest.raises(GradwireError, match=r"encoder\.layers\.0\.linear1\.weight"):
        session.transport.steps(session.id, _freeing_twice("encoder.layers.0.linear1.weight"))


def _freeing_twice(name: str):
    from gradwire.transport import Request

    return Request([{"free": [name]}, {"free": [name]}], atomic=True)


def test_names_cost_no_request(session: Session, counted: Counted) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x = torch.ones(3, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    counted.take()
    for _ in range(3):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    assert len(counted.take()) == 3


def test_a_leading_digit_gets_the_class_in_front(session: Session) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    model(torch.ones(2))
    assert model[0].weight._name == "Sequential.0.weight"


def test_two_models_have_names_of_their_own(session: Session) -> None:
    class Critic(torch.nn.Linear):
        pass

    first, second, third = torch.nn.Linear(2, 2), Critic(2, 2), Critic(2, 2)
    for model in (first, second, third):
        model(torch.ones(2))
    names = [model.weight._name for model in (first, second, third)]
    assert names == ["weight", "Critic.weight", "Critic_2.weight"]


def test_a_model_that_is_built_again_has_its_names_again(session: Session) -> None:
    for _ in range(3):  # a cell of a notebook, run again
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.ones(2)).sum().backward()
        optimizer.step()
        assert model.weight._name == "weight"
        del model, optimizer
    session.flush()
    assert set(session.tensors) == set()


def test_a_part_of_a_larger_model_is_named_by_the_longer_path(session: Session) -> None:
    class Wrapper(torch.nn.Module):
        def __init__(self, inner: torch.nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x)

    inner = torch.nn.Linear(2, 2)
    inner(torch.ones(2))
    assert inner.weight._name == "weight"
    outer = Wrapper(inner)
    inner(torch.ones(2))
    assert inner.weight._name == "inner.weight"
    assert outer(torch.ones(2)).shape == (2,)


def test_odd_names_are_made_to_fit(session: Session) -> None:
    model = torch.nn.Module()
    for name in ("a b", "ä", "grad", "x" * 200, "x" * 199 + "y", "NaN"):
        model.register_parameter(name, torch.nn.Parameter(torch.ones(1)))
    torch.optim.SGD(model.parameters(), lr=0.1)
    session.flush()
    names = [parameter._name for parameter in model.parameters()]
    assert len(set(names)) == len(names)
    assert set(names) <= set(session.tensors)
    assert names[:3] == ["Module.a_b", "Module._", "Module.grad_"]


def test_names_go_with_parameters(session: Session) -> None:
    model = torch.nn.Linear(2, 2)
    model(torch.ones(2))
    model.double()
    model(torch.ones(2, dtype=torch.float64)).sum().backward()
    other = copy.deepcopy(model)
    other(torch.ones(2, dtype=torch.float64))
    hooked = []
    model.weight.register_post_accumulate_grad_hook(lambda p: hooked.append(p.grad.sum().item()))
    wrapped = torch.nn.Sequential(model)
    wrapped(torch.ones(2, dtype=torch.float64)).sum().backward()
    assert hooked
    assert model.weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


# lists and attach


def test_sessions_are_listed(client: torch.Client, label: str) -> None:
    with client.session(label=label) as session:
        found = [one for one in client.sessions() if one["label"] == label]
        assert [one["id"] for one in found] == [session.id]


def test_a_label_finds_a_session_as_an_id_does(client: torch.Client, label: str) -> None:
    with client.session(label=label) as session:
        session.tensors["w"] = torch.tensor([1.0, 2.0])
    for key in (label, session.id):
        with client.attach(key) as again:
            assert again.id == session.id
            assert again.tensors["w"].tolist() == [1.0, 2.0]
    with client.session(label=label), pytest.raises(GradwireError, match="2 sessions have the"):
        client.attach(label)
    with pytest.raises(LookupError, match="there is no session"):
        client.attach("nobody has this label")


@pytest.mark.parametrize("odd", ["first try?#%2F ..", "..", ".", "/"])
def test_labels_that_stand_in_no_path(client: torch.Client, odd: str) -> None:
    label = f"runs/{odd}"
    if odd in (".", ".."):
        label = odd
    with pytest.raises(LookupError, match=r"session"):
        client.attach(label)
    one, other = client.session(label=label), client.session(label=label)
    with pytest.raises(GradwireError, match="2 sessions have the"):
        client.attach(label)
    other.close()
    assert client.attach(label).id == one.id
    one.close()


def test_what_has_a_label_outlives_its_block(client: torch.Client, label: str) -> None:
    with client.session(label=label) as session:
        x = torch.ones(2)
        session.tensors["x"] = x
        x += 1  # recorded last, and sent with the block's end
    assert client.attach(label).tensors["x"].tolist() == [2.0, 2.0]
    with client.session() as other:
        torch.ones(2).tolist()
    with pytest.raises(GradwireError, match="was closed"):
        client.attach(other.id)
    session.close()
    with pytest.raises(LookupError):
        client.attach(label)


def test_the_graph_is_there(client: torch.Client, label: str) -> None:
    with client.session(label=label, seed=3) as session:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x**3).sum()
        session.tensors["x"], session.tensors["y"] = x, y
        torch.manual_seed(5)
        torch.rand(3)
        expected = torch.rand(2)
        torch.manual_seed(5)
        torch.rand(3)
    with client.attach(label) as again:
        assert sorted(again.tensors)[-2:] == ["x", "y"]
        assert torch.rand(2).tolist() == expected.tolist()
        y, x = again.tensors["y"], again.tensors["x"]
        assert (y.requires_grad, y.is_leaf, y.grad_fn.name()) == (True, False, "SumBackward0")
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        assert g.tolist() == [3.0, 12.0]
        g.sum().backward()
        assert x.grad.tolist() == [6.0, 12.0]
        assert again.tensors["x"] is x


def test_a_client_frees_what_it_made_and_nothing_else(client: torch.Client, label: str) -> None:
    with client.session(label=label) as session:
        session.tensors["w"] = torch.ones(2)
        kept = torch.ones(3)
        kept.tolist()
    with client.attach(label) as again:
        found, own = again.tensors["w"], torch.zeros(2)
        own.tolist()
        names = set(again.tensors)
        del found, own
        again.flush()
        assert set(again.tensors) == names - {n for n in names if n.startswith("t") and "_" in n}
        assert again.tensors["w"].tolist() == [1.0, 1.0]
        del again.tensors["w"]
        assert "w" not in again.tensors
        with pytest.raises(KeyError, match="no tensor called 'w'"):
            again.tensors["w"]
        with pytest.raises(KeyError):
            del again.tensors["w"]
    assert kept.tolist() == [1.0] * 3


def test_tensors_by_name(session: Session) -> None:
    a, b = torch.ones(1), torch.zeros(1)
    session.tensors["a"] = a
    session.tensors["a"] = a
    session.tensors["a"] = b  # which takes the name from a
    assert session.tensors["a"] is b
    assert (a + b).tolist() == [1.0]
    assert "a" in session.tensors
    assert len(session.tensors) == len(list(session.tensors))
    for name, problem in (("1x", ValueError), ("x.grad", ValueError), ("", ValueError)):
        with pytest.raises((problem, TypeError)):
            session.tensors[name] = a
    with pytest.raises(TypeError, match="is a int"):
        session.tensors["c"] = 3
    del session.tensors["a"]
    assert (b + 1).tolist() == [1.0]
    with pytest.raises(KeyError):
        session.tensors["none"]


@pytest.mark.recorded
def test_two_clients_see_each_others_tensors(client: torch.Client, label: str) -> None:
    with client.session(label=label) as one:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        one.tensors["x"] = x
        one.flush()
        other = client.attach(label)
        with other.here():
            other.tensors["y"] = other.tensors["x"] * 3
            other.tensors["y"].sum().backward()
            mine = torch.ones(4)
            mine.tolist()
        other.flush()
        assert one.tensors["y"].tolist() == [3.0, 6.0]
        one.refresh()
        assert x.grad.tolist() == [3.0, 3.0]
        names = list(one.tensors)
        assert len(names) == len(set(names))
        del other.tensors["x"]
        other.flush()
        with pytest.raises(GradwireError, match="'x'") as told:
            (x + 1).tolist()
        assert "another client" in "".join(told.value.__notes__)
        assert one.tensors["y"].tolist() == [3.0, 6.0]
        one.refresh()
        with pytest.raises(RuntimeError, match="another client of the session freed 'x'"):
            x.tolist()


# resume


class Main(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.main = torch.nn.Linear(2, 2)


class Other(Main):
    pass


@pytest.mark.parametrize("kinds", [(Main, Main), (Main, Other), (Other, Main)])
@pytest.mark.parametrize("given", [(0, 1), (1, 0)])
def test_two_modules_keep_their_own_weights(
    client: torch.Client, label: str, kinds: tuple[type[Main], ...], given: tuple[int, int]
) -> None:
    """Names go by the order in which modules were built, whichever is given or called first."""
    with client.session(label=label) as session:
        first = [kind() for kind in kinds]
        session.resume(*[first[place] for place in given])
        for model in reversed(first):
            model.main(torch.ones(2)).tolist()
        expected = [model.main.weight.tolist() for model in first]
    for order in ((0, 1), (1, 0)):
        with client.attach(label) as again:
            others = [kind() for kind in kinds]
            assert again.resume(*[others[place] for place in order])
            assert [model.main.weight.tolist() for model in others] == expected


def test_a_copy_of_a_module_is_named_as_well(client: torch.Client, label: str) -> None:
    def build() -> tuple[torch.nn.Module, torch.nn.Module]:
        model = Main()
        return model, copy.deepcopy(model)

    with client.session(label=label) as session:
        model, target = build()
        session.resume(model, target)
        with torch.no_grad():
            target.main.weight.zero_()
        expected = [m.main.weight.tolist() for m in (model, target)]
    with client.attach(label) as again:
        both = build()
        assert again.resume(*both)
        assert [m.main.weight.tolist() for m in both] == expected


def test_what_was_drawn_to_build_leaves_no_trace(client: torch.Client, label: str) -> None:
    with client.session(label=label, seed=3) as session:
        session.resume(Main())
        session.flush()
        expected = session.info()["random"]
    for _ in range(2):
        with client.attach(label) as again:
            model = Main()
            again.refresh()
            assert "unknown" not in again.tensors
            assert again.resume(model)
            assert again.info()["random"] == expected
    with client.attach(label) as again:
        assert again.resume(Main())
        torch.rand(3).tolist()
        moved = again.info()["random"]
        assert again.resume(Main())  # only what was drawn before the first counts as building
        assert again.info()["random"]["draws"] >= moved["draws"]


def test_two_clients_may_build_the_same_module(client: torch.Client, label: str) -> None:
    with client.session(label=label) as one:
        mine = Main()
        other = client.attach(label)
        with other.here():
            theirs = Main()
            theirs.main(torch.ones(2)).sum().backward()
            other.flush()
        mine.main(torch.ones(2)).sum().backward()
        one.flush()
        with other.here():
            assert theirs.main(torch.ones(2)).shape == (2,)
            assert theirs.main.weight.grad.tolist() == [[1.0, 1.0]] * 2


@pytest.mark.recorded
def test_hooks_are_not_lost_without_a_word(client: torch.Client, label: str) -> None:
    with client.session(label=label) as session:
        x = torch.ones(2, requires_grad=True)
        session.tensors["x"] = x
        handle = x.register_hook(lambda g: g * 2)
        with pytest.raises(GradwireError, match="hook"):
            session.refresh()
        x.sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
        handle.remove()
        session.refresh()
        assert x.grad.tolist() == [2.0, 2.0]


def test_who_attaches_at_one_time_gets_one_session(client: torch.Client, label: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: client.session(label=label, attach=True).id, range(6)))
    assert len(set(found)) == 1
    assert [one["id"] for one in client.sessions() if one["label"] == label] == [found[0]]


def losses(session: Session, steps: int) -> list[float]:
    """A training that takes up what the session has of it."""
    torch.manual_seed(3) if "done" not in session.tensors else None
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    if not session.resume(model, optimizer):
        assert "done" not in session.tensors
        session.tensors["done"] = torch.zeros((), dtype=torch.int64)
    done, found = session.tensors["done"], []
    for _ in range(steps):
        with session.transaction():
            optimizer.zero_grad()
            loss = ((model(torch.rand(3, 4)) - 1) ** 2).mean()
            loss.backward()
            optimizer.step()
            done += 1
        found.append(loss.item())
    return found


def test_a_training_goes_on(client: torch.Client, label: str) -> None:
    with client.session() as session:
        expected = losses(session, 6)
    found: list[float] = []
    for _ in range(3):
        with client.session(label=label, attach=True) as session:
            found += losses(session, 2)
    assert found == expected


def test_a_new_session_has_nothing_to_take_up(session: Session) -> None:
    model = torch.nn.Linear(2, 2)
    before = model.weight.tolist()
    assert session.resume(model) is False
    assert model.weight.tolist() == before
    assert model.weight._name == "weight"


def test_another_module_is_refused_and_nothing_changed(client: torch.Client, label: str) -> None:
    with client.session(label=label):
        torch.nn.Linear(2, 2)(torch.ones(2)).tolist()
        kept = torch.nn.Linear(2, 2)
        kept(torch.ones(2)).tolist()
    with client.attach(label) as again:
        other = torch.nn.Linear(3, 2)
        before = other.weight.tolist()
        with pytest.raises(GradwireError, match=r"weight is .* there and .* here"):
            again.resume(other)
        assert other.weight.tolist() == before

        class More(torch.nn.Linear):
            def __init__(self) -> None:
                super().__init__(2, 2)
                self.more = torch.nn.Parameter(torch.ones(1))

        with pytest.raises(GradwireError, match="it has no more"):
            again.resume(More())
        with pytest.raises(TypeError, match="modules and optimizers, not a int"):
            again.resume(3)
        right = torch.nn.Linear(2, 2)
        assert again.resume(right) is True
        assert right.weight.tolist() == kept.weight.tolist()


def test_settings_of_an_optimizer_come_along(client: torch.Client, label: str) -> None:
    with client.session(label=label) as session:
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        optimizer.param_groups[0]["lr"] = 0.25
        model(torch.ones(2)).sum().backward()
        optimizer.step()
        session.flush()
        kept = optimizer.state[model.weight]["momentum_buffer"].tolist()
        with client.attach(label) as again:
            other = torch.nn.Linear(2, 2)
            goes_on = torch.optim.SGD(other.parameters(), lr=0.5, momentum=0.9)
            fresh = torch.optim.Adam(other.parameters())  # the session has none of its kind
            assert again.resume(other, goes_on, fresh)
            assert goes_on.param_groups[0]["lr"] == 0.25
            assert goes_on.state[other.weight]["momentum_buffer"].tolist() == kept
            assert not fresh.state[other.weight]


def test_of_several_optimizers_the_last_goes_on(client: torch.Client, label: str) -> None:
    with client.session(label=label):
        model = torch.nn.Linear(2, 2)
        for lr in (0.5, 0.25):
            optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
            model(torch.ones(2)).sum().backward()
            optimizer.step()
    with client.attach(label) as again:
        other = torch.nn.Linear(2, 2)
        goes_on = torch.optim.SGD(other.parameters(), lr=1.0, momentum=0.9)
        assert again.resume(other, goes_on)
        assert goes_on.param_groups[0]["lr"] == 0.25


def test_a_module_built_elsewhere_moves(server_url: str) -> None:
    client = torch.connect(server_url)
    session = client.session(label="moves", seed=1)
    with session:
        model = torch.nn.Linear(2, 2)
        expected = model(torch.ones(2)).tolist()
    with torch.connect().session():
        other = torch.nn.Linear(2, 2)
        other.weight.tolist()
    again = client.attach("moves")
    assert again.resume(other)
    with again.here():
        assert other(torch.ones(2)).tolist() == expected
    again.close()
    torch.connect()
