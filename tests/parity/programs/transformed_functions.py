"""autograd.Function under vmap, in forward mode, and both mixed with gradients."""

from tests.parity.data import draw


def _cube(torch):
    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, n):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return ctx.n * x ** (ctx.n - 1) * g, None

        @staticmethod
        def jvp(ctx, t, _):
            (x,) = ctx.saved_tensors
            return ctx.n * x ** (ctx.n - 1) * t

    return lambda x: Cube.apply(x, 3)


def one_argument(torch, see):
    f, func = _cube(torch), torch.func
    x, v = draw(torch, 4), draw(torch, 4, seed=1)
    rows = draw(torch, 3, 4, seed=2)
    see(grad=func.grad(lambda x: f(x).sum())(x), vmap=func.vmap(f)(rows))
    see(out=func.vmap(f, in_dims=1, out_dims=1)(rows), twice=func.vmap(func.vmap(f))(rows))
    see(each=func.vmap(func.grad(f))(x), through=func.grad(lambda x: func.vmap(f)(x).sum())(x))
    see(second=func.vmap(func.grad(func.grad(f)))(x))
    see(jvp=func.jvp(f, (x,), (v,)), along=func.jvp(func.vmap(f), (x,), (v,)))
    see(many=func.vmap(lambda v: func.jvp(f, (x,), (v,))[1])(rows))
    see(reverse=func.jacrev(f)(x), forward=func.jacfwd(f)(x))
    see(hessian=func.hessian(lambda x: f(x).sum())(x))
    see(mixed=func.jacrev(func.jacfwd(f))(x), turned=func.jvp(func.jacrev(f), (x,), (v,)))


def several_and_shared(torch, see):
    class Affine(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, w, k):
            y = x @ w
            return y * k, y.sin()

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, w, ctx.k = inputs
            ctx.save_for_backward(x, w, output[0])
            ctx.save_for_forward(x, w, output[0])

        @staticmethod
        def backward(ctx, g, h):
            x, w, y = ctx.saved_tensors
            both = g * ctx.k + h * torch.cos(y / ctx.k)
            return w @ both, torch.outer(x, both), None

        @staticmethod
        def jvp(ctx, dx, dw, _):
            x, w, y = ctx.saved_tensors
            moved = dx @ w + x @ dw
            return moved * ctx.k, moved * torch.cos(y / ctx.k)

    func = torch.func
    rows, w = draw(torch, 5, 3), draw(torch, 3, 2, seed=1)

    def loss(x, w):
        a, b = Affine.apply(x, w, 2.0)
        return (a * b).sum()

    see(values=func.vmap(lambda x: Affine.apply(x, w, 2.0))(rows))
    see(each=func.vmap(func.grad(loss, argnums=(0, 1)), in_dims=(0, None))(rows, w))
    total = lambda rows, w: func.vmap(loss, in_dims=(0, None))(rows, w).sum()  # noqa: E731
    see(total=func.grad(total, argnums=(0, 1))(rows, w))
    see(weights=func.vmap(loss, in_dims=(None, 0))(rows[0], torch.stack([w, 2 * w])))
    tangents = (draw(torch, 3, seed=2), draw(torch, 3, 2, seed=3))
    see(jvp=func.jvp(loss, (rows[0], w), tangents))
    see(hessian=func.hessian(loss, argnums=1)(rows[0], w))
    leaf = w.clone().requires_grad_()
    func.vmap(loss, in_dims=(0, None))(rows, leaf).sum().backward()
    see(leaf=leaf.grad)


def some_without_gradient(torch, see):
    class First(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, w):
            values, order = torch.sort(x * 2)
            return values + w, order

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output[1])
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx, g, _):
            (order,) = ctx.saved_tensors
            return torch.zeros_like(g).scatter(0, order, g) * 2, None

    func, rows, w = torch.func, draw(torch, 3, 4), draw(torch, 4, seed=1)
    see(values=func.vmap(First.apply, in_dims=(0, None))(rows, w))
    loss = lambda x: (First.apply(x, w)[0] ** 2).sum()  # noqa: E731
    see(each=func.vmap(func.grad(loss))(rows))


def old_style_by_functional(torch, see):
    """autograd.functional walks twice for a jvp: it asks for no jvp, and for no setup_context."""

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    functional = torch.autograd.functional
    x, v = draw(torch, 3), draw(torch, 3, seed=1)
    see(
        jvp=functional.jvp(Square.apply, x, v),
        hvp=functional.hvp(lambda x: Square.apply(x).sum(), x, v),
    )
    see(rows=functional.jacobian(Square.apply, x, vectorize=True))
    leaf = draw(torch, 3, requires_grad=True)
    eye = torch.eye(3, dtype=torch.float64)
    (batched,) = torch.autograd.grad(Square.apply(leaf), leaf, eye, is_grads_batched=True)
    see(batched=batched)


def what_is_missing(torch, see):
    class Old(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Plain(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Batched(Plain):
        generate_vmap_rule = True

    class Both(Batched):
        @staticmethod
        def vmap(info, in_dims, x):
            return Both.apply(x), 0

    func, x = torch.func, draw(torch, 3)
    for name, f in {"old": Old.apply, "plain": Plain.apply, "both": Both.apply}.items():
        see.error(**{name: lambda f=f: func.vmap(f)(x)})
        see.error(**{f"{name}_each": lambda f=f: func.vmap(func.grad(f))(x)})
    see.error(old=lambda: func.grad(lambda x: Old.apply(x).sum())(x))
    see(plain=func.grad(lambda x: Plain.apply(x).sum())(x), batched=func.vmap(Batched.apply)(x))
    for name, f in {"old": Old.apply, "plain": Plain.apply, "batched": Batched.apply}.items():
        see.error(**{f"{name}_jvp": lambda f=f: func.jvp(f, (x,), (x,))})
        see.error(**{f"{name}_jacfwd": lambda f=f: func.jacfwd(f)(x)})


def what_is_given_in_dicts(torch, see):
    func, x, y = torch.func, draw(torch, 3), draw(torch, 3, seed=1)
    given, moved = {"a": x, "b": [y]}, {"a": y, "b": [x]}
    loss = lambda d: {"o": d["a"] * d["b"][0] ** 2, "p": (d["a"],)}  # noqa: E731
    see(jvp=func.jvp(loss, (given,), (moved,)), pushed=func.linearize(loss, given)[1](moved))
    value, pull = func.vjp(loss, given)
    see(value=value, pulled=pull({"o": x, "p": (y,)}), again=pull({"o": y, "p": (y,)}, True))
    see(forward=func.jacfwd(loss)(given), reverse=func.jacrev(loss)(given))
    see(hessian=func.hessian(lambda d: loss(d)["o"].sum())(given))
    see(vmap=func.vmap(loss)(given), some=func.vmap(loss, in_dims=({"a": 0, "b": None},))(given))
    see(ends=func.vmap(loss, out_dims={"o": -1, "p": (0,)})({"a": x, "b": [torch.ones(3, 2)]}))
    see.error(leaf=lambda: pull(x), other=lambda: pull({"q": x, "p": (y,)}))
    see.error(turned=lambda: pull({"p": (y,), "o": x}))
    see.error(flat=lambda: func.jvp(loss, (given,), (x,)))
    see.error(keys=lambda: func.jvp(loss, (given,), ({"a": y, "c": [x]},)))
    see.error(number=lambda: func.jvp(lambda a: x * a, (3.0,), (x,)))
    see.error(nothing=lambda: func.jvp(lambda: x, (), ()))
    see.error(dims=lambda: func.vmap(loss, in_dims=({"c": 0, "b": 0},))(given))
    see.error(ends=lambda: func.vmap(loss, out_dims={"o": 0})(given))


def what_is_beside_the_result(torch, see):
    func, x, y = torch.func, draw(torch, 3), draw(torch, 3, seed=1)
    see(jvp=func.jvp(lambda a: (a * 2, a), (x,), (y,), has_aux=True))
    aux = lambda a: ((a * y, a.sin()), {"a": a, "y": y, "n": a.argmax()})  # noqa: E731
    see(several=func.jvp(aux, (x,), (y,), has_aux=True), vjp=func.vjp(aux, x, has_aux=True)[::2])
    for jacobian in (func.jacfwd, func.jacrev):
        see(second=jacobian(lambda a, b: (a * b, a), argnums=1, has_aux=True)(x, y))
        see(both=jacobian(lambda a, b: (a * b, b.sum()), argnums=(0, 1), has_aux=True)(x, y))
        see(several=jacobian(aux, has_aux=True)(x))

    def twice(a):
        made = a * a
        return made, made

    see(same=func.jvp(twice, (x,), (y,)), beside=func.jvp(twice, (x,), (y,), has_aux=True))
    see(rows=func.vmap(twice)(x), reverse=func.jacrev(twice)(x))
    see.error(none=lambda: func.jvp(lambda a: a, (x,), (y,), has_aux=True))


def results_that_are_no_tensors(torch, see):
    func, x = torch.func, draw(torch, 3)
    for name, result in {"number": 3.0, "none": None, "text": "s", "empty": {}}.items():
        see.error(**{f"vjp_{name}": lambda r=result: func.vjp(lambda a: r, x)})
        see.error(**{f"jvp_{name}": lambda r=result: func.jvp(lambda a: r, (x,), (x,))})
        see.error(**{f"reverse_{name}": lambda r=result: func.jacrev(lambda a: r)(x)})
        see.error(**{f"forward_{name}": lambda r=result: func.jacfwd(lambda a: r)(x)})
        see.error(**{f"grad_{name}": lambda r=result: func.grad(lambda a: r)(x)})
    for name, result in {"number": 3.0, "none": None, "text": "s"}.items():
        see.error(**{f"vmap_{name}": lambda r=result: func.vmap(lambda a: r)(x)})
        see.error(**{f"beside_{name}": lambda r=result: func.vmap(lambda a: {"a": a, "r": r})(x)})
    see(without=func.vmap(lambda a: (a, 3.0), out_dims=(0, None))(x))


def how_functional_is_asked(torch, see):
    functional, x = torch.autograd.functional, draw(torch, 2)
    loss = lambda a: (a**3).sum()  # noqa: E731
    forward = {"outer_jacobian_strategy": "forward-mode"}
    see(
        hessian=functional.hessian(loss, x, vectorize=True),
        forward=functional.hessian(loss, x, vectorize=True, **forward).detach(),
    )
    for name, said in {
        "both": {"strict": True, "vectorize": True},
        "forward": forward,
        "strict": forward | {"strict": True, "vectorize": True},
        "graph": forward | {"create_graph": True, "vectorize": True},
        "unknown": {"outer_jacobian_strategy": "sideways"},
    }.items():
        see.error(**{name: lambda s=said: functional.hessian(loss, x, **s)})
    for name in ("jacobian", "vjp", "hessian"):
        asked = getattr(functional, name)
        for kind, result in {
            "dict": lambda a: {"s": a},
            "list": lambda a: [a],
            "number": len,
        }.items():
            see.error(**{f"{name}_{kind}": lambda f=asked, r=result: f(r, x)})
        see.error(**{f"{name}_in": lambda f=asked: f(loss, {"s": x})})
