"""More corners that random programs came upon: what gives nothing, and what is ignored."""


def counts_give_nothing(torch, see):
    norm = torch.linalg.vector_norm
    x = torch.tensor([0.5, 0.0, -2.0], requires_grad=True)
    norm(x.relu(), 0).backward()
    see(left=x.grad, besides=torch.autograd.grad(norm(x, 0) + x.sum(), x))
    see(zeros=torch.autograd.grad(norm(x, 0), x, materialize_grads=True))
    see(forward=torch.func.jvp(lambda x: norm(x, 0), (x.detach(),), (torch.ones(3),)))
    see(of_functions=torch.func.vmap(torch.func.grad(lambda x: norm(x, 0)))(torch.ones(2, 3)))
    see.error(unused=lambda: torch.autograd.grad(norm(x, 0), x))
    kept = x * 2
    counted = norm(kept, 0)
    kept.add_(1)
    see.error(written=counted.backward)


def edges_that_lead_nowhere(torch, see):
    edge_of = torch.autograd.graph.get_gradient_edge
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        apart = x.view(2)
    y = x * 2
    see.error(
        of_a_view_made_in_no_grad=lambda: edge_of(apart),
        no_zeros_of_a_place=lambda: torch.autograd.grad(
            x.sum(), [x, edge_of(y)], materialize_grads=True
        ),
    )
    see(zeros=torch.autograd.grad(x.sum(), y, materialize_grads=True))


def cut_before_it_is_padded(torch, see):
    pad, line = torch.nn.functional.pad, torch.ones(1, 2)
    see(moved=[pad(line, (1, -1)), pad(line, (-2, 1))])
    see.error(begin=lambda: pad(line, (-3, 4)), both=lambda: pad(line, (-2, -1)))
    see.error(end=lambda: pad(line[:, :0], (1, -1)))


def scalars_count_in_similarities(torch, see):
    one, wide = torch.tensor([1.0, 2.0]), torch.tensor(2.0, dtype=torch.float64)
    see(found=torch.nn.functional.cosine_similarity(one, wide, dim=-1))


def what_is_ignored_is_not_met(torch, see):
    lost = torch.full((2, 2), float("nan"), requires_grad=True)
    a, b = torch.ones(2, requires_grad=True), torch.tensor([-0.0, 2.0])
    found = torch.addr(lost, a, b, beta=0)
    see(found=found, signs=found.signbit(), grads=torch.autograd.grad(found.sum(), (lost, a)))
    whole = torch.ones(2, dtype=torch.int64)
    see(whole=torch.addr(whole, whole, whole, beta=0))


def axes_without_elements_normalised(torch, see):
    functions = torch.nn.functional
    for shape, last in (((2, 0), (0,)), ((2, 3, 0), (3, 0)), ((0, 3), (3,))):
        for name in ("rms_norm", "layer_norm"):
            x = torch.ones(shape, requires_grad=True)
            weight = torch.ones(last, requires_grad=True)
            (getattr(functions, name)(x, last, weight).sum() + x.sum()).backward()
            see(x=x.grad, weight=weight.grad)
    x = torch.ones(2, 4, 0, requires_grad=True)
    functions.group_norm(x, 2).sum().backward()
    see(groups=x.grad)


def idle_dropout_in_place(torch, see):
    functions, leaf = torch.nn.functional, torch.ones(2, 3, requires_grad=True)
    made = leaf * 2
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout"):
        same = getattr(functions, name)(made, 0.5, False, True)
        see(
            same=same is made, made=made, of_a_leaf=getattr(functions, name)(leaf, 0.5, False, True)
        )
    see(
        by_chance=functions.dropout(made, 0.0, True, True),
        grads=torch.autograd.grad(made.sum(), leaf),
    )
    see.error(writes_a_leaf=lambda: functions.dropout(leaf, 0.5, True, True))


def factors_of_whole_numbers(torch, see):
    x = torch.tensor([3, 7])
    see(found=[torch.addcmul(x, x, x, value=v) for v in (0.5, 1.5, -1.5, 2)])


def a_single_sample_gets_an_axis_for_the_time(torch, see):
    functions = torch.nn.functional
    for axes in (2, 3, 4, 5):
        x = torch.ones([2] * axes, requires_grad=True)
        found = functions.dropout3d(x, 0.5, training=False)
        see(**{f"volume_{axes}": (found, found is x)})
    line = functions.dropout1d(torch.ones(2, 3, requires_grad=True), 0.0)
    see(line=line)
    see.error(too_many=lambda: functions.dropout1d(torch.ones(2, 3, 2, 2)))


def what_is_not_filled_gives_nothing_to_the_value(torch, see):
    value, g = torch.tensor(2.0, requires_grad=True), torch.tensor([float("nan"), 1.0, 3.0])
    filled = torch.ones(3).index_fill(0, torch.tensor([2, 1, 2]), value)
    see(grad=torch.autograd.grad(filled, value, g))


def renorm_leaves_slices_whose_norm_is_not_a_number_as_they_are(torch, see):
    for p in (1.0, 2.0, 3.0):
        x = torch.tensor([[float("nan"), 3.0], [3.0, 4.0], [0.0, 0.0], [0.1, 0.2]])
        x.requires_grad_()
        y = x.renorm(p, 0, 2.0)
        see(**{f"by_{p:.0f}": torch.autograd.grad(y, x, torch.ones(4, 2))}, value=y)
