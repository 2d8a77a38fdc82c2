"""Gradients of gradients."""

from tests.parity.data import draw


def powers(torch, see):
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    found = [x**5]
    for _ in range(5):
        (next_one,) = torch.autograd.grad(found[-1], x, create_graph=True)
        found.append(next_one)
    see(values=[f.item() for f in found], second=found[2])


def through_backward(torch, see):
    x = draw(torch, 3, requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    g = x.grad
    see(g=g.requires_grad, values=g.detach())
    x.grad = None
    (g * g).sum().backward()
    see(x=x)


def mixed_partials(torch, see):
    x, y = draw(torch, 2, requires_grad=True), draw(torch, 2, seed=1, requires_grad=True)
    z = (x.sin() * y.exp()).sum()
    (gx,) = torch.autograd.grad(z, x, create_graph=True)
    (gxy,) = torch.autograd.grad(gx.sum(), y, create_graph=True)
    see(gx=gx.detach(), gxy=gxy.detach())
    see(gxyx=torch.autograd.grad(gxy.sum(), x))


def hessian_by_double_backward(torch, see):
    x = draw(torch, 4, requires_grad=True)
    a = draw(torch, 4, 4, seed=2)
    y = (x @ a @ x).sin() + (x**4).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    rows = [torch.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(4)]
    hessian = torch.stack(rows)
    see(hessian=hessian, symmetric=bool(torch.allclose(hessian, hessian.T)))


def gradient_penalty(torch, see):
    """WGAN-GP: the norm of the critic's gradient by its input, in the loss."""
    w1, w2 = (draw(torch, *s, seed=i, requires_grad=True) for i, s in enumerate([(3, 5), (5, 1)]))
    real, fake = draw(torch, 4, 3, seed=7), draw(torch, 4, 3, seed=8)
    mix = draw(torch, 4, 1, seed=9).sigmoid()
    between = (mix * real + (1 - mix) * fake).requires_grad_()

    def critic(x):
        return (x @ w1).tanh() @ w2

    scores = critic(between)
    (g,) = torch.autograd.grad(scores, between, torch.ones_like(scores), create_graph=True)
    penalty = ((g.pow(2).sum(1).sqrt() - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    loss.backward()
    see(loss=loss, penalty=penalty, w1=w1, w2=w2)


def vector_products(torch, see):
    x, v = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1)
    y = (x.exp() * x.sum()).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    see(hvp=torch.autograd.grad(g, x, v))


def forward_by_two_reverses(torch, see):
    x, u = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1)
    y = x.sin() * x.prod()
    dummy = torch.zeros_like(y, requires_grad=True)
    (g,) = torch.autograd.grad(y, x, dummy, create_graph=True)
    see(jvp=torch.autograd.grad(g, dummy, u))


def gradients_without_create_graph(torch, see):
    x = draw(torch, 3, requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x)
    see(g=g)
    see.error(no_graph=lambda: g.sum().backward())


def create_graph_keeps_the_graph(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = (x**3).sum()
    torch.autograd.grad(y, x, create_graph=True)
    see(again=torch.autograd.grad(y, x))
    see.error(freed=lambda: torch.autograd.grad(y, x))


def constant_gradients(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = (x * 2).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    see(g=g)
    see.error(unused=lambda: torch.autograd.grad(g.sum(), x))


def newton(torch, see):
    x = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    for _ in range(6):
        y = x.exp() + x**2
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (h,) = torch.autograd.grad(g, x)
        with torch.no_grad():
            x -= g / h
    see(x=x, g=g.detach(), h=h)


def batched_cotangents(torch, see):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    y = torch.tanh(x @ w) * w
    rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]])
    grad = torch.autograd.grad
    see(grads=grad(y, [x, w], rows, retain_graph=True, is_grads_batched=True))
    (g,) = grad(y, [w], [rows], create_graph=True, is_grads_batched=True)
    see(recorded=g, again=grad(g.sum(), [x, w], retain_graph=True))
    u = torch.ones(3, requires_grad=True)
    options = {"retain_graph": True, "is_grads_batched": True}
    see(unused=grad(y, [w, u], rows, allow_unused=True, **options))
    see(zeros=grad(y, [w, u], rows, materialize_grads=True, **options))
    both = grad([y, (x * x).sum()], [x], [rows, torch.tensor([1.0, 2.0, 3.0])], **options)
    see(of_two_outputs=both)
    see.error(
        no_rows=lambda: grad(y, [w], rows[0], **options),
        too_long=lambda: grad(y, [w], torch.ones(3, 4), **options),
        none_given=lambda: grad(y, [w], **options),
        scalar=lambda: grad(y.sum(), [w], **options),
        not_used=lambda: grad(y, [u], rows, **options),
        unlike=lambda: grad([y, y], [w], [rows, rows[:2]], **options),
    )
