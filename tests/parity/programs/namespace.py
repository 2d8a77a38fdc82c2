"""What else the namespace has: dtypes that combine, numbers as tensors, tensors like others."""

import warnings

import numpy as np
from tests.parity.data import draw


def questions(torch, see):
    x, i = draw(torch, 2), torch.tensor([1, 2])
    see(
        tensor=torch.is_tensor(x),
        no_tensor=torch.is_tensor([1]),
        floating=torch.is_floating_point(i),
    )
    see(complex=torch.is_complex(x), numel=torch.numel(x), nonzero=torch.is_nonzero(i[0]))
    see(same=x.is_same_size(i), signed=(i.is_signed(), i.bool().is_signed()))
    see(close=torch.allclose(x, x + 1e-12), equal=torch.equal(x, x), other=torch.equal(x, x[:1]))
    see(constants=(torch.pi, torch.inf, torch.e), new=x[torch.newaxis])


def dtypes_that_combine(torch, see):
    names = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64")
    found = {}
    for a in names:
        for b in names:
            types = getattr(torch, a), getattr(torch, b)
            found[f"{a} {b}"] = (torch.promote_types(*types), torch.can_cast(*types))
    see(found=found)
    see(
        numbers=torch.result_type(torch.tensor([1]), 1.5),
        scalars=torch.result_type(torch.ones(2), torch.tensor(1.0, dtype=torch.float64)),
        axes=torch.result_type(torch.ones(2), torch.ones(1, dtype=torch.float64)),
    )


def tensors_where_numbers_go(torch, see):
    x, two = draw(torch, 3), torch.tensor(2.0)
    see(full=torch.full((2,), two), alpha=torch.add(x, x, alpha=two), sum=x.sum(torch.tensor(0)))
    see(index=x[torch.tensor(1)], steps=torch.arange(torch.tensor(3)), slice=x[: torch.tensor(2)])
    see.error(several=lambda: torch.full((2,), torch.ones(3)))


def tensors_like_others(torch, see):
    x = draw(torch, 2, requires_grad=True)
    see(
        zeros=x.new_zeros(3),
        ones=x.new_ones((2, 1)),
        full=x.new_full((2,), 7),
        one=x.new_tensor([1]),
    )
    see(like=torch.ones_like(x), other=torch.full_like(x, 2, dtype=torch.int64))
    see(leaf=torch.zeros_like(x, requires_grad=True), scalar=torch.scalar_tensor(3))


def numpy_beside_tensors(torch, see):
    x, a = draw(torch, 3), np.array([1.0, 2.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch's __array_wrap__ is an old one
        see(
            added=x + a,
            divided=a / x,
            scalar=np.float64(2) * x,
            equal=a == x,
            unequal=x != a,
            sine=np.sin(x),
            larger=np.maximum(x, a),
            signs=np.signbit(x),
        )
        w = x.clone().requires_grad_()
        see.error(
            added=lambda: a + x,
            multiplied=lambda: a * x,
            recorded=lambda: a / w,
            compared=lambda: a < x,
        )


def losses_of_unequal_sizes(torch, see):
    x, y = draw(torch, 3, 2), draw(torch, 2, seed=1)
    F = torch.nn.functional
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loss = getattr(F, name)(x, y, reduction="sum")
            see(**{name: loss, "alike": getattr(F, name)(x, x)})
        see(said=[str(w.message) for w in caught], where=[w.filename == __file__ for w in caught])


def names_of_kinds(torch, see):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    below = y.grad_fn.next_functions[0][0]
    see(nodes=[type(y.grad_fn).__name__, type(below).__name__])
    see(are_nodes=[isinstance(n, torch.autograd.graph.Node) for n in (y.grad_fn, below, 3)])
    real = "float32 float64 float16 bfloat16 int8 uint8 int16 int32 int64 bool"
    dtypes = [getattr(torch, name) for name in f"{real} complex64 complex128".split()]
    see(types=[torch.zeros(1, dtype=dtype).type() for dtype in dtypes])
    see(double=x.type(torch.float64))
    parts = x.split(1)
    see(numbers=[t.output_nr for t in (x, y, *parts)])


def parts_of_a_module_assigned_again(torch, see):
    nn = torch.nn
    model = nn.Module()
    model.first, model.second = nn.Linear(2, 2), nn.ReLU()
    model.scale, model.shift = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))
    model.listed = nn.ParameterList([nn.Parameter(torch.ones(2, 3)), torch.ones(1)])
    model.named = nn.ParameterDict({"a": torch.ones(2)})
    model.first, model.scale = nn.Tanh(), nn.Parameter(torch.ones(2))
    see(parts=[name for name, _ in model.named_modules()], shown=repr(model))
    see(parameters=[name for name, _ in model.named_parameters()])
    model.second = None
    see(parts=[name for name, _ in model.named_children()])
