"""What a checkpoint gives as a view of its argument, and how arguments lie inside."""

from tests.parity.programs.checkpoints import _checkpoint


def views_of_arguments_stay_views(torch, see):
    checkpoint = _checkpoint(torch)
    views = (lambda x: x.t(), lambda x: x[0], lambda x: x[:, 1:], lambda x: x.t()[:2])
    for number, view in enumerate(views):
        for x in (torch.zeros(2, 3), torch.zeros(3, 2).t(), torch.zeros(2, 3, requires_grad=True)):
            seen = checkpoint(view, x)
            with torch.no_grad():
                seen.add_(number + 1)
            see(x=x.detach(), seen=seen.detach(), strides=list(seen.stride()))


def what_lies_otherwise_is_viewed_inside(torch, see):
    checkpoint = _checkpoint(torch)
    x = torch.arange(6.0).reshape(3, 2).t().requires_grad_()
    flat = checkpoint(lambda x: x.t().view(-1) * 2, x)
    captured = checkpoint(lambda y: x.t().view(-1) * y, torch.ones(6))
    (flat * captured).sum().backward()
    see(flat=flat, grad=x.grad)
