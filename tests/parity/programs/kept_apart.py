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
