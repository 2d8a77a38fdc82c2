"""A session goes into a file from Python, and comes out of it, to the same bits."""

from __future__ import annotations

from typing import Any

import pytest

import gradwire as torch
from gradwire.session import Session
from gradwire_service.host import safetensors


@pytest.fixture
def client(session: Session) -> Any:
    return torch.connect(None if session.transport.url == "embedded" else session.transport.url)


def _weights():
    return [torch.nn.Parameter(0.3 * torch.randn(4, 3)), torch.nn.Parameter(torch.zeros(4))]


def _train(weights, opt, rounds):
    losses = []
    for _ in range(rounds):

        def closure():
            opt.zero_grad()
            out = torch.tanh(torch.rand(8, 3) @ weights[0].T + weights[1])
            (slope,) = torch.autograd.grad(out.sum(), weights[0], create_graph=True)
            loss = (out**2).mean() + (slope**2).mean()
            loss.backward()
            return loss

        losses.append(opt.step(closure).item())
    return losses + [w.tolist() for w in weights]


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "LBFGS"])
def test_training_goes_on_to_the_same_bits(client: Any, session: Session, kind: str) -> None:
    weights = _weights()
    opt = getattr(torch.optim, kind)(weights, lr=0.05)
    _train(weights, opt, 2)
    opt.param_groups[0]["lr"], opt.param_groups[0]["initial_lr"] = 0.02, 0.05
    data = session.snapshot({"weights": weights, "opt": opt, "epoch": 2})
    expected = _train(weights, opt, 3)
    with client.restore(data) as again:
        kept, found = again.kept["weights"], again.kept["opt"]
        assert found.param_groups[0]["params"][0] is kept[0]
        assert found.param_groups[0]["initial_lr"] == 0.05
        assert [type(w) for w in kept] == [torch.nn.Parameter] * 2
        assert again.kept["epoch"] == 2
        assert _train(kept, found, 3) == expected


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


def _begun():
    """In the midst of it: a graph of two orders, a view, a write, a custom function, a gradient."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * 2).sum().backward()
    h = x * 1
    h[1:] *= 2
    row = h[:2]
    row.add_(1)
    y = _Cube.apply(h) * torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return {"x": x, "h": h, "row": row, "y": y, "slope": slope, "shape": x.shape}


def _said(values):
    return {
        name: (v.tolist(), v.requires_grad, v.is_leaf, v._version, v.stride(),
               None if v.grad_fn is None else v.grad_fn.name())
        for name, v in values.items()
        if name != "shape"
    }  # fmt: skip


def _ended(values):
    x, slope, row = values["x"], values["slope"], values["row"]
    slope.sum().backward(retain_graph=True)
    row.mul_(2)
    random = torch.rand(2)
    return [x.grad.tolist(), values["h"].tolist(), random.tolist(), _said(values)]


@pytest.mark.recorded
def test_a_graph_goes_on_where_it_was(client: Any, session: Session) -> None:
    torch.manual_seed(4)
    values = _begun()
    before = _said(values)
    data = session.snapshot(values)
    expected = _ended(values)
    with client.restore(data) as again:
        assert _said(again.kept) == before
        assert again.kept["shape"] == (3,)
        assert again.kept["x"].grad.tolist() == [2, 2, 2]
        assert _ended(again.kept) == expected
        with pytest.raises(RuntimeError, match="modified"):
            again.kept["y"].sum().backward()
        twice = again.snapshot(again.kept)
    with client.restore(twice) as third:
        assert _said(third.kept) == expected[-1]


def test_what_is_made_later_gets_names_of_its_own(client: Any, session: Session) -> None:
    x = torch.ones(3)
    with client.restore(session.snapshot({"x": x})) as again:
        more = [torch.full((1,), i) for i in range(20)]
        assert [m.item() for m in more] == list(range(20))
        assert again.kept["x"].sum().item() == 3


def test_only_what_is_kept_stays(client: Any, session: Session) -> None:
    _, x = torch.ones(1000), torch.ones(3)
    data = session.snapshot([x, x])
    with client.restore(data) as again:
        torch.ones(1).item()
        assert again.kept[0] is again.kept[1]
        assert again.info()["bytes"]["values"] < 100


def test_without_a_word_all_names_are_there(client: Any, session: Session) -> None:
    w = torch.nn.Parameter(torch.ones(2))
    opt = torch.optim.Adam([w])
    with client.restore(session.snapshot()) as again:
        kinds = {type(v).__name__ for v in again.kept.values()}
        assert kinds == {"Tensor", "Adam"}
        assert again.kept[w._name].tolist() == [1, 1]
    assert opt.param_groups


@pytest.mark.recorded
def test_between_hosts(client: Any, session: Session) -> None:
    values = _begun()
    data = session.snapshot(values)
    expected = _ended(values)
    with torch.connect().restore(data) as here:
        assert _ended(here.kept) == expected


def test_what_does_not_hold_together(client: Any, session: Session) -> None:
    x = torch.ones(2)
    metadata, arrays = safetensors.read(session.snapshot({"x": x}))
    for change in (
        {"gradwire_kept": '{"tensor": ["t999", "Tensor"]}'},
        {"gradwire_kept": '{"tensor": 3}'},
        {"gradwire_kept": '{"optimizer": ["t1", null]}'},
        {"gradwire_kept": "["},
        {"gradwire_snapshot": "7"},
        {"session": "{}"},
    ):
        body = b"".join(safetensors.write(arrays, metadata | change))
        with pytest.raises((torch.GradwireError, RuntimeError)):
            client.restore(body)
    for body in (b"", b"garbage", b"".join(safetensors.write(arrays, {}))):
        with pytest.raises(torch.GradwireError):
            client.restore(body)
    assert x.sum().item() == 2


def test_what_can_not_be_kept(client: Any, session: Session) -> None:
    with client.session():
        other = torch.ones(1)
    with pytest.raises(torch.GradwireError, match="lives in session"):
        session.snapshot({"other": other})
    with pytest.raises(TypeError, match="is not saved"):
        session.snapshot({"f": print})


def test_a_snapshot_that_was_changed_is_refused(client: Any, session: Session) -> None:
    x = torch.ones(3, requires_grad=True)
    data = session.snapshot({"x": x, "epoch": 7})
    for place in (len(data) - 1, data.index(b'\\"epoch') + 4, data.index(b"sha256:") + 9):
        spoilt = bytearray(data)
        spoilt[place] ^= 1
        with pytest.raises(RuntimeError, match="changed after it was written") as raised:
            client.restore(bytes(spoilt))
        assert raised.value.code == "snapshot_incompatible"


def test_what_a_snapshot_keeps_is_no_other_ones(client: Any, session: Session) -> None:
    first = session.snapshot({"x": torch.ones(2)})
    metadata, arrays = safetensors.read(session.snapshot({"x": torch.zeros(2)}))
    other = {name: text for name, text in safetensors.read(first)[0].items() if "kept" in name}
    mixed = b"".join(map(bytes, safetensors.write(arrays, metadata | other)))
    with pytest.raises(RuntimeError, match="gradwire_kept_digest is") as raised:
        client.restore(mixed)
    assert raised.value.code == "snapshot_incompatible"
    metadata.pop("gradwire_kept_digest")
    with pytest.raises(RuntimeError, match="lacks gradwire_kept_digest"):
        client.restore(b"".join(map(bytes, safetensors.write(arrays, metadata))))
