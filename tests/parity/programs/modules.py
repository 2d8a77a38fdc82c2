"""torch.nn: modules made, run, trained, saved, converted, shown."""

import copy

from tests.parity.data import classes, draw


def _fill(torch, module):
    """The same parameters everywhere: the two draw random numbers of their own."""
    with torch.no_grad():
        for seed, p in enumerate(module.parameters()):
            p.copy_(draw(torch, *p.shape, seed=seed) * 0.3)
    return module.double()


def _gradients(module):
    return [p.grad for p in module.parameters()]


def perceptron(torch, see):
    nn = torch.nn
    net = _fill(torch, nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 3)))
    loss = nn.CrossEntropyLoss()(net(draw(torch, 6, 4)), classes(torch, 6, below=3))
    loss.backward()
    see(loss=loss, gradients=_gradients(net), net=repr(net), names=list(net.state_dict()))
    net.zero_grad()
    see(gone=[p.grad is None for p in net.parameters()])


def _recurrent(torch, see, module, x):
    y, state = _fill(torch, module)(x)
    y.square().sum().backward()
    names = [name for name, _ in module.named_parameters()]
    see(y=y.detach(), gradients=_gradients(module), names=names, shown=repr(module))
    see(state=[s.detach() for s in (state if isinstance(state, tuple) else (state,))])


def sequences_short_and_long(torch, see):
    """Written to, walked twice, differentiated twice: whatever it is that the steps are made of."""
    for length in (1, 3, 4, 9):
        for kind, options in (("GRU", {"bidirectional": True}), ("LSTM", {"proj_size": 2})):
            module = _fill(torch, getattr(torch.nn, kind)(3, 4, num_layers=2, **options))
            x, parameters = draw(torch, length, 2, 3, requires_grad=True), [*module.parameters()]
            y, _ = module(x)
            found = torch.autograd.grad(y.square().sum(), [x, *parameters], create_graph=True)
            total = sum(g.square().sum() for g in found)
            see(first=[g.detach() for g in found])
            see(second=torch.autograd.grad(total, [x, *parameters], allow_unused=True))
            y, _ = module(x)
            loss = y.sum()
            loss.backward(retain_graph=True)
            loss.backward()
            see(twice=[p.grad for p in parameters])
            see.error(freed=loss.backward)
    y, _ = module(x)
    with torch.no_grad():
        module.weight_hh_l0.add_(1)
        see(unrecorded=module(x)[0])
    see.error(written=y.sum().backward, none=lambda: module(x[:0]), kind=lambda: module(x.float()))


def parts_of_a_row_keep_their_names(torch, see):
    nn, row = torch.nn, torch.nn.Sequential()
    row.add_module("first", nn.Linear(2, 3))
    row.append(nn.ReLU()).append(nn.Linear(3, 1))
    for part in (row[:2], row[1:], row[::-1], row[3:]):
        see(part=repr(part), names=list(part.state_dict()))
    several = nn.ModuleList([nn.ReLU()]) + nn.ModuleList([nn.Linear(1, 2)])
    see(row=repr(row + nn.Sequential(nn.Tanh())), several=repr(several))


def plain_recurrence(torch, see):
    _recurrent(torch, see, torch.nn.RNN(3, 4, nonlinearity="relu"), draw(torch, 5, 2, 3))


def gated_recurrence_batch_first(torch, see):
    module = torch.nn.GRU(3, 4, num_layers=2, batch_first=True)
    _recurrent(torch, see, module, draw(torch, 2, 5, 3))


def long_short_term_memory_both_ways(torch, see):
    module = torch.nn.LSTM(3, 4, bidirectional=True, bias=False)
    _recurrent(torch, see, module, draw(torch, 5, 2, 3))


def recurrence_without_a_batch(torch, see):
    module = _fill(torch, torch.nn.LSTM(3, 4))
    begin = draw(torch, 1, 4), draw(torch, 1, 4, seed=1)
    y, (h, c) = module(draw(torch, 5, 3), begin)
    see(y=y, h=h, c=c)
    see.error(
        size=lambda: module(draw(torch, 5, 2)),
        state=lambda: module(draw(torch, 5, 3), (begin[0][:, :2], begin[1])),
    )


def single_steps(torch, see):
    x = draw(torch, 2, 3)
    for kind in ("RNNCell", "LSTMCell", "GRUCell"):
        cell = _fill(torch, getattr(torch.nn, kind)(3, 4))
        see(**{kind: cell(x), f"{kind}_alone": cell(x[0]), f"{kind}_shown": repr(cell)})


def attention(torch, see):
    x = draw(torch, 4, 2, 6)
    module = _fill(torch, torch.nn.MultiheadAttention(6, 2, batch_first=True))
    mask = torch.ones(2, 2).triu(1).bool()
    y, weights = module(x, x, x, attn_mask=mask)
    y.sum().backward()
    see(y=y, weights=weights, gradients=_gradients(module))
    see.error(heads=lambda: torch.nn.MultiheadAttention(5, 2))


def transformer(torch, see):
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(6, 2, 12, dropout=0.0, batch_first=True, norm_first=True)
    encoder = _fill(torch, nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))
    y = encoder(draw(torch, 2, 4, 6))
    y.square().mean().backward()
    see(y=y, gradients=_gradients(encoder), count=len(list(encoder.parameters())))
    whole = _fill(torch, nn.Transformer(6, 2, 1, 1, 12, dropout=0.0, activation="gelu"))
    mask = nn.Transformer.generate_square_subsequent_mask(3).double()
    see(mask=mask, whole=whole(draw(torch, 4, 2, 6), draw(torch, 3, 2, 6), tgt_mask=mask))


def convolutions(torch, see):
    nn = torch.nn
    net = _fill(
        torch,
        nn.Sequential(
            nn.Conv2d(2, 4, 3, padding="same", bias=False),  # before a norm: of no effect
            nn.BatchNorm2d(4),
            nn.ReLU(),
            nn.Conv2d(4, 3, 3, stride=2, groups=1, bias=False, padding_mode="circular", padding=1),
            nn.ConvTranspose2d(3, 2, 2, stride=2),
            nn.Flatten(),
        ),
    )
    y = net(draw(torch, 2, 2, 6, 6))
    y.square().sum().backward()
    see(y=y, gradients=_gradients(net), net=repr(net))
    see(whole=repr(nn.Conv1d(2, 4, 3, dilation=2)), upside=nn.ConvTranspose3d(2, 4, 3).weight.shape)
    see.error(
        groups=lambda: nn.Conv1d(3, 4, 3, groups=2),
        mode=lambda: nn.Conv1d(3, 4, 3, padding_mode="none"),
    )


def batch_norm_learns_and_is_used(torch, see):
    module = _fill(torch, torch.nn.BatchNorm1d(3, momentum=None))
    for seed in range(3):
        module(draw(torch, 5, 3, seed=seed))
    see(mean=module.running_mean, var=module.running_var, seen=module.num_batches_tracked)
    see(used=module.eval()(draw(torch, 5, 3)), shown=repr(module))
    see.error(axes=lambda: torch.nn.BatchNorm2d(3)(draw(torch, 5, 3)))


def other_norms(torch, see):
    nn, x = torch.nn, draw(torch, 2, 4, 5)
    for module in (
        nn.GroupNorm(2, 4), nn.InstanceNorm1d(4, affine=True), nn.RMSNorm(5), nn.LayerNorm((4, 5)),
        nn.LocalResponseNorm(2),
    ):  # fmt: skip
        see(**{type(module).__name__: _fill(torch, module)(x)})


def dropout_only_in_training(torch, see):
    module = torch.nn.Dropout(0.5)
    x = torch.ones(1000)
    dropped = module(x)
    see(kinds=sorted({round(v, 3) for v in dropped.tolist()}), used=module.eval()(x[:3]))
    see(same=module(x) is x, p=module.p, shown=repr(module))


def embeddings(torch, see):
    module = _fill(torch, torch.nn.Embedding(5, 3, padding_idx=-1))
    y = module(torch.tensor([[0, 4], [2, 0]]))
    y.sum().backward()
    see(y=y, gradients=_gradients(module), shown=repr(module))
    table = torch.nn.Embedding.from_pretrained(draw(torch, 4, 2))
    see(frozen=table.weight.requires_grad, row=table(torch.tensor(1)))


def activations(torch, see):
    nn, x = torch.nn, draw(torch, 2, 6)
    for module in (
        nn.ReLU(), nn.ReLU(inplace=True), nn.LeakyReLU(0.2), nn.ELU(), nn.CELU(), nn.SELU(),
        nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.Hardtanh(-0.5, 0.5), nn.Hardsigmoid(),
        nn.Hardswish(), nn.Hardshrink(), nn.Softshrink(), nn.Tanhshrink(), nn.Softsign(),
        nn.Threshold(0.1, 20), nn.LogSigmoid(), nn.Sigmoid(), nn.Tanh(), nn.Softmax(dim=1),
        nn.LogSoftmax(dim=0), nn.Softmin(dim=1), nn.ReLU6(), nn.PReLU().double(),
    ):  # fmt: skip
        see(**{type(module).__name__: module(x.clone()), "shown": repr(module)})


def losses(torch, see):
    nn, x, y = torch.nn, draw(torch, 4, 3).sigmoid(), draw(torch, 4, 3, seed=1).sigmoid()
    for loss in (
        nn.L1Loss(), nn.MSELoss(reduction="sum"), nn.SmoothL1Loss(beta=0.5), nn.HuberLoss(),
        nn.BCELoss(), nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.0, 2.0, 3.0]).double()),
        nn.KLDivLoss(reduction="batchmean"), nn.PoissonNLLLoss(), nn.SoftMarginLoss(),
    ):  # fmt: skip
        see(**{type(loss).__name__: loss(x, y), "shown": repr(loss)})
    weighted = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]).double())
    see(weighted=weighted(x, classes(torch, 4, below=3)), saved=list(weighted.state_dict()))
    see(triplet=nn.TripletMarginLoss(margin=0.3)(x, y, x + 1), nll=repr(nn.NLLLoss(ignore_index=1)))


def parts_by_name(torch, see):
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(2, 3)
            self.scale = nn.Parameter(torch.ones(3))
            self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
            self.register_buffer("scratch", torch.zeros(2), persistent=False)
            self.shared = self.first
            self.blocks = nn.ModuleList([nn.Linear(3, 3, bias=False) for _ in range(2)])
            self.named = nn.ModuleDict({"relu": nn.ReLU()})
            self.more = nn.ParameterList([torch.zeros(2)])

    net = Net()
    see(parameters=[n for n, _ in net.named_parameters()], saved=list(net.state_dict()))
    see(modules=[n for n, _ in net.named_modules()], children=[n for n, _ in net.named_children()])
    see(
        buffers=[n for n, _ in net.named_buffers()],
        found=net.get_submodule("blocks.1") is net.blocks[1],
    )
    see(training=[m.training for m in net.eval().modules()], shown=repr(net.named))
    net.scale = None
    see(gone=[n for n, _ in net.named_parameters()])
    see.error(
        missing=lambda: net.nothing,
        wrong=lambda: setattr(net, "scale", 3),
        dotted=lambda: net.register_parameter("a.b", None),
        leaf=lambda: net.register_parameter("y", nn.Parameter(torch.ones(1)) * 2),
        early=lambda: type(
            "Early", (nn.Module,), {"__init__": lambda s: setattr(s, "a", nn.ReLU())}
        )(),
        path=lambda: net.get_parameter("blocks.7.weight"),
    )


def state_is_loaded(torch, see):
    nn = torch.nn
    a, b = (nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)) for _ in range(2))
    _fill(torch, a), b.double()
    see(said=repr(b.load_state_dict(a.state_dict())), same=list(b.parameters()))
    state = a.state_dict()
    state["0.weight"] = torch.zeros(1)
    state["other"] = state.pop("1.bias")
    see.error(wrong=lambda: b.load_state_dict(state), empty=lambda: b.load_state_dict({}))
    del state["0.weight"]
    loose = b.load_state_dict(state, strict=False)
    see(missing=loose.missing_keys, unexpected=loose.unexpected_keys)


def copies_and_conversions(torch, see):
    net = _fill(torch, torch.nn.Linear(2, 2))
    net(draw(torch, 3, 2)).sum().backward()
    twin = copy.deepcopy(net)
    with torch.no_grad():
        twin.weight.zero_()
    weight = net.weight
    net.float()
    see(kept=net.weight is weight, dtype=str(weight.dtype)[-7:], weight=weight, grad=weight.grad)
    see(twin=twin.weight, twin_grad=twin.weight.grad, half=str(twin.half().bias.dtype)[-7:])


def gradients_clipped(torch, see):
    net, x = _fill(torch, torch.nn.Linear(3, 2)), draw(torch, 4, 3)
    utils = torch.nn.utils
    net(x).square().sum().backward()
    see(total=utils.clip_grad_norm_(net.parameters(), 0.5), gradients=_gradients(net))
    utils.clip_grad_value_(net.parameters(), 0.05)
    vector = utils.parameters_to_vector(net.parameters())
    see(clipped=_gradients(net), vector=vector)
    utils.vector_to_parameters(vector.detach() * 2, net.parameters())
    see(doubled=list(net.parameters()))


def hooks_around_forward(torch, see):
    net, x = torch.nn.Identity(), draw(torch, 2)
    called = []
    before = net.register_forward_pre_hook(
        lambda m, args: called.append("before") or (args[0] + 1,)
    )
    after = net.register_forward_hook(lambda m, args, y: called.append("after") or y * 2)
    see(y=net(x))
    before.remove()
    see(y=net(x))
    after.remove()
    see(y=net(x), called=called)


def frozen_and_applied(torch, see):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    names = []
    net.apply(lambda m: names.append(type(m).__name__))
    see(names=names, frozen=[p.requires_grad for p in net.requires_grad_(False).parameters()])
    see(cut=repr(net[:1]), last=repr(net[-1]), size=len(net))
    net.append(torch.nn.Tanh())
    see(grown=repr(net))
    see.error(number=lambda: net[5], forward=lambda: torch.nn.Module()(1))


def a_training_loop(torch, see):
    nn = torch.nn
    net = _fill(torch, nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1)))
    x, y = draw(torch, 12, 3), draw(torch, 12, 1, seed=1)
    losses = []
    for _ in range(5):
        loss = nn.functional.mse_loss(net(x), y)
        net.zero_grad(set_to_none=False)
        loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
        losses.append(loss.item())
    see(losses=losses, parameters=list(net.parameters()))


def gradients_cleared(torch, see):
    """Filled with zeros they are the same objects, unless they have a history."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    (w**3).sum().backward()
    first = w.grad
    optimizer.zero_grad(set_to_none=False)
    see(same=w.grad is first, zeros=first)
    w.grad = None
    (w**3).sum().backward(create_graph=True)
    recorded = w.grad
    optimizer.zero_grad(set_to_none=False)
    see(zeros=w.grad, history=w.grad.requires_grad, shared=recorded.detach())
    kept = w.grad
    optimizer.zero_grad()
    see(gone=w.grad is None, kept=kept)


def pooling(torch, see):
    nn, x = torch.nn, draw(torch, 2, 3, 8, 8)
    kept = nn.MaxPool2d(2, return_indices=True)
    y, places = kept(x)
    see(y=y, places=places, back=nn.MaxUnpool2d(2)(y, places), shown=repr(kept))
    for module in (
        nn.AvgPool2d(2), nn.AvgPool2d(3, 2, 1), nn.AdaptiveAvgPool2d((2, 3)),
        nn.AdaptiveMaxPool2d(2), nn.MaxPool2d(3, stride=2, padding=1),
    ):  # fmt: skip
        see(y=module(x), shown=repr(module))


def rearranged(torch, see):
    nn, x = torch.nn, draw(torch, 1, 4, 4, 4)
    for module in (
        nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2), nn.Unfold(2), nn.GLU(dim=1),
        nn.ZeroPad2d(1), nn.ConstantPad2d((1, 0, 2, 0), 3.5), nn.ReflectionPad2d(1),
        nn.ReplicationPad2d(1), nn.CircularPad2d(1), nn.Upsample(scale_factor=2),
        nn.Flatten(0, 1), nn.Unflatten(1, (2, 2)),
    ):  # fmt: skip
        see(y=module(x).detach())


def settings_looked_at_when_made(torch, see):
    nn = torch.nn
    for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout"):
        made = getattr(nn, name)
        see.error(**{name: lambda m=made: m(3.0), f"{name}_least": lambda m=made: m(p=-0.1)})
        see(ends=[made(0).p, made(1).p])
    see.error(feature=lambda: nn.FeatureAlphaDropout(1.5))


def an_axis_taken_for_granted(torch, see):
    for name in ("Softmax", "LogSoftmax", "Softmin"):
        module = getattr(torch.nn, name)()
        see(shown=repr(module))
        for shape in ((), (3,), (2, 3), (2, 3, 2), (1, 2, 3, 2)):
            x = draw(torch, *shape)
            see.warned(**{name: lambda m=module, x=x: m(x)})


def rows_by_frequency_and_once_more(torch, see):
    grad, places = torch.autograd.grad, torch.tensor([1, 1, 2, 3])
    weight = draw(torch, 4, 2, requires_grad=True)
    for padding in (None, 3):
        rows = torch.nn.functional.embedding(places, weight, padding, scale_grad_by_freq=True)
        (first,) = grad((rows**3).sum(), weight, create_graph=True)
        see(first=first.detach(), second=grad((first**2).sum(), weight)[0])
