"""Walks for a batch of cotangents (`is_grads_batched`), with hooks on their way."""

from tests.parity.data import draw


def hooks_see_one_row(torch, see):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for record in (False, True):
        seen = []

        def scaled(g, seen=seen):
            seen.append(tuple(g.shape))
            return g * g.sum(0) + 1

        y = x * 2
        y.register_hook(scaled)
        z = y * y
        (g,) = torch.autograd.grad(
            z, x, torch.eye(3) + 1, is_grads_batched=True, create_graph=record
        )
        see(g=g.detach(), seen=seen, requires=g.requires_grad)
        if record:
            see(second=torch.autograd.grad(g.sum(), x)[0])


def hooks_of_nodes_see_one_row(torch, see):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y, seen = x * 2, []
    z = y * y
    z.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))

    def after(operands, results):
        seen.append([tuple(g.shape) for g in (*operands, *results)])
        return operands[0] + results[0], operands[1]

    z.grad_fn.register_hook(after)
    see(g=torch.autograd.grad(z, x, torch.eye(3) + 1, is_grads_batched=True), seen=seen)


def hooks_see_no_values(torch, see):
    def walk(keep=True):
        return torch.autograd.grad(z, x, torch.eye(3), retain_graph=keep, is_grads_batched=True)

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y, kept = x * 2, []
    handle = y.register_hook(lambda g: kept.append(g.sum().item()))
    z = y**2
    see.error(never_looked=walk)
    torch.autograd.grad(z, x, torch.ones(3), retain_graph=True)
    see(kept=kept)
    see.error(looked_before=walk)
    handle.remove()
    kept.clear()
    y.register_hook(kept.append)
    see(g=walk(False))
    see.error(kept=lambda: kept[0].tolist())


def done_in_inference_mode(torch, see):
    x = draw(torch, 2, requires_grad=True)
    y = x * 2
    with torch.inference_mode():
        (g,) = torch.autograd.grad(y, x, torch.ones(3, 2, dtype=x.dtype), is_grads_batched=True)
        see(g=g, inference=g.is_inference())


def cotangents_that_may_not_be_used_any_more(torch, see):
    x = draw(torch, 1, 3, requires_grad=True)
    with torch.no_grad():
        rows = x.ravel()
        rows.neg_()
    y = draw(torch, 2, requires_grad=True).sum()
    try:
        torch.autograd.grad(y, y, rows, is_grads_batched=True)
    except RuntimeError:
        see(refused=y)
