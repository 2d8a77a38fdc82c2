"""Everyday operations on tensors, images and losses, with their gradients."""


def _data(torch, *shape, by=1.0):
    n = 1
    for s in shape:
        n *= s
    return torch.sin(torch.arange(float(n)) * by).reshape(shape)


def everyday_operations(torch, see):
    torch.set_default_dtype(torch.float64)
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    y = x.clone()
    y[y > 5] = 0
    y[:, 1] += 1
    y[0] = y[1] * 2
    y[[0, 2], [1, 3]] = 7.0
    y[..., -1] *= 3
    y.sum().backward()
    see(y=y, g=x.grad)
    a, b = x.max(dim=1)
    m = x.mean((0, 1), keepdim=True)
    s = x.std(unbiased=False)
    v = torch.var_mean(x, dim=0)
    see(
        a=a,
        b=b,
        m=m,
        s=s,
        v=v,
        w=torch.where(x > 3, x, torch.zeros_like(x)),
        c=x.cumsum(1),
        e=torch.einsum("ij,kj->ik", x, x),
        ch=[t.shape for t in x.chunk(2, dim=1)],
        st=torch.stack([x, x], -1).shape,
        r=x.roll(1, 0),
        f=x.flip(0),
        u=torch.unique(torch.tensor([3, 1, 3]), return_counts=True),
        so=torch.sort(x, descending=True).values,
        nz=torch.nonzero(x > 9),
        ms=x.masked_select(x > 9),
        sc=torch.zeros(3, 4).scatter_(1, torch.tensor([[0], [1], [2]]), 1.0),
        ia=torch.zeros(3).index_add(0, torch.tensor([0, 0]), torch.ones(2)),
        ts=torch.tensor(3.0).clamp(max=2),
        tr=x.tril(),
        di=torch.diag(torch.ones(2)),
        bm=torch.bmm(x.unsqueeze(0), x.t().unsqueeze(0)),
        mg=torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij"),
        ls=torch.linspace(0, 1, 3),
        lg=torch.logsumexp(x, 1),
        nan=torch.nan_to_num(torch.tensor([float("nan")])),
        ex=torch.ones(1, 3).expand(2, -1),
        rp=torch.ones(2).repeat(2, 2),
        ri=torch.arange(3).repeat_interleave(2),
        q=torch.quantile(x.detach(), 0.3),
        al=torch.allclose(x, x),
        bc=torch.bincount(torch.tensor([1, 1, 2])),
        cd=torch.cdist(x, x[:2]),
        kr=torch.kron(torch.eye(2), torch.ones(2, 2)),
        nr=x.norm(p=1, dim=1),
        md=x.median(),
        pr=torch.prod(x + 1),
        tk=x.topk(2, dim=0),
        gt=torch.gt(x, 3).any(1),
        fl=x.flatten(1).unflatten(1, (2, 2)).shape,
        mv=x.movedim(0, 1).shape,
        sq=x.unsqueeze(0).squeeze().shape,
        ta=torch.take_along_dim(x, torch.tensor([[0], [1], [2]]), 1),
        sw=x.unfold(1, 2, 1).shape,
    )


def images_and_losses(torch, see):
    torch.set_default_dtype(torch.float64)
    F = torch.nn.functional
    x = _data(torch, 2, 3, 4, 4).requires_grad_()
    y = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
    y2 = F.interpolate(x, size=(3, 5), mode="nearest")
    p = F.pad(x, (1, 1, 0, 2), mode="replicate")
    u = F.unfold(x, 2)
    g = F.grid_sample(
        x,
        F.affine_grid(torch.eye(2, 3).repeat(2, 1, 1), (2, 3, 4, 4), align_corners=False),
        align_corners=False,
    )
    ps = F.pixel_shuffle(_data(torch, 1, 4, 2, 2), 2)
    t = F.conv_transpose2d(x, _data(torch, 3, 2, 2, 2), stride=2)
    see(y=y, y2=y2, p=p, u=u, g=g, ps=ps, t=t)
    (y.sum() + (p**2).sum() + u.prod(1).sum() + g.sum() + t.pow(2).sum()).backward()
    see(x=x.grad)
    see(
        oh=F.one_hot(torch.tensor([0, 2]), 3),
        n=F.normalize(x[0, 0], dim=1),
        cs=F.cosine_similarity(x[0, 0], x[1, 0]),
        ln=F.layer_norm(x[0, 0], (4,)),
        nll=F.nll_loss(F.log_softmax(x[:, :, 0, 0], 1), torch.tensor([0, 2])),
        kl=F.kl_div(F.log_softmax(x[0, 0], 1), F.softmax(x[1, 0], 1), reduction="batchmean"),
        tm=F.triplet_margin_loss(x[0, 0], x[1, 0], x[0, 1]),
        gl=F.glu(x[0, 0]),
        hs=F.hardswish(x[0, 0]),
        em=F.embedding(torch.tensor([1, 0]), x[0, 0]),
        ce=F.cross_entropy(x, torch.zeros(2, 4, 4, dtype=torch.long)),
    )
