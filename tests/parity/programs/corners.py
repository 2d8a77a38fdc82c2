"""Corners that random programs came upon: which error is raised first, what is empty, bools."""

from tests.parity.data import draw


def indices_out_of_range(torch, see):
    far, wide, flat = torch.tensor([5]), torch.zeros(2, 3), torch.zeros(3)
    see.error(
        rows=lambda: wide.index_select(0, far),
        columns=lambda: wide.index_select(1, far),
        vector=lambda: flat.index_select(0, far),
        of_empty_rows=lambda: torch.zeros(3, 0).index_select(0, far),
        of_no_rows=lambda: torch.zeros(0, 3).index_select(0, far),
        filled=lambda: wide.index_fill_(1, far, 2.0),
        to_itself=lambda: flat.index_add_(0, torch.tensor([5, 0, 0]), flat),
        misshapen=lambda: flat.index_add_(0, torch.tensor([5]), torch.zeros(4)),
        scalars=lambda: torch.tensor(1.0).index_add_(0, torch.tensor([0, 0]), torch.tensor(2.0)),
        scalar_and_vector=lambda: torch.tensor(1.0).index_add_(0, torch.tensor([0]), flat[:1]),
        vector_and_scalar=lambda: flat.index_add_(0, torch.tensor([0]), torch.tensor(2.0)),
    )
    see(nowhere=torch.zeros(2, 0).index_fill_(0, far, 2.0))
    see(last=torch.tensor(1.0).index_copy_(0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0])))


def elements_decide_which_error(torch, see):
    leaf = draw(torch, 1, 2, requires_grad=True)
    parts = (leaf * 2).split(1, 1)
    base = leaf * 2
    view = base.split(1, 1)[0]
    base.mul_(2)
    see.error(
        out_of_range=lambda: leaf.__setitem__((slice(None), torch.tensor(2)), 1.0),
        in_range=lambda: leaf.__setitem__((slice(None), torch.tensor(1)), 1.0),
        view_out_of_range=lambda: view[torch.tensor(-2)],
        view_in_range=lambda: view[torch.tensor(0)],
        dim_before_sizes=lambda: torch.stack([torch.zeros(1, 1), torch.zeros(1)], 3),
    )
    see(parts=parts)


def nothing_to_roll(torch, see):
    see(rolled=torch.zeros(2, 0).roll(1, 5))
    see.error(roll=lambda: torch.zeros(2, 1).roll(1, 5))


def dtypes_that_do_not_fit(torch, see):
    x, wide = draw(torch, 2, dtype="float32"), draw(torch, 2)
    small, mask = torch.tensor([2, 3], dtype=torch.uint8), torch.tensor([2, 0], dtype=torch.uint8)
    see.error(
        end=lambda: x.lerp(wide, 0.25),
        weights=lambda: x.lerp(x, wide),
        negative=lambda: small**-1,
        negative_of_nothing=lambda: small[:0].pow_(-2),
        too_large=lambda: small**300,
        limit=lambda: small.clamp_(-1, 300),
        condition=lambda: torch.where(torch.tensor([1, 0]), 1.0, 2.0),
        scattered=lambda: small.scatter_(0, torch.tensor([0]), -0.25),
    )
    see(weight=x.lerp(x, torch.tensor(0.5, dtype=torch.float64)))
    see(where=torch.where(mask, x, 3.0), limited=small.clamp(-1, 2), squares=small**2)
    see(scattered=small.scatter(0, torch.tensor([0]), -1))


def bools_in_derivatives(torch, see):
    x, flag = draw(torch, 2, requires_grad=True), torch.tensor([True, False])
    see.error(
        power=lambda: x.pow(flag).sum().backward(),
        logaddexp=lambda: torch.logaddexp(x, flag).sum().backward(),
        logaddexp2=lambda: torch.logaddexp2(flag, x).sum().backward(),
    )
    torch.pow(flag + 1, x).sum().backward()
    x.pow(torch.tensor([-1, -2])).sum().backward()
    torch.remainder(torch.tensor([0.0, -6.0, 6.0]), torch.tensor([-3.0, 3.0, -3.0])).reciprocal()
    see(x=x)


def norms_of_zeros(torch, see):
    for order in (0.5, 1, 1.5, 2, 3, float("inf")):
        for g in (1.0, float("nan"), float("inf")):
            x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
            x.norm(order).backward(torch.tensor(g, dtype=torch.float64))
            see(x=x)


def histories_of_nothing(torch, see):
    def graph(made):
        x = torch.ones(0, 2, dtype=torch.float64, requires_grad=True)
        y = made(x * 2)
        y.backward(y.clone(), create_graph=True)
        see(requires_grad=x.grad.requires_grad, shape=tuple(x.grad.shape))

    def after_a_write(x):
        view = x[:, 0]
        x.mul_(2)
        return view

    graph(lambda x: torch.cat([x.flatten(), x.flatten()]))
    graph(lambda x: x.as_strided((0,), (1,)))
    graph(lambda x: x[:, 0])
    graph(after_a_write)


def inference_tensors_detached(torch, see):
    with torch.inference_mode():
        x = draw(torch, 3)
        inside = x.detach()
    y, part = x.detach(), x[:1]
    y.mul_(2)
    see(x=x, y=y, inference=(y.is_inference(), inside.is_inference()))
    see.error(
        kept=lambda: draw(torch, 3, requires_grad=True) * y,
        leaf=lambda: y.requires_grad_(),
    )
    part.detach_()
    see(part=part)


def detached_in_place_in_inference_mode(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = x * 2
    view = y[:1]
    with torch.inference_mode():
        y.detach_()
        view.detach_()
    see(y=y.requires_grad, view=view.requires_grad)
    see.error(view=lambda: view.detach_())


def views_that_may_not_be_used(torch, see):
    base = draw(torch, 2, requires_grad=True) * 2
    view = base.split(1)[0]
    base.mul_(2)
    ints = torch.zeros(1, dtype=torch.int64)
    see.error(finite=lambda: view.isfinite(), add=lambda: view + 1)
    see(infinite=view.isinf(), nan=view.isnan())
    ints[:] = view
    see(ints=ints)


def what_requires_grad_written_into_ints(torch, see):
    one = torch.ones((), dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        view = torch.zeros(2, 3, dtype=torch.int64).view(6)
    flags = torch.tensor([True, True]).split(1)[0]
    see.error(
        filled=lambda: view.__setitem__(slice(1), one),
        flag=lambda: flags.__setitem__(slice(0), one),
    )
    view[:1] = one.reshape(1)
    see(view=view)


def operands_in_the_same_memory(torch, see):
    x = draw(torch, 1, 3, 2)
    wide = torch.ones(1).expand(2)
    see.error(
        one_tensor=lambda: wide.fill_(torch.tensor(2.0)),
        item=lambda: wide.__setitem__(..., torch.tensor(2.0)),
        more_axes=lambda: x.unflatten(0, (1, -1)).mul_(x),
        part=lambda: x[:, 1:].add_(x[:, :2]),
    )
    see(one_number=wide.fill_(2.0))
    whole = x.view(1, 3, 2)
    x.add_(whole)
    see(x=x)


def detached_in_place_after_it_was_saved(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = x.erf()
    z = y.sin()
    y.detach_()
    see.error(saved=lambda: z.sum().backward())
    (y * x).sum().backward()
    see(x=x)


def hooks_of_a_form_before(torch, see):
    x = draw(torch, 1, 3, requires_grad=True)
    y = (x * 1)[:1]
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    y.squeeze_()
    y.sum().backward()
    see(x=x, shape=tuple(y.grad.shape))


def small_ints_beside_floats(torch, see):
    y, ints = draw(torch, 2, requires_grad=True), torch.tensor([3, 200], dtype=torch.uint8)
    (ints**y).sum().backward()
    torch.xlogy(y, ints).sum().backward()
    see(y=y)


def half_precision_in_order(torch, see):
    x = torch.tensor([0.5, float("nan"), 0.25], dtype=torch.bfloat16)
    see(sorted=x.sort()[1], falling=x.sort(descending=True)[1], largest=x.topk(2)[1])


def places_of_nothing(torch, see):
    far = torch.tensor([3])
    see(added=torch.zeros(0, 1).index_add_(1, far, torch.zeros(0, 1)))
    see(copied=torch.zeros(2, 0).index_copy_(0, far, torch.zeros(1, 0)))
    see(least=torch.zeros(2, 0, dtype=torch.complex64).amin(0))
    for shape, index in (((1, 0), far), ((1, 0, 2), (far, slice(None), far))):
        x = torch.zeros(shape, requires_grad=True)
        x[index].sum().backward()
        see(looked_up=x)


def targets_of_ints_that_are_not_long(torch, see):
    scores, functional = draw(torch, 2, 3), torch.nn.functional
    for name in ("int8", "int16", "int32", "bool"):
        target = torch.tensor([0, 1], dtype=getattr(torch, name))
        see.error(
            **{
                f"cross_entropy of {name}": lambda t=target: functional.cross_entropy(scores, t),
                f"nll_loss of {name}": lambda t=target: functional.nll_loss(scores, t),
            }
        )
    see(byte=functional.cross_entropy(scores, torch.tensor([0, 1], dtype=torch.uint8)))


def lone_bools_write_through_a_view(torch, see):
    for truth in (True, False):
        x = draw(torch, 2, requires_grad=True) * 1
        x[torch.tensor(truth)] = 1
        y = draw(torch, 2, requires_grad=True) * 1
        y[torch.tensor(truth), 0] = 1
        z = draw(torch, requires_grad=True) * 1
        z[torch.tensor(truth)] = 1
        see(names=[t.grad_fn.name().rpartition(":")[2] for t in (x, y, z)], x=x, y=y, z=z)


def complex_numbers_put_where_a_mask_holds(torch, see):
    mask = torch.tensor([True, False])
    for dtype in (torch.bool, torch.int64, torch.float64):
        for real in (0.0, 2.0):
            x = torch.zeros(2, dtype=dtype)
            x[mask] = torch.tensor(real + 0j)
            see(x=x)
    flags, whole = torch.zeros(2, dtype=torch.bool), torch.zeros(2)
    flags[mask] = torch.tensor(1j)
    see(flags=flags)
    see.error(imaginary=lambda: whole.__setitem__(mask, torch.tensor(1j)))


def no_base_and_complex_exponents(torch, see):
    for base in (torch.tensor([0.0, 2.0]), torch.tensor([False, True])):
        exponent = torch.tensor([1 + 1j, 2 + 0j], requires_grad=True)
        (base**exponent)[1].real.backward()
        see(exponent=exponent)
        (g,) = torch.autograd.grad((base**exponent).sum().real, exponent)
        see(odd=g.real.isnan())


def axes_of_none_and_several(torch, see):
    x = torch.tensor([[1.0, 2.0], [2.0, -1.0]], requires_grad=True)
    y = x.amax(None) + torch.amin(x, dim=None, keepdim=True)
    see(extremes=y, vectors=torch.nn.functional.normalize(x, dim=(0, 1)))
    see.error(far=lambda: torch.nn.functional.normalize(x, dim=(0, 5)))


def reductions_of_nothing(torch, see):
    empty, ints = torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64)
    for name in ("amax", "amin", "argmax", "argmin", "max", "min", "median", "aminmax"):
        whole, along = getattr(torch, name), {"dim": 0}
        see.error(
            **{
                name: lambda whole=whole: whole(empty),
                f"{name} of ints": lambda whole=whole: whole(ints),
                f"{name} along": lambda whole=whole, along=along: whole(empty, **along),
            }
        )
    see.error(
        both=lambda: empty.amax((0, 1)),
        kth=lambda: empty.kthvalue(1, 0),
        quantile=lambda: empty.quantile(0.5, 1),
        unique=lambda: torch.unique(empty, dim=1),
        histc=lambda: torch.histc(ints),
        bincount=lambda: torch.bincount(torch.ones(2)),
    )
    see(unique=torch.unique(empty, dim=0), kth=empty.kthvalue(1, 1).values)


def walks_that_come_to_what_has_no_derivative(torch, see):
    x, y = torch.tensor([5.0, 7.0], requires_grad=True), torch.ones(2, requires_grad=True)
    for name, whole in {
        "floor": x // 2,
        "of_number": 9 // x,
        "in_place": (x * 1).floor_divide_(2),
        "step": torch.heaviside(x, torch.ones(2)),
    }.items():
        loss = (whole + y).sum()
        see(**{name: whole, "node": whole.grad_fn.name()})
        see.error(walk=lambda loss=loss: loss.backward(retain_graph=True))
        see(around=torch.autograd.grad(loss, y))


def of_two_things_wrong_the_first_is_said(torch, see):
    x = torch.tensor([-0.5], dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        view = x.transpose(0, 0)
        view.abs_()
    see.error(
        axis=lambda: torch.nn.functional.cosine_similarity(view, view),
        shape=lambda: torch.nn.functional.cosine_similarity(view, torch.ones(2, 2)),
    )
    true = torch.tensor([True])
    weight = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    see.error(walk=lambda: torch.lerp(true, true, weight).sum().backward())
