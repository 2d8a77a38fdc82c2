"""torch.utils.checkpoint: the same results and gradients, whatever the region captures."""

from tests.parity.data import draw


def _checkpoint(torch):
    if torch.__name__ == "torch":
        from torch.utils.checkpoint import checkpoint
    else:
        from gradwire.utils.checkpoint import checkpoint
    return lambda f, *args, **kw: checkpoint(f, *args, use_reentrant=False, **kw)


def gradients_of_arguments_and_captured_tensors(torch, see):
    checkpoint = _checkpoint(torch)
    x, w = draw(torch, 4, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    b = draw(torch, 3, seed=2)
    y = checkpoint(lambda x: torch.tanh(x * w) + b, x)
    see(y=y, leaf=y.is_leaf)
    y.square().sum().backward()
    see(x=x, w=w)


def nested_and_several_outputs(torch, see):
    checkpoint = _checkpoint(torch)
    x, w = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)

    def inner(a):
        return torch.sin(a) * w

    def outer(a):
        h = checkpoint(inner, a)
        return h, (h * a).sum(), a

    h, total, same = checkpoint(outer, x)
    see(h=h, total=total, same=same is x)
    (h.sum() + total).backward()
    see(x=x, w=w)


def second_order(torch, see):
    checkpoint = _checkpoint(torch)
    x = draw(torch, 3, requires_grad=True)
    y = checkpoint(lambda a: (a**3).sum(), x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    see(g=g.detach(), recorded=g.requires_grad, second=torch.autograd.grad(g.sum(), x)[0])


def layers_of_a_network(torch, see):
    checkpoint, nn = _checkpoint(torch), torch.nn
    layers = nn.ModuleList([nn.Linear(4, 4).double() for _ in range(3)])
    with torch.no_grad():
        for seed, p in enumerate(layers.parameters()):
            p.copy_(draw(torch, *p.shape, seed=seed))
    h = draw(torch, 2, 4)
    for layer in layers:
        h = checkpoint(lambda a, layer=layer: torch.tanh(layer(a)), h)
    h.sum().backward()
    see(h=h, gradients=[p.grad for p in layers.parameters()])


def without_grad_mode(torch, see):
    checkpoint, x = _checkpoint(torch), draw(torch, 3, requires_grad=True)
    with torch.no_grad():
        see(y=checkpoint(torch.exp, x))
    see(y=checkpoint(torch.exp, draw(torch, 3)))
    y = checkpoint(lambda a, scale: {"y": a * scale}["y"], x, 3.0)
    see(y=y)


def an_input_changed_in_place(torch, see):
    checkpoint, x = _checkpoint(torch), draw(torch, 3, requires_grad=True)
    h = x * 2
    y = checkpoint(lambda a: a.sin(), h).sum()
    see(y=y)


def what_torch_is_told_besides(torch, see):
    x = torch.arange(3.0, requires_grad=True)
    run = torch.utils.checkpoint.checkpoint
    y = run(torch.sin, x, use_reentrant=False, determinism_check="none", debug=False)
    y.sum().backward()
    see(x=x)
    see.error(check=lambda: run(torch.sin, x, use_reentrant=False, determinism_check="some"))


def arguments_that_are_not_used(torch, see):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    run, grad = torch.utils.checkpoint.checkpoint, torch.autograd.grad
    one = run(lambda a, b: a * 2, x, y, use_reentrant=False)
    see.error(unused=lambda: grad(one.sum(), y, retain_graph=True))
    see(allowed=grad(one.sum(), (x, y), allow_unused=True))
    first, second = run(lambda a, b: (a * 2, b * b), x, y, use_reentrant=False)
    see(first=grad(first.sum(), (x, y), allow_unused=True, retain_graph=True))
    see(second=grad(second.sum(), (x, y), allow_unused=True))


def what_is_said_to_checkpoint_itself(torch, see):
    x, met = torch.arange(3.0, requires_grad=True), []

    class Entered:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            met.append(self.name)

        def __exit__(self, *problem):
            met.append(f"{self.name} left")

    run = torch.utils.checkpoint.checkpoint
    contexts = lambda: (Entered("first"), Entered("again"))  # noqa: E731
    y = run(torch.sin, x, use_reentrant=False, early_stop=False, context_fn=contexts)
    see(y=y, met=list(met))
    y.sum().backward()
    see(x=x)
    see.error(contexts=lambda: run(torch.sin, x, use_reentrant=False, context_fn=lambda: (1, 2)))


def what_is_no_tensor(torch, see):
    x, run = torch.ones(2, requires_grad=True), torch.utils.checkpoint.checkpoint
    for result in (None, 3.0, (), "text"):
        see(result=run(lambda a, r=result: r, x, use_reentrant=False))
    see(beside=run(lambda a, k: (a * k, None, "text"), x, k=3, use_reentrant=False))
