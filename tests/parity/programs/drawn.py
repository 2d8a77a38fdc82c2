"""Distributions: densities, entropies, divergences, samples that gradients go through."""

from tests.parity.data import draw


def _shown(torch, kind, values, *given, **named):
    """What a distribution says of values, with the gradients of its parameters."""
    found = kind(*given, **named)
    parameters = [p for p in (*given, *named.values()) if torch.is_tensor(p)]
    log, entropy = found.log_prob(values), found.entropy()
    wanted = [p for p in parameters if p.requires_grad]
    slopes = torch.autograd.grad(log.sum() + entropy.sum(), wanted)
    shapes = (tuple(found.batch_shape), tuple(found.event_shape), found.has_rsample)
    moments = [found.mean.detach(), found.variance.detach(), found.stddev.detach()]
    return [log.detach(), entropy.detach(), shapes, slopes, moments]


def densities(torch, see):
    d = torch.distributions
    loc, raw = draw(torch, 3, requires_grad=True), draw(torch, 2, 3, seed=1, requires_grad=True)
    values = draw(torch, 4, 2, 3, seed=2)
    unit, label = values.sigmoid(), (values > 0).double()
    see(normal=_shown(torch, d.Normal, values, loc, raw.exp().detach().requires_grad_()))
    see(number=_shown(torch, d.Normal, values[0, 0], loc, 2.0))
    chances = raw.sigmoid().detach().requires_grad_()
    see(bernoulli=_shown(torch, d.Bernoulli, label, probs=chances))
    see(by_logits=_shown(torch, d.Bernoulli, label, logits=raw))
    places = torch.tensor([[0, 2], [1, 1]])
    see(categories=_shown(torch, d.Categorical, places, probs=chances))
    see(categories_by_logits=_shown(torch, d.Categorical, places[0], logits=raw))
    rate = loc.exp().detach().requires_grad_()
    see(exponential=_shown(torch, d.Exponential, unit, rate))
    low = (loc - 9).detach().requires_grad_()
    see(uniform=_shown(torch, d.Uniform, unit, low, low.detach() + 20))
    both = d.Independent(d.Normal(loc, 1.0), 1)
    see(independent=both.log_prob(values).detach(), shape=both.batch_shape, event=both.event_shape)
    see(entropy=both.entropy().detach(), text=repr(d.Normal(0.0, torch.ones(2))))
    normal = d.Normal(loc.detach(), 2.0)
    see(below=normal.cdf(values), back=normal.icdf(unit), mode=normal.mode)
    see(larger=normal.expand((2, 3)).log_prob(values), shape=normal.expand((2, 3)).batch_shape)
    see(every=d.Categorical(logits=raw.detach()).enumerate_support())
    see(likely=d.Categorical(logits=raw.detach()).mode, chances=d.Bernoulli(0.3).probs)


def divergences(torch, see):
    d, kl = torch.distributions, torch.distributions.kl_divergence
    a, b = (draw(torch, 2, 3, seed=s, requires_grad=True) for s in (0, 1))
    pairs = {
        "normal": (d.Normal(a, b.exp()), d.Normal(0.0, 1.0)),
        "bernoulli": (d.Bernoulli(logits=a), d.Bernoulli(b.sigmoid())),
        "categorical": (d.Categorical(logits=a), d.Categorical(b.exp())),
        "exponential": (d.Exponential(a.exp()), d.Exponential(b.exp())),
        "uniform": (d.Uniform(a, a + 1), d.Uniform(a - b.exp(), a + 5)),
        "independent": (d.Independent(d.Normal(a, 1.0), 1), d.Independent(d.Normal(b, 2.0), 1)),
    }
    for p, q in pairs.values():
        found = kl(p, q)
        slopes = torch.autograd.grad(found.sum(), [a, b], allow_unused=True)
        see(found=found.detach(), slopes=slopes)
    ends = torch.tensor([0.0, 1.0, 0.5])
    see(ends=kl(d.Bernoulli(ends), d.Bernoulli(ends[[1, 0, 2]])))
    see(outside=kl(d.Uniform(0.0, 2.0), d.Uniform(0.0, 1.0)))
    see.error(mixed=lambda: kl(d.Normal(0.0, 1.0), d.Bernoulli(0.5)))


def samples(torch, see):
    d = torch.distributions
    loc, scale = draw(torch, 3, requires_grad=True), torch.ones(2, 3).double().requires_grad_()
    normal = d.Normal(loc, scale)
    drawn = normal.rsample((5,))
    see(shape=drawn.shape, dtype=drawn.dtype, records=drawn.requires_grad)
    drawn.sum().backward()
    see(loc=loc.grad, constant=normal.sample().requires_grad, one=normal.sample().shape)
    many = d.Bernoulli(torch.tensor([0.0, 1.0])).sample((50,))
    see(many=many, kind=many.dtype)
    places = d.Categorical(torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])).sample((4, 2))
    see(places=places)
    inside = d.Uniform(torch.tensor([2.0, 5.0]), 6.0).rsample((200,))
    see(inside=bool(((inside >= torch.tensor([2.0, 5.0])) & (inside < 6)).all()))
    waits = d.Exponential(torch.tensor([0.5, 4.0])).sample((4000,)).mean(0)
    see(waits=(waits - torch.tensor([2.0, 0.25])).abs().max().item() < 0.2)
    spread = d.Normal(torch.tensor(3.0), 2.0).sample((4000,))
    see(mean=abs(spread.mean().item() - 3) < 0.2, spread=abs(spread.std().item() - 2) < 0.2)
    see(event=d.Independent(d.Normal(torch.zeros(4), 1.0), 1).rsample((2,)).shape)


def refusals(torch, see):
    d = torch.distributions
    see.error(
        scale=lambda: d.Normal(0.0, -1.0),
        not_a_number=lambda: d.Normal(float("nan"), 1.0),
        chance=lambda: d.Bernoulli(1.5),
        both=lambda: d.Bernoulli(0.5, 0.0),
        neither=lambda: d.Categorical(),
        nothing=lambda: d.Bernoulli(),
        scalar=lambda: d.Categorical(torch.tensor(0.5)),
        negative=lambda: d.Categorical(torch.tensor([-1.0, 2.0])),
        order=lambda: d.Uniform(2.0, 1.0),
        value=lambda: d.Bernoulli(0.5).log_prob(torch.tensor(0.5)),
        category=lambda: d.Categorical(torch.ones(3)).log_prob(torch.tensor(3)),
        number=lambda: d.Normal(0.0, 1.0).log_prob(1.0),
        shape=lambda: d.Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2)),
        axes=lambda: d.Independent(d.Normal(torch.zeros(3), 1.0), 2),
        no_rsample=lambda: d.Bernoulli(0.5).rsample(),
    )
    see(unseen=d.Normal(0.0, -1.0, validate_args=False).mean)


def policies_and_encoders(torch, see):
    """A policy gradient and a variational bound, with what was drawn given."""
    d, nn = torch.distributions, torch.nn
    net = nn.Linear(3, 4).double()
    with torch.no_grad():
        for place, p in enumerate(net.parameters()):
            p.copy_(draw(torch, *p.shape, seed=place))
    optimizer, losses = torch.optim.Adam(net.parameters(), lr=0.05), []
    states, rewards = draw(torch, 6, 3, seed=5), draw(torch, 6, seed=6)
    for _ in range(3):
        policy = d.Categorical(logits=net(states))
        chosen = torch.tensor([0, 3, 1, 2, 1, 0])
        loss = -(policy.log_prob(chosen) * rewards).mean() - 0.01 * policy.entropy().mean()
        loc, raw = net(states).chunk(2, -1)
        latent = d.Independent(d.Normal(loc, nn.functional.softplus(raw)), 1)
        prior = d.Independent(d.Normal(torch.zeros_like(loc), torch.ones_like(loc)), 1)
        loss = loss + d.kl_divergence(latent, prior).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    see(losses=losses, weight=net.weight)
    one = torch.ones(3).double()
    see(slope=torch.func.grad(lambda x: d.Normal(x, 2.0).log_prob(one).sum())(draw(torch, 3)))
