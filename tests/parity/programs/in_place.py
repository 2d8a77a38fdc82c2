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
