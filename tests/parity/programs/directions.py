"""Derivatives along tangents and cotangents: linearize, and gradients by the directions."""

from tests.parity.data import draw


def linearized(torch, see):
    x, w, v = draw(torch, 3), draw(torch, 3, seed=1), draw(torch, 3, seed=2)

    def written(x):
        y = x.clone()
        y.mul_(x)
        y[0].add_(3 * x[1])
        made = torch.zeros(3, dtype=x.dtype)
        made[1:] = y[:2] * w[1:]
        return {"made": made, "both": (y, w * x)}

    made, push = torch.func.linearize(written, x)
    see(made=made, pushed=push(v), again=push(v))
    x.mul_(2)
    w.add_(1)  # what was read then was read then
    see(still=push(v), other=push(v * 2), x=x)
    _, push = torch.func.linearize(lambda x, y: (x * y, y), x, w)
    see(two=push(v, w), mapped=torch.func.vmap(push)(draw(torch, 2, 3), draw(torch, 2, 3)))
    _, push = torch.func.linearize(lambda p: p["a"] * p["b"].sin(), {"a": x, "b": w})
    see(dicts=push({"a": v, "b": x}))
    for wrong in ((), (v, v), (v[:2],), (v.to(torch.float32),)):
        see(refused=_refused(lambda wrong=wrong: torch.func.linearize(torch.sin, x)[1](*wrong)))


def gradients_by_directions(torch, see):
    x, v, w = (draw(torch, 3, seed=seed) for seed in range(3))

    def f(x):
        return (x**3).cumsum(0), 2 * x

    for of_point in (False, True):
        point = x.clone().requires_grad_(of_point)
        along = v.clone().requires_grad_()
        by = (along, point) if of_point else (along,)
        pushed = torch.func.jvp(f, (point,), (along,))[1]
        see(pushed=pushed[0].detach(), linear=pushed[1].detach(), needs=pushed[1].requires_grad)
        see(tangents=torch.autograd.grad((pushed[0] * w).sum(), by, retain_graph=True))
        see(linear=torch.autograd.grad((pushed[1] * w).sum(), along))
        back = (v.clone().requires_grad_(), w.clone().requires_grad_())
        pulled = torch.func.vjp(f, point)[1](back)[0]
        by = (*back, point) if of_point else back
        see(pulled=pulled.detach(), cotangents=torch.autograd.grad((pulled * pulled).sum(), by))
        _, push = torch.func.linearize(f, point)
        first, second = push(along)
        see(linearized=first.detach(), by=torch.autograd.grad((first * w + second).sum(), along))
        product = torch.autograd.functional.vhp(
            lambda x: (x**3).sum(), point, along, create_graph=True
        )[1]
        see(product=product.detach(), by=torch.autograd.grad((product * w).sum(), along))


def writes_to_what_was_captured(torch, see):
    x, count = draw(torch, 3), torch.zeros(3, dtype=torch.float64)

    def counting(x):
        count.add_(1.0)
        return (x * x).sum()

    func = torch.func
    for transform in (func.grad, func.jacrev, lambda f: lambda x: func.vjp(f, x)[0]):
        see(refused=_refused(lambda transform=transform: transform(counting)(x)), count=count)
    see(refused=_refused(lambda: func.jvp(counting, (x,), (x,))), count=count)


def _refused(call):
    try:
        call()
    except RuntimeError:
        return True
    return False
