"""Hooks of tensors, leaves and nodes; gradient edges; retain_grad beside hooks."""

from tests.parity.data import draw


def replaced_and_seen_in_order(torch, see):
    x, seen = draw(torch, 3, requires_grad=True), []
    h = x * 2
    h.register_hook(lambda g: seen.append(("first", g.clone())))
    h.register_hook(lambda g: g * 10)
    h.register_hook(lambda g: seen.append(("second", g)))
    x.register_hook(lambda g: seen.append(("leaf", g)))
    x.register_hook(lambda g: g + 1)
    y = (h**2).sum()
    y.backward(retain_graph=True)
    see(x=x, seen=seen)
    y.backward()
    see(x=x, seen=seen)


def once_a_walk_on_the_sum(torch, see):
    x, seen = draw(torch, 3, requires_grad=True), []
    h = x * 2
    h.register_hook(seen.append)
    z = h.sin() + h * h + h[0]
    see(grad=torch.autograd.grad(z.sum(), x, retain_graph=True), seen=seen)
    z.sum().backward()
    see(x=x, seen=seen)


def the_order_of_several_tensors(torch, see):
    x, order = draw(torch, 3, requires_grad=True), []
    a = x * 2
    b = a.sin()
    c = b * a
    for name, tensor in {"x": x, "c": c, "a": a, "b": b}.items():
        tensor.register_hook(lambda g, name=name: order.append((name, g * 1)))
    c.sum().backward()
    see(order=order, x=x)


def only_where_the_walk_leads(torch, see):
    x, w = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    a, b, seen = x * 2, w * 3, []
    a.register_hook(lambda g: seen.append("a"))
    b.register_hook(lambda g: seen.append("b"))
    x.register_hook(lambda g: g * 5)
    y = (a * b).sum()
    see(by_w=torch.autograd.grad(y, w, retain_graph=True), seen=seen)
    see(by_a=torch.autograd.grad(y, a, retain_graph=True), seen=seen)
    see(by_x=torch.autograd.grad(y, x, retain_graph=True), seen=seen)
    y.backward(inputs=[w])
    see(seen=seen, x=x, w=w)


def handles(torch, see):
    x = draw(torch, 3, requires_grad=True)
    handle = x.register_hook(lambda g: g * 100)
    with x.register_hook(lambda g: g + 1):
        x.sum().backward()
        see(x=x)
    x.sum().backward()
    see(x=x)
    handle.remove()
    handle.remove()
    x.sum().backward()
    see(x=x)


def a_function_once_more(torch, see):
    x = draw(torch, 3, requires_grad=True)
    double = lambda g: g * 2  # noqa: E731
    x.register_hook(double)
    x.register_hook(double)
    x.sum().backward()
    see(x=x)


def refused(torch, see):
    x = draw(torch, 3, requires_grad=True)
    constant, h = draw(torch, 3), x * 2
    see.error(
        constant=lambda: constant.register_hook(print),
        after=lambda: constant.register_post_accumulate_grad_hook(print),
        not_a_leaf=lambda: h.register_post_accumulate_grad_hook(print),
        edge=lambda: torch.autograd.graph.get_gradient_edge(constant),
    )


def what_may_not_replace(torch, see):
    for name, hook in {
        "shape": lambda g: g[:1],
        "dtype": lambda g: g.float(),
        "number": lambda g: 3,
        "raises": lambda g: {}["nothing"],
    }.items():
        x = draw(torch, 3, requires_grad=True)
        x.register_hook(hook)
        see.error(**{name: lambda x=x: (x * 2).sum().backward()})
        see(x=x)
    x = draw(torch, 3, requires_grad=True)
    with x.register_hook(lambda g: g[:1]):
        see.error(failed=lambda: (x * 2).sum().backward())
    (x * 2).sum().backward()
    see(x=x)


def a_hook_that_reads(torch, see):
    x, norms, kept = draw(torch, 3, requires_grad=True), [], []

    def look(g):
        if float(g.norm()) > 0:
            norms.append(float(g.norm()))
            kept.append(g)

    h = x * 2
    h.register_hook(look)
    y = (h**3).sum()
    y.backward(retain_graph=True)
    see(x=x, kept=kept[-1], twice=kept[-1] * 2, last=norms[-1])
    y.backward()
    see(x=x, last=norms[-1])


def what_a_hook_makes_lives_on(torch, see):
    x, kept = draw(torch, 3, requires_grad=True), {}
    scale = draw(torch, 3, seed=4)

    def hook(g):
        kept["norm"] = g.norm()
        kept["scaled"] = g * scale
        return torch.where(g > 0, g, kept["scaled"])

    x.register_hook(hook)
    (x**2).sum().backward()
    see(kept=kept, norm=kept["norm"].item(), sum=kept["scaled"] + x.detach(), x=x)


def in_place_on_the_gradient(torch, see):
    x, seen = draw(torch, 3, requires_grad=True), []
    h = x * 2

    def double(g):
        g.mul_(2)

    h.register_hook(double)
    h.register_hook(seen.append)
    (h * 3).sum().backward()
    see(x=x, seen=seen)


def recorded_with_create_graph(torch, see):
    x, w = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    h, seen = x**2, []

    def hook(g):
        seen.append(g)
        return g * w * x

    h.register_hook(hook)
    (g,) = torch.autograd.grad((h**2).sum(), x, create_graph=True)
    see(g=g, seen=seen)
    see(second=torch.autograd.grad(g.sum(), (x, w), retain_graph=True))
    see(of_seen=torch.autograd.grad(seen[0].sum(), x))


def retained_beside_hooks(torch, see):
    x = draw(torch, 3, requires_grad=True)
    h = x * 2
    h.register_hook(lambda g: g * 2)
    h.retain_grad()
    h.register_hook(lambda g: g * 3)
    (h**2).sum().backward()
    see(h=h, x=x)


def after_an_in_place_op(torch, see):
    x, seen = draw(torch, 3, requires_grad=True), []
    h = x * 2
    h.register_hook(lambda g: seen.append(("old", g.clone())))
    h.mul_(3)
    h.register_hook(lambda g: seen.append(("new", g.clone())))
    h.sum().backward()
    see(seen=seen, x=x)


def after_accumulation(torch, see):
    x, seen = draw(torch, 3, requires_grad=True), []
    x.register_post_accumulate_grad_hook(lambda p: seen.append((p is x, p.grad.clone())))
    x.register_hook(lambda g: g * 2)
    (x**2).sum().backward()
    (x**2).sum().backward()
    see(seen=seen, x=x)
    see(grad=torch.autograd.grad((x * 3).sum(), x), seen=len(seen))


def optimizer_in_backward(torch, see):
    w, b = draw(torch, 3, 2, requires_grad=True), draw(torch, 2, seed=1, requires_grad=True)

    def step(p):
        p.add_(p.grad, alpha=-0.1)
        p.grad = None

    handles = [p.register_post_accumulate_grad_hook(step) for p in (w, b)]
    x = draw(torch, 4, 3, seed=2)
    for _ in range(3):
        torch.tanh(x @ w + b).square().sum().backward()
        see(w=w, b=b)
    for handle in handles:
        handle.remove()
    torch.tanh(x @ w + b).square().sum().backward()
    see(w=w, b=b)


def optimizers_in_a_dictionary(torch, see):
    w, b = draw(torch, 3, 2, requires_grad=True), draw(torch, 2, seed=1, requires_grad=True)
    optimizers = {p: torch.optim.Adam([p], lr=0.1) for p in (w, b)}

    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    for p in (w, b):
        p.register_post_accumulate_grad_hook(step)
    x = draw(torch, 4, 3, seed=2)
    for _ in range(3):
        torch.tanh(x @ w + b).square().sum().backward()
    see(w=w, b=b)


def hooks_of_nodes(torch, see):
    x, w = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    h, seen = x * w, []
    node = h.grad_fn
    see(same=node is h.grad_fn, equal=node == h.grad_fn, name=node.name())
    node.register_prehook(lambda gs: seen.append(("before", gs)))
    node.register_prehook(lambda gs: (gs[0] * 2,))
    node.register_hook(lambda inner, outer: seen.append(("after", inner, outer)))
    handle = node.register_hook(lambda inner, outer: (inner[0] * 10, inner[1] + outer[0]))
    (h**2).sum().backward(retain_graph=True)
    see(seen=seen, x=x, w=w)
    handle.remove()
    (h**2).sum().backward()
    see(x=x, w=w, seen=len(seen))


def hooks_of_nodes_with_constants(torch, see):
    x, seen = draw(torch, 3, requires_grad=True), []
    h = x * 2
    h.grad_fn.register_hook(lambda inner, outer: seen.append((inner, outer)))
    h.grad_fn.register_hook(lambda inner, outer: (inner[0] * 3, None))
    h.sum().backward()
    see(seen=seen, x=x)


def hooks_of_nodes_refused(torch, see):
    for name, hook in {
        "few": lambda inner, outer: (inner[0],),
        "many": lambda inner, outer: (inner[0], inner[1], inner[0]),
        "shape": lambda inner, outer: (inner[0][:1], inner[1]),
    }.items():
        x, w = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
        h = x * w
        h.grad_fn.register_hook(hook)
        see.error(**{name: lambda h=h: h.sum().backward()})


def the_graph(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = (x**2).sin().sum()

    def below(node, depth):
        name = node.name().rpartition("::")[2]
        return [(depth, name)] + [
            item for n, _ in node.next_functions if n is not None for item in below(n, depth + 1)
        ]

    see(graph=below(y.grad_fn, 0), leaf=x.grad_fn)


def edges(torch, see):
    edge_of = torch.autograd.graph.get_gradient_edge
    x = draw(torch, 3, requires_grad=True)
    h = x * 2
    edge = edge_of(h)
    see(node=edge.node is h.grad_fn, number=edge.output_nr)
    h.mul_(3)
    y = (h**2).sum()
    see(old=torch.autograd.grad(y, edge, retain_graph=True))
    see(new=torch.autograd.grad(y, h, retain_graph=True))
    see(leaf=torch.autograd.grad(y, [edge_of(x), h], retain_graph=True))
    ends = torch.autograd.grad(edge_of(y), edge, retain_graph=True)
    see(ends=ends)
    torch.autograd.backward(edge_of(y), inputs=[edge_of(x)])
    see(x=x)


def hooks_and_custom_functions(torch, see):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x, seen = draw(torch, 3, requires_grad=True), []
    y = Square.apply(x)
    y.register_hook(lambda g: g * 3)
    y.grad_fn.register_hook(lambda inner, outer: seen.append((inner, outer)))
    y.sum().backward()
    see(x=x, seen=seen)


def leaves_hooks_in_the_order_of_the_walk(torch, see):
    x, order = draw(torch, 3, requires_grad=True), []
    w, v = draw(torch, 3, seed=1, requires_grad=True), draw(torch, 3, seed=2, requires_grad=True)

    def used(name):
        def hook(leaf):
            order.append(name)
            with torch.no_grad():
                leaf.sub_(leaf.grad * 0.1)
            leaf.grad = None

        return hook

    h = x * w
    h.register_hook(lambda g: order.append("h"))
    x.register_hook(lambda g: order.append("x"))
    for name, leaf in {"x after": x, "w after": w, "v after": v}.items():
        leaf.register_post_accumulate_grad_hook(used(name))
    (h.sin() * v).sum().backward()
    see(order=order, x=x, w=w, v=v)
    (x * w * v).sum().backward()
    see(order=order, x=x, w=w, v=v)


def a_leafs_hook_uses_what_another_one_kept(torch, see):
    x, kept = draw(torch, 3, requires_grad=True), {}
    h = x * 2
    h.register_hook(lambda g: kept.update(norm=g.norm()))

    def divide(leaf):
        leaf.grad.div_(kept["norm"])

    with x.register_post_accumulate_grad_hook(divide):
        (h**2).sum().backward()
        see(x=x, norm=kept["norm"])
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
    see.error(gives_something=lambda: (x**2).sum().backward())


def frozen_and_thawed(torch, see):
    x, seen = draw(torch, 3, requires_grad=True), []
    x.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.clone()))
    y = (x * 3).sum()
    x.requires_grad_(False)
    see(made_before=x.requires_grad)
    x.requires_grad_(True)
    (x * 5).sum().backward()
    see(x=x, seen=seen)
    y.backward()
    see(x=x, seen=seen)
    x.requires_grad_(False)
    z = (x.requires_grad_() * 7).sum()
    x.requires_grad_(False)
    see.error(frozen=lambda: x.register_hook(print))
    z.backward()
    see(x=x, seen=seen)


def of_a_view_made_in_no_grad(torch, see):
    x, seen = draw(torch, 3, requires_grad=True), []
    with torch.no_grad():
        y = x.view(3)
    y.register_hook(lambda g: seen.append("hook"))
    y.register_post_accumulate_grad_hook(lambda leaf: seen.append("after"))
    (y * x).sum().backward()
    see(x=x, seen=seen)


def before_a_node_one_of_whose_results_has_no_gradient(torch, see):
    x = draw(torch, 4, requires_grad=True)
    a, b = x.split([2, 2])
    a.grad_fn.register_prehook(lambda gs: tuple(None if g is None else g * 2 for g in gs))
    b.sin().sum().backward(retain_graph=True)
    see(x=x)
    a.sin().sum().backward()
    see(x=x)


def a_leafs_hook_that_looks_at_the_gradient(torch, see):
    seen = []

    def logs_then_updates(p):
        seen.append(p.grad.abs().max().item())
        p.sub_(p.grad, alpha=0.1)
        p.grad = None

    def clips(p):
        if p.grad.norm() > 1:
            p.grad.div_(p.grad.norm())

    def refuses_nan(p):
        assert not torch.isnan(p.grad).any()
        seen.append(bool(torch.isfinite(p.grad).all()))

    def keeps_what_it_made(p):
        norm = p.grad.norm()
        seen.append((norm, norm.item()))

    for hook in (
        lambda p: seen.append(repr(p.grad)),
        lambda p: seen.append(p.grad.tolist()),
        lambda p: seen.append(p.grad.norm().item()),
        lambda p: seen.append(p.grad.detach().norm().item()),
        lambda p: seen.append(p.detach().sum().item()),
        clips,
        refuses_nan,
        logs_then_updates,
        keeps_what_it_made,
    ):
        q = torch.ones(3, requires_grad=True)
        q.register_post_accumulate_grad_hook(hook)
        for _ in range(3):
            (q * 3).sum().backward()
            see(seen=seen, calls=len(seen), q=q)
        see(after=torch.ones(2).sum().item())
        seen.clear()


def leaves_hooks_that_look_one_after_the_other(torch, see):
    w, b, seen = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True), []

    def scaled(p):
        p.grad.mul_(torch.tensor([1.0, 2.0, 3.0], dtype=p.dtype))
        seen.append([(p.grad * i).sum().item() for i in range(3)])

    for p in (w, b):
        p.register_post_accumulate_grad_hook(scaled)
    for _ in range(3):
        (w * b).sin().sum().backward()
        see(seen=seen, w=w, b=b)


def a_hook_that_looks_and_then_raises(torch, see):
    q, seen = torch.ones(3, requires_grad=True), []

    def hook(p):
        big = (p.grad.detach() * 2).norm()
        seen.append(big)
        if p.grad.abs().max().item() > 2:
            raise ValueError("too big")

    handle = q.register_post_accumulate_grad_hook(hook)
    see.error(raises=lambda: (q * 3).sum().backward())
    handle.remove()
    q.grad = None
    seen.clear()
    (q * 3).sum().backward()
    see(q=q, after=(q.detach() * 2).tolist())


def hooks_of_a_leaf_that_is_gone_still_run(torch, see):
    x = draw(torch, 2, requires_grad=True)
    x.register_hook(lambda g: g.to(torch.int64))
    y = x * 2
    del x
    see.error(other_dtype=lambda: y.sum().backward())


def what_a_hook_gives_for_no_gradient(torch, see):
    one, other = draw(torch, 2, requires_grad=True).split(1)
    one.register_hook(lambda g: 2)
    see.error(for_none=lambda: other.sum().backward(retain_graph=True))
    see.error(for_one=lambda: one.sum().backward())


def a_write_goes_around_hooks_of_views_on_the_way(torch, see):
    for of_node in (True, False):
        x = draw(torch, 2, 4, requires_grad=True)
        base = x * 1
        middle = base.unsqueeze(0)
        if of_node:
            middle.grad_fn.register_hook(lambda inputs, outputs: tuple(g * 2 for g in inputs))
        else:
            middle.register_hook(lambda g: g * 2)
        inner = middle[:, :, 1:]
        inner.tanh_()
        (base * 1).sum().backward(retain_graph=True)
        see(base=x)
        (middle * 1).sum().backward(retain_graph=True)
        see(middle=x)
        inner.sum().backward()
        see(inner=x, node=inner.grad_fn.name())


def a_write_goes_around_hooks_that_others_still_meet(torch, see):
    x = draw(torch, 4, requires_grad=True)
    for view in ((x * 1)[1:], x.repeat_interleave(2), (x * 1).view(2, 2)[0]):
        before = view * 3
        view.grad_fn.register_prehook(lambda gs: tuple(g * 2 for g in gs))
        view *= 2
        (before.sum() + view.sum()).backward()
        see(x=x, view=view)


def what_a_node_counts(torch, see):
    x, mask = draw(torch, 3, requires_grad=True), torch.tensor([True, False, True])
    places = torch.tensor([2, 0])
    with torch.no_grad():
        other = draw(torch, 3, seed=1)
    made = {
        "mask": x[mask],
        "places": x[places],
        "gather": x.gather(0, places),
        "index_select": x.index_select(0, places),
        "index_add": x.index_add(0, places, other[:2]),
        "scatter": x.scatter(0, places, other[:2]),
        "scatter_reduce": x.scatter_reduce(0, places, other[:2], "sum"),
        "masked_fill": x.masked_fill(mask, 2.0),
        "masked_fill_by_tensor": x.masked_fill(mask, other[0]),
        "where": torch.where(mask, x, other),
        "where_number": torch.where(mask, x, 2.0),
        "times": x * 2,
        "times_ints": x * places[0],
        "power": x**2,
        "power_of_number": 2**x,
        "power_by_tensor": x.abs() ** other,
        "clamp": x.clamp(-1, 1),
        "clamp_by_tensors": x.clamp(other, None),
        "lerp": x.lerp(other, 0.5),
        "max": x.max(0).values,
        "sort": x.sort().values,
        "nll": torch.nn.functional.nll_loss(x.log_softmax(0)[None], places[:1]),
    }
    for name, y in made.items():
        counts = []
        node = y.grad_fn
        node.register_prehook(lambda gs, counts=counts: counts.append(len(gs)))
        node.register_hook(lambda i, o, counts=counts: counts.append((len(i), len(o))))
        y.sum().backward()
        see(**{name: ([f is None for f, _ in node.next_functions], counts)})


def a_hook_of_a_node_that_looks_up(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = x[x > 0]
    y.grad_fn.register_hook(lambda inputs, outputs: tuple(g * 2 for g in inputs))
    y.sum().backward()
    see(x=x)


def of_a_leaf_whose_name_is_gone(torch, see):
    x, seen = draw(torch, 3, requires_grad=True), []
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append(leaf.grad.clone()))
    y = x * 2
    del x
    y.sum().backward()
    see(seen=seen)


def of_what_was_given_another_form_and_written(torch, see):
    x, seen = draw(torch, 2, 3, requires_grad=True), []
    y = x * 2
    y.t_()
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs[0], outputs[0])))
    y.exp_()
    y.sum().backward()
    see(seen=seen, x=x)


def expanded_on_the_way_of_a_written_complex_view(torch, see):
    x = draw(torch, 2, 2, requires_grad=True) * 1
    z = torch.view_as_complex(x)
    z.sub_(draw(torch, requires_grad=True))
    x.register_hook(lambda g: g.sum().expand(g.shape))
    z.backward(z.detach().clone())
    see(z=z)


def hooks_stay_with_what_is_detached_in_place(torch, see):
    def made():
        x, seen = draw(torch, 3, requires_grad=True), []
        y = x * 2
        handle = y.register_hook(lambda g: (seen.append(g.clone()), g * 10)[1])
        return x, y, handle, seen

    x, y, _, seen = made()
    older = (y * 3).sum()
    y.detach_()
    see(requires_grad=y.requires_grad, leaf=y.is_leaf)
    y.requires_grad_()
    (y * 5).sum().backward()
    see(y=y, seen=list(seen))
    older.backward()
    see(x=x, y=y, seen=list(seen))

    x, y, handle, seen = made()
    older = (y * 3).sum()
    y.detach_().requires_grad_()
    y.register_hook(lambda g: g + 1)
    (y * 5).sum().backward()
    see(two=y, seen=list(seen))
    older.backward(retain_graph=True)
    see(also_before=x)
    handle.remove()
    (y * 5).sum().backward()
    older.backward()
    see(removed=y, there_too=x)

    x, y, _, seen = made()
    y.mul_(3)
    y.detach_().requires_grad_()
    y.sum().backward()
    see(those_before_a_write_do_not=y, seen=seen)


def recorded_gradients_of_strided_views_are_freed(torch, see):
    x, w = draw(torch, 4, requires_grad=True), draw(torch, 2, seed=1, requires_grad=True)
    y = x.as_strided((2,), (1,), 1)
    (g,) = torch.autograd.grad(y, x, w, create_graph=True)
    s = g.sum()
    see(g=g, first=torch.autograd.grad(s, w))
    see.error(again=lambda: torch.autograd.grad(s, w))


def what_another_hook_kept_in_the_same_walk(torch, see):
    x, kept = draw(torch, 3, requires_grad=True), {}
    h = x * 2
    y = h**2
    y.register_hook(lambda g: kept.__setitem__("y", g))
    h.register_hook(lambda g: g + kept["y"] * 10)
    for _ in range(2):
        y.sum().backward(retain_graph=True)
        see(x=x, kept=kept["y"])


def what_another_nodes_hook_kept_recorded(torch, see):
    x, kept = draw(torch, 3, requires_grad=True), []
    h = x * 2
    y = h * h
    y.grad_fn.register_prehook(lambda gradients: kept.append(gradients[0]))
    h.grad_fn.register_hook(lambda operands, _: (operands[0] * kept[0], *operands[1:]))
    (g,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    see(g=g.detach(), second=torch.autograd.grad(g.sum(), x))


def hooks_of_a_tensor_that_gets_another_form_hang_where_the_first_did(torch, see):
    forms = {
        "transpose_": lambda y: y.transpose_(0, 0),
        "unsqueeze_": lambda y: y.unsqueeze_(0),
        "twice": lambda y: y.t_().transpose_(0, 1),
        "written": lambda y: y.t_().mul_(3),
    }
    for name, form in forms.items():
        for first in ("kept", "removed", "none"):
            for wanted in ("x", "y"):
                x = torch.ones(1, 2, requires_grad=True)
                y = x * 2
                if first != "none":
                    handle = y.register_hook(lambda g: g * 3)
                if first == "removed":
                    handle.remove()
                form(y)
                y.register_hook(lambda g: g * 5)
                (g,) = torch.autograd.grad((y * 1).sum(), x if wanted == "x" else y)
                see(**{f"{name}_{first}_{wanted}": g})


def _tripled(inputs, outputs):
    return tuple(None if g is None else g * 3 for g in inputs)


def a_nodes_hook_is_no_list_that_another_form_would_take_along(torch, see):
    for name, give in {"squeeze": lambda y: y.squeeze_(), "turned": lambda y: y.t_()}.items():
        for listed in (False, True):
            x = draw(torch, 2, 3, requires_grad=True)
            y = x * 2
            y.grad_fn.register_hook(
                lambda inputs, outputs: tuple(None if g is None else g * 3 for g in inputs)
            )
            if listed:
                y.register_hook(lambda g: g + 1)
            give(y)
            y.register_hook(lambda g: -g)
            (found,) = torch.autograd.grad([y], [y], [torch.ones_like(y)], retain_graph=True)
            y.sum().backward()
            see(**{f"{name}_{listed}": found, f"{name}_{listed}_leaf": x.grad})


def walks_within_hooks(torch, see):
    x, w, order = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True), []
    loss, both = (w**2).sum(), (w * x).sum()
    handle = w.register_hook(lambda g: order.append("w") or g * 3)
    h = x * 2
    h.register_hook(lambda g: loss.backward(retain_graph=True))
    y = h.sin()
    y.grad_fn.register_hook(lambda gs, of: order.append("node") or both.backward(retain_graph=True))
    y.sum().backward(retain_graph=True)
    see(x=x, w=w, order=order)
    h.register_hook(lambda g: g + torch.autograd.grad(both, w, retain_graph=True)[0])
    handle.remove()
    y.sum().backward()
    see(x=x, w=w, order=order)


def walks_within_leaves_hooks(torch, see):
    x, w = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    loss = (w**2).sum()
    x.register_post_accumulate_grad_hook(lambda p: loss.backward(retain_graph=True))
    for _ in range(2):
        (x * 2).sum().backward()
        see(x=x, w=w)
