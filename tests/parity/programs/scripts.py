"""Programs as people write them: small trainings of many kinds, with what they lean on."""


def _fill(torch, m):
    with torch.no_grad():
        for k, p in enumerate(m.parameters()):
            p.copy_(torch.cos(torch.arange(float(p.numel())) * 0.7 + k).reshape(p.shape) * 0.3)


def _data(torch, *shape, by=1.0):
    n = 1
    for s in shape:
        n *= s
    return torch.sin(torch.arange(float(n)) * by).reshape(shape)


def variational_autoencoder(torch, see):
    torch.set_default_dtype(torch.float64)
    nn, F = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc = nn.Linear(6, 4)
            self.mu = nn.Linear(4, 2)
            self.lv = nn.Linear(4, 2)
            self.dec = nn.Sequential(nn.Linear(2, 4), nn.ELU(), nn.Linear(4, 6))

        def forward(self, x, eps):
            h = F.relu(self.enc(x))
            mu, lv = self.mu(h), self.lv(h)
            z = mu + eps * torch.exp(0.5 * lv)
            return torch.sigmoid(self.dec(z)), mu, lv

    m = VAE()
    _fill(torch, m)
    opt = torch.optim.RMSprop(m.parameters(), lr=1e-2)
    x = _data(torch, 5, 6).abs()
    for i in range(4):
        y, mu, lv = m(x, _data(torch, 5, 2, by=1.0 + i))
        bce = F.binary_cross_entropy(y, x.clamp(0, 1), reduction="sum")
        kld = -0.5 * torch.sum(1 + lv - mu.pow(2) - lv.exp())
        loss = bce + kld
        opt.zero_grad()
        loss.backward()
        opt.step()
        see(l=loss.item(), k=kld.item())


def adversarial_with_gradient_penalty(torch, see):
    torch.set_default_dtype(torch.float64)
    nn = torch.nn
    G, D = (
        nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 3), nn.Tanh()),
        nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1)),
    )
    _fill(torch, G)
    _fill(torch, D)
    go, do = (
        torch.optim.Adam(G.parameters(), 1e-2, betas=(0.5, 0.9)),
        torch.optim.Adam(D.parameters(), 1e-2),
    )
    crit = nn.BCEWithLogitsLoss()
    real = _data(torch, 4, 3)
    for i in range(3):
        z = _data(torch, 4, 2, by=i + 1.0)
        D.zero_grad()
        loss = crit(D(real), torch.ones(4, 1)) + crit(D(G(z).detach()), torch.zeros(4, 1))
        a = _data(torch, 4, 1).abs()
        mix = (a * real + (1 - a) * G(z).detach()).requires_grad_(True)
        g = torch.autograd.grad(
            outputs=D(mix),
            inputs=mix,
            grad_outputs=torch.ones(4, 1),
            create_graph=True,
            retain_graph=True,
            only_inputs=True,
        )[0]
        loss = loss + 10 * ((g.view(4, -1).norm(2, dim=1) - 1) ** 2).mean()
        loss.backward()
        do.step()
        for p in D.parameters():
            p.requires_grad = False
        go.zero_grad()
        gl = crit(D(G(z)), torch.ones(4, 1))
        gl.backward()
        go.step()
        for p in D.parameters():
            p.requires_grad = True
        see(l=loss.item(), g=gl.item())


def learning_to_learn(torch, see):
    torch.set_default_dtype(torch.float64)
    F = torch.nn.functional
    w = {"w": _data(torch, 3, 1).requires_grad_(), "b": torch.zeros(1, requires_grad=True)}
    opt = torch.optim.SGD(w.values(), lr=0.1)

    def net(p, x):
        return x @ p["w"] + p["b"]

    for _i in range(3):
        opt.zero_grad()
        total = 0.0
        for t in range(2):
            x = _data(torch, 4, 3, by=t + 1.0)
            y = x.sum(1, keepdim=True) * (t + 1)
            inner = F.mse_loss(net(w, x), y)
            gs = torch.autograd.grad(inner, list(w.values()), create_graph=True)
            fast = {k: p - 0.1 * g for (k, p), g in zip(w.items(), gs, strict=False)}
            total = total + F.mse_loss(net(fast, x), y)
        total.backward()
        opt.step()
        see(t=total.item())
    see(w=w["w"])


def a_differential_equation_with_lbfgs(torch, see):
    torch.set_default_dtype(torch.float64)
    nn = torch.nn
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    _fill(torch, net)
    opt = torch.optim.LBFGS(net.parameters(), max_iter=5, line_search_fn="strong_wolfe")
    t = torch.linspace(0, 1, 7).view(-1, 1).requires_grad_(True)

    def closure():
        opt.zero_grad()
        u = net(t)
        du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
        ddu = torch.autograd.grad(du, t, torch.ones_like(u), create_graph=True)[0]
        loss = (ddu + u).pow(2).mean() + (net(torch.zeros(1, 1)) - 1).pow(2).sum()
        loss.backward()
        return loss

    for _i in range(3):
        see(l=opt.step(closure).item())


def values_with_a_target_network(torch, see):
    torch.set_default_dtype(torch.float64)
    import copy

    nn, _F = torch.nn, torch.nn.functional
    q = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
    _fill(torch, q)
    tgt = copy.deepcopy(q).requires_grad_(False)
    opt = torch.optim.AdamW(q.parameters(), lr=1e-2, amsgrad=True)
    s, a, r, s2 = (
        _data(torch, 5, 3),
        torch.tensor([[0], [1], [1], [0], [1]]),
        torch.arange(5.0),
        _data(torch, 5, 3, by=2.0),
    )
    for _i in range(3):
        v = q(s).gather(1, a)
        with torch.no_grad():
            nxt = tgt(s2).max(1).values
        loss = nn.SmoothL1Loss()(v, (nxt * 0.9 + r).unsqueeze(1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(q.parameters(), 100)
        opt.step()
        td, qd = tgt.state_dict(), q.state_dict()
        for k in qd:
            td[k] = qd[k] * 0.1 + td[k] * 0.9
        tgt.load_state_dict(td)
        see(l=loss.item(), best=q(s).argmax(1), t=tgt[0].weight.sum().item())


def newton_and_eigenvalues(torch, see):
    torch.set_default_dtype(torch.float64)
    w = _data(torch, 3).requires_grad_()
    X, y = _data(torch, 6, 3), _data(torch, 6, by=2.0)

    def loss(w):
        return ((X @ w - y) ** 2).mean() + 0.1 * w.pow(2).sum()

    H = torch.autograd.functional.hessian(loss, w)
    g = torch.autograd.grad(loss(w), w)[0]
    see(step=torch.linalg.solve(H, g), ev=torch.linalg.eigvalsh(H))
    w2 = (w - torch.linalg.solve(H, g)).detach().requires_grad_()
    see(z=torch.autograd.grad(loss(w2), w2)[0].abs().max() < 1e-10)

    def hvp(v):
        return torch.autograd.grad(torch.autograd.grad(loss(w), w, create_graph=True)[0] @ v, w)[0]

    v = torch.ones(3)
    for _ in range(5):
        v = hvp(v)
        v = v / v.norm()
    see(
        v=v,
        fisher=torch.stack(
            [torch.autograd.grad(((X[i] @ w - y[i]) ** 2), w)[0] for i in range(6)]
        ).var(0),
    )


def a_function_that_differentiates_inside(torch, see):
    torch.set_default_dtype(torch.float64)

    class RK4(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, steps):
            ctx.steps = steps
            with torch.no_grad():
                for _ in range(steps):
                    x = x + 0.1 * torch.tanh(x @ w)
            ctx.save_for_backward(x, w)
            return x

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            gw = torch.zeros_like(w)
            for _ in range(ctx.steps):
                with torch.enable_grad():
                    xd, wd = x.detach().requires_grad_(), w.detach().requires_grad_()
                    f = torch.tanh(xd @ wd)
                    a, b = torch.autograd.grad(f, (xd, wd), g * 0.1)
                x = x - 0.1 * f.detach()
                g = g + a
                gw = gw + b
            return g, gw, None

    x, w = _data(torch, 2, 3).requires_grad_(), _data(torch, 3, 3).requires_grad_()
    y = RK4.apply(x, w, 4)
    y.pow(2).sum().backward()
    see(y=y, x=x.grad, w=w.grad)


def straight_through(torch, see):
    torch.set_default_dtype(torch.float64)

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.tensor([0.3, 1.7, -2.2], requires_grad=True)
    y = Round.apply(x * 2)
    (y**2).sum().backward()
    see(x=x.grad, y=y)
    z = x + (x.round() - x).detach()
    z.sum().backward()
    see(z=z)


def gradients_turned_around(torch, see):
    torch.set_default_dtype(torch.float64)

    class Rev(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, lam):
            ctx.lam = lam
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -ctx.lam * g, None

    x = torch.ones(3, requires_grad=True)
    Rev.apply(x * 2, 0.5).sum().backward()
    see(g=x.grad)
    see(r=torch.autograd.grad(Rev.apply(x**3, 2.0).sum(), x, create_graph=True))
