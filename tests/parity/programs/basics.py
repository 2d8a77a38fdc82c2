"""Leaves, results, gradients: what every program does."""

from tests.parity.data import draw


def square_and_sum(torch, see):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    z = y.sum()
    see(x=x, y=y, z=z)
    z.backward()
    see(x=x)


def two_backwards_accumulate(torch, see):
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    (x * 3).sum().backward()
    kept = x.grad
    (x * x).sum().backward()
    see(x=x, kept=kept, same=kept is x.grad)
    x.grad = None
    (x**3).sum().backward()
    see(x=x, kept=kept)


def grad_does_not_touch_dot_grad(torch, see):
    x = draw(torch, 3, requires_grad=True)
    w = draw(torch, 3, seed=1, requires_grad=True)
    found = torch.autograd.grad((x * w).sum(), [x, w])
    see(found=found, x=x, w=w)


def leaves_and_results(torch, see):
    a = torch.tensor([1.0, 2.0])
    b = torch.tensor([3.0, 4.0], requires_grad=True)
    c = torch.tensor([1, 2])
    see(a=a, b=b, c=c, ab=a + b, ac=a * c, bc=b * c, less=b < a, whole=(b + a).long())
    see.error(ints_cannot=lambda: torch.tensor([1, 2], requires_grad=True))
    see.error(ints_cannot_later=lambda: c.requires_grad_())
    see(frozen=b.requires_grad_(False))
    made = b * 2
    see(made=made, thawed=made.requires_grad_())
    made.sum().backward()
    see(made=made, b=b)


def requires_grad_of_results(torch, see):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    see.error(results_cannot_stop=lambda: y.requires_grad_(False))
    see(still=y.requires_grad_(True), detached=y.detach())
    x.requires_grad = False
    see(x=x, later=x * 2)


def several_outputs(torch, see):
    x = draw(torch, 4, requires_grad=True)
    found = torch.autograd.grad([x.sin().sum(), (x * x).sum()], x)
    see(found=found)
    y = x.exp()
    see(twice=torch.autograd.grad([y, y], x, [torch.ones_like(y)] * 2))


def cotangents(torch, see):
    x = draw(torch, 2, 3, requires_grad=True)
    v = draw(torch, 2, 3, seed=5)
    (x * x).backward(v)
    see(x=x)
    see(found=torch.autograd.grad(x.sin(), x, grad_outputs=v))
    see(listed=torch.autograd.grad([x.sin(), x.cos().sum()], x, grad_outputs=[v, None]))
    see.error(
        not_scalar=lambda: torch.autograd.grad(x * 2, x),
        wrong_shape=lambda: torch.autograd.grad(x * 2, x, torch.ones(3)),
        too_few=lambda: torch.autograd.grad([x * 2, x * 3], x, [v]),
        backward_not_scalar=lambda: (x * 2).backward(),
    )


def non_leaves(torch, see):
    x = draw(torch, 3, requires_grad=True)
    h = x.sin()
    z = (h * h).sum()
    see(by_h=torch.autograd.grad(z, h, retain_graph=True))
    h.retain_grad()
    see(retains=h.retains_grad)
    z.backward()
    see(x=x, h=h)
    see.warned(without=lambda: (x * 2).grad)


def no_path(torch, see):
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2)
    see.error(
        nothing_requires_grad=lambda: y.sum().backward(),
        input_does_not=lambda: torch.autograd.grad(x.sum(), y),
        through_detach=lambda: x.detach().sum().backward(),
    )


def unused_inputs(torch, see):
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    grad = torch.autograd.grad
    see.error(refused=lambda: grad(x.sum(), [x, w]))
    see(allowed=grad(x.sum(), [x, w], allow_unused=True))
    see(zeros=grad(x.sum(), [x, w], materialize_grads=True))
    see.error(both=lambda: grad(x.sum(), [x, w], allow_unused=False, materialize_grads=True))


def retain_graph(torch, see):
    x = torch.tensor([2.0], requires_grad=True)
    y = (x**3).sum()
    y.backward(retain_graph=True)
    y.backward()
    see(x=x)
    see.error(freed=lambda: y.backward())
    z = x.exp().sum()
    torch.autograd.grad(z, x)
    see.error(freed_by_grad=lambda: torch.autograd.grad(z, x))
    plain = (x + 2).sum()
    plain.backward()
    plain.backward()
    see(nothing_was_saved=x)


def backward_into_some_inputs(torch, see):
    x = torch.ones(2, requires_grad=True)
    w = torch.full((2,), 3.0, requires_grad=True)
    h = x * w
    (h * h).sum().backward(inputs=[x])
    see(x=x, w=w)
    h = x * w
    h.retain_grad()
    (h * h).sum().backward(inputs=[w, h])
    see(x=x, w=w, h=h)


def setting_gradients(torch, see):
    x = torch.ones(3, requires_grad=True)
    x.grad = torch.full((3,), 7.0)
    (x * 2).sum().backward()
    see(x=x)
    x.grad.zero_()
    see(zeroed=x)
    see.error(
        shape=lambda: setattr(x, "grad", torch.ones(2)),
        dtype=lambda: setattr(x, "grad", torch.ones(3, dtype=torch.float64)),
        kind=lambda: setattr(x, "grad", 1.0),
    )
    x.grad = None
    see(none=x)


def detach_shares(torch, see):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    d = x.detach()
    d[0] = 5.0
    see(x=x, d=d)
    y = (x * x).sum()
    d.mul_(2)
    see.error(modified=lambda: y.backward())
