"""Data sets and loaders, as scripts have them. What is drawn at random is looked at sorted."""

from collections import namedtuple

import numpy as np
from tests.parity.data import draw

Pair = namedtuple("Pair", "x y")


def _kinds(torch):
    class Kinds(torch.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, index):
            return {
                "tensor": torch.full((2,), float(index)),
                "array": np.arange(3) * index,
                "scalar": np.float32(index),
                "int": index,
                "bool": index > 2,
                "float": index / 2,
                "text": str(index),
                "named": Pair(index, [index, (torch.tensor(index), 1.0)]),
            }

    return Kinds()


def _shown(batch):
    """A batch with the kinds of what holds it."""
    if isinstance(batch, dict):
        return {key: _shown(value) for key, value in batch.items()}
    if isinstance(batch, list | tuple):
        return [type(batch).__name__, *[_shown(each) for each in batch]]
    return batch


def in_order(torch, see):
    data = torch.utils.data
    x, y = draw(torch, 7, 2), torch.arange(7)
    rows = data.TensorDataset(x, y)
    for options in ({}, {"batch_size": 3}, {"batch_size": 3, "drop_last": True}):
        loader = data.DataLoader(rows, **options)
        see(many=len(loader), batches=[_shown(batch) for batch in loader])
    see(sample=rows[2], many=len(rows), part=rows[1:3], single=_shown(rows[-1]))
    see(one_by_one=[_shown(each) for each in data.DataLoader(rows, batch_size=None)])
    chosen = data.DataLoader(rows, batch_sampler=[[0, 3], [5]])
    see(chosen=[_shown(batch) for batch in chosen], many=len(chosen))
    backwards = data.DataLoader(rows, batch_size=4, sampler=[6, 4, 2, 1, 0])
    see(backwards=[_shown(batch) for batch in backwards], many=len(backwards))


def of_all_kinds(torch, see):
    loader = torch.utils.data.DataLoader(_kinds(torch), batch_size=2)
    see(batches=[_shown(batch) for batch in loader])
    see(listed=[_shown(b) for b in torch.utils.data.DataLoader(range(5), 2)])
    own = torch.utils.data.DataLoader(_kinds(torch), 3, collate_fn=lambda found: len(found))
    see(own=list(own))
    see(converted=_shown(torch.utils.data.default_convert([np.ones(2), {"a": (1, "b")}])))


def one_after_the_other(torch, see):
    data = torch.utils.data

    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    for options in ({"batch_size": 2}, {"batch_size": 2, "drop_last": True}, {"batch_size": None}):
        see(batches=list(data.DataLoader(Stream(), **options)))
    see(both=list(data.DataLoader(Stream() + Stream(), batch_size=4)))
    see.error(
        shuffled=lambda: data.DataLoader(Stream(), shuffle=True),
        sampled=lambda: data.DataLoader(Stream(), sampler=[1]),
        length=lambda: len(data.DataLoader(Stream(), 2)),
    )


def parts(torch, see):
    data = torch.utils.data
    rows = data.TensorDataset(draw(torch, 10, 2), torch.arange(10))
    for lengths in ([7, 3], [0.7, 0.3], [0.5, 0.25, 0.25]):
        found = data.random_split(rows, lengths, generator=torch.Generator().manual_seed(4))
        see(many=[len(part) for part in found])
        see(every=sorted(int(sample[1]) for part in found for sample in part))
    subset = data.Subset(rows, [8, 1, 3])
    see(subset=[_shown(batch) for batch in data.DataLoader(subset, 2)], many=len(subset))
    both = rows + subset
    see(both=both[11][1], many=len(both), last=both[-1][1], ends=both.cumulative_sizes)
    side = data.StackDataset(a=rows, b=data.Subset(rows, list(range(9, -1, -1))))
    see(side=_shown(side[2]), many=len(side))
    see.error(
        sums=lambda: data.random_split(rows, [1, 2]),
        shares=lambda: data.random_split(rows, [1.5, -0.5]),
        sizes=lambda: data.TensorDataset(torch.ones(2), torch.ones(3)),
        outside=lambda: both[13],
        nothing=lambda: data.ConcatDataset([]),
        unlike=lambda: data.StackDataset(rows, subset),
    )


def in_any_order(torch, see):
    data = torch.utils.data
    rows = data.TensorDataset(torch.arange(11))
    loader = data.DataLoader(rows, 4, shuffle=True, generator=torch.Generator().manual_seed(1))
    epochs = [torch.cat([batch for (batch,) in loader]) for _ in range(2)]
    see(sizes=[len(batch) for (batch,) in loader], every=[e.sort().values for e in epochs])
    see(differ=bool((epochs[0] != epochs[1]).any()))
    again = data.DataLoader(rows, 4, shuffle=True, generator=torch.Generator().manual_seed(1))
    see(again=bool((torch.cat([batch for (batch,) in again]) == epochs[0]).all()))
    some = data.SubsetRandomSampler([2, 4, 6])
    see(some=sorted(some), many=len(some))
    see(twice=sorted(data.RandomSampler(range(3), num_samples=6)))
    replaced = list(data.RandomSampler(range(3), replacement=True, num_samples=50))
    see(many=len(replaced), which=sorted(set(replaced)))
    drawn = list(data.WeightedRandomSampler([0.0, 1.0, 1.0], 40))
    see(many=len(drawn), which=sorted(set(drawn)))
    see(batches=list(data.BatchSampler(data.SequentialSampler(range(7)), 3, False)))


def refused_options(torch, see):
    data = torch.utils.data
    rows = data.TensorDataset(torch.ones(3))
    see.error(
        both=lambda: data.DataLoader(rows, shuffle=True, sampler=[1]),
        batches=lambda: data.DataLoader(rows, 2, batch_sampler=[[1]]),
        single=lambda: data.DataLoader(rows, None, drop_last=True),
        workers=lambda: data.DataLoader(rows, num_workers=-1),
        size=lambda: data.DataLoader(rows, 0),
        samples=lambda: data.RandomSampler(rows, num_samples=-1),
        weights=lambda: data.WeightedRandomSampler([[1.0]], 2),
        uneven=lambda: next(iter(data.DataLoader([[1, 2], [3]], 2))),
        of_objects=lambda: next(iter(data.DataLoader([object(), object()], 2))),
        none=lambda: data.default_collate([None, None]),
    )
    see(empty=list(data.DataLoader(rows, 2, sampler=[])))


def generators_of_ones_own(torch, see):
    g = torch.Generator()
    see(device=str(g.device), seed=g.initial_seed(), itself=g.manual_seed(3) is g)
    see(seeded=g.initial_seed())
    for call in (
        lambda: torch.rand(3, generator=g),
        lambda: torch.randn(2, 3, generator=g),
        lambda: torch.randint(9, (5,), generator=g),
        lambda: torch.randperm(6, generator=g),
        lambda: torch.normal(0.0, 1.0, (3,), generator=g),
        lambda: torch.normal(torch.zeros(3), 1.0, generator=g),
        lambda: torch.bernoulli(torch.full((20,), 0.5), generator=g),
        lambda: torch.multinomial(torch.ones(9), 5, generator=g),
        lambda: torch.empty(3).uniform_(-1, 1, generator=g),
        lambda: torch.empty(3).normal_(generator=g),
        lambda: torch.empty(3).exponential_(generator=g),
        lambda: torch.empty(30).bernoulli_(0.5, generator=g),
        lambda: torch.empty(3).random_(generator=g),
        lambda: torch.empty(9).geometric_(0.3, generator=g),
        lambda: torch.empty(3).cauchy_(generator=g),
        lambda: torch.empty(3).log_normal_(generator=g),
        lambda: torch.nn.init.kaiming_uniform_(torch.empty(3, 3), generator=g),
        lambda: torch.nn.init.orthogonal_(torch.empty(3, 3), generator=g),
    ):
        state = g.get_state()
        first, second = call(), call()
        g.set_state(state)
        see(shape=first.shape, same=torch.equal(first, call()), anew=torch.equal(first, second))
    torch.manual_seed(7)
    g.manual_seed(7)
    see(like_the_default=torch.equal(torch.rand(4), torch.rand(4, generator=g)))
    before = torch.get_rng_state()
    x = torch.rand(2)
    with torch.random.fork_rng():
        torch.manual_seed(1)
    y = torch.rand(2)
    torch.set_rng_state(before)
    see(again=torch.equal(x, torch.rand(2)), after=torch.equal(y, torch.rand(2)))
    see(initial=torch.manual_seed(5).initial_seed(), default=torch.initial_seed())
    see(twin=torch.equal(torch.rand(3, generator=g.clone_state()), torch.rand(3, generator=g)))
    see.error(
        no_draw=lambda: torch.sum(torch.ones(2), generator=g),
        no_generator=lambda: torch.rand(2, generator=3),
        no_state=lambda: g.set_state(torch.ones(3)),
        short=lambda: g.set_state(torch.zeros(3, dtype=torch.uint8)),
    )
