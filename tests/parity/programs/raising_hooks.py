"""Hooks and functions that raise beside rules that do: what the walk comes to first is told."""

from tests.parity.data import draw


def _square(torch):
    return draw(torch, 2, 2, requires_grad=True)


def _refused(torch, h):
    """A result whose rule raises: without Q there is no derivative."""
    return torch.linalg.qr(h, mode="r")[1]


def _raises(*given):
    raise KeyError("a hook")


def _divides(*given):
    return 1 / 0


def _raising(torch):
    class Raises(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise IndexError("a backward")

    return Raises.apply


def _parts(torch):
    """Two leaves, what comes after the rule that raises, its result, and what comes before it."""
    x, w = _square(torch), _square(torch)
    h = x * 2
    refused = _refused(torch, h)
    after = refused * w
    return x, w, h, refused, after, after.sum()


def a_tensors_hook(torch, see):
    for place in range(5):
        parts = _parts(torch)
        parts[place].register_hook(_raises)
        see.error(**{f"at_{place}": parts[-1].backward})
        see(x=parts[0].grad)


def a_leafs_hook_after_accumulation(torch, see):
    for place in range(2):
        parts = _parts(torch)
        parts[place].register_post_accumulate_grad_hook(_raises)
        see.error(**{f"at_{place}": parts[-1].backward})
        see(x=parts[0].grad)


def a_nodes_hooks(torch, see):
    for place in (2, 3, 4):
        for register in ("register_prehook", "register_hook"):
            parts = _parts(torch)
            getattr(parts[place].grad_fn, register)(_raises)
            see.error(**{f"{register}_{place}": parts[-1].backward})
            see(x=parts[0].grad)


def a_functions_backward(torch, see):
    function = _raising(torch)
    x = _square(torch)
    see.error(before=function(_refused(torch, x)).sum().backward)
    see.error(after=_refused(torch, function(x)).sum().backward)
    see.error(beside=(function(x).sum() + _refused(torch, x).sum()).backward)
    see.error(besides=(_refused(torch, x).sum() + function(x).sum()).backward)
    see(x=x.grad)


def a_functions_backward_and_hooks(torch, see):
    function = _raising(torch)
    for place in range(3):
        x = _square(torch)
        h = x * 2
        y = function(h)
        (x, h, y)[place].register_hook(_divides)
        see.error(**{f"at_{place}": y.sum().backward})
        see(x=x.grad)
    x = _square(torch)
    y = function(x)
    y.grad_fn.register_prehook(_divides)
    see.error(before=y.sum().backward)
    x = _square(torch)
    y = function(x)
    y.grad_fn.register_hook(_divides)
    see.error(after=y.sum().backward)


def a_functions_backward_and_the_walks_own_errors(torch, see):
    function = _raising(torch)
    x = _square(torch)
    see.error(no_scalar=lambda: function(x).backward())
    y = function(x)
    see.error(unused=lambda: torch.autograd.grad(y.sum(), _square(torch)))
    see(past=torch.autograd.grad(y.sum() + x.sum(), y))
    h = x * 2
    e = h.exp()
    y = function(e)
    e.mul_(2)
    see.error(written_after=y.sum().backward)
    y = function(h).exp()
    z = y.sum()
    y.mul_(2)
    see.error(written_before=z.backward)


def a_functions_own_written_operand(torch, see):
    class Asks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise IndexError(f"after asking for {len(ctx.saved_tensors)}")

    for function in (_raising(torch), Asks.apply):
        x = _square(torch)
        h = x * 2
        y = function(h)
        h.mul_(2)
        see.error(written=y.sum().backward)


def two_functions_of_one_class(torch, see):
    class Raises(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, text):
            ctx.text = text
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ctx.text

    def told(y):
        try:
            y.sum().backward()
        except Exception as problem:
            return str(problem)
        return None

    x = _square(torch)
    see(last=told(Raises.apply(Raises.apply(x, ValueError("first")), ValueError("last"))))
    first = Raises.apply(x, ValueError("first"))
    Raises.apply(x, ValueError("another"))
    see(first=told(first * 2))


def a_function_within_a_transform(torch, see):
    class Raises(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            raise IndexError("a backward")

    x = draw(torch, 3)
    apply = Raises.apply
    see.error(
        grad=lambda: torch.func.grad(lambda x: apply(x).sum())(x),
        vjp=lambda: torch.func.vjp(apply, x)[1](x),
        jacobian=lambda: torch.autograd.functional.jacobian(apply, x),
    )
    see(value=torch.func.vjp(apply, x)[0])


def a_backward_that_looks_and_raises(torch, see):
    class Looks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

    x = _square(torch)
    y = Looks.apply(x)
    y.register_hook(lambda g: {}[bool(g.sum().item() > 100)])
    see.error(looks=y.sum().backward, refused=lambda: _refused(torch, y).sum().backward())


def what_is_kept_between(torch, see):
    for place in (0, 4):
        parts = _parts(torch)
        for tensor in parts[2:5]:
            tensor.retain_grad()
        parts[place].register_hook(_raises)
        see.error(**{f"at_{place}": parts[-1].backward})
        see(kept=[t.grad is None for t in (parts[0], parts[2])])


def several_roots(torch, see):
    for place in range(2):
        x = _square(torch)
        h = x * 2
        roots = [h.sin().sum(), _refused(torch, h).sum(), h.cos().sum()]
        roots[2 * place].register_hook(_raises)
        see.error(**{f"root_{place}": lambda roots=roots: torch.autograd.backward(roots)})
        see.error(**{f"grad_{place}": lambda roots=roots, h=h: torch.autograd.grad(roots, h)})
        see(x=x.grad)


def towards_inputs_only(torch, see):
    x, w, h, refused, _, loss = _parts(torch)
    x.register_hook(_raises)
    w.register_hook(_divides)
    see(refused=torch.autograd.grad(loss, refused, retain_graph=True)[0].shape)
    see.error(
        by_w=lambda: torch.autograd.grad(loss, w, retain_graph=True),
        by_h=lambda: torch.autograd.grad(loss, h, retain_graph=True),
        into_x=lambda: loss.backward(inputs=[x], retain_graph=True),
        into_w=lambda: loss.backward(inputs=[w], retain_graph=True),
    )


def recorded_and_batched(torch, see):
    for place in (2, 4):
        parts = _parts(torch)
        parts[place].register_hook(_raises)
        rows = torch.ones(3, 2, 2)
        see.error(
            recorded=lambda parts=parts: parts[-1].backward(create_graph=True),
            by_grad=lambda parts=parts: torch.autograd.grad(parts[-1], parts[0], create_graph=True),
            batched=lambda parts=parts, rows=rows: torch.autograd.grad(
                parts[4], parts[0], rows, is_grads_batched=True
            ),
        )


def what_a_hook_may_not_give(torch, see):
    for found in (lambda g: 2, lambda g: g.sum(), lambda g: (g,), lambda g: g.double()):
        for place in (2, 4):
            parts = _parts(torch)
            parts[place].register_hook(found)
            see.error(**{f"at_{place}": parts[-1].backward})
    for found in (lambda *g: (1,), lambda *g: (1, 2, 3, 4), lambda *g: ()):
        for place in (2, 4):
            parts = _parts(torch)
            parts[place].grad_fn.register_hook(found)
            see.error(**{f"hook_{place}": parts[-1].backward})
            parts = _parts(torch)
            parts[place].grad_fn.register_prehook(found)
            see.error(**{f"prehook_{place}": parts[-1].backward})


def what_was_written(torch, see):
    for place in (0, 1):
        x = _square(torch)
        h = x * 2
        e = h.exp()
        y = e.sin()
        (h, y)[place].register_hook(_raises)
        loss = y.sum()
        e.mul_(2)
        see.error(**{f"at_{place}": loss.backward})


def what_was_freed(torch, see):
    for place in (0, 1):
        x = _square(torch)
        h = x * 2
        y = h.exp()
        z = y * 3
        z.sum().backward()
        (h, z)[place].register_hook(_raises)
        see.error(**{f"at_{place}": z.sum().backward})


def once_more_without_the_hook(torch, see):
    x, seen = _square(torch), []
    h = x * 2
    h.register_hook(lambda g: g * 3)
    h.register_hook(seen.append)
    handle = h.register_hook(_raises)
    y = (h**2).sum()
    see.error(raises=lambda: y.backward(retain_graph=True))
    see(x=x.grad)
    handle.remove()
    y.backward()
    see(x=x, last=seen[-1])


def a_hook_among_others(torch, see):
    order = []
    x = _square(torch)
    h = x * 2
    for hook in (lambda g: order.append(1), _raises, lambda g: order.append(2)):
        h.register_hook(hook)
    see.error(raises=h.sum().backward)
    see(order=order)
    leaf = _square(torch)
    leaf.register_post_accumulate_grad_hook(lambda p: setattr(p, "grad", None))
    leaf.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))
    see.error(no_grad=lambda: (leaf * 2).sum().backward())


def a_hook_that_looks_before_what_fails(torch, see):
    for place in (0, 2):
        parts, looked = _parts(torch), []
        parts[4].register_hook(lambda g, looked=looked: looked.append(g.sum().item()))
        parts[place].register_hook(_raises)
        see.error(**{f"at_{place}": parts[-1].backward})
        x = _square(torch)
        e = x.exp()
        y = e * 2
        y.register_hook(lambda g, looked=looked: looked.append(g.sum().item()))
        (x, y)[place // 2].register_hook(_raises)
        loss = y.sum()
        e.mul_(2)
        see.error(**{f"written_{place}": loss.backward})


def _functions(torch):
    """Functions whose backward raises, or gives too little."""

    class Several(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, of):
            ctx.set_materialize_grads(False)
            counts = x.argmax()
            ctx.mark_non_differentiable(counts)
            return counts, x * 2, x * of

        @staticmethod
        def backward(ctx, *gs):
            raise IndexError("a backward")

    class Once(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, g):
            raise IndexError("a backward")

    class Dirty(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            raise IndexError("a backward")

    class Unwritten(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Few(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    return {
        "several": lambda x: Several.apply(x, 3)[2],
        "once": Once.apply,
        "dirty": lambda x: Dirty.apply(x * 1),
        "unwritten": Unwritten.apply,
        "few": lambda x: Few.apply(x, x),
    }


def functions_of_all_kinds(torch, see):
    for before in (True, False):
        for name, function in _functions(torch).items():
            x = _square(torch)
            h = x * 2
            y = function(h)
            z = y.sin()
            (z if before else h).register_hook(_divides)
            see.error(
                **{
                    name: lambda z=z: z.sum().backward(retain_graph=True),
                    f"{name}_recorded": lambda z=z: z.sum().backward(create_graph=True),
                    f"{name}_by_grad": lambda z=z, x=x: torch.autograd.grad(z.sum(), x),
                    f"{name}_refused": lambda y=y: _refused(torch, y).sum().backward(),
                }
            )
            see(x=x.grad)


def hooks_of_modules(torch, see):
    for place in range(2):
        for register in ("register_full_backward_hook", "register_full_backward_pre_hook"):
            layers = [torch.nn.Linear(2, 2, dtype=torch.float64) for _ in range(2)]
            getattr(layers[place], register)(_raises)
            x = _square(torch)
            y = _refused(torch, layers[0](x))
            see.error(**{f"{register}_{place}": layers[1](y).sum().backward})
            see(x=x.grad)


def within_hooks(torch, see):
    x, other = _square(torch), _square(torch)
    refused, fine = _refused(torch, other * 1).sum(), (other * 2).sum()
    h = x * 2
    handle = h.register_hook(lambda g: refused.backward(retain_graph=True))
    see.error(refused=lambda: h.sum().backward(retain_graph=True))
    handle.remove()
    handle = h.register_hook(lambda g: g @ torch.ones(3))
    see.error(misfit=lambda: h.sum().backward(retain_graph=True))
    handle.remove()
    other.register_hook(_divides)
    h.register_hook(lambda g: fine.backward())
    see.error(other=lambda: h.sum().backward(retain_graph=True))
    see(x=x.grad, other=other.grad)


def where_nothing_comes(torch, see):
    class Silent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return None

    for kind in ("register_hook", "register_prehook"):
        x = _square(torch)
        refused = _refused(torch, x * 1)
        h = x * 2
        getattr(h.grad_fn, kind)(_raises)
        roots = [Silent.apply(h).sum(), refused.sum()]
        see.error(
            **{
                f"{kind}_first": lambda roots=roots: torch.autograd.backward(roots),
                f"{kind}_alone": roots[0].backward,
            }
        )
        x = _square(torch)
        h = x * 2
        getattr(h.grad_fn, kind)(_raises)
        roots = [_refused(torch, x * 3).sum(), Silent.apply(h).sum()]
        see.error(**{f"{kind}_last": lambda roots=roots: torch.autograd.backward(roots)})


def of_a_result_that_nothing_came_to(torch, see):
    x, other = _square(torch), _square(torch)
    first, second = (x * 1).unbind(0)
    second.register_hook(lambda g: g.unsqueeze(0))
    see.error(
        unused=lambda: torch.autograd.grad(first.sum(), other, retain_graph=True),
        alone=lambda: torch.autograd.grad(first, other, torch.ones(2), retain_graph=True),
        used=lambda: torch.autograd.grad(first.sum(), x),
    )
