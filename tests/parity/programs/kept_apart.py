"""Gradients and cotangents that share no memory by accident; writes through unusual views."""


def gradients_seen_through_views(torch, see):
    x = torch.ones(2, 3, requires_grad=True)
    x.t().backward(torch.arange(6.0).view(3, 2), create_graph=True)
    (x * 1).sum().backward()
    see(grad=x.grad.detach())
    y = torch.ones(3, requires_grad=True)
    y.sum().backward(create_graph=True)
    y.sum().backward()
    see(expanded=y.grad.detach())


def a_gradient_that_is_part_of_another_tensor(torch, see):
    rows = torch.zeros(2, 3)
    x = torch.ones(3, requires_grad=True)
    x.grad = rows[1]
    (x * 2).sum().backward()
    see(rows=rows, grad=x.grad)


def a_cotangent_stays_the_callers(torch, see):
    a = torch.ones(3, requires_grad=True)
    b = torch.ones(3, requires_grad=True)
    v = torch.ones(3)
    a.clone().backward(v, create_graph=True)
    v.add_(5)
    see(a=a.grad)
    a.grad = None
    (a + b).backward(torch.ones(3), create_graph=True)
    a.grad.mul_(0)
    see(a=a.grad, b=b.grad, same=a.grad is b.grad)


def a_write_through_an_expanded_view(torch, see):
    w = torch.ones(2, requires_grad=True)
    a = w * 1
    v = a.expand(2, 2)
    v[0] = w.sum()
    v.sum().backward()
    see(w=w)


def a_write_seen_through_another_order(torch, see):
    w = torch.arange(4.0).view(2, 2).requires_grad_()
    a = w * 1
    flat, turned = a.view(-1), a.t()
    flat.mul_(2)
    (turned * 3).sum().backward()
    see(w=w)


def _turned_in_place(a):
    r = a * 1
    s = r.view(4, 3)
    r.t_()
    s[0] = a.view(4, 3)[2] ** 2
    return r


def _turned_in_several_ways(a):
    r = a * 1
    s = r.view(2, 6)
    r.unsqueeze_(0)
    r.squeeze_(0).t_()
    s[0] = 1.0
    return r


def _rows_then_turned(a):
    r = a * 1
    s = r[0:2].view(-1)
    r.t_()
    s[0:2] = 1.0
    return r


def _flat_again(a):
    r = a.t() * 2
    r.t().flatten()[0:2] = 1.0
    return r


def _columns_flat(a):
    r = a.t() * 2
    r[:, 0:2].t().view(-1)[0:2] = 1.0
    return r


def _axes_back(a):
    r = a.reshape(3, 2, 2).permute(2, 0, 1) * 2
    r.permute(1, 2, 0).view(-1)[0:2] = 1.0
    return r


def _expanded(a):
    r = a.t() * 2
    r.t().view(12, 1).expand(12, 1)[3:5] = 1.0
    return r


def writes_through_views_that_ask_how_a_base_lies(torch, see):
    """Values: behind such a write torch lays a gradient as the base, so reshapes view it there."""
    leaf = torch.arange(12.0).view(3, 4)
    cases = (
        _turned_in_place,
        _turned_in_several_ways,
        _rows_then_turned,
        _flat_again,
        _columns_flat,
        _axes_back,
        _expanded,
    )
    for case in cases:
        a = leaf.clone().requires_grad_()
        result = case(a)
        weights = torch.arange(12.0).view(result.shape)
        (g,) = torch.autograd.grad((result**3 * weights).sum(), a, create_graph=True)
        (again,) = torch.autograd.grad((g**2).sum(), a)
        see(result=result, g=g.detach(), again=again)

    def slope(a):
        return torch.func.grad(lambda a: (_flat_again(a) ** 2).sum())(a)

    see(each=torch.func.vmap(slope)(torch.stack([leaf, leaf * 2])))


def writes_to_parts_of_numbers_that_lie_otherwise(torch, see):
    a = torch.arange(12.0).view(6, 2).requires_grad_()
    r = a.t() * 2
    torch.view_as_complex(r.t())[1:3] = 1.0
    z = torch.view_as_complex(a).view(2, 3)
    y = z.t() * 2
    torch.view_as_real(y.t()).view(-1)[3:7] = 1.0
    loss = (r**3).sum() + (y.abs() ** 3).sum()
    (g,) = torch.autograd.grad(loss, a, create_graph=True)
    (again,) = torch.autograd.grad((g**2).sum(), a)
    see(r=r, y=y, g=g, again=again)


def writes_in_no_grad_to_one_of_several_views(torch, see):
    a = torch.ones(2, 3)
    v = a.unbind(0)[0]
    with torch.no_grad():
        v.add_(1)
        a.add_(1)
        v.add_(1)
    see(a=a, v=v)


def inference_mode_stays_in_force(torch, see):
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        y = x * 2
    see(requires_grad=y.requires_grad)
