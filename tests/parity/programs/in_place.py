"""In-place ops: on leaves, results and views; versions; what backward refuses afterwards."""

from tests.parity.data import draw


def on_results(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = x * 2
    y.add_(1)
    see(y=y, version=y._version)
    y *= x
    see(y=y)
    y.sum().backward()
    see(x=x)


def on_leaves(torch, see):
    x = draw(torch, 3, requires_grad=True)
    v = x[:2]
    see.error(
        add=lambda: x.add_(1),
        view=lambda: v.mul_(2),
        item=lambda: x.__setitem__(0, 1.0),
        zero=lambda: x.zero_(),
        through_iadd=lambda: x.__iadd__(1),
    )
    see(x=x, version=x._version)
    with torch.no_grad():
        x.add_(1)
        v.mul_(2)
    see(x=x, v=v, version=x._version)


def saved_and_modified(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = x.exp()
    y.add_(1)
    see.error(result_saved=lambda: y.sum().backward())
    a = x * 1
    b = a**2
    a.add_(1)
    see.error(operand_saved=lambda: b.sum().backward())
    c = x * 1
    d = c**2
    d += 1
    d.sum().backward()
    see(fine=x)


def operand_without_history(torch, see):
    w = draw(torch, 3, requires_grad=True)
    x = draw(torch, 3, seed=1)
    y = w * x
    x.add_(1)
    see.error(modified=lambda: y.sum().backward())
    z = w + x
    x.add_(1)
    z.sum().backward()
    see(w=w)


def results_saved_in_place(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = x * 1
    y.exp_()
    y.sum().backward()
    see(x=x)
    z = (x * 1).sigmoid_().add_(x)
    see(z=z)
    see.error(result_written_again=lambda: z.sum().backward())


def write_through_a_view(torch, see):
    x = draw(torch, 4, requires_grad=True)
    y = x * 2
    v = y[1:3]
    v.mul_(10)
    see(y=y, v=v, same=(y._version, v._version))
    (y * y).sum().backward()
    see(x=x)


def write_to_the_base(torch, see):
    x = draw(torch, 4, requires_grad=True)
    y = x * 2
    v = y[1:3]
    y.mul_(x)
    see(y=y, v=v)
    (v * v).sum().backward()
    see(x=x)


def item_assignment(torch, see):
    x = draw(torch, 2, 3, requires_grad=True)
    w = draw(torch, 3, seed=3, requires_grad=True)
    y = x * 1
    y[0] = w
    y[1, 2] = 7.0
    see(y=y)
    (y * y).sum().backward()
    see(x=x, w=w)


def assignment_by_indices(torch, see):
    x = draw(torch, 4, requires_grad=True)
    y = x * 1
    y[torch.tensor([0, 2])] = draw(torch, 2, seed=4)
    y[torch.tensor([False, True, False, False])] = 3.0
    see(y=y)
    (y**2).sum().backward()
    see(x=x)
    z = torch.zeros(3, dtype=torch.int64)
    z[:2] = 5
    z[[2]] = 1
    see(z=z)
    see.error(
        out_of_range=lambda: z.__setitem__(3, 1),
        shape=lambda: z.__setitem__(slice(None), torch.ones(2, dtype=torch.int64)),
    )


def fills_and_copies(torch, see):
    x = draw(torch, 3, requires_grad=True)
    y = x * 1
    y.zero_()
    see(zeroed=y)
    z = x * 1
    z.copy_(x * 3)
    see(copied=z)
    z.sum().backward()
    see(x=x)
    f = torch.empty(2, 2)
    see(
        filled=f.fill_(2.5),
        into_ints=torch.zeros(2, dtype=torch.int64).copy_(torch.tensor([1.9, -1.9])),
    )
    see(masked=torch.ones(3).masked_fill_(torch.tensor([True, False, True]), 9.0))
    see(clamped=draw(torch, 4).clamp_(-0.5, 0.5))


def expanded_tensors_cannot_be_written(torch, see):
    x = torch.zeros(1, 3).expand(2, 3)
    see.error(shared=lambda: x.add_(1))
    see(copy=x.clone().add_(1))


def several_views_of_one_op(torch, see):
    x = draw(torch, 4, requires_grad=True)
    a, b = (x * 1).split(2)
    see(a=a, b=b)
    see.error(split=lambda: a.mul_(2))
    c, _ = (x * 1).unbind(0)[:2]
    see.error(unbind=lambda: c.mul_(2))


def versions(torch, see):
    x = torch.zeros(3)
    v, d = x[1:], x.detach()
    seen = [x._version]
    x.add_(1)
    v.mul_(2)
    d[0] = 5
    seen.append((x._version, v._version, d._version))
    x = x + 1
    seen.append(x._version)
    see(seen=seen, v=v, d=d)


def dtype_of_results(torch, see):
    a = torch.ones(2, dtype=torch.int64)
    see.error(
        floats_into_ints=lambda: a.add_(1.5),
        division=lambda: a.div_(2),
        shape=lambda: torch.ones(2).add_(torch.ones(3)),
    )
    see(a=a, half=torch.ones(2, dtype=torch.float16).add_(draw(torch, 2)))
    see(ints=a.add_(True), floats=torch.ones(2).mul_(torch.tensor([2, 3])))


def augmented_assignment_of_names(torch, see):
    x = draw(torch, 2, requires_grad=True)
    y = x * 1
    before = y
    y += 1
    y -= x
    y *= 2
    y /= 3
    see(y=y, same=before is y)
    y.sum().backward()
    see(x=x)


def a_walk_that_ends_at_a_write_runs_what_was_written(torch, see):
    x = draw(torch, 1, 2, requires_grad=True)
    base = torch.stack([x], 0)
    view = base.movedim(2, 2)
    view.addcmul_(view, view)
    see.error(changed=lambda: view.backward(torch.ones_like(view), inputs=[base]))
    other = x * 2
    other[0].mul_(other.detach()[0].clone())
    other.sum().backward(inputs=[other])
    see(other=other, grad=other.grad)


def expanded_views_that_were_written(torch, see):
    x = draw(torch, 1, 3, requires_grad=True)
    base = x * 2
    base.expand(2, 3).zero_()
    see(base=base)
    see.error(shown_twice=lambda: base.sum().backward())
    base = x * 2
    base.expand(1, 3).zero_()
    base.sum().backward()
    see(x=x)
    written, unused = torch.ones(1, 3), torch.ones((), requires_grad=True)
    see.error(by_a_tensor=lambda: written.expand(2, 3).fill_(unused))


def views_of_nothing_after_a_write_without_history(torch, see):
    base = torch.zeros(0, requires_grad=True) * 1
    view = base.expand(0)
    with torch.no_grad():
        base.add_(1)
        see(view=view, name=view.grad_fn.name())


def lost_views_as_values_for_ints(torch, see):
    x = draw(torch, 2, requires_grad=True) * 1
    one, other = x.unbind()
    with torch.no_grad():
        one.add_(1)
    ints, mask = torch.tensor([1, 2]), torch.tensor([True, False])
    see.error(
        masked_fill=lambda: ints.masked_fill(mask, other),
        in_place=lambda: ints.masked_fill_(mask, other),
        assigned=lambda: ints.__setitem__(mask, other),
        filled=lambda: ints.fill_(other),
    )
    ints[0] = other
    see(ints=ints, copied=torch.tensor([1, 2]).copy_(other))


def numbers_seen_as_others_overlap(torch, see):
    x = torch.zeros(2, 2)
    see.error(partly=lambda: x.__setitem__(slice(-1, None), torch.view_as_complex(x)))
    see(x=x)


def values_that_record_put_into_parts_of_bools(torch, see):
    parts = torch.ones(2, 2, dtype=torch.bool).unbind(1)
    value = torch.ones((), requires_grad=True) * 2
    see.error(one_of_several=lambda: parts[0].__setitem__(parts[0], value))
    see(parts=parts)


def written_where_elements_share_a_place(torch, see):
    def expanded():
        return torch.tensor([[1.0, 2.0, 3.0]]).expand(2, 3)

    first, mask = torch.tensor([0]), torch.tensor([True, False, True])
    ways = {
        "index_fill_": lambda t: t.index_fill_(0, first, 7.0),
        "masked_fill_": lambda t: t.masked_fill_(mask, 7.0),
        "index_put_": lambda t: t.index_put_((first,), torch.full((), 7.0, dtype=t.dtype)),
        "assigned": lambda t: t.__setitem__([0], 7.0),
        "by_mask": lambda t: t.__setitem__(mask.expand(2, 3), 7.0),
        "tril_": lambda t: t.tril_(),
        "triu_": lambda t: t.triu_(1),
    }
    for name, write in ways.items():
        t, w = expanded(), draw(torch, 1, 3, requires_grad=True)
        write(t)
        of_w = (w * 1).expand(2, 3)
        write(of_w)
        see(**{name: t, "history": of_w})
        see.error(walk=lambda of_w=of_w: of_w.sum().backward())
    matrices = {"one": (3, 3), "stack": (2, 3, 3), "turned": (2, 1, 3, 3)}
    for name, shape in matrices.items():
        wide = draw(torch, *shape).expand(2, 2, 3, 3)
        if name == "stack":
            see(stacked=wide.tril_(), upper=wide.triu_())
        else:
            see.error(
                **{name: lambda wide=wide: wide.tril_()}, upper=lambda wide=wide: wide.triu_()
            )
    t = expanded()
    see.error(
        fill_first_place_last=lambda: t.index_fill_(0, torch.tensor([5]), 1.0),
        copy=lambda: t.index_copy_(0, first, torch.ones(1, 3)),
        add=lambda: t.index_add_(0, first, torch.ones(1, 3)),
        scatter=lambda: t.scatter_(0, first[None], 2.0),
        masked_scatter=lambda: t.masked_scatter_(mask, torch.ones(6)),
        copied=lambda: t.copy_(torch.ones(3)),
        multiplied=lambda: t.mul_(2),
    )
    see(t=t)


def numbers_that_a_dtype_cannot_hold(torch, see):
    mask, first = torch.tensor([True, False, True]), torch.tensor([0])
    refused = [
        (torch.int64, [float("nan"), float("inf"), 1e20]),
        (torch.uint8, [300.0, -1.0, float("nan")]),
        (torch.float32, [1e39]),
    ]
    for dtype, numbers in refused:
        t = torch.ones(3, dtype=dtype)
        for number in numbers:
            value = torch.tensor(number, dtype=torch.float64)
            see.error(
                by_mask=lambda: t.__setitem__(mask, value),  # noqa: B023
                by_mask_of_one=lambda: t.__setitem__(mask, value[None]),  # noqa: B023
                masked_fill=lambda: t.masked_fill(mask, value),  # noqa: B023
                masked_fill_=lambda: t.masked_fill_(mask, value),  # noqa: B023
                index_fill_=lambda: t.index_fill_(0, first, value),  # noqa: B023
                number=lambda: t.fill_(number),  # noqa: B023
                assigned=lambda: t.__setitem__(0, number),  # noqa: B023
            )
        see(t=t)
    whole, half, bools = torch.ones(3, dtype=torch.int64), torch.ones(3).half(), mask.clone()
    whole[mask] = 2.7
    whole[first] = 2 + 0j
    whole[1] = torch.tensor(3.9)
    half[0] = 1e20
    bools[1] = 1j
    see(whole=whole, half=half, bools=bools, filled=torch.ones(2).fill_(3 + 0j))
    see(copied=torch.ones(2, dtype=torch.int64).copy_(2 + 1j))
    see.error(
        part=lambda: whole.fill_(1j),
        half=lambda: half.fill_(1e20),
        wide_base=lambda: torch.ones(2).float_power_(2),
    )


def forms_given_in_no_grad_to_what_has_a_history(torch, see):
    """Its node knows the first form only: gradients in another one are refused, or summed to it."""
    forms = {
        "turned": lambda y: y.t_(),
        "in_front": lambda y: y.unsqueeze_(0),
        "behind": lambda y: y.unsqueeze_(-1),
    }
    for name, form in forms.items():
        for shape in ((2, 3), (2, 2), (1, 3)):
            for recorded in (False, True):
                x = torch.ones(*shape, requires_grad=True)
                y = x * 2
                y.retain_grad()
                before = (y * 3).sum()
                with torch.no_grad():
                    form(y)
                after = (y * torch.arange(float(y.numel())).view(y.shape)).sum()
                where = f"{name}_{len(shape)}_{shape[0]}_{shape[1]}_{recorded}"
                (g,) = torch.autograd.grad(before, y, retain_graph=True, create_graph=recorded)
                see(**{f"{where}_before": g.detach()})
                try:
                    (g,) = torch.autograd.grad(after, y, create_graph=recorded)
                except RuntimeError:
                    see(**{f"{where}_refused": True})
                else:
                    see(**{f"{where}_after": g.detach()})
                try:
                    (y * 3).sum().backward()
                except RuntimeError:
                    see(**{f"{where}_refused_too": True})
                else:
                    see(**{f"{where}_retained": y.grad, f"{where}_reached": x.grad})


def another_form_given_in_no_grad_is_nothing_to_the_node(torch, see):
    """Gradients come in the first form, or in what that expands to; from each use of the tensor."""
    forms = {
        "t_": lambda y: y.t_(),
        "unsqueeze_first": lambda y: y.unsqueeze_(0),
        "unsqueeze_last": lambda y: y.unsqueeze_(-1),
    }
    uses = {
        "sum": lambda y: y.sum(),
        "exp": lambda y: y.exp().sum(),
        "row": lambda y: (y[0] * 3).sum(),
    }
    ways = [{}, {"before": True}, {"retain": True}, {"hook": True}]
    for form, give in forms.items():
        for use, read in uses.items():
            for way in ways:
                x = draw(torch, 2, 3, requires_grad=True)
                y = x * 2
                if "retain" in way:
                    y.retain_grad()
                before = (y * 5).sum() if "before" in way else 0
                with torch.no_grad():
                    give(y)
                loss = read(y) + before
                if "hook" in way:
                    y.register_hook(lambda g: g * 2)
                label = "_".join((form, use, *way))
                if form == "unsqueeze_first":
                    loss.backward()
                    see(**{label: x.grad})
                else:
                    see.error(**{label: loss.backward})
                    see(**{label + "_left": x.grad})


def detached_in_place_after_an_op_took_a_view_of_it(torch, see):
    for recorded in (False, True):
        x = draw(torch, 3, requires_grad=True)
        a, b = x * 2, torch.diagflat(x)
        y = a @ b
        a.detach_()
        see(y=torch.autograd.grad(y.sum(), x, create_graph=recorded))
        a = x * 2
        y = b @ a
        a.detach_()
        see.error(itself=lambda y=y, x=x: torch.autograd.grad(y.sum(), x, create_graph=True))
