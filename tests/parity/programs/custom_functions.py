"""autograd.Function: both styles, everything on ctx, higher orders, and what is refused."""

from tests.parity.data import draw


def _power(torch):
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.save_for_backward(x)
            ctx.n = n
            return x**n

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return ctx.n * x ** (ctx.n - 1) * g, None

    return Power


def _short(node):
    return node.name().rpartition("::")[2]  # AccumulateGrad has a namespace


def forward_with_context(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = _power(torch).apply(x, 3)
    see(y=y, nodes=[_short(n) for n, _ in y.grad_fn.next_functions])
    y.sum().backward()
    see(x=x)


def second_and_third_order(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = _power(torch).apply(x, 4).sum()
    for order in range(3):
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        see(**{f"order{order}": g.detach(), f"recorded{order}": g.requires_grad})
        y = g.sum()
    y.backward()
    see(x=x)


def setup_context_style(torch, see):
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(x, scale):
            return x * scale, x + 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.scale = inputs
            ctx.save_for_backward(x, output[0])
            ctx.shapes = [tuple(o.shape) for o in output]

        @staticmethod
        def backward(ctx, g, h):
            _, scaled = ctx.saved_tensors
            assert ctx.shapes == [(2, 3), (2, 3)]
            return g * ctx.scale + h * scaled, None

    x = draw(torch, 2, 3, requires_grad=True)
    a, b = Scaled.apply(x, 2.5)
    see(a=a, b=b)
    (g,) = torch.autograd.grad((a * b).sum(), x, create_graph=True)
    see(g=g, second=torch.autograd.grad(g.square().sum(), x)[0])


def needs_input_grad_and_none(torch, see):
    class Affine(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, b):
            ctx.save_for_backward(x, w)
            see(forward=list(ctx.needs_input_grad))
            return x @ w + b

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            needs = ctx.needs_input_grad
            return (
                g @ w.T if needs[0] else None,
                x.T @ g if needs[1] else None,
                g.sum(0) if needs[2] else None,
            )

    x, w = draw(torch, 4, 3), draw(torch, 3, 2, seed=1, requires_grad=True)
    b = draw(torch, 2, seed=2, requires_grad=True)
    y = Affine.apply(x, w, b)
    y.square().sum().backward()
    see(y=y, x=x, w=w, b=b)
    see(constant=Affine.apply(x, w.detach(), b.detach()))
    with torch.no_grad():
        see(unrecorded=Affine.apply(x, w, b))


def an_argument_without_gradient(torch, see):
    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            return x * 2 + w

        @staticmethod
        def backward(ctx, g):
            return g * 2, None

    x, w = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    y = First.apply(x, w).sum()
    see.error(unused=lambda: torch.autograd.grad(y, w, retain_graph=True))
    see(grads=torch.autograd.grad(y, (x, w), allow_unused=True, retain_graph=True))
    y.backward()
    see(x=x, w=w)


def no_gradient_at_all(torch, see):
    class Wall(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return None

    x = draw(torch, 3, requires_grad=True)
    y = Wall.apply(x)
    y.sum().backward()
    see(y=y, x=x)


def the_same_tensor_twice(torch, see):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b, g * a

    x = draw(torch, 3, requires_grad=True)
    Product.apply(x, x).sum().backward()
    see(x=x)


def the_same_gradient_twice(torch, see):
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g, g

    x, y = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    z = Sum.apply(x, y)
    z.square().sum().backward()
    see(z=z, x=x, y=y)


def non_differentiable_outputs(torch, see):
    class Sorted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, order = torch.sort(x)
            size = x * 2
            ctx.mark_non_differentiable(order, size)
            ctx.save_for_backward(order)
            return values, order, size

        @staticmethod
        def backward(ctx, g, *rest):
            (order,) = ctx.saved_tensors
            return torch.zeros_like(g).scatter(0, order, g)

    x = draw(torch, 5, requires_grad=True)
    values, order, size = Sorted.apply(x)
    see(values=values, order=order, size=size)
    (values * draw(torch, 5, seed=3)).sum().backward()
    see(x=x)


def dirty_arguments(torch, see):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = draw(torch, 3, requires_grad=True)
    h = x * 3
    before = h.exp()
    y = Double.apply(h)
    see(same=y is h, y=y, h=h, version=h._version)
    see.error(modified=lambda: (h + before).sum().backward(retain_graph=True))
    g = x * 3
    Double.apply(g[:2])
    g.sum().backward()
    see(g=g, x=x)
    see.error(leaf=lambda: Double.apply(x.detach().requires_grad_()))


def dirty_and_not_given_back(torch, see):
    class Lost(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    see.error(lost=lambda: Lost.apply(draw(torch, 3, requires_grad=True) * 1))


def an_argument_given_back(torch, see):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = draw(torch, 3, requires_grad=True)
    y = Same.apply(x)
    see(y=y, same=y is x)
    y.sum().backward()
    see(x=x)
    with torch.no_grad():
        see(unrecorded=Same.apply(x) is x)


def without_materialized_gradients(torch, see):
    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = draw(torch, 3, requires_grad=True)
    Plain.apply(x).sum().backward()
    see(x=x)


def several_without_materialized_gradients(torch, see):
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(a, b)
            count = (a > 0).sum()
            ctx.mark_non_differentiable(count)
            return a * b, a + b, count

        @staticmethod
        def backward(ctx, g, h, n):
            a, b = ctx.saved_tensors
            assert n is None
            of_a = of_b = None
            if g is not None:
                of_a, of_b = g * b, g * a
            if h is not None:
                of_a = h if of_a is None else of_a + h
                of_b = h if of_b is None else of_b + h
            return of_a, of_b

    a, b = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    for pick in (lambda o: o[0], lambda o: o[1], lambda o: o[0] * o[1]):
        found = torch.autograd.grad(pick(Both.apply(a, b)).sum(), (a, b), create_graph=True)
        see(found=[g.detach() for g in found])
    see(second=torch.autograd.grad(found[0].sum(), (a, b)))


def materialized_gradients(torch, see):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * 2, b * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * 2, h * 3

    a, b = draw(torch, 3, requires_grad=True), draw(torch, 2, seed=1, requires_grad=True)
    y, _ = Two.apply(a, b)
    y.sum().backward()
    see(a=a, b=b)


def once_differentiable(torch, see):
    once = torch.autograd.function.once_differentiable

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        @once
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * g

    x = draw(torch, 3, requires_grad=True)
    (g,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    see(g=g.detach(), recorded=g.requires_grad)
    see.error(twice=lambda: torch.autograd.grad(g.sum(), x))


def tensors_on_ctx_and_captured(torch, see):
    w = draw(torch, 3, seed=5, requires_grad=True)
    table = draw(torch, 3, seed=6)

    class Captures(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.x, ctx.inner = x, torch.sin(x)
            return ctx.inner * w

        @staticmethod
        def backward(ctx, g):
            return g * torch.cos(ctx.x) * w + 0 * ctx.inner + torch.tensor([0.0, 1.0, 2.0]) * table

    x = draw(torch, 3, requires_grad=True)
    y = Captures.apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    see(y=y, g=g, further=torch.autograd.grad(g.sum(), (x, w)))


def a_gradient_that_does_not_depend_on_saved(torch, see):
    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = draw(torch, 3, requires_grad=True)
    (g,) = torch.autograd.grad(Linear.apply(x).sum(), x, create_graph=True)
    see(g=g, recorded=g.requires_grad)
    see.error(second=lambda: torch.autograd.grad(g.sum(), x))


def broadcast_gradients(torch, see):
    class Wide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, g

    x, y = draw(torch, 2, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    Wide.apply(x, y).square().sum().backward()
    see(x=x, y=y)


def wrong_gradients(torch, see):
    def made(*found):
        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, n):
                return x * n

            @staticmethod
            def backward(ctx, g):
                return tuple(f(g) for f in found)

        return Wrong

    x = draw(torch, 3, requires_grad=True)
    for name, found in {
        "few": [lambda g: g],
        "many": [lambda g: g, lambda g: None, lambda g: g],
        "number": [lambda g: g, lambda g: g],
        "shape": [lambda g: g[:2], lambda g: None],
        "kind": [lambda g: 3.0, lambda g: None],
    }.items():
        y = made(*found).apply(x, 2).sum()
        see.error(**{name: y.backward})
        see(x=x)
    y = made(lambda g: g * 2, lambda g: None, lambda g: None).apply(x, 2).sum()
    y.backward()
    see(x=x)


def what_the_users_code_raises(torch, see):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, where):
            if where == "forward":
                raise ValueError("in forward")
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise KeyError("in backward")

    x = draw(torch, 3, requires_grad=True)
    see.error(forward=lambda: Fails.apply(x, "forward"))
    y = Fails.apply(x, "backward")
    see(y=y.detach())
    see.error(backward=lambda: y.sum().backward())
    see(x=x)
    see.error(other=lambda: torch.autograd.grad((x * y.detach()).sum() + y.sum(), x))


def what_can_not_be_used(torch, see):
    class Empty(torch.autograd.Function):
        pass

    class OnlyForward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x * 2

    x = draw(torch, 3, requires_grad=True)
    see.error(forward=lambda: Empty.apply(x), saved=lambda: Saves.apply(x))
    see.error(backward=lambda: OnlyForward.apply(x).sum().backward())
    see(keyword=OnlyForward.apply(x=x))
    see.error(unknown=lambda: OnlyForward.apply(x, y=x))


def walked_twice(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = _power(torch).apply(x, 2).sum()
    y.backward(retain_graph=True)
    y.backward()
    see(x=x)
    see.error(freed=y.backward)


def saved_and_then_written(torch, see):
    x = draw(torch, 3, requires_grad=True)
    h = x * 1
    y = _power(torch).apply(h, 2).sum()
    h.add_(1)
    see.error(modified=y.backward)


def ops_on_the_gradient_in_place(torch, see):
    class Gate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            found = g.clone()
            found[x < 0] = 0
            return found

    x = draw(torch, 6, requires_grad=True)
    (Gate.apply(x) * 3).sum().backward()
    see(x=x)


def functions_in_functions(torch, see):
    power = _power(torch)

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return power.apply(x, 3) + x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return power.apply(x, 2) * 3 * g + g

    x = draw(torch, 3, requires_grad=True)
    (g,) = torch.autograd.grad(Outer.apply(x).sum(), x, create_graph=True)
    see(g=g, second=torch.autograd.grad(g.sum(), x)[0])


def inside_of_functional(torch, see):
    power = _power(torch)
    x = draw(torch, 3)
    see(jacobian=torch.autograd.functional.jacobian(lambda x: power.apply(x, 3), x))
    see(hessian=torch.autograd.functional.hessian(lambda x: power.apply(x, 3).sum(), x))
    see(checked=torch.autograd.gradcheck(lambda x: power.apply(x, 3), x.requires_grad_()))


def complex_numbers(torch, see):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            (z,) = ctx.saved_tensors
            return g * (2 * z).conj()

    z = draw(torch, 3, dtype="complex128", requires_grad=True)
    Square.apply(z).abs().sum().backward()
    see(z=z)


def variables_made_inside(torch, see):
    """A function's own leaves, and grad by them, with grad mode switched on again."""

    def cube_slope(x, g=None):
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad((y**3).sum(), y, create_graph=True)
            return slope.detach() if g is None else torch.autograd.grad(slope, y, g)[0]

    class Slope(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return cube_slope(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return cube_slope(x, g)

    x = draw(torch, 3, requires_grad=True)
    y = Slope.apply(x)
    y.sin().sum().backward()
    see(x=x, y=y)

    def by_a_constant(x):
        w = torch.ones(3, dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad((w.exp() * x).sum(), w, create_graph=True)
        return (slope * x).sum()

    see(gradient=torch.autograd.functional.jacobian(by_a_constant, x.detach()))


def recorded_after_what_it_keeps_stopped(torch, see):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x * 2

    x, w = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    y = Square.apply(x) * w
    x.requires_grad_(False)
    y.sum().backward(create_graph=True)
    see(x=x.grad, w=w)
