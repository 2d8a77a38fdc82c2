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
