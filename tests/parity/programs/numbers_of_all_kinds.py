"""Complex numbers, halves, special values."""

from tests.parity.data import draw


def complex_gradients(torch, see):
    z = draw(torch, 3, dtype="complex128", requires_grad=True)
    loss = (z * z.conj()).real.sum()
    loss.backward()
    see(loss=loss, z=z)
    see.error(complex_loss=lambda: (z * z).sum().backward())
    z.grad = None
    (z.exp() * draw(torch, 3, seed=2)).abs().sum().backward()
    see(z=z)


def complex_parts(torch, see):
    z = draw(torch, 2, 2, dtype="complex128", requires_grad=True)
    see(real=z.real, imag=z.imag, abs=z.abs(), angle=z.angle(), pairs=torch.view_as_real(z))
    (z.real**2 + z.imag**3).sum().backward()
    see(z=z)
    see.error(imag_of_real=lambda: torch.ones(2).imag)


def real_inputs_of_complex_math(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = (x * 1j).exp()
    see(y=y)
    (y.real * y.imag).sum().backward()
    see(x=x, made=torch.complex(x.detach(), x.detach()))


def complex_cotangents(torch, see):
    z = draw(torch, 3, dtype="complex128", requires_grad=True)
    v = draw(torch, 3, dtype="complex128", seed=4)
    see(holomorphic=torch.autograd.grad(z**3, z, v))
    a = draw(torch, 2, 3, dtype="complex128", seed=5, requires_grad=True)
    (a @ z).abs().sum().backward()
    see(a=a, z=z)


def complex_second_order(torch, see):
    z = draw(torch, 2, dtype="complex128", requires_grad=True)
    (g,) = torch.autograd.grad((z.abs() ** 4).sum(), z, create_graph=True)
    see(g=g.detach())
    see(h=torch.autograd.grad(g.abs().sum(), z))


def half_precision(torch, see):
    for name in ("float16", "bfloat16"):
        x = draw(torch, 8, dtype=name, requires_grad=True)
        y = (x * x + 1).sqrt().sum()
        y.backward()
        see(**{f"y_{name}": y, f"x_{name}": x})
        see(**{f"mean_{name}": x.mean(), f"exp_{name}": x.exp(), f"to_{name}": x.float()})


def halves_in_matrix_products(torch, see):
    for name in ("float16", "bfloat16"):
        a = draw(torch, 4, 6, dtype=name, requires_grad=True)
        b = draw(torch, 6, 3, seed=1, dtype=name, requires_grad=True)
        y = a @ b
        y.sum().backward()
        see(**{f"y_{name}": y, f"a_{name}": a, f"b_{name}": b})


def single_precision(torch, see):
    x = draw(torch, 50, dtype="float32", requires_grad=True)
    y = (x.sin() * x.exp()).mean() + x.sigmoid().log().sum()
    y.backward()
    see(y=y, x=x)


def special_values(torch, see):
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([0.0, -0.0, inf, -inf, nan, 1e-320], dtype=torch.float64, requires_grad=True)
    see(x=x, sqrt=x.sqrt(), log=x.log(), inverse=1 / x, exp=x.exp(), sign=x.sign())
    see(tanh=x.tanh(), zero_times=x * 0, isnan=x.isnan(), isinf=x.isinf(), clamped=x.clamp(-1, 1))
    x.sqrt().sum().backward()
    see(x=x)
    y = torch.tensor([0.0, 1.0], requires_grad=True)
    (y**0.5).sum().backward()
    see(y=y)
    w = torch.tensor([0.0, 2.0], requires_grad=True)
    torch.where(w > 0, w.log(), w).sum().backward()
    see(w=w)


def kinks(torch, see):
    x = torch.tensor([-1.0, -0.0, 0.0, 1.0], requires_grad=True)
    for name in ("abs", "relu", "sign", "floor", "round"):
        (g,) = torch.autograd.grad(getattr(x, name)().sum(), x)
        see(**{name: g})
    see(power=torch.autograd.grad((x**2).sum() + (x**0).sum(), x))
    see(maximum=torch.autograd.grad(torch.maximum(x, torch.zeros(4)).sum(), x))
    see(clamp=torch.autograd.grad(x.clamp(0, 1).sum(), x))


def tensor_powers(torch, see):
    x = torch.tensor([0.5, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    p = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64, requires_grad=True)
    y = x**p
    see(y=y, left=2**p, number=x**3, root=x**0.5, inverse=x**-1)
    (y + 2**p).sum().backward()
    see(x=x, p=p)


def elementary_functions(torch, see):
    names = [
        "exp",
        "log",
        "log1p",
        "expm1",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "atanh",
        "sigmoid",
        "erf",
        "sqrt",
        "rsqrt",
        "square",
        "reciprocal",
        "log2",
        "log10",
        "exp2",
        "abs",
        "neg",
        "sinc",
    ]
    x = (draw(torch, 5).sigmoid() * 0.8 + 0.1).requires_grad_()
    for name in names:
        y = getattr(torch, name)(x)
        see(**{name: y, f"{name}_grad": torch.autograd.grad(y.sum(), x)})


def zeros_keep_their_sign(torch, see):
    x = torch.tensor([-0.0, 0.0, -1.0])
    for y in (x.relu(), x.clamp(min=0), x.clamp(0, 1)):
        see(y=1 / y)
