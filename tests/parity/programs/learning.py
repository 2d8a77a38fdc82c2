"""What people train: losses, small networks, regressions, attention."""

from tests.parity.data import classes, draw


def linear_regression(torch, see):
    x, y = draw(torch, 20, 3), draw(torch, 20, seed=1)
    w = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    b = torch.zeros((), dtype=torch.float64, requires_grad=True)
    for _ in range(5):
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad
                p.grad = None
    see(loss=loss, w=w, b=b)


def logistic_regression(torch, see):
    x, y = draw(torch, 30, 2), (draw(torch, 30, seed=1) > 0).double()
    w = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    losses = []
    for _ in range(4):
        p = torch.sigmoid(x @ w)
        loss = -(y * p.log() + (1 - y) * (1 - p).log()).mean()
        (g,) = torch.autograd.grad(loss, w)
        w = (w - 0.5 * g).detach().requires_grad_()
        losses.append(loss.item())
    see(losses=losses, w=w)


def two_layers(torch, see):
    F = torch.nn.functional
    x, y = draw(torch, 16, 4), classes(torch, 16, below=3)
    w1, w2 = (draw(torch, *s, seed=i, requires_grad=True) for i, s in enumerate([(8, 4), (3, 8)]))
    b1 = torch.zeros(8, dtype=torch.float64, requires_grad=True)
    b2 = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    losses = []
    for _ in range(3):
        logits = F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        with torch.no_grad():
            for p in (w1, b1, w2, b2):
                p -= 0.1 * p.grad
                p.grad.zero_()
        losses.append(loss.item())
    see(losses=losses, w1=w1, b1=b1, w2=w2, b2=b2, right=(logits.argmax(1) == y).double().mean())


def momentum(torch, see):
    w = draw(torch, 4, requires_grad=True)
    speed = torch.zeros_like(w)
    for _ in range(4):
        (w**2 * torch.arange(1, 5)).sum().backward()
        with torch.no_grad():
            speed.mul_(0.9).add_(w.grad)
            w.add_(speed, alpha=-0.05)
        w.grad.zero_()
    see(w=w, speed=speed)


def classification_losses(torch, see):
    F = torch.nn.functional
    logits, y = draw(torch, 5, 4, requires_grad=True), classes(torch, 5, below=4)
    for i, loss in enumerate(
        (
            F.cross_entropy(logits, y),
            F.cross_entropy(logits, y, reduction="sum", label_smoothing=0.1),
            F.cross_entropy(logits, draw(torch, 5, 4, seed=1).softmax(1), reduction="sum"),
            F.cross_entropy(logits, y, weight=torch.tensor([1.0, 2.0, 0.5, 1.0]).double()),
            F.nll_loss(F.log_softmax(logits, dim=1), y, ignore_index=2),
            F.nll_loss(logits.log_softmax(-1), y, reduction="none").sum(),
        )
    ):
        see(**{f"loss_{i}": loss, f"grad_{i}": torch.autograd.grad(loss, logits)})
    see.error(
        out_of_range=lambda: F.cross_entropy(logits, torch.tensor([9, 0, 0, 0, 0])),
        sizes=lambda: F.cross_entropy(logits, y[:3]),
        reduction=lambda: F.mse_loss(logits, logits, reduction="other"),
    )


def regression_losses(torch, see):
    F = torch.nn.functional
    a, b = draw(torch, 6, requires_grad=True), draw(torch, 6, seed=1, requires_grad=True)
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
        loss = getattr(F, name)(a, b)
        see(**{name: loss, f"{name}_grads": torch.autograd.grad(loss, [a, b])})
    see(sum=F.mse_loss(a, b, reduction="sum"), none=F.l1_loss(a, b, reduction="none"))


def binary_losses(torch, see):
    F = torch.nn.functional
    x, y = draw(torch, 6, requires_grad=True), (draw(torch, 6, seed=1) > 0).double()
    with_logits = F.binary_cross_entropy_with_logits(x, y)
    plain = F.binary_cross_entropy(x.sigmoid(), y)
    weighted = F.binary_cross_entropy_with_logits(x, y, pos_weight=torch.tensor(3.0).double())
    see(with_logits=with_logits, plain=plain, weighted=weighted)
    see(grads=[torch.autograd.grad(v, x) for v in (with_logits, plain, weighted)])


def softmax_family(torch, see):
    x = draw(torch, 2, 3, requires_grad=True)
    see(soft=x.softmax(1), log=torch.log_softmax(x, 0), lse=x.logsumexp(1))
    (x.softmax(-1) * draw(torch, 2, 3, seed=1)).sum().backward()
    see(x=x, large=torch.tensor([1e4, 0.0]).softmax(0))


def attention(torch, see):
    q, k, v = (draw(torch, 2, 4, 6, seed=i, requires_grad=True) for i in range(3))
    scores = q @ k.transpose(-2, -1) / 6**0.5
    mask = torch.ones(4, 4).tril().bool()
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    out = weights @ v
    (out**2).mean().backward()
    see(weights=weights, out=out, q=q, k=k, v=v)


def activations(torch, see):
    F = torch.nn.functional
    x = draw(torch, 7, requires_grad=True)
    for name in (
        "relu",
        "gelu",
        "silu",
        "elu",
        "softplus",
        "leaky_relu",
        "hardtanh",
        "mish",
        "selu",
    ):
        y = getattr(F, name)(x)
        see(**{name: y, f"{name}_grad": torch.autograd.grad(y.sum(), x)})


def layer_norm(torch, see):
    F = torch.nn.functional
    x = draw(torch, 3, 5, requires_grad=True)
    w = draw(torch, 5, seed=1, requires_grad=True)
    b = draw(torch, 5, seed=2, requires_grad=True)
    y = F.layer_norm(x, (5,), w, b)
    (y**3).sum().backward()
    see(y=y, x=x, w=w, b=b)


def matrix_products(torch, see):
    a, b = draw(torch, 2, 3, requires_grad=True), draw(torch, 3, 2, seed=1, requires_grad=True)
    v = draw(torch, 3, seed=2, requires_grad=True)
    see(
        mm=a @ b,
        mv=a @ v,
        vm=v @ b,
        dot=v @ v,
        outer=torch.outer(v, v),
        batch=a.expand(4, 2, 3) @ b,
    )
    ((a @ b).exp().sum() + (a @ v).sum() * (v @ v)).backward()
    see(a=a, b=b, v=v, addmm=torch.addmm(torch.ones(2, 2).double(), a, b, beta=0.5, alpha=2))
    see.error(
        inner=lambda: a @ a,
        scalar=lambda: a @ torch.tensor(1.0),
        dtypes=lambda: a @ b.float(),
        mm_of_vector=lambda: torch.mm(a, v),
    )


def gradient_accumulation_over_batches(torch, see):
    w = draw(torch, 3, requires_grad=True)
    x, y = draw(torch, 8, 3, seed=1), draw(torch, 8, seed=2)
    for start in range(0, 8, 4):
        part = slice(start, start + 4)
        (((x[part] @ w - y[part]) ** 2).sum() / 8).backward()
    whole = torch.autograd.grad(((x @ w - y) ** 2).mean(), w)
    see(w=w, whole=whole)


def recurrent(torch, see):
    u, h = draw(torch, 4, 4, requires_grad=True), torch.zeros(4, dtype=torch.float64)
    for t in range(6):
        h = torch.tanh(u @ h + draw(torch, 4, seed=t))
    h.sum().backward()
    see(h=h, u=u)


def random_numbers_have_shapes(torch, see):
    torch.manual_seed(3)
    a, b = torch.rand(3), torch.randn(2, 2, requires_grad=True)
    torch.manual_seed(3)
    again = torch.rand(3)
    see(same=bool((a == again).all()), within=bool(((a >= 0) & (a < 1)).all()))
    see(shape=tuple(b.shape), leaf=b.is_leaf, requires=b.requires_grad, dtype=b.dtype)
    see(whole=torch.randint(0, 5, (4,)).dtype, order=torch.randperm(6).sort().values)
