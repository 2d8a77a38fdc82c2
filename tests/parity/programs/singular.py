"""Matrices that are singular or hold NaN, and losses of targets that are left out."""

NAN = float("nan")
SINGULAR = ([[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]])
ODD = ([[NAN, 1.0], [1.0, 2.0]], [[1.0, NAN], [NAN, 1.0]], [[1.0, 0.5], [NAN, 1.0]])


def determinants(torch, see):
    for i, numbers in enumerate((*SINGULAR, *ODD)):
        x = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
        sign, size = torch.linalg.slogdet(x)
        size.backward()
        see(**{f"{i}": (sign, size, x)})


def factors_where_there_are_none(torch, see):
    for i, numbers in enumerate((*SINGULAR, *ODD)):
        x = torch.tensor(numbers, dtype=torch.float64)
        see(**{f"cholesky {i}": tuple(torch.linalg.cholesky_ex(x))})
        see.error(
            **{
                f"cholesky of {i}": lambda x=x: torch.linalg.cholesky(x),
                f"cholesky of {i} checked": lambda x=x: torch.linalg.cholesky_ex(
                    x, check_errors=True
                ),
            }
        )
    for i, numbers in enumerate(SINGULAR):
        x = torch.tensor(numbers, dtype=torch.float64)
        see.error(**{f"lu of {i}": lambda x=x: torch.linalg.lu_factor(x)})
        see(**{f"lu {i}": tuple(torch.linalg.lu_factor_ex(x))})


def inverses_where_there_are_none(torch, see):
    one = torch.tensor([1.0, 2.0], dtype=torch.float64)
    for i, numbers in enumerate((*SINGULAR, *ODD)):
        x = torch.tensor(numbers, dtype=torch.float64)
        see(**{f"inverse {i}": tuple(torch.linalg.inv_ex(x))})
        see(**{f"info {i}": torch.linalg.solve_ex(x, one).info})
        see(**{f"cond {i}": (torch.linalg.cond(x, 1), torch.linalg.cond(x, "fro"))})
        see(**{f"power {i}": torch.linalg.matrix_power(x, 0)})
        see(**{f"exp {i}": torch.linalg.matrix_exp(x)})
        see(**{f"pinv {i}": torch.linalg.pinv(x, hermitian=True)})
        see(**{f"upper {i}": torch.linalg.solve_triangular(x, one[:, None], upper=True)})


def targets_left_out(torch, see):
    for reduction in ("mean", "sum", "none"):
        x = torch.tensor([[0.1, 0.2], [0.4, float("inf")]], requires_grad=True)
        weight = torch.tensor([1.0, 0.0])
        none = torch.nn.functional.nll_loss(x, torch.tensor([-100, -100]), reduction=reduction)
        none.sum().backward()
        light = torch.nn.functional.nll_loss(x, torch.tensor([0, 1]), weight, reduction=reduction)
        see(**{reduction: (x, none, light)})


def sums_of_whole_numbers(torch, see):
    truth = torch.tensor([True, False])
    whole = torch.tensor([1, 2])
    see(of_truths=torch.addr(torch.zeros(2, 2, dtype=torch.bool), truth, truth, alpha=3))
    see(in_bytes=torch.ones(2, dtype=torch.uint8).sum_to_size(1))
    see(no_axes=torch.tensor(True).sum_to_size(()))
    see(
        wrapped=torch.ones(2, dtype=torch.uint8).index_add(0, whole[:1], truth[:1].byte(), alpha=-1)
    )
    see.error(
        a_float=lambda: torch.addr(torch.zeros(2, 2, dtype=torch.int64), whole, whole, beta=2.5),
        a_truth=lambda: torch.addr(torch.zeros(2, 2), whole, whole, alpha=True),
    )


def large_mantissas(torch, see):
    mantissa, exponent = torch.frexp(torch.arange(1, 1 << 20, dtype=torch.float64))
    see(sums=(mantissa.sum(), exponent.sum(), exponent.dtype))
