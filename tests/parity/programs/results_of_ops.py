"""What is recorded of ops: which results record at all, as what, and what their walks meet."""

from tests.parity.data import draw


def _walked(y):
    try:
        y.sum().backward()
    except RuntimeError:
        return "refused"
    return "walked"


def recorded_without_a_derivative(torch, see):
    x = draw(torch, 3, requires_grad=True)
    ones = torch.ones(3, dtype=torch.float64)
    results = [x // 2, 2 // x, x.heaviside(ones), 2.0 % x, x // x.detach()]
    for y in results:
        name = y.grad_fn.name().rpartition(":")[2]
        see(name=name, needs=y.requires_grad, walk=_walked(y))
    see(x=x, rest=torch.remainder(x, 2.0))


def one_of_two_results_is_walked(torch, see):
    same = torch.full((3,), 2.0, dtype=torch.float64, requires_grad=True)
    for op in (torch.std_mean, torch.var_mean):
        for which in (0, 1):
            result = op(same)[which]
            (g,) = torch.autograd.grad(result, same, create_graph=True)
            see(g=g, needs=g.requires_grad)


def results_that_are_no_views(torch, see):
    x = draw(torch, 2, 3, requires_grad=True)
    results = [
        torch.kron(x, x), x.quantile(0.5), x.quantile(0.25, dim=1, keepdim=True),
        torch.trapezoid(x), torch.trapezoid(x, x), torch.cumulative_trapezoid(x),
        torch.linalg.vecdot(x[0], x[1]),
    ]  # fmt: skip
    for y in results:
        y.mul_(2)
        see(y=y, name=y.grad_fn.name().rpartition(":")[2])
        y.sum().backward(retain_graph=True)
    see(x=x)
    norm = torch.linalg.matrix_norm(x, float("inf"))
    see(norm=norm, name=norm.grad_fn.name())


def halves_are_normed_as_floats(torch, see):
    x = torch.tensor([[1e-3]], dtype=torch.float16, requires_grad=True)
    y = torch.nn.functional.rms_norm(x, (1,))
    see(y=y, name=y.grad_fn.name())


def places_go_round_an_axis(torch, see):
    x = draw(torch, 3)
    see(y=torch.take_along_dim(x, torch.tensor([3, -4, 7]), 0))


def zeros_of_xlog1py_stay(torch, see):
    x = torch.tensor([-1.5, 0.5], dtype=torch.float64, requires_grad=True)
    y = torch.special.xlog1py(torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True), x)
    see(g=torch.autograd.grad(y, x, torch.tensor([0.0, 1.0], dtype=torch.float64)))
    a = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    z = torch.special.xlog1py(a, torch.tensor([-1.5, 0.5], dtype=torch.float64))
    see(g=torch.autograd.grad(z, a, torch.tensor([0.0, 1.0], dtype=torch.float64)))
