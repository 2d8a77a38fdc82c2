"""Sequences of different lengths: padded, packed, through recurrent layers and back."""

from tests.parity.data import draw


def _lying(torch, *lengths, features=2):
    return [draw(torch, n, features, seed=n, requires_grad=True) for n in lengths]


def padded_and_packed(torch, see):
    rnn = torch.nn.utils.rnn
    rows = _lying(torch, 4, 2, 3)
    padded = rnn.pad_sequence(rows, padding_value=-1.0)
    see(padded=padded, first=rnn.pad_sequence(rows, batch_first=True))
    see(left=rnn.pad_sequence(rows, True, 9.0, padding_side="left"))
    packed = rnn.pack_padded_sequence(padded, [4, 2, 3], enforce_sorted=False)
    see(data=packed.data.detach(), sizes=packed.batch_sizes, order=packed.sorted_indices)
    see(back=packed.unsorted_indices)
    again, lengths = rnn.pad_packed_sequence(packed, batch_first=True, total_length=6)
    see(again=again, lengths=lengths)
    (again * again.detach().cos()).sum().backward()
    see(grads=[row.grad for row in rows])
    packed = rnn.pack_sequence(rows[:2])
    see(order=packed.sorted_indices, sizes=packed.batch_sizes, parts=rnn.unpack_sequence(packed))
    see(unpadded=rnn.unpad_sequence(padded, torch.tensor([4, 2, 3])))
    see(double=packed.to(torch.float32).data.dtype == torch.float32)
    labels = rnn.pack_padded_sequence(torch.arange(6).reshape(2, 3), [3, 1], batch_first=True)
    see(labels=labels.data, lengths=rnn.pad_packed_sequence(labels)[1])


def _model(torch, kind, **options):
    torch.manual_seed(0)
    model = getattr(torch.nn, kind)(2, 3, **options).double()
    with torch.no_grad():
        for place, p in enumerate(model.parameters()):
            p.copy_(draw(torch, *p.shape, seed=place) / 2)
    return model


def through_layers(torch, see):
    rnn = torch.nn.utils.rnn
    for kind, options in (
        ("RNN", {}),
        ("RNN", {"bidirectional": True, "nonlinearity": "relu"}),
        ("GRU", {"num_layers": 2, "bidirectional": True}),
        ("LSTM", {"bidirectional": True, "num_layers": 2}),
        ("LSTM", {"proj_size": 2, "batch_first": True}),
    ):
        model, rows = _model(torch, kind, **options), _lying(torch, 2, 5, 3)
        output, state = model(rnn.pack_sequence(rows, enforce_sorted=False))
        states = state if isinstance(state, tuple) else (state,)
        shown, lengths = rnn.pad_packed_sequence(output)
        see(shown=shown, lengths=lengths, states=states)
        (shown.sin().sum() + sum((s * s).sum() for s in states)).backward()
        see(rows=[row.grad for row in rows], model=[p.grad for p in model.parameters()])


def from_a_state(torch, see):
    rnn = torch.nn.utils.rnn
    rows = _lying(torch, 1, 3)
    packed = rnn.pack_sequence(rows, enforce_sorted=False)
    h, c = draw(torch, 1, 2, 3, seed=8, requires_grad=True), draw(torch, 1, 2, 3, seed=9)
    for kind, given in (("GRU", h), ("LSTM", (h, c))):
        output, state = _model(torch, kind)(packed, given)
        last = state[0] if kind == "LSTM" else state
        see(data=output.data.detach(), sizes=output.batch_sizes, last=last)
        see(slope=torch.autograd.grad(last.sum() + output.data.sin().sum(), h)[0])


def of_one_step(torch, see):
    rnn = torch.nn.utils.rnn
    output, state = _model(torch, "LSTM", bidirectional=True)(
        rnn.pack_sequence(_lying(torch, 1, 1))
    )
    see(data=output.data.detach(), state=state)


def refusals(torch, see):
    rnn = torch.nn.utils.rnn
    x = draw(torch, 4, 3)
    see.error(
        unsorted=lambda: rnn.pack_padded_sequence(x, [2, 4, 1]),
        empty=lambda: rnn.pack_padded_sequence(x, [2, 1, 0]),
        too_few=lambda: rnn.pack_padded_sequence(x, [2, 1]),
        no_batch=lambda: rnn.pack_padded_sequence(x[0], [2, 1, 1]),
        no_vector=lambda: rnn.pack_padded_sequence(x, torch.tensor([[2, 1, 1]])),
        nothing=lambda: rnn.pad_sequence([]),
        no_list=lambda: rnn.pad_sequence(3),
        no_side=lambda: rnn.pad_sequence([x, x[:2]], padding_side="up"),
        short=lambda: rnn.pad_packed_sequence(rnn.pack_sequence([x]), total_length=2),
        axes=lambda: torch.nn.RNN(3, 2).double()(rnn.pack_padded_sequence(x, [4, 2, 1])),
        features=lambda: torch.nn.RNN(3, 2).double()(rnn.pack_sequence([x[:, :2]])),
        state=lambda: torch.nn.RNN(3, 2).double()(rnn.pack_sequence([x]), x),
        no_pair=lambda: rnn.PackedSequence(x),
    )
