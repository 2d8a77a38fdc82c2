"""Views, reshapes, joins, splits, and reductions along axes."""

from tests.parity.data import draw


def reshaping(torch, see):
    x = draw(torch, 2, 3, 4, requires_grad=True)
    see(view=x.view(6, 4), inferred=x.view(2, -1), reshape=x.reshape(-1), flat=x.flatten(1))
    see(squeezed=x[:1].squeeze(0), unsqueezed=x.unsqueeze(-1), t=x[0].t(), T=x[0].T, mT=x.mT)
    see(permuted=x.permute(2, 0, 1), transposed=x.transpose(0, 2), moved=x.movedim(0, -1))
    y = x.permute(2, 0, 1)
    see(stride=y.stride(), contiguous=(x.is_contiguous(), y.is_contiguous()))
    see(made=y.contiguous(), reshaped=y.reshape(4, 6), copied=y.reshape(-1))
    see.error(
        view=lambda: y.view(-1),
        sizes=lambda: x.view(5, 5),
        two_unknown=lambda: x.view(-1, -1),
        axis=lambda: x.unsqueeze(5),
        order=lambda: x.permute(0, 1),
    )
    (y.reshape(4, 6) ** 2).sum().backward()
    see(x=x)


def expanding(torch, see):
    x = draw(torch, 3, 1, requires_grad=True)
    y = x.expand(3, 4)
    see(y=y, stride=y.stride(), kept=x.expand(-1, 2), to=x.broadcast_to(2, 3, 4))
    (y * draw(torch, 3, 4, seed=1)).sum().backward()
    see(x=x)
    see.error(size=lambda: x.expand(4, 4))


def joining(torch, see):
    a, b = draw(torch, 2, 3, requires_grad=True), draw(torch, 2, 3, seed=1, requires_grad=True)
    see(cat=torch.cat([a, b]), last=torch.cat([a, b], dim=-1), stack=torch.stack([a, b], 1))
    joined = torch.cat([a, b.float(), torch.ones(1, 3, dtype=torch.int64)])
    see(joined=joined)
    (joined**2).sum().backward()
    see(a=a, b=b)
    see.error(
        shapes=lambda: torch.cat([a, torch.ones(2, 4)]),
        nothing=lambda: torch.cat([]),
        stack=lambda: torch.stack([a, torch.ones(3)]),
    )


def splitting(torch, see):
    x = draw(torch, 7, 2, requires_grad=True)
    see(split=x.split(3), sizes=x.split([2, 5]), chunks=x.chunk(3), rows=x.unbind(1))
    a, _, c = x.split(3)
    (a.sum() * c.exp().sum()).backward()
    see(x=x)
    see.error(sizes=lambda: x.split([2, 2]))


def indexing(torch, see):
    x = draw(torch, 4, 5, requires_grad=True)
    see(row=x[1], last=x[-1, -1], part=x[1:3, ::2], newaxis=x[:, None], dots=x[..., 0])
    see(listed=x[[0, 2]], pairs=x[[0, 1], [2, 3]], tensor=x[torch.tensor([[0, 1], [2, 3]])])
    see(mask=x[x > 0], rows=x[torch.tensor([True, False, True, False])])
    y = x[[0, 0, 2], 1:4]
    (y * y).sum().backward()
    see(y=y, x=x)
    see.error(
        out_of_range=lambda: x[4],
        too_many=lambda: x[0, 0, 0],
        index_tensor=lambda: x[torch.tensor([7])],
        floating=lambda: x[1.5],
        floating_tensor=lambda: x[torch.tensor([0.5])],
        step=lambda: x[::-1],
        mask_shape=lambda: x[torch.tensor([True, False])],
    )


def masks_record(torch, see):
    x = draw(torch, 6, requires_grad=True)
    positive = x[x > 0]
    see(positive=positive, leaf=positive.is_leaf)
    positive.exp().sum().backward()
    see(x=x)
    see(places=torch.nonzero(x > 0), chosen=torch.masked_select(x, x > 0))


def gathering(torch, see):
    x = draw(torch, 3, 4, requires_grad=True)
    index = torch.tensor([[0, 1, 1], [3, 2, 0]])
    see(gather=x.gather(1, index), rows=x.index_select(0, torch.tensor([2, 2])))
    (x.gather(1, index) ** 2).sum().backward()
    see(x=x)
    see(scattered=torch.zeros(3, 4, dtype=torch.float64).scatter(1, index, 1.0))
    see.error(out_of_range=lambda: x.gather(1, torch.tensor([[9]])))


def reductions(torch, see):
    x = draw(torch, 3, 4, requires_grad=True)
    see(sum=x.sum(), rows=x.sum(0), keep=x.sum(1, keepdim=True), both=x.sum((0, 1)))
    see(mean=x.mean(-1), var=x.var(0), std=x.std(1, unbiased=False), prod=x.prod(1))
    see(as_half=x.sum(dtype=torch.float16), norm=x.norm(), all=(x > -9).all(1), any=(x > 9).any())
    (x.var(0).sum() + x.prod(1).sum() + x.std()).backward()
    see(x=x)
    see.error(axis=lambda: x.sum(2), twice=lambda: x.sum((0, 0)))


def extremes(torch, see):
    x = torch.tensor([[1.0, 3.0, 3.0], [2.0, -1.0, 2.0]], requires_grad=True)
    top = x.max(1)
    see(values=top.values, indices=top.indices, max=x.max(), amax=x.amax(1), argmin=x.argmin())
    values, _ = x.min(0)
    see(values=values, greater=torch.maximum(x, x.flip(0)))
    (top.values.sum() + x.amax() + x.max()).backward()
    see(x=x)


def cumulative(torch, see):
    x = draw(torch, 2, 4, requires_grad=True)
    see(sums=x.cumsum(1), products=x.cumprod(0))
    (x.cumsum(1) * x.cumprod(1)).sum().backward()
    see(x=x)


def empty_tensors(torch, see):
    x = torch.ones(0, 3, requires_grad=True)
    see(
        sum=x.sum(),
        rows=x.sum(1),
        prod=x.prod(),
        doubled=x * 2,
        cat=torch.cat([x, torch.ones(1, 3)]),
    )
    x.sum().backward()
    see(x=x, product=(torch.ones(2, 0) @ torch.ones(0, 3)))
    see.error(max=lambda: x.max(), truth=lambda: bool(x))


def python_protocol(torch, see):
    x = draw(torch, 3, requires_grad=True)
    see(length=len(x), rows=list(x), total=sum(x), size=tuple(x.size()), first=x.size(0))
    see(
        numbers=[float(v) for v in x.detach()],
        whole=int(torch.tensor(2.7)),
        has=1.5 in torch.tensor([1.5]),
    )
    see(
        listed=x.tolist(),
        item=x[0].item(),
        place=[4, 5, 6][torch.tensor(1)],
        truth=bool(x[0] == x[0]),
    )
    see.error(
        length=lambda: len(x[0]),
        iteration=lambda: list(x[0]),
        truth=lambda: bool(x),
        item=lambda: x.item(),
        number=lambda: float(x),
        index=lambda: [1][x[0]],
        numpy=lambda: x.numpy(),
        attribute=lambda: x.does_not_exist,
        size=lambda: x.size(3),
    )


def triangles_and_grids(torch, see):
    x = draw(torch, 3, 3, requires_grad=True)
    see(tril=x.tril(), triu=x.triu(1), diagonal=x.diagonal(), trace=x.trace())
    (x.tril() @ x.triu()).sum().backward()
    see(x=x, arange=torch.arange(0, 10, 3), steps=torch.arange(0.0, 1.0, 0.25), eye=torch.eye(2, 3))
    see(line=torch.linspace(0, 1, 5), full=torch.full((2, 2), 7), like=torch.zeros_like(x))


def choosing(torch, see):
    x, y = draw(torch, 4, requires_grad=True), draw(torch, 4, seed=1, requires_grad=True)
    chosen = torch.where(x > y, x * 2, y.exp())
    see(
        chosen=chosen,
        numbers=torch.where(x > 0, 1.0, 0.0),
        clamp=x.clamp(min=0),
        filled=x.masked_fill(x > 0, 9),
    )
    (chosen.sum() + x.clamp(-0.5, 0.5).sum()).backward()
    see(x=x, y=y)
