"""What recorded gradients are made of: what they go by, what they keep, what is lost with it."""

from tests.parity.data import draw

_BY_RESULTS = {
    "exp": lambda x: x.exp(),
    "sqrt": lambda x: x.abs().sqrt(),
    "rsqrt": lambda x: x.abs().rsqrt(),
    "norm": lambda x: x.norm(),
    "norm_of_nothing": lambda x: x[:0].norm(),
    "prod": lambda x: x.prod(),
    "prod_along": lambda x: x.prod(1),
    "prod_kept": lambda x: x.prod(0, keepdim=True),
    "cumprod": lambda x: x.cumprod(1),
    "sgn": lambda x: x.sgn(),
    "std": lambda x: x.std(1),
}


def gradients_that_go_by_the_result(torch, see):
    for dtype in ("float64", "complex128"):
        for name, op in _BY_RESULTS.items():
            x = draw(torch, 2, 3, dtype=dtype, requires_grad=True)
            y = op(x)
            if not y.requires_grad:
                continue
            y.retain_grad()
            y.register_hook(lambda g: g * 3)
            cotangent = torch.ones_like(y, requires_grad=True)
            (g,) = torch.autograd.grad(y, x, cotangent, create_graph=True)
            if not g.requires_grad:
                continue
            g.backward(torch.ones_like(g))
            see(**{f"{name}_of_{dtype}": [y.grad, x.grad, cotangent.grad]})


def gradients_of_powers_record(torch, see):
    x = draw(torch, 3, requires_grad=True)
    (first,) = torch.autograd.grad((x**2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    see(second=second, records=second.requires_grad)


def means_keep_nothing_that_could_be_freed(torch, see):
    x = draw(torch, 2, 3, requires_grad=True)
    y = x.mean()
    (g,) = torch.autograd.grad(y, x, y.clone(), create_graph=True)
    g.backward(torch.ones_like(g))
    g.backward(torch.ones_like(g))
    see(x=x)


def not_a_number_stays_one_on_its_way_back(torch, see):
    x = torch.tensor([1.0, float("nan"), float("inf")], requires_grad=True)
    y = x.nan_to_num()
    for g in (float("nan"), float("inf"), 2.0):
        see(g=torch.autograd.grad(y, x, torch.full_like(y, g), retain_graph=True))


def variances_of_nothing(torch, see):
    x = torch.zeros(0, dtype=torch.float64, requires_grad=True)
    g = torch.ones((), dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(x.var(0), x, g, create_graph=True)
    see(first=first, second=torch.autograd.grad(first.sum(), g))


def lerp_keeps_nothing_that_could_be_freed(torch, see):
    x, y = draw(torch, 3, requires_grad=True), draw(torch, 3, seed=1, requires_grad=True)
    z = x.lerp(y, 0.25)
    for g in torch.autograd.grad(z, (x, y), z.clone(), create_graph=True):
        torch.autograd.grad(g, z, torch.ones_like(g), allow_unused=True)
        torch.autograd.grad(g, z, torch.ones_like(g), allow_unused=True)
        see(g=g)


def second_derivatives_of_angles_and_lengths(torch, see):
    for op in (torch.atan2, torch.hypot):
        x = torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64, requires_grad=True)
        y = torch.tensor([0.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
        z = op(x, y)
        firsts = torch.autograd.grad(z, (x, y), torch.ones_like(z), create_graph=True)
        for first in firsts:
            see(second=torch.autograd.grad(first.sum(), (x, y), retain_graph=True))


def saved_leaves_are_taken_as_they_are_by_then(torch, see):
    ops = {
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "dot": lambda a, b: a @ b,
        "lerp": lambda a, b: torch.lerp(a, a * 2, b),
        "in_place": lambda a, b: (a * 2).mul_(b),
    }
    changes = {
        "stopped": lambda b: b.requires_grad_(False),
        "detached": lambda b: b.detach_(),
        "began_again": lambda b: b.requires_grad_(False).requires_grad_(),
    }
    for name, op in ops.items():
        for change, changed in changes.items():
            x, b = (draw(torch, 3, requires_grad=True) for _ in range(2))
            y = op(x, b).sum()
            changed(b)
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            see(**{f"{name}_{change}": g, f"{name}_{change}_records": g.requires_grad})
            y.backward()
            see(**{f"{name}_{change}_reached": b.grad})
            if g.requires_grad:
                see(**{f"{name}_{change}_second": torch.autograd.grad(g.sum(), b)})


def leaves_that_record_only_since(torch, see):
    x, b = draw(torch, 3, requires_grad=True), draw(torch, 3)
    y = (x * b).sum()
    b.requires_grad_()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    see(second=torch.autograd.grad(g.sum(), b), records=g.requires_grad)


def weights_that_stop_recording(torch, see):
    """linear looks at its weight through a view, which keeps its history; so do some products."""
    linear = torch.nn.functional.linear
    ops = {
        "linear": (linear, (2, 3), (4, 3)),
        "linear_of_rows": (linear, (2, 2, 3), (4, 3)),
        "weight": (lambda w, x: linear(x, w), (4, 3), (2, 3)),
        "product": (torch.matmul, (2, 3), (3, 4)),
        "product_of_rows": (torch.matmul, (2, 2, 3), (3, 4)),
        "many": (torch.matmul, (2, 3), (2, 3, 4)),
        "many_by_one": (lambda w, x: x @ w, (3, 4), (2, 2, 3)),
    }
    for name, (op, left, right) in ops.items():
        a, b = draw(torch, *left, requires_grad=True), draw(torch, *right, requires_grad=True)
        y = op(a, b).sum()
        b.requires_grad_(False)
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        see(**{name: g.detach(), f"{name}_records": g.requires_grad})


def copies_that_are_none_have_gradients_without_a_history(torch, see):
    x = draw(torch, 2, 3, requires_grad=True)
    none = x.repeat(2, 1, 0)
    none.backward(torch.zeros(none.shape, requires_grad=True, dtype=none.dtype), create_graph=True)
    see(gradient=x.grad)
