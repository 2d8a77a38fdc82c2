"""Functions over functions: torch.func and torch.autograd.functional, nested and in the graph."""

import numpy as np
from tests.parity.data import draw


def _loss(torch):
    return lambda x, w: (torch.tanh(x * w) ** 2).sum()


def _shown(see, **values):
    """Numbers alone: what torch calls the nodes of its transforms is its own."""
    for name, value in values.items():
        see(**{name: _plain(value)})


def _plain(value):
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value.detach()


def gradients(torch, see):
    x, w, loss, f = draw(torch, 3), draw(torch, 3, seed=1), _loss(torch), torch.func
    _shown(
        see, one=f.grad(loss)(x, w), both=f.grad(loss, argnums=(0, 1))(x, w),
        value=f.grad_and_value(loss, 1)(x, w),
        aux=f.grad(lambda x: (loss(x, w), x * 2), has_aux=True)(x),
        twice=f.grad(f.grad(lambda t: torch.sin(t) * t))(x[0]),
    )  # fmt: skip
    see.error(
        vector=lambda: f.grad(lambda x: x * 2)(x),
        number=lambda: f.grad(loss, argnums=3)(x, w),
        aux=lambda: f.grad(loss, has_aux=True)(x, w),
    )


def products(torch, see):
    x, w, f = draw(torch, 3), draw(torch, 3, seed=1), torch.func
    y, pull = f.vjp(lambda x: torch.sin(x) * w, x)
    z, both = f.vjp(lambda a, b: (a * b, a + b), x, w)
    _shown(
        see, y=y, pulled=pull(w), z=z, both=both((w, x)),
        jvp=f.jvp(lambda x: torch.sin(x) * w, (x,), (w,)),
        linear=f.linearize(torch.exp, x)[1](w),
    )  # fmt: skip


def jacobians(torch, see):
    x, w, loss, f = draw(torch, 3), draw(torch, 2, seed=1), _loss(torch), torch.func
    _shown(
        see, rev=f.jacrev(lambda x: torch.outer(x, w))(x), fwd=f.jacfwd(loss, argnums=1)(x, x),
        hessian=f.hessian(loss, argnums=(0, 1))(x, x),
        nested=f.jacfwd(f.jacrev(lambda x: torch.sin(x)))(x),
    )  # fmt: skip


def over_a_batch(torch, see):
    def named(d, c):
        return (d["a"] * d["b"][0] * d["b"][1] * c).sum()

    def other(d):
        return d["a"].sum() + d["b"]

    rows, w, loss, f = draw(torch, 4, 3), draw(torch, 3, seed=1), _loss(torch), torch.func
    _shown(
        see, plain=f.vmap(loss, in_dims=(0, None))(rows, w),
        per_example=f.vmap(f.grad(loss, argnums=1), in_dims=(0, None))(rows, w),
        ends=f.vmap(lambda a: (a * 2, a.sum()), in_dims=1, out_dims=(1, 0))(rows),
        inside=f.grad(lambda w: f.vmap(loss, in_dims=(0, None))(rows, w).sum())(w),
        nested=f.vmap(f.vmap(torch.dot, (None, 0)), (0, None))(rows, rows),
        jacobians=f.vmap(f.jacrev(lambda a: torch.tanh(a) * w))(rows),
        captured=f.vmap(lambda a: a @ rows.T + w.sum())(rows),
        named=f.vmap(named, in_dims=({"a": 1, "b": [0, None]}, 0))(
            {"a": rows.T, "b": [rows, w]}, rows
        ),
        other_order=f.vmap(other, in_dims=({"b": 0, "a": 0},))({"a": rows, "b": rows[:, 0]}),
    )  # fmt: skip
    see.error(
        dims_in_a_dict=lambda: f.vmap(lambda d: d["a"], in_dims={"a": 0})({"a": rows}),
        dims_in_a_list=lambda: f.vmap(loss, in_dims=[0, None])(rows, w),
        other_keys=lambda: f.vmap(lambda d: d["a"], in_dims=({"b": 0},))({"a": rows}),
        none=lambda: f.vmap(loss, in_dims=(None, None))(rows, w),
        range=lambda: f.vmap(loss, in_dims=(2, None))(rows, w),
        sizes=lambda: f.vmap(torch.dot)(rows, rows[:2]),
    )


def transforms_in_the_graph(torch, see):
    x, w, loss = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1), _loss(torch)
    g = torch.func.grad(loss)(x, w)
    (second,) = torch.autograd.grad(g.sum(), x)
    _shown(see, g=g, second=second)


def functional_call(torch, see):
    net = torch.nn.Linear(3, 2).double()
    weight, bias, x = draw(torch, 2, 3), draw(torch, 2, seed=1), draw(torch, 4, 3)
    given = {"weight": weight, "bias": bias}
    call = torch.func.functional_call
    _shown(
        see, y=call(net, given, (x,)),
        g=torch.func.grad(lambda w: call(net, {"weight": w, "bias": bias}, (x,)).sum())(weight),
    )  # fmt: skip


def functional_jacobian(torch, see):
    F, x, w = torch.autograd.functional, draw(torch, 3), draw(torch, 2, seed=1)
    f = lambda x, w: (torch.outer(x, w), x.sin())  # noqa: E731
    _shown(
        see, one=F.jacobian(lambda x: x**2, x), both=F.jacobian(f, (x, w)),
        forward=F.jacobian(f, (x, w), vectorize=True, strategy="forward-mode"),
        loose=F.jacobian(lambda x, w: x * 2, (x, w)),
    )  # fmt: skip
    see.error(
        strict=lambda: F.jacobian(lambda x, w: x * 2, (x, w), strict=True),
        constant=lambda: F.jacobian(lambda x: w, x, strict=True),
        both=lambda: F.jacobian(lambda x: x, x, strict=True, vectorize=True),
        forward=lambda: F.jacobian(lambda x: x, x, strategy="forward-mode"),
        strategy=lambda: F.jacobian(lambda x: x, x, strategy="best"),
        inputs=lambda: F.jacobian(lambda x: x, [1.0]),
    )


def functional_hessian(torch, see):
    F, x, w, loss = torch.autograd.functional, draw(torch, 3), draw(torch, 3, seed=1), _loss(torch)
    _shown(
        see, one=F.hessian(lambda x: (x**3).sum(), x), both=F.hessian(loss, (x, w)),
        forward=F.hessian(loss, (x, w), vectorize=True, outer_jacobian_strategy="forward-mode"),
        hvp=F.hvp(lambda x: (x**3).sum(), x, w), vhp=F.vhp(loss, (x, w), (w, x)),
    )  # fmt: skip
    see.error(
        vector=lambda: F.hessian(lambda x: x**2, x),
        tuple=lambda: F.hessian(lambda x: (x.sum(), x.sum()), x),
        v=lambda: F.hvp(lambda x: (x**3).sum(), x),
        shape=lambda: F.hvp(lambda x: (x**3).sum(), x, w[:2]),
    )


def functional_products(torch, see):
    F, x, w = torch.autograd.functional, draw(torch, 3), draw(torch, 3, seed=1)
    _shown(
        see, vjp=F.vjp(torch.sin, x, w), jvp=F.jvp(lambda a, b: a * b, (x, w), (w, x)),
        scalar=F.vjp(lambda x: (x**2).sum(), x),
    )  # fmt: skip
    y, g = F.vjp(lambda x: (x**3).sum(), x.clone().requires_grad_(), create_graph=True)
    see(recorded=(y.requires_grad, g.requires_grad))
    see.error(v=lambda: F.vjp(torch.sin, x), count=lambda: F.vjp(torch.sin, x, (x, x)))


def gradients_checked(torch, see):
    check, twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    x, w = draw(torch, 2, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    constant = draw(torch, 3, seed=2)
    f = lambda x, w: (torch.tanh(x * w), (x @ w).exp() + constant.sum())  # noqa: E731
    see(both=check(f, (x, w)), second=twice(f, (x, w)), fast=check(f, (x, w), fast_mode=True))
    see(
        forward=check(f, (x, w), check_forward_ad=True, check_batched_grad=True),
        wrong=check(lambda x: x * x.detach(), (x,), raise_exception=False),
    )
    z = torch.complex(draw(torch, 3), draw(torch, 3, seed=1)).requires_grad_()
    see(complex=check(lambda z: (z * z.conj()).abs(), (z,)))
    see.error(
        none=lambda: check(f, (constant, constant)),
        wrong=lambda: check(lambda x: x * x.detach(), (x,)),
        random=lambda: check(lambda x: x * torch.rand(()).item(), (x,)) or 1 / 0,
        counting=lambda: check(lambda x, calls=[]: calls.append(1) or x * len(calls), (x,)),
        second=lambda: twice(lambda x: x * x.detach(), (x,)),
        one_place=lambda: check(torch.exp, (x.detach().expand(2, 2, 3).requires_grad_(),)),
    )
    see(
        counting=check(
            lambda x, calls=[]: calls.append(1) or x * len(calls), (x,), raise_exception=False
        ),
        second=twice(lambda x: x * x.detach(), (x,), raise_exception=False),
        noise=check(lambda x: x + torch.tensor(np.random.rand()), (x,), raise_exception=False),
    )


def random_numbers_over_a_batch(torch, see):
    def refused(function):
        return lambda: torch.vmap(function)(x)

    x = torch.ones(3)
    drop = torch.nn.functional.dropout
    see.error(
        made=refused(lambda row: torch.rand(2)),
        like=refused(lambda row: torch.randn_like(row)),
        written=refused(lambda row: row.clone().uniform_(0, 1)),
        dropped=refused(lambda row: drop(row, 0.5)),
        added=refused(lambda row: row + torch.randint(0, 2, (2,))),
    )
    see(kept=torch.vmap(lambda row: drop(row, 0.5, training=False))(x))
    same = torch.vmap(lambda row: torch.rand(2), randomness="same")(x)
    different = torch.vmap(lambda row: torch.rand(2), randomness="different")(x)
    see(same=bool((same[0] == same[1]).all()), different=bool((different[0] == different[1]).any()))


def modules_side_by_side(torch, see):
    nn = torch.nn
    models = [nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval() for _ in range(3)]
    with torch.no_grad():
        for place, model in enumerate(models):
            model[0].weight.fill_(place)
            model[0].bias.fill_(1)
    params, buffers = torch.func.stack_module_state(models)
    see(params=params, buffers=buffers)

    def one(params, buffers, x):
        return torch.func.functional_call(models[0], (params, buffers), (x,))

    x = torch.ones(2, 2)
    see(many=torch.vmap(one, in_dims=(0, 0, None))(params, buffers, x).detach())
    see.error(
        none=lambda: torch.func.stack_module_state([]),
        kinds=lambda: torch.func.stack_module_state([models[0], nn.Linear(2, 2).eval()]),
        modes=lambda: torch.func.stack_module_state([models[0], nn.Linear(2, 2)]),
    )


def arguments_that_a_batch_does_not_use(torch, see):
    x, y, w = (torch.ones(2, requires_grad=True) for _ in range(3))
    grad = torch.autograd.grad
    one = torch.vmap(lambda a, b: a * 2)(x, y)
    see.error(unused=lambda: grad(one.sum(), y, retain_graph=True))
    see(allowed=grad(one.sum(), (x, y), allow_unused=True))
    first, second = torch.vmap(lambda a, b: (a * w.sum(), b * b))(x, y)
    see(first=grad(first.sum(), (x, y, w), allow_unused=True, retain_graph=True))
    see(second=grad(second.sum(), (x, y, w), allow_unused=True))
    see(constant=torch.vmap(lambda a: torch.ones(2))(x))
    see(detached=torch.vmap(lambda a: a.detach() * 2)(x))


def gradients_of_linear_functions(torch, see):
    x, w = torch.ones(3, requires_grad=True), torch.full((3,), 2.0, requires_grad=True)
    again, slope = torch.autograd.grad, torch.func.grad(lambda v: (v * w).sum())(x)
    see(slope=slope.detach(), recorded=slope.requires_grad)
    see(by_both=again(slope.sum(), (x, w), allow_unused=True))
    both = torch.func.grad(lambda v, u: (v * u).sum(), argnums=(0, 1))(x, w)
    for part in both:
        see(part=again(part.sum(), (x, w), allow_unused=True))
    constant, value = torch.func.grad_and_value(lambda v: (v * 2).sum())(x)
    see(constant=constant, recorded=value.requires_grad)
    see(rows=torch.func.jacrev(lambda v: v * 2)(x))
    see(each=torch.vmap(torch.func.grad(lambda v: v * 2))(x))


def a_function_gives_a_tensor_in_nothing_else(torch, see):
    x, f = draw(torch, 3), torch.func
    see.error(
        tuple=lambda: f.grad(lambda x: (x.sum(),))(x),
        list=lambda: f.grad_and_value(lambda x: [x.sum()])(x),
        two=lambda: f.grad(lambda x: (x.sum(), x.sum()))(x),
    )


def blocks_around_a_transform(torch, see):
    """What is off around a transform is on in it, except for torch.autograd.functional."""
    x, f, F = draw(torch, 3), torch.func, torch.autograd.functional

    def partly(x):
        with torch.no_grad():
            constant = x**2
        return (x * constant).sum()

    for block in (torch.no_grad, torch.enable_grad, torch.inference_mode):
        for function in (partly, lambda x: (x**3).sum()):
            with block():
                _shown(
                    see, grad=f.grad(function)(x), rows=f.vmap(f.grad(function))(torch.stack([x])),
                    jacrev=f.jacrev(function)(x), jacfwd=f.jacfwd(function)(x),
                    vjp=f.vjp(function, x)[1](x.sum()), jvp=f.jvp(function, (x,), (x,)),
                    nested=f.grad(lambda x, g=function: f.grad(g)(x).sum())(x),
                )  # fmt: skip
    with torch.no_grad():
        _shown(see, jacobian=F.jacobian(partly, x), hessian=F.hessian(partly, x))


def functional_with_create_graph(torch, see):
    """Results have a history also where the inputs require no gradients."""
    F, x, w = torch.autograd.functional, draw(torch, 3), draw(torch, 3, seed=1)
    power, total = (lambda x: x**3), (lambda x: (x**3).sum())
    own = x.clone().requires_grad_()
    for given in (x, own):
        made = [
            F.jacobian(power, given, create_graph=True), F.hessian(total, given, create_graph=True),
            *F.vjp(power, given, w, create_graph=True), *F.jvp(power, given, w, create_graph=True),
            *F.vhp(total, given, w, create_graph=True), *F.hvp(total, given, w, create_graph=True),
            F.jacobian(lambda x: x * 2, given, create_graph=True),
        ]  # fmt: skip
        _shown(see, made=made)
        see(recorded=[t.requires_grad for t in made])
    see(second=torch.autograd.grad(F.jacobian(power, own, create_graph=True).sum(), own))
    with torch.no_grad():
        see(off=F.jacobian(power, x, create_graph=True).requires_grad)


def functional_in_strict_mode(torch, see):
    F, x, w = torch.autograd.functional, draw(torch, 3), draw(torch, 3, seed=1)

    def kind(ask, *args, **options):
        try:
            ask(*args, **options, strict=True)
        except RuntimeError:
            return "refused"
        return "fine"

    one_each = lambda a, b: (a * 2, b * 3)  # noqa: E731
    mixed = [lambda a, b: (a**2).sum() + (b**2).sum(), lambda a, b: (a**2 * b**2).sum()]
    for graph in (False, True):
        see(
            linear=[kind(F.jacobian, lambda x: x * 2, x, create_graph=graph)],
            power=[kind(F.jacobian, lambda x: x**2, x, create_graph=graph)],
            jacobian=kind(F.jacobian, one_each, (x, w), create_graph=graph),
            vjp=kind(F.vjp, one_each, (x, w), (x, w), create_graph=graph),
            jvp=kind(F.jvp, one_each, (x, w), (x, w), create_graph=graph),
            hessian=[kind(F.hessian, f, (x, w), create_graph=graph) for f in mixed],
            vhp=[kind(F.vhp, f, (x, w), (x, w), create_graph=graph) for f in mixed],
            hvp=[kind(F.hvp, f, (x, w), (x, w), create_graph=graph) for f in mixed],
            sum=kind(F.hessian, lambda x: x.sum(), x, create_graph=graph),
            square=kind(F.hvp, lambda x: (x**2).sum(), x, x, create_graph=graph),
        )
