"""Arguments of grad and backward that are rarely given, and what they decide."""

import numpy as np
from tests.parity.data import draw


def every_output_requires_grad(torch, see):
    x, c = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1)
    see.error(
        of_grad=lambda: torch.autograd.grad([(x * x).sum(), c.sum()], x),
        with_a_cotangent=lambda: torch.autograd.grad([x * x, c], x, [c, c]),
        of_backward=lambda: torch.autograd.backward([(x * x).sum(), c.sum()]),
    )
    see(untouched=x)


def null_stands_for_one_at_scalars(torch, see):
    x = draw(torch, 2, requires_grad=True)
    see(mixed=torch.autograd.grad([x.sum(), x.sin()], x, [None, torch.ones(2).double()]))
    see(backward=torch.autograd.backward([x.exp().sum(), x.sum()], [None, None]), x=x)
    see.error(vector=lambda: torch.autograd.grad([x.sum(), x.sin()], x, [None, None]))


def inputs_that_come_one_by_one(torch, see):
    """A module's `parameters()` can be read once."""
    model = torch.nn.Linear(2, 1).double()
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(0.5)
    y = (model(draw(torch, 3, 2)) ** 2).sum()
    see(
        found=torch.autograd.grad(y, model.parameters(), retain_graph=True),
        again=torch.autograd.grad((t for t in [y]), (p for p in model.parameters()), None, True),
    )
    y.backward(inputs=list(model.parameters()))
    see(grads=[p.grad for p in model.parameters()])


def only_inputs_is_ignored(torch, see):
    x, w = draw(torch, 2, requires_grad=True), draw(torch, 2, seed=1, requires_grad=True)
    see(found=torch.autograd.grad((x * w).sum(), [x], only_inputs=True), x=x, w=w)
    see.warned(found=lambda: torch.autograd.grad((x * w).sum(), [x], only_inputs=False))
    see(x=x, w=w)


def retained_graph_follows_create_graph(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = x.exp().sum()
    torch.autograd.grad(y, x, create_graph=True)
    torch.autograd.grad(y, x, create_graph=True, retain_graph=False)
    see.error(freed=lambda: torch.autograd.grad(y, x))


def thawed_after_no_grad(torch, see):
    x = draw(torch, 3, requires_grad=True)
    with torch.no_grad():
        y = x * 2
    y.requires_grad_(True)
    (y * y).sum().backward()
    see(x=x, y=y)


def inference_tensors_count_no_writes(torch, see):
    x = draw(torch, 3, requires_grad=True)
    with torch.inference_mode():
        y = x * 2
    see.error(version=lambda: y._version)
    see(x=x._version)


def nodes_and_what_they_lead_to(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = x.sin()
    z = (y * y).sum()
    node = z.grad_fn
    see(name=node.name(), before=[n.name() for n, _ in node.next_functions])
    see(leaf=[n.name() for n, _ in y.grad_fn.next_functions])


def inputs_by_name(torch, see):
    x, y = draw(torch, 2, requires_grad=True), draw(torch, 2, requires_grad=True)
    z = (x * y).sum()
    see(found=torch.autograd.grad(z, {"x": x, "y": y}, retain_graph=True))
    torch.autograd.backward(z, inputs={"x": x})
    see(x=x, y=y)


def variables_of_old_scripts(torch, see):
    x = draw(torch, 3)
    v = torch.autograd.Variable(x, requires_grad=True)
    (v**2).sum().backward()
    see(v=v, x=x, plain=torch.autograd.Variable(x).requires_grad)
    see(kinds=[isinstance(t, torch.autograd.Variable) for t in (v, x, 3.0)])


def numbers_that_have_a_dtype(torch, see):
    """Scalars of NumPy's and tensors keep theirs in lists, Python's numbers have the smallest."""
    one, small = torch.tensor(1.0, dtype=torch.float64), torch.tensor([1], dtype=torch.int8)
    see(
        doubles=torch.tensor([np.float64(1), np.float64(2)]),
        single=torch.tensor([np.float32(1), 1.0]),
        after_int=torch.tensor([1, np.float32(2)]),
        int32=torch.tensor([np.int32(1)]),
        int64=torch.tensor([np.int32(1), 2]),
        int16=torch.tensor([np.int8(1), np.uint8(2)]),
        of_tensors=torch.tensor([one, one]),
        of_one=torch.tensor([[small], [small]]),
        with_float=torch.tensor([small, 1.0]),
        rows=torch.tensor([[np.float64(1), 2], [3, 4]]),
        complex=torch.tensor([np.complex128(1), 2.0]),
        half=torch.tensor([True, np.float16(2)]),
        as_tensor=torch.as_tensor([np.float64(1)]),
    )
