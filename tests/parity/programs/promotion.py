"""Which dtype and shape comes of what: promotion, Python numbers, broadcasting, conversions."""

from tests.parity.data import draw

NAMES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip


def _of(torch, name, *shape):
    return torch.ones(shape, dtype=getattr(torch, name))


def pairs_of_tensors(torch, see):
    found = {}
    for a in NAMES:
        for b in NAMES:
            found[f"{a} {b}"] = (_of(torch, a, 2) * _of(torch, b, 2)).dtype
    see(found=found)


def tensors_and_scalars(torch, see):
    found = {}
    for a in NAMES:
        for b in NAMES:
            if a == "float16" and b.startswith("complex"):
                continue  # torch has complex32 there
            found[f"{a} {b}[]"] = (_of(torch, a, 2) * _of(torch, b)).dtype
    see(found=found)


def tensors_and_numbers(torch, see):
    found = {}
    for name in NAMES:
        x = _of(torch, name, 2)
        for number in (True, 2, 2.5, 1j):
            if name == "float16" and number == 1j:
                continue  # torch has complex32 there
            found[f"{name} {number}"] = ((x + number).dtype, (number * x).dtype, (x / 2).dtype)
    see(found=found)


def division_and_powers_of_ints(torch, see):
    a, b = torch.tensor([7, -7, 8]), torch.tensor([2, 2, -3])
    see(
        true=a / b,
        floor=a // b,
        rest=a % b,
        fmod=torch.fmod(a, b),
        power=b**2,
        mean=a.float().mean(),
    )
    see(number=7 // b, over=1 / a, rest_of=5 % b, two_to=2 ** torch.tensor([1, 2, 3]))
    see.error(
        mean=lambda: a.mean(),
        negative_power=lambda: a**-1,
        subtract_bools=lambda: torch.tensor([True]) - torch.tensor([True]),
    )


def functions_of_ints(torch, see):
    x = torch.tensor([1, 2, 3])
    see(sin=x.sin(), exp=x.exp(), sqrt=torch.sqrt(x), sigmoid=x.sigmoid(), neg=-x, abs=abs(-x))
    see(total=torch.tensor([True, True]).sum(), product=x.prod(), small=x.to(torch.uint8).sum())


def default_dtype(torch, see):
    before = torch.tensor([1, 2]) / 2
    torch.set_default_dtype(torch.float64)
    x = torch.tensor([1, 2])
    see(before=before, got=torch.get_default_dtype(), literal=torch.tensor(1.5), ints=x / 2)
    see(
        sine=x.sin(),
        zeros=torch.zeros(2),
        complex=torch.tensor(1j),
        number=torch.tensor(True) * 1.5,
    )
    torch.set_default_dtype(torch.float32)
    see(again=x.sin(), literal=torch.tensor(1.5), kept=(before + 1.0))
    see.error(whole=lambda: torch.set_default_dtype(torch.int64))


def what_tensors_are_made_of(torch, see):
    make = torch.tensor
    see(a=make(1), b=make(1.5), c=make(True), d=make(1 + 2j), e=make([1, 2.5]), f=make([]))
    see(g=make([[1, 2], [3, 4]]), h=make([[True], [False]]), i=make([1, True]), j=make([[], []]))
    see(k=make(3, dtype=torch.float16), l=make([1.9, -1.9], dtype=torch.int32))
    see(m=make([0, 2], dtype=torch.bool), n=make(1e30), o=make([float("nan"), float("inf")]))
    see.error(
        ragged=lambda: make([[1, 2], [3]]),
        text=lambda: make("a"),
        overflow=lambda: make(300, dtype=torch.uint8),
        complex=lambda: make(1j, dtype=torch.float32),
        nothing=lambda: make(None),
    )


def gradients_have_the_operands_dtype(torch, see):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = draw(torch, 2, requires_grad=True)
    h = torch.tensor([1.0, 2.0], dtype=torch.float16, requires_grad=True)
    y = w * x + h
    see(y=y)
    y.sum().backward()
    see(w=w, x=x, h=h)


def broadcasting(torch, see):
    a = draw(torch, 3, 1, requires_grad=True)
    b = draw(torch, 4, requires_grad=True)
    c = draw(torch, requires_grad=True)
    y = a * b + c
    see(y=y)
    y.sin().sum().backward()
    see(a=a, b=b, c=c)
    see.error(
        sizes=lambda: torch.ones(3) + torch.ones(4),
        inner=lambda: torch.ones(2, 3, 4) * torch.ones(2, 4),
        in_place=lambda: torch.ones(3).add_(torch.ones(2, 3)),
    )


def conversions(torch, see):
    x = draw(torch, 3, dtype="float32", requires_grad=True)
    y = x.double()
    see(y=y, same=x.float() is x, to_same=x.to(torch.float32) is x, whole=x.int(), bits=x.bool())
    (y * y).sum().backward()
    see(x=x, half=x.half(), bf=x.bfloat16(), complex=x.to(torch.complex64), as_y=x.type_as(y))
    see(back=draw(torch, 2, dtype="complex128").real.float())


def result_dtypes_of_reductions(torch, see):
    for name in NAMES:
        x = _of(torch, name, 2, 2)
        see(**{f"sum_{name}": x.sum(), f"prod_{name}": x.prod(), f"any_{name}": x.any()})


def comparisons(torch, see):
    x, y = draw(torch, 3), draw(torch, 3, seed=1)
    see(lt=x < y, le=x <= y, gt=x > y, ge=x >= y, eq=x == x, ne=x != y, number=x > 0, left=x > 0)
    see(both=(x > 0) & (y > 0), either=(x > 0) | (y > 0), odd=(x > 0) ^ (y > 0), neither=~(x > 0))
    see(text=(x == "a"), none=(x == None))  # noqa: E711
    see.error(complex_order=lambda: torch.tensor([1j]) < torch.tensor([1j]))


def products_of_nothing(torch, see):
    for a, b in (("float32", "float64"), ("int64", "float64"), ("complex128", "float32")):
        pair = [torch.zeros(s, dtype=getattr(torch, d)) for s, d in (((2, 0), a), ((2, 0, 3), b))]
        stack = pair[0].expand(2, 2, 0)
        see(one=pair[0] @ pair[1], each=torch.bmm(stack, pair[1]))
        see.error(matrices=lambda p=pair: p[0] @ p[1][0], vector=lambda p=pair: p[0][0] @ p[1])
    x = torch.zeros(2, 2, 0, dtype=torch.float32, requires_grad=True)
    y = torch.zeros(2, 0, 3, dtype=torch.float64, requires_grad=True)
    (x @ y).sum().backward()
    see(x=x, y=y)
    see.error(recorded=lambda: x[0] @ y, alone=lambda: x[:1] @ y)
