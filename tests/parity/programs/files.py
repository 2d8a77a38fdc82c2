"""save and load: what comes back of tensors and of what stands around them."""

from collections import OrderedDict
from io import BytesIO

from tests.parity.data import draw


def _again(torch, value):
    file = BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file)


def tensors_alone(torch, see):
    x = draw(torch, 2, 3, requires_grad=True)
    x.sin().sum().backward()
    see(leaf=_again(torch, x), constant=_again(torch, x.detach()), made=_again(torch, x * 2))
    see(view=_again(torch, x.detach().t()[1:]), wide=_again(torch, x.detach()[:1].expand(4, 3)))
    see(empty=_again(torch, torch.zeros(0, 3)), scalar=_again(torch, torch.tensor(2.5)))
    loaded = _again(torch, x)
    (loaded * 3).sum().backward()
    see(loaded=loaded, x=x)


def every_dtype(torch, see):
    for name in ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool"]:
        x = draw(torch, 2, 2).abs() * 3
        see(**{name: _again(torch, x.to(getattr(torch, name)))})
    for name in ["uint8", "int8", "int16", "int32", "int64"]:
        see(**{name: _again(torch, torch.arange(5).to(getattr(torch, name)))})
    z = draw(torch, 3, dtype="complex128")
    see(zero=_again(torch, z[:0]), none=_again(torch, z[0]))


def what_stands_around(torch, see):
    x = draw(torch, 3)
    value = {
        "a": [x, (x * 2, None)],
        3: {"nan": float("inf"), "b": True, "i": 2**70, "z": 1 - 2j},
        (1, "k"): {1, 2},
        "dtype": torch.float64,
        "size": x.shape,
        "bytes": b"\x00\xff",
        "ordered": OrderedDict([("b", x + 1), ("a", "Ünïcode")]),
    }
    found = _again(torch, value)
    see(kinds=[type(v).__name__.lower() for v in found.values()], keys=[str(key) for key in found])
    see(**{str(place): item for place, item in enumerate(found.values()) if place != 5})
    see(bytes=list(found["bytes"]), order=list(found["ordered"]), device=str(found["a"][0].device))


def the_same_tensor_and_views(torch, see):
    x = draw(torch, 2, 3)
    found = _again(torch, {"x": x, "again": x, "row": x[1], "t": x.t(), "flat": x.detach().view(6)})
    see(same=found["x"] is found["again"])
    found["row"].zero_()
    see(**found)
    found["flat"][0] = 5.0
    see(**found)
    see(untouched=x)


def state_dicts(torch, see):
    def made():
        torch.manual_seed(0)
        net = torch.nn.Sequential(
            torch.nn.Linear(3, 4, bias=False), torch.nn.BatchNorm1d(4)
        ).double()
        with torch.no_grad():
            for place, p in enumerate(net.parameters()):
                p.copy_(draw(torch, *p.shape, seed=place))
        return net, torch.optim.Adam(net.parameters(), lr=0.1, betas=(0.8, 0.9))

    def step(net, opt, seed):
        opt.zero_grad()
        loss = net(draw(torch, 5, 3, seed=seed)).square().sum()
        loss.backward()
        opt.step()
        return loss

    net, opt = made()
    for seed in range(3):
        step(net, opt, seed)
    file = BytesIO()
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": 3}, file)
    expected = [step(net, opt, seed).item() for seed in range(3, 6)]
    other, later = made()
    file.seek(0)
    kept = torch.load(file, weights_only=True)
    other.load_state_dict(kept["net"])
    later.load_state_dict(kept["opt"])
    see(epoch=kept["epoch"], net=dict(kept["net"]))
    see(losses=[step(other, later, seed).item() for seed in range(3, 6)], expected=expected)


def parameters(torch, see):
    p = torch.nn.Parameter(draw(torch, 3))
    frozen = torch.nn.Parameter(draw(torch, 2), requires_grad=False)
    found = _again(torch, [p, frozen])
    see(found=found, kinds=[type(x).__name__ for x in found])


def what_can_not_be(torch, see):
    see.error(nowhere=lambda: torch.save(draw(torch, 2), 3))
    see.error(missing=lambda: torch.load("there is no such file"))
