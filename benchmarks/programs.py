"""Programs as users of torch write them, over torch or over an SDK that has its names.

Each takes the module that is called torch there, and gives a call of which one execution is one
step: what a user looks at after it, so that it was done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]
Program = Callable[[Any], Step]


def mlp(torch: Any) -> Step:
    """784-128-10, a batch of 64: zero_grad, forward, backward, Adam's step, loss.item()."""
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = torch.randn(64, 784), torch.randint(0, 10, (64,))

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def small_gradient(torch: Any) -> Step:
    """Two leaves of 100 elements: (a * b).sin().sum().backward(), a.grad.numpy()."""
    a, b = (torch.randn(100, requires_grad=True) for _ in range(2))

    def step() -> Any:
        a.grad = b.grad = None
        (a * b).sin().sum().backward()
        return a.grad.numpy()

    return step


def scalar_loop(torch: Any) -> Step:
    """s = sin(s) * 1.01 a hundred times over 100 elements, backward, item()."""
    x = torch.randn(100, requires_grad=True)

    def step() -> Any:
        x.grad = None
        s = x
        for _ in range(100):
            s = torch.sin(s) * 1.01
        loss = s.sum()
        loss.backward()
        return loss.item()

    return step


def encoder_layer(torch: Any) -> Step:
    """nn.TransformerEncoderLayer(64, 4, 128) and a head, on 16×20×64, by SGD."""
    torch.manual_seed(0)
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    head = nn.Linear(64, 1)
    optimizer = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=1e-2)
    x, y = torch.randn(16, 20, 64), torch.randn(16, 20, 1)

    def step() -> Any:
        optimizer.zero_grad()
        loss = ((head(layer(x)) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


FOUR: dict[str, Program] = {
    "mlp": mlp,
    "small gradient": small_gradient,
    "scalar loop": scalar_loop,
    "encoder layer": encoder_layer,
}


def items(torch: Any) -> Step:
    """A thousand of 200,000 elements are written: x[i] = v."""
    x, v = torch.zeros(200_000), torch.ones(1000)

    def step() -> Any:
        x[5000:6000] = v

    return step


def product(torch: Any) -> Step:
    """One op of two matrices of 8×8."""
    x, y = torch.randn(8, 8), torch.randn(8, 8)
    return lambda: x * y


def compiled(torch: Any) -> Step:
    """compile(func.grad_and_value(f)) of the mlp's loss by its four parameters, eager in torch."""
    torch.manual_seed(0)
    functional = torch.nn.functional
    x, y = torch.randn(64, 784), torch.randint(0, 10, (64,))
    weights = [torch.randn(*shape) * 0.05 for shape in ((128, 784), (128,), (10, 128), (10,))]
    if torch.__name__ == "torch":
        leaves = [w.requires_grad_() for w in weights]

        def eager() -> Any:
            hidden = functional.relu(functional.linear(x, leaves[0], leaves[1]))
            loss = functional.cross_entropy(functional.linear(hidden, *leaves[2:]), y)
            return torch.autograd.grad(loss, leaves)

        return eager

    def loss_of(w: Any, b: Any, v: Any, c: Any) -> Any:
        hidden = functional.relu(functional.linear(x, w, b))
        return functional.cross_entropy(functional.linear(hidden, v, c), y)

    made = torch.compile(torch.func.grad_and_value(loss_of, argnums=(0, 1, 2, 3)))
    return lambda: made(*weights)


PROGRAMS: dict[str, Program] = FOUR | {"items": items, "product": product, "compiled": compiled}
