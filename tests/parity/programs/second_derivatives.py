"""Second derivatives where nothing is recorded, and at cotangents of one's own."""

from tests.parity.data import draw


def hessians_where_nothing_is_recorded(torch, see):
    func, x = torch.func, draw(torch, 3)

    def cubes(x):
        with torch.no_grad():
            held = x * x
        return (held * x**2).sum() + (x**3).sum()

    for mode in (torch.inference_mode, torch.no_grad):
        with mode():
            see(hessian=func.hessian(cubes)(x), grad=func.grad(cubes)(x))
            see(twice=func.grad(lambda x: func.grad(cubes)(x).sum())(x))
            see(jacobian=func.jacrev(lambda x: x**2)(x), along=func.jvp(cubes, (x,), (x,))[1])
            found = func.hessian(cubes)(x)
        see(normal=found.is_inference(), found=found)


def second_derivatives_at_ones_own_cotangents(torch, see):
    check = torch.autograd.gradgradcheck
    x, y = (draw(torch, 2, seed=s, requires_grad=True) for s in (1, 2))
    g = draw(torch, 2, seed=3)

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            return g * (2 * ctx.saved_tensors[0]).detach()

    see(
        one=check(lambda x: x**3, (x,), g),
        pair=check(lambda x, y: (x * y, y.sin()), (x, y), (g, g)),
    )
    see(wrong=check(Wrong.apply, (x,), (g,), raise_exception=False))
    see.error(
        wrong=lambda: check(Wrong.apply, (x,), (g,)),
        shape=lambda: check(lambda x: x**3, (x,), (draw(torch, 3),)),
        not_a_number=lambda: check(lambda x: x**3, (x,), (g * float("nan"),)),
    )
