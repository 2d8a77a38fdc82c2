"""Walks that end where they begin, and those that come to what was freed or written."""


def walks_that_end_where_they_begin(torch, see):
    """Of what has several nodes, only the last one runs, and asks for what it keeps itself."""
    x = torch.tensor([[0.5, 1.5], [2.0, -1.0]], requires_grad=True)
    three, row = torch.ones(1, 2, 2, requires_grad=True), torch.tensor([1.0, 2.0])

    def again(y):
        y.sum().backward()
        y.backward(torch.ones_like(y), inputs=[y])
        return y.grad

    linear = torch.nn.functional.linear
    see(
        scaled_last=again(torch.special.ndtr(x)),
        seen_in_another_form=again(linear(three, torch.ones(2, 2), row)),
        of_classes=again(torch.nn.functional.cross_entropy(x, x.detach())),
    )
    see.error(
        one_node=lambda: again(torch.addr(x, row, row)),
        a_stack=lambda: again(torch.bmm(three, three)),
        a_sum=lambda: again(x.nansum()),
        a_mean=lambda: again(torch.nn.functional.mse_loss(x, x.detach())),
        in_another_dtype=lambda: again((x * 1).mul_(row.double())),
    )


def functions_that_are_called_as_torchs_nodes(torch, see):
    """A walk that ends there runs them, whatever their name begins with."""

    def twice(name):
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

        own = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        function = type(name, (torch.autograd.Function,), own)
        y = function.apply(torch.tensor([1.0, 2.0], requires_grad=True))
        for _ in range(2):
            y.backward(torch.ones(2), inputs=[y])

    see.error(**{name: lambda name=name: twice(name) for name in ("SqueezeExcite", "View", "Own")})


def one_node_asks_for_all_that_it_keeps(torch, see):
    whole, row = torch.ones(2, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    found = torch.addr(whole, row, row).sum()
    found.backward()
    see.error(another_operand=lambda: torch.autograd.grad(found, whole))
    other = torch.tensor([1.0, 2.0])
    found = torch.addr(whole, row, other).sum()
    other.mul_(2)
    see.error(written=lambda: torch.autograd.grad(found, whole))


def _count(torch, y):
    """Of which no gradient goes back, not even zeros."""
    return torch.linalg.vector_norm(y, 0)


def where_nothing_comes_nodes_run(torch, see):
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def after(first, second):
        y = x.exp()
        first(y)
        second(y)

    see.error(
        freed_below=lambda: after(lambda y: y.sum().backward(), _walked_from_a_count(torch)),
        frees_below=lambda: after(_walked_from_a_count(torch), lambda y: y.sum().backward()),
        written_below=lambda: after(lambda y: y.detach().add_(1), _walked_from_a_count(torch)),
    )
    y = x.exp()
    y.retain_grad()
    _count(torch, y).backward()
    see(x=x.grad, y=y.grad)


def _walked_from_a_count(torch):
    return lambda y: _count(torch, y).backward()


def hooks_where_nothing_comes(torch, see):
    called = []

    def seen(name):
        return lambda *given: called.append((name, [g is None or len(g) for g in given]))

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.register_hook(lambda g: called.append(("tensor", g is None)))
    y.grad_fn.register_prehook(seen("before"))
    y.grad_fn.register_hook(seen("after"))
    x.register_hook(lambda g: called.append(("leaf", g is None)))
    x.register_post_accumulate_grad_hook(lambda leaf: called.append(("added", leaf.grad is None)))
    _count(torch, y).backward()
    see(called=called, left=x.grad)


def hooks_make_nothing_of_nothing(torch, see):
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def hooked(hang):
        y = x.exp()
        hang(y)
        _count(torch, y).backward()

    ones = torch.ones(2)
    see.error(
        a_tensors=lambda: hooked(lambda y: y.register_hook(lambda g: ones)),
        before=lambda: hooked(lambda y: y.grad_fn.register_prehook(lambda gs: (ones,))),
        after=lambda: hooked(lambda y: y.grad_fn.register_hook(lambda gs, _: (ones,))),
        negated=lambda: hooked(lambda y: y.register_hook(lambda g: -g)),
    )


def a_function_below_one_that_gives_nothing(torch, see):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 + 1

    class Silent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, g):
            return None

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    ends = Doubled.apply(x)
    ends.backward(torch.ones(2), inputs=[ends])
    see(its_own=ends.grad)
    Silent.apply(Doubled.apply(x)).sum().backward()
    see(zeros_came=x.grad)
    y = x.exp()
    Silent.apply(y * 3).sum().backward()
    see.error(freed=lambda: y.sum().backward())
    found = torch.autograd.grad(Silent.apply(Doubled.apply(x)).sum(), x)
    see(
        asked_for=found,
        recorded=torch.autograd.grad(
            Silent.apply(Doubled.apply(x * 2)).sum(), x, create_graph=True
        ),
    )


def a_cotangent_that_is_the_gradient_keeps_its_history(torch, see):
    wide = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    y = x * 2
    for name, root in {"leaf": x, "result": y}.items():
        (found,) = torch.autograd.grad(root, root, wide, retain_graph=True)
        see(**{name: found, f"{name}_again": torch.autograd.grad(found.sum(), wide)})
        rows = torch.stack([wide, wide * 3])
        (several,) = torch.autograd.grad(root, root, rows, is_grads_batched=True, retain_graph=True)
        see(**{f"{name}_rows": several.requires_grad})
    (further,) = torch.autograd.grad(y, x, wide)
    with torch.no_grad():
        (silent,) = torch.autograd.grad(x, x, wide)
    see(further=further, silent=silent)


def hooks_that_raise_where_nothing_comes(torch, see):
    x, unused = torch.ones(2, 2, requires_grad=True), torch.ones(1, requires_grad=True) * 2
    first, second = (x * 1).unbind(0)
    second.register_hook(lambda g: -g)
    ones = torch.ones(2)
    see.error(
        before_an_input_is_missed=lambda: torch.autograd.grad(first, [x, unused], ones),
        in_rows=lambda: torch.autograd.grad(first, [x, unused], ones[None], is_grads_batched=True),
    )
    y = x * 3
    frozen = torch.ones(2, requires_grad=True)
    frozen.register_post_accumulate_grad_hook(lambda leaf: leaf.grad.sum() and None)
    z = frozen * 2
    frozen.requires_grad_(False)
    see.error(of_a_frozen_leaf=lambda: z.sum().backward())
    see(left=torch.autograd.grad(y.sum(), x))


def a_leafs_node_does_not_run_where_it_is_asked_for(torch, see):
    x, called = torch.tensor([1.0, 2.0], requires_grad=True), []
    x.register_hook(lambda g: called.append(("tensor", g is None)))
    x.register_post_accumulate_grad_hook(lambda leaf: called.append(("added", leaf.grad)))
    see(found=torch.autograd.grad(_count(torch, x), x, allow_unused=True), called=called)
    _count(torch, x).backward(inputs=[x])
    see(then=called)


def what_is_not_kept_may_be_of_inference_mode(torch, see):
    x, place = torch.ones(1, requires_grad=True) * 2, torch.tensor([0])
    with torch.inference_mode():
        wide, flat = torch.ones(1, 2), torch.ones(1)
    see(found=x.index_copy(0, place, flat))
    see.error(of_its_shape=lambda: x.index_copy(0, place, wide))
    see.error(kept=lambda: torch.mul(x, torch.ones(3)) * wide, product=lambda: x @ wide)


def a_rule_that_leads_nowhere_wanted_is_not_worked_out(torch, see):
    bools, whole = torch.tensor([True, True]), torch.tensor([2, 1])
    for name, divisor in (("bools", bools), ("whole", whole)):
        x = torch.tensor([1.0, 2.0])
        y = x.addcdiv(torch.ones(2, requires_grad=True) * 3, divisor)
        y.sum().backward(inputs=[y], retain_graph=True)
        see(**{name: y.grad})
        see.error(**{f"{name}_further": lambda y=y: y.sum().backward()})
    y = torch.ones(2, requires_grad=True).exp()
    y.sum().backward(inputs=[y])
    see.error(freed_all_the_same=lambda: y.sum().backward())


def a_hook_sees_what_comes_to_a_node_by_its_result_again(torch, see):
    for name in ("log_ndtr", "i1e", "i0e", "expit", "ndtri"):
        x, seen = torch.tensor([0.3, 0.6], dtype=torch.float64, requires_grad=True), []
        y = getattr(torch.special, name)(x)
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        y.grad_fn.register_prehook(lambda gs, seen=seen: seen.append(gs[0].clone()))
        see(**{name: torch.autograd.grad(g.sum(), x), f"{name}_seen": seen})
