"""Leaves that stop being what they were: frozen, detached in place, written with a history."""

from tests.parity.data import draw


def written_after_it_was_frozen(torch, see):
    x, w = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    before = x * 2
    x.requires_grad_(False)
    x.mul_(w)
    see.error(moved=lambda: before.sum().backward(retain_graph=True))
    x.sum().backward()
    see(x=x, w=w)


def written_after_it_was_frozen_with_a_hook(torch, see):
    x, w = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    before = x * w
    x.requires_grad_(False)
    x.mul_(torch.ones(3, requires_grad=True))
    see.error(moved=lambda: before.sum().backward())
    see(x=x, w=w)


def detached_in_place_it_keeps_hooks_and_graph(torch, see):
    x = draw(torch, 3, requires_grad=True)
    before = x * 2
    x.register_hook(lambda g: g * 5)
    x.detach_()
    see(frozen=x)
    x.requires_grad_()
    before.sum().backward()
    see(by_the_old_graph=x)
    (x * 3).sum().backward()
    see(by_a_new_one=x)


def detached_in_place_its_hooks_still_come_after(torch, see):
    x = draw(torch, 3, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: setattr(leaf, "grad", None))
    x.detach_().requires_grad_()
    (x * 3).sum().backward()
    see(taken=x)


def a_view_of_a_frozen_leaf_leads_nowhere(torch, see):
    x = draw(torch, 3, requires_grad=True)
    v = x.expand_as(x)
    x.requires_grad_(False)
    x.fill_(2)
    y = v * 1
    see(y=y, v=v)
    x.requires_grad_()
    y.sum().backward()
    see(x=x, by_the_view=torch.autograd.grad((v * 1).sum(), v))


def retained_and_detached_in_place(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    same = y.to(y.dtype)
    same.detach_()
    see.error(again=lambda: y.retain_grad())
    y.requires_grad_()
    y.retain_grad()
    y.sum().backward()
    see(y=y, x=x)


def thawed_in_another_form(torch, see):
    x, y = draw(torch, 2, 2, requires_grad=True), draw(torch, 2, 2, requires_grad=True)
    used = (y * 2).sum()
    for leaf in (x, y):
        leaf.detach_()
        leaf.unsqueeze_(1)
        leaf.requires_grad_()
    wide = torch.ones(2, 1, 2).double()
    see(new=torch.autograd.grad(x, x, wide), x=x)
    see.error(
        old_form=lambda: torch.autograd.grad(y, y, wide), by_the_old_graph=lambda: used.backward()
    )


def gradients_lie_as_their_leaves(torch, see):
    for create_graph in (False, True):
        leaves = {
            "rows": draw(torch, 2, 3),
            "columns": draw(torch, 3, 2).t(),
            "turned": draw(torch, 2, 3, 2).permute(2, 0, 1),
            "gaps": draw(torch, 4, 3)[::2].t(),
            "expanded": draw(torch, 3).expand(2, 3),
        }
        for name, x in leaves.items():
            x.requires_grad_()
            turned = x.permute(*range(x.ndim - 1, -1, -1))
            (turned.exp() * turned).sum().backward(create_graph=create_graph)
            see(name=name, grad=x.grad, steps=x.grad.stride(), plain=x.grad.is_contiguous())
            if x.grad.is_contiguous():
                flat = x.grad.detach().ravel()
                flat.zero_()
                see(zeroed=x.grad)


def walks_from_what_has_another_form(torch, see):
    x = draw(torch, 2, 3, requires_grad=True)
    y, z = x * 2, x * 3
    with torch.no_grad():
        y.unsqueeze_(1)
        z.unsqueeze_(0)
    see.error(two_rows=lambda: y.backward(torch.ones(2, 1, 3).double()))
    z.backward(torch.ones(1, 2, 3).double())
    see(x=x)


def another_form_in_no_grad(torch, see):
    for hook in (False, True):
        x = draw(torch, 2, 3, requires_grad=True)
        if hook:
            x.register_hook(lambda g: g * 2)
        with torch.no_grad():
            x.t_()
        (x * draw(torch, 3, 2, seed=1)).sum().backward()
        see(turned=x)
    x = draw(torch, 2, 3).requires_grad_()
    with torch.no_grad():
        x.unsqueeze_(0)
        x.squeeze_(0)
        x.transpose_(0, 1)
    (x * draw(torch, 3, 2, seed=1)).sum().backward(create_graph=True)
    see(several=x)
