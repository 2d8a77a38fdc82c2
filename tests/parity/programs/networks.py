"""Networks of all sorts, trained for a few steps: losses, norms, states, what they are shown as."""


def _fill(torch, m):
    with torch.no_grad():
        for k, p in enumerate(m.parameters()):
            p.copy_(torch.cos(torch.arange(float(p.numel())) * 0.7 + k).reshape(p.shape) * 0.3)


def _data(torch, *shape, by=1.0):
    n = 1
    for s in shape:
        n *= s
    return torch.sin(torch.arange(float(n)) * by).reshape(shape)


def residual_blocks(torch, see):
    torch.set_default_dtype(torch.float64)
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, i, o, stride=1):
            super().__init__()
            self.c1 = nn.Conv2d(i, o, 3, stride, 1, bias=False)
            self.b1 = nn.BatchNorm2d(o)
            self.c2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
            self.b2 = nn.BatchNorm2d(o)
            self.short = (
                nn.Sequential()
                if i == o
                else nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))
            )

        def forward(self, x):
            y = F.relu(self.b1(self.c1(x)), inplace=True)
            y = self.b2(self.c2(y))
            y += self.short(x)
            return F.relu(y)

    net = nn.Sequential(
        Block(1, 2),
        Block(2, 4, 2),
        nn.AdaptiveAvgPool2d((1, 1)),
        nn.Flatten(),
        nn.Dropout(0.0),
        nn.Linear(4, 3),
    )
    _fill(torch, net)
    opt = torch.optim.SGD(net.parameters(), 0.05, 0.9, weight_decay=1e-4)
    sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 4)
    x, t = _data(torch, 4, 1, 6, 6), torch.tensor([0, 1, 2, 1])
    crit = nn.CrossEntropyLoss(label_smoothing=0.1, weight=torch.tensor([1.0, 2.0, 0.5]))
    for _i in range(3):
        net.train()
        opt.zero_grad()
        out = net(x)
        loss = crit(out, t)
        loss.backward()
        opt.step()
        sch.step()
        see(l=loss.item(), acc=(out.argmax(1) == t).float().mean().item(), topk=out.topk(2).indices)
    net.eval()
    with torch.no_grad():
        see(e=net(x), rm=net[0].b1.running_mean, nb=net[0].b1.num_batches_tracked)


def a_language_model(torch, see):
    torch.set_default_dtype(torch.float64)
    nn, F = torch.nn, torch.nn.functional

    class Attn(nn.Module):
        def __init__(self, d, h, T):
            super().__init__()
            self.h = h
            self.qkv = nn.Linear(d, 3 * d)
            self.o = nn.Linear(d, d)
            self.register_buffer(
                "mask", torch.tril(torch.ones(T, T)).view(1, 1, T, T), persistent=False
            )

        def forward(self, x):
            B, T, C = x.size()
            q, k, v = self.qkv(x).split(C, dim=2)
            q, k, v = (t.view(B, T, self.h, C // self.h).transpose(1, 2) for t in (q, k, v))
            a = (q @ k.transpose(-2, -1)) * (1.0 / (k.size(-1) ** 0.5))
            a = F.softmax(a.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf")), dim=-1)
            return self.o((a @ v).transpose(1, 2).contiguous().view(B, T, C))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(9, 8), nn.Embedding(5, 8)
            self.ln, self.attn, self.ln2 = nn.LayerNorm(8), Attn(8, 2, 5), nn.LayerNorm(8)
            self.mlp = nn.ModuleDict(
                {"c": nn.Linear(8, 16), "p": nn.Linear(16, 8), "act": nn.GELU(approximate="tanh")}
            )
            self.head = nn.Linear(8, 9, bias=False)
            self.wte.weight = self.head.weight
            self.apply(self._init)

        def _init(self, m):
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

        def forward(self, idx, targets=None):
            pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
            x = self.wte(idx) + self.wpe(pos)
            x = x + self.attn(self.ln(x))
            x = x + self.mlp.p(self.mlp.act(self.mlp.c(self.ln2(x))))
            lg = self.head(x)
            return lg, None if targets is None else F.cross_entropy(
                lg.view(-1, lg.size(-1)), targets.view(-1), ignore_index=-1
            )

    m = GPT()
    _fill(torch, m)
    decay = [p for n, p in m.named_parameters() if p.dim() >= 2]
    no = [p for n, p in m.named_parameters() if p.dim() < 2]
    opt = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": no, "weight_decay": 0.0}],
        lr=1e-2,
        betas=(0.9, 0.95),
    )
    idx = torch.tensor([[1, 2, 3, 4], [5, 6, 7, 8]])
    t = torch.tensor([[2, 3, 4, -1], [6, 7, 8, 0]])
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 3))
    for _i in range(4):
        lg, loss = m(idx, t)
        (loss / 2).backward(retain_graph=False)
        n = torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad(set_to_none=True)
        see(l=loss.item(), n=n)
    m.eval()
    out = idx[:1]
    with torch.no_grad():
        for _ in range(1):
            lg, _ = m(out)
            lg = lg[:, -1, :] / 0.8
            v, _ = torch.topk(lg, 3)
            lg[lg < v[:, [-1]]] = -float("Inf")
            p = F.softmax(lg, -1)
            out = torch.cat((out, p.argmax(-1, keepdim=True)), 1)
    see(out=out, np=sum(p.numel() for p in m.parameters()), sd=list(m.state_dict()))


def recurrent_with_embedding(torch, see):
    torch.set_default_dtype(torch.float64)
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(7, 4, padding_idx=0)
            self.gru = nn.GRU(4, 5, num_layers=2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(10, 3)
            self.register_buffer("scale", torch.tensor(2.0))
            self.drop = nn.Dropout(0.0)

        def forward(self, x, h=None):
            y, h = self.gru(self.emb(x), h)
            return self.head(self.drop(y[:, -1])) * self.scale

    net = Net()
    _fill(torch, net)
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
    x = torch.tensor([[1, 2, 3], [4, 5, 0]])
    t = torch.tensor([0, 2])
    losses = []
    for _i in range(5):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), t)
        loss.backward()
        n = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        sched.step()
        losses.append(loss.item())
        see(n=n, lr=sched.get_last_lr())
    see(losses=losses, r=str(net), keys=list(net.state_dict()))


def memory_with_projection(torch, see):
    torch.set_default_dtype(torch.float64)
    nn = torch.nn
    m = nn.LSTM(3, 6, proj_size=2, dropout=0.0)
    _fill(torch, m)
    y, (h, c) = m(_data(torch, 4, 1, 3))
    see(y=y, h=h, c=c, r=repr(m))
    y.sum().backward()
    see(g={n: p.grad for n, p in m.named_parameters()})
    m.flatten_parameters()
    see(names=[n for n, _ in m.named_parameters()], allw=len(m.all_weights))


def convolutions_and_groups(torch, see):
    torch.set_default_dtype(torch.float64)
    nn = torch.nn
    m = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, padding_mode="reflect"),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, groups=2, dilation=1, bias=False, padding="same"),
        nn.GroupNorm(2, 4),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 2),
    )
    _fill(torch, m)
    opt = torch.optim.SGD(
        [{"params": m[0].parameters(), "lr": 0.01}, {"params": m[1:].parameters()}],
        lr=0.1,
        momentum=0.9,
        weight_decay=1e-3,
        nesterov=True,
    )
    x = _data(torch, 2, 1, 8, 8)
    for _i in range(4):
        opt.zero_grad(set_to_none=False)
        loss = nn.MSELoss()(m(x), torch.ones(2, 2))
        loss.backward()
        opt.step()
        see(l=loss.item())
    see(sd=dict(m.state_dict()))
    m.eval()
    with torch.no_grad():
        see(e=m(x), tr=m.training, t2=[k.training for k in m])
    see(r=repr(m))


def encoder(torch, see):
    torch.set_default_dtype(torch.float64)
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(
        4, 2, dim_feedforward=8, dropout=0.0, batch_first=True, norm_first=True, activation="gelu"
    )
    m = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(4))
    _fill(torch, m)
    x = _data(torch, 2, 3, 4).requires_grad_()
    y = m(x, mask=nn.Transformer.generate_square_subsequent_mask(3), is_causal=True)
    see(y=y)
    y.pow(2).sum().backward()
    see(g=x.grad, names=[n for n, _ in m.named_parameters()])


def decoder(torch, see):
    torch.set_default_dtype(torch.float64)
    nn = torch.nn
    m = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0), 1)
    _fill(torch, m)
    y = m(_data(torch, 3, 2, 4), _data(torch, 2, 2, 4))
    see(y=y)
