"""Names that scripts call on the way."""

from __future__ import annotations

import pytest

import gradwire as torch
from gradwire import nn
from gradwire.session import Session


def test_shapes_broadcast() -> None:
    assert torch.broadcast_shapes((3, 1), 4, (1, 1, 1)) == (1, 3, 4)
    assert torch.broadcast_shapes() == ()
    with pytest.raises(RuntimeError):
        torch.broadcast_shapes((3,), (2,))
    with pytest.raises(RuntimeError):
        torch.broadcast_shapes((-1,))


def test_arrays_are_copied_where_it_is_asked(session: Session) -> None:
    x = torch.ones(2)
    assert torch.asarray(x) is x
    assert torch.asarray(x, copy=True) is not x
    assert torch.asarray([1, 2]).dtype is torch.int64
    assert torch.asarray(x, requires_grad=True).requires_grad
    assert not x.requires_grad
    with pytest.raises(ValueError, match="copy"):
        torch.asarray([1], copy=False)
    with pytest.raises(ValueError, match="copy"):
        torch.asarray(x, dtype=torch.float64, copy=False)


def test_a_gpu_that_is_not_there_is_refused(session: Session) -> None:
    with pytest.raises(RuntimeError, match="cuda"):
        torch.ones(2).cuda()
    with pytest.raises(RuntimeError, match="cuda:1"):
        torch.ones(2).cuda(1)


def test_anomaly_mode_is_set() -> None:
    torch.set_anomaly_enabled(True, check_nan=False)
    assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_check_nan_enabled()
    torch.set_anomaly_enabled(False)
    assert not torch.is_anomaly_enabled()


def test_upsampling_is_interpolation(session: Session) -> None:
    x = torch.arange(4.0).reshape(1, 1, 2, 2)
    near = nn.UpsamplingNearest2d(scale_factor=2)(x)
    assert near[0, 0, 0].tolist() == [0, 0, 1, 1]
    across = nn.UpsamplingBilinear2d(size=(3, 3))(x)
    assert across[0, 0].tolist() == [[0, 0.5, 1], [1, 1.5, 2], [2, 2.5, 3]]


def test_triplets_by_a_distance_of_ones_own(session: Session) -> None:
    loss = nn.TripletMarginWithDistanceLoss(
        distance_function=lambda a, b: (a - b).abs().sum(-1), margin=2.0
    )
    a, p, n = torch.zeros(1, 2), torch.ones(1, 2), torch.full((1, 2), 1.5)
    assert loss(a, p, n).item() == 1.0


def test_windows_are_leaves_of_their_length(session: Session) -> None:
    for name in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
        make = getattr(torch, f"{name}_window")
        whole, periodic = make(7, False, dtype=torch.float64), make(6, dtype=torch.float64)
        assert torch.allclose(whole[:6], periodic)
        assert torch.allclose(whole, whole.flip(0))
        assert make(1).tolist() == [1.0]
        assert make(0).shape == (0,)
        assert make(4, requires_grad=True).is_leaf
        with pytest.raises(RuntimeError, match="non-negative"):
            make(-1)
        with pytest.raises(RuntimeError, match="floating"):
            make(4, dtype=torch.int64)
    assert torch.hann_window(4).tolist() == pytest.approx([0, 0.5, 1, 0.5], abs=1e-6)
    assert torch.hamming_window(3, False, 0.6, 0.4).tolist() == pytest.approx([0.2, 1, 0.2])


def test_elements_are_sought_among_others(session: Session) -> None:
    x = torch.tensor([[1.0, 2.0], [float("nan"), 4.0]])
    assert torch.isin(x, torch.tensor([4, 1])).tolist() == [[True, False], [False, True]]
    assert torch.isin(x, 2.0, invert=True).tolist() == [[True, False], [True, True]]
    assert torch.isin(1, torch.tensor([])).item() is False


def test_places_become_indices(session: Session) -> None:
    x = torch.arange(24).reshape(2, 3, 4)
    assert x[torch.unravel_index(torch.tensor([5, 23]), x.shape)].tolist() == [5, 23]
    with pytest.raises(TypeError):
        torch.unravel_index(torch.tensor([1.5]), (2, 3))
    with pytest.raises(ValueError, match="negative"):
        torch.unravel_index(torch.tensor([1]), (2, -3))


def test_powers_fall_unless_asked_otherwise(session: Session) -> None:
    x = torch.tensor([2, 3])
    assert torch.vander(x, 3).tolist() == [[4, 2, 1], [9, 3, 1]]
    assert torch.vander(x, increasing=True).tolist() == [[1, 2], [1, 3]]
    with pytest.raises(RuntimeError):
        torch.vander(x.reshape(1, 2))


def test_gumbel_samples_have_the_soft_ones_gradient(session: Session) -> None:
    logits = torch.tensor([[0.0, 8.0], [8.0, 0.0]], requires_grad=True)
    soft, hard = (nn.functional.gumbel_softmax(logits, hard=h) for h in (False, True))
    assert torch.allclose(soft.sum(-1), torch.ones(2))
    assert sorted(hard.flatten().tolist()) == [0.0, 0.0, 1.0, 1.0]
    hard[:, 0].sum().backward()
    assert logits.grad is not None
    assert torch.allclose(logits.grad.sum(-1), torch.zeros(2), atol=1e-6)


def test_diagonals_are_filled(session: Session) -> None:
    assert torch.zeros(3, 2).fill_diagonal_(5).tolist() == [[5, 0], [0, 5], [0, 0]]
    wrapped = torch.zeros(7, 2).fill_diagonal_(1, wrap=True)
    assert wrapped.nonzero().tolist() == [[0, 0], [1, 1], [3, 0], [4, 1], [6, 0]]
    assert torch.zeros(2, 2, 2).fill_diagonal_(1).sum().item() == 2
    with pytest.raises(RuntimeError):
        torch.zeros(3).fill_diagonal_(1)


def test_tensors_are_filled_with_draws(session: Session) -> None:
    torch.manual_seed(0)
    x = torch.empty(4000)
    assert 0.45 < (x.random_(0, 2) == 1).float().mean().item() < 0.55
    assert 1.9 < x.geometric_(0.5).mean().item() < 2.1
    assert abs(x.cauchy_(3.0).median().item() - 3) < 0.2
    assert abs(x.log_normal_(0.0, 1.0).log().mean().item()) < 0.1
    assert x.random_().max().item() > 2**23
    assert torch.empty(9, dtype=torch.uint8).random_().dtype is torch.uint8
    for call in (lambda: x.random_(2, 2), lambda: x.geometric_(1.0), lambda: x.log_normal_(0, 0)):
        with pytest.raises(RuntimeError):
            call()


def test_einsum_takes_numbers_for_letters(session: Session) -> None:
    a, b = torch.rand(2, 3), torch.rand(3, 4)
    assert torch.allclose(torch.einsum(a, [0, 1], b, [1, 2]), a @ b)
    assert torch.allclose(torch.einsum(a, [..., 1], b, [1, 30], [30, ...]), (a @ b).T)
    with pytest.raises(ValueError, match="52"):
        torch.einsum(a, [0, 60])


def test_split_has_names_of_its_own(session: Session) -> None:
    x = torch.arange(4)
    assert [y.tolist() for y in torch.split(tensor=x, split_size_or_sections=3)] == [[0, 1, 2], [3]]
    assert [y.tolist() for y in x.split(split_size=[1, 3])] == [[0], [1, 2, 3]]


def test_types_are_named_as_of_old(session: Session) -> None:
    x = torch.ones(2)
    assert x.type("torch.DoubleTensor").dtype is torch.float64
    assert x.type() == "torch.FloatTensor"
    with pytest.raises(ValueError, match="foo"):
        x.type("foo")


def test_backends_are_asked_and_keep_what_is_set() -> None:
    import gradwire.backends.cudnn as cudnn

    assert torch.backends.cudnn is cudnn
    cudnn.benchmark = True
    assert torch.backends.cudnn.benchmark
    with cudnn.flags(enabled=False, benchmark=False):
        assert not (cudnn.enabled or cudnn.benchmark)
    assert cudnn.enabled
    assert cudnn.benchmark
    cudnn.benchmark = False
    with pytest.raises(TypeError, match="fast"), cudnn.flags(fast=True):
        pass
    asked = (cudnn, torch.backends.mps)
    assert not any(backend.is_available() for backend in asked)
    assert torch.backends.cuda.is_built() is torch.cuda.is_available()
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError, match="fast"):
        torch.set_float32_matmul_precision("fast")
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled()
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(False)
    assert not torch.are_deterministic_algorithms_enabled()


def test_tensors_are_made_and_asked_by_types_of_old(session: Session) -> None:
    for name, dtype in (("Float", torch.float32), ("Long", torch.int64), ("Bool", torch.bool)):
        kind = getattr(torch, f"{name}Tensor")
        assert kind is getattr(torch, f"{name}Tensor")
        assert (kind.dtype, kind().shape, kind(2, 3).shape) == (dtype, (0,), (2, 3))
        assert kind(torch.ones(2, 3).shape).shape == (2, 3)
        assert isinstance(kind([0, 1]), kind)
        assert kind([0, 1]).type() == torch.typename(kind(2)) == f"torch.{name}Tensor"
    assert torch.LongTensor([[1, 2], (3, 4)]).tolist() == [[1, 2], [3, 4]]
    assert torch.LongTensor([1.5]).tolist() == [1]
    assert not isinstance(torch.ones(2), torch.DoubleTensor)
    assert not isinstance(1.0, torch.FloatTensor)
    x = torch.ones(2)
    assert torch.FloatTensor(x).tolist() == [1, 1]
    for given in (x.int(), 3.5, "a"):
        with pytest.raises(TypeError):
            torch.FloatTensor(given)
    torch.set_default_tensor_type(torch.DoubleTensor)
    try:
        assert torch.ones(1).dtype is torch.float64
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")
    assert torch.ones(1).dtype is torch.float32
    with pytest.raises(TypeError):
        torch.set_default_tensor_type(torch.LongTensor)
    with pytest.raises(TypeError):
        torch.set_default_tensor_type("torch.Foo")


def test_views_and_bits_are_asked(session: Session) -> None:
    x = torch.zeros(2, 3)
    y = x * 1
    views = (y[0], y.view(-1), y.T, y.detach()[0], y.expand(2, 2, 3), y.split(1)[0])
    assert all(v._is_view() for v in views)
    assert all(v._base is y for v in (*views[:3], *views[4:]))
    assert y[0][1:].T._base is y
    assert y.unbind(0)[1]._base is y
    assert x[0]._base is x
    assert (x * 2)[0]._base.tolist() == [[0, 0, 0]] * 2
    assert views[3]._base._base is None
    w = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert w[:1]._base is w
    with torch.inference_mode():
        assert x[0]._base is x
        assert torch.ones(2)[0]._base is None
    assert y._base is y.detach()._base is None
    z = y[1]
    y.mul_(2)
    assert z._base is y
    z.unsqueeze_(0)
    assert z._base is y
    assert not any(t._is_view() for t in (x, y, y.detach(), y.data, y.contiguous(), y + 1))
    c = torch.tensor([1 + 2j]).conj()
    assert not (c.is_conj() or torch.is_conj(c) or c.imag.is_neg() or torch.is_neg(c))
    assert c.resolve_conj() is not None
    assert torch.resolve_neg(x) is x
    assert x.get_device() == torch.get_device(x) == (-1 if x.is_cpu else 0)
    assert torch.is_same_size(x, y)
    assert torch.is_signed(x)
    assert torch.typename(3) == "int"


def test_layers_that_are_one_op(session: Session) -> None:
    x = torch.arange(8.0).reshape(1, 2, 4)
    assert torch.equal(nn.LPPool1d(2, 3, stride=1)(x), nn.functional.lp_pool1d(x, 2, 3, 1))
    assert repr(nn.LPPool2d(2, 3)) == (
        "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)"
    )
    bag = nn.EmbeddingBag(5, 3, mode="sum", padding_idx=0)
    numbers, starts = torch.tensor([1, 2, 0, 4]), torch.tensor([0, 2])
    assert torch.allclose(bag(numbers, starts)[1], bag.weight[4])
    assert bag.weight[0].tolist() == [0, 0, 0]
    assert repr(bag) == "EmbeddingBag(5, 3, mode='sum', padding_idx=0)"
    assert not nn.EmbeddingBag.from_pretrained(torch.ones(2, 3)).weight.requires_grad
    with pytest.raises(AssertionError):
        nn.EmbeddingBag(2, 3, _weight=torch.ones(3, 3))
    logits = torch.zeros(4, 1, 3).log_softmax(-1)
    given = (logits, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
    loss = nn.CTCLoss(reduction="sum")(*given)
    assert torch.equal(loss, nn.functional.ctc_loss(*given, reduction="sum"))
    kinds = [nn.RNN(2, 3), nn.RNN(2, 3, nonlinearity="relu"), nn.LSTM(2, 3), nn.GRU(2, 3)]
    assert all(isinstance(layer, nn.RNNBase) for layer in kinds)
    assert [layer.mode for layer in kinds] == ["RNN_TANH", "RNN_RELU", "LSTM", "GRU"]
    assert isinstance(nn.LSTMCell(2, 3), nn.RNNCellBase)
