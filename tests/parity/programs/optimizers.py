"""torch.optim: optimisers and schedulers on modules, closures, groups, state that is saved."""

import copy

from tests.parity.data import draw


def _net(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    with torch.no_grad():
        for seed, p in enumerate(net.parameters()):
            p.copy_(draw(torch, *p.shape, seed=seed) * 0.3)
    return net.double()


def _train(torch, net, optimizer, steps=6, scheduler=None):
    x, y = draw(torch, 10, 3), draw(torch, 10, 2, seed=1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        losses.append(loss.item())
    return losses


def _all(torch, see, name, **settings):
    net = _net(torch)
    optimizer = getattr(torch.optim, name)(net.parameters(), **settings)
    see(losses=_train(torch, net, optimizer), parameters=list(net.parameters()))


def sgd(torch, see):
    _all(torch, see, "SGD", lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)


def adam(torch, see):
    _all(torch, see, "Adam", lr=0.05, betas=(0.8, 0.99), amsgrad=True)


def adamw(torch, see):
    _all(torch, see, "AdamW", lr=0.05)


def rmsprop(torch, see):
    _all(torch, see, "RMSprop", lr=0.02, centered=True, momentum=0.5)


def adagrad(torch, see):
    _all(torch, see, "Adagrad", lr=0.1, lr_decay=0.1)


def lbfgs(torch, see):
    net, x, y = _net(torch), draw(torch, 10, 3), draw(torch, 10, 2, seed=1)
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4, line_search_fn="strong_wolfe")
    called = []

    def closure():
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        called.append(1)
        return loss

    losses = [optimizer.step(closure).item() for _ in range(3)]
    see(losses=losses, parameters=list(net.parameters()), called=len(called))
    see.error(closure=lambda: optimizer.step())


def groups_and_changed_settings(torch, see):
    net = _net(torch)
    optimizer = torch.optim.SGD(
        [{"params": net[0].parameters()}, {"params": net[2].parameters(), "lr": 0.01}], lr=0.1
    )
    losses = _train(torch, net, optimizer, 2)
    optimizer.param_groups[1]["lr"] = 0.5
    losses += _train(torch, net, optimizer, 2)
    see(losses=losses, rates=[g["lr"] for g in optimizer.param_groups])


def schedulers(torch, see):
    kinds = torch.optim.lr_scheduler
    for make in (
        lambda o: kinds.StepLR(o, 2), lambda o: kinds.MultiStepLR(o, [1, 4], 0.5),
        lambda o: kinds.ExponentialLR(o, 0.9), lambda o: kinds.CosineAnnealingLR(o, 5),
        lambda o: kinds.LambdaLR(o, lambda e: 1 / (e + 1)), lambda o: kinds.LinearLR(o, 0.1),
        lambda o: kinds.ConstantLR(o), lambda o: kinds.PolynomialLR(o, 4, 2.0),
    ):  # fmt: skip
        net = _net(torch)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
        scheduler = make(optimizer)
        losses = _train(torch, net, optimizer, 6, scheduler)
        see(losses=losses, rate=round(scheduler.get_last_lr()[0], 12), epoch=scheduler.last_epoch)


def on_a_plateau(torch, see):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, cooldown=1)
    rates = []
    for figure in (3.0, 2.0, 2.0, 2.0, 2.0, 1.99, 2.0, 2.0, 2.0, 2.0):
        scheduler.step(figure)
        rates.append(optimizer.param_groups[0]["lr"])
    see(rates=rates)


def on_a_plateau_each_group_has_a_least(torch, see):
    def made():
        groups = [{"params": [torch.zeros(1, requires_grad=True)]} for _ in range(2)]
        optimizer = torch.optim.SGD(groups, lr=1.0)
        kind = torch.optim.lr_scheduler.ReduceLROnPlateau
        return kind(optimizer, patience=0, factor=0.5, min_lr=[0.4, 0.1])

    scheduler, rates = made(), []
    for place in range(6):
        if place == 3:
            state, optimizer = scheduler.state_dict(), scheduler.optimizer
            scheduler = made()
            scheduler.load_state_dict(state)
            scheduler.optimizer.load_state_dict(optimizer.state_dict())
        scheduler.step(1.0)
        rates.append([group["lr"] for group in scheduler.optimizer.param_groups])
    see(rates=rates, last=scheduler.get_last_lr())


def rates_one_after_the_other(torch, see):
    kinds = torch.optim.lr_scheduler
    for make in (
        lambda o: [kinds.CosineAnnealingWarmRestarts(o, 3), kinds.ConstantLR(o, 0.5, 2)],
        lambda o: [
            kinds.ChainedScheduler([kinds.StepLR(o, 2), kinds.LinearLR(o, 0.5)]),
            kinds.ExponentialLR(o, 0.9),
        ],
    ):
        for milestone in (0, 4):
            optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.8)
            scheduler, rates = kinds.SequentialLR(optimizer, make(optimizer), [milestone]), []
            for _ in range(7):
                rates.append(round(optimizer.param_groups[0]["lr"], 12))
                optimizer.step()
                scheduler.step()
            see(rates=rates, last=[round(lr, 12) for lr in scheduler.get_last_lr()])


def state_is_carried_over(torch, see):
    net = _net(torch)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    _train(torch, net, optimizer, 3)
    state = optimizer.state_dict()
    see(
        kept=sorted(state["state"]), names=sorted(state["state"][0]), m=state["state"][1]["exp_avg"]
    )
    twin = _net(torch)
    twin.load_state_dict(net.state_dict())
    other = torch.optim.Adam(twin.parameters(), lr=1.0)
    other.load_state_dict(copy.deepcopy(state))  # torch would share the moments
    see(again=_train(torch, twin, other), same=_train(torch, net, optimizer))


def versions_and_leaves(torch, see):
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.5)
    optimizer.step()
    see(untouched=w, version=w._version)
    (w * torch.tensor([1.0, 2.0])).sum().backward()
    optimizer.step()
    see(w=w, version=w._version)
    optimizer.zero_grad(set_to_none=False)
    see(zeros=w.grad)
    y = (w**2).sum()
    optimizer.step()
    see.error(saved=lambda: y.backward())


def what_is_refused(torch, see):
    w = torch.ones(2, requires_grad=True)
    see.error(
        empty=lambda: torch.optim.SGD([], lr=0.1),
        tensor=lambda: torch.optim.SGD(w, lr=0.1),
        negative=lambda: torch.optim.SGD([w], lr=-1.0),
        nesterov=lambda: torch.optim.SGD([w], lr=1.0, nesterov=True),
        betas=lambda: torch.optim.Adam([w], betas=(1.0, 0.9)),
        leaf=lambda: torch.optim.SGD([w * 2], lr=0.1),
        kind=lambda: torch.optim.SGD([3.0], lr=0.1),
        unknown=lambda: torch.optim.SGD([w], speed=0.1),
    )


def lbfgs_counts_evaluations(torch, see):
    for most in (None, 1, 2, 3, 5, 8, 30):
        w = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.LBFGS(
            [w], max_iter=6, max_eval=most, history_size=5, line_search_fn="strong_wolfe"
        )
        asked = []

        def closure(w=w, asked=asked, optimizer=optimizer):
            optimizer.zero_grad()
            loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
            loss.backward()
            asked.append(loss.item())
            return loss

        for _ in range(3):
            optimizer.step(closure)
        see(asked=len(asked), first=asked[:5])


def one_of_the_users_own(torch, see):
    class Signs(torch.optim.Optimizer):
        def __init__(self, params, lr=0.01, beta=0.9):
            super().__init__(params, {"lr": lr, "beta": beta})

        @torch.no_grad()
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    if not state:
                        state["step"], state["mean"] = 0, torch.zeros_like(p)
                    state["step"] += 1
                    state["mean"].mul_(group["beta"]).add_(p.grad, alpha=1 - group["beta"])
                    p.add_(state["mean"].sign(), alpha=-group["lr"])
            return loss

    net, x = _net(torch), draw(torch, 6, 3)

    def closure():
        net.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        return loss

    signs = Signs([{"params": net[0].parameters(), "lr": 0.02}, {"params": net[2].parameters()}])
    halved = torch.optim.lr_scheduler.StepLR(signs, 2, gamma=0.5)
    for _ in range(5):
        see(loss=signs.step(closure).detach(), rates=[g["lr"] for g in signs.param_groups])
        halved.step()
    state = copy.deepcopy(signs.state_dict())
    see(groups=state["param_groups"], numbers=sorted(state["state"]))
    again = Signs([{"params": net[0].parameters()}, {"params": net[2].parameters()}])
    again.load_state_dict(state)
    again.step(closure)
    see(steps=again.state[net[0].weight]["step"], parameters=list(net.parameters()))
    see.error(none=lambda: torch.optim.Optimizer(net.parameters(), {}).step())


def around_steps(torch, see):
    p = torch.nn.Parameter(draw(torch, 3))
    sgd, seen = torch.optim.SGD([p], lr=0.1), []
    p.grad = draw(torch, 3, seed=1)
    before = sgd.register_step_pre_hook(lambda o, args, kwargs: seen.append(("before", len(args))))
    after = sgd.register_step_post_hook(lambda o, args, kwargs: seen.append(("after", o is sgd)))
    sgd.step()
    before.remove()
    sgd.step(lambda: None)
    after.remove()
    sgd.step()
    see(seen=[list(s) for s in seen], p=p)


def named_parameters(torch, see):
    net = _net(torch)
    sgd = torch.optim.SGD(net.named_parameters(), lr=0.1)
    see(names=sgd.param_groups[0]["param_names"])
    see(saved=sgd.state_dict()["param_groups"][0]["param_names"])


def more_parameters_later(torch, see):
    """What is kept of the others stays, and counts."""
    a, b = (torch.nn.Parameter(draw(torch, 3, seed=seed)) for seed in range(2))
    adam = torch.optim.Adam([a], lr=0.1)
    for step in range(5):
        if step == 2:
            adam.add_param_group({"params": [b], "lr": 0.5})
        adam.zero_grad()
        ((a**2).sum() + (b**3).sum() + (a * b).sum()).backward()
        adam.step()
        see(a=a.detach(), b=b.detach())
    see.error(
        twice=lambda: adam.add_param_group({"params": [a]}),
        groups=lambda: adam.load_state_dict({"state": {}, "param_groups": []}),
    )


def rates_below_zero(torch, see):
    """Refused at first, not later."""
    p = torch.nn.Parameter(draw(torch, 3))
    sgd = torch.optim.SGD([p], lr=0.1)
    falling = torch.optim.lr_scheduler.LambdaLR(sgd, lambda epoch: 1 - 0.4 * epoch)
    for _ in range(5):
        p.grad = draw(torch, 3, seed=1)
        sgd.step()
        falling.step()
        see(p=p.detach(), rate=falling.get_last_lr())
    see(kept=sgd.state_dict()["param_groups"][0]["initial_lr"])
    see.error(first=lambda: torch.optim.SGD([p], lr=-0.1))


def lbfgs_with_a_closure_that_writes(torch, see):
    """Parameters that the closure clamps go on from there, but inside of a line search."""
    for options in ({}, {"line_search_fn": "strong_wolfe"}):
        p, target = torch.nn.Parameter(draw(torch, 6)), draw(torch, 6, seed=1)
        lbfgs = torch.optim.LBFGS([p], max_iter=4, **options)

        def closure(p=p, target=target, lbfgs=lbfgs):
            with torch.no_grad():
                p.clamp_(-0.5, 0.5)
            lbfgs.zero_grad()
            loss = ((p - target) ** 2 * (1 + p.detach() ** 2)).sum()
            loss.backward()
            return loss

        for _ in range(3):
            see(loss=lbfgs.step(closure).detach(), p=p.detach())


def lbfgs_below_zero_and_with_a_later_group(torch, see):
    """Any rate will do once it is made; a second group won't."""
    a, b = (torch.nn.Parameter(draw(torch, n, seed=n)) for n in (3, 2))
    lbfgs = torch.optim.LBFGS([a], max_iter=3, lr=0.5)

    def closure():
        lbfgs.zero_grad()
        loss = (a**4).sum() + (b**2).sum()
        loss.backward()
        return loss

    for rate in (0.5, -0.01):
        lbfgs.param_groups[0]["lr"] = rate
        see(loss=lbfgs.step(closure).detach(), a=a.detach(), b=b.detach())
    lbfgs.add_param_group({"params": [b]})
    see.error(two=lambda: lbfgs.step(closure))


def groups_are_taken_by_an_override(torch, see):
    """Those of the constructor too."""

    class Halved(torch.optim.SGD):
        def add_param_group(self, param_group):
            super().add_param_group(param_group)
            self.param_groups[-1]["lr"] /= 2

    a, b = (torch.nn.Parameter(draw(torch, 3, seed=seed)) for seed in range(2))
    sgd = Halved([{"params": [a], "lr": 0.4}], lr=0.1)
    sgd.add_param_group({"params": [b]})
    ((a**2).sum() + (b**3).sum()).backward()
    sgd.step()
    see(a=a.detach(), b=b.detach(), rates=[group["lr"] for group in sgd.param_groups])
    sgd.add_param_group({"params": [torch.nn.Parameter(draw(torch, 2))], "lr": -0.2})
    sgd.step()
    see(a=a.detach(), b=b.detach(), rates=[group["lr"] for group in sgd.param_groups])
