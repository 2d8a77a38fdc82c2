"""Learning rates from epoch to epoch: every scheduler, several at once, resumed and refused."""


def _kinds(torch):
    kinds = torch.optim.lr_scheduler
    return {
        "steps": lambda o: kinds.StepLR(o, 2),
        "milestones": lambda o: kinds.MultiStepLR(o, [1, 3, 3]),
        "exponential": lambda o: kinds.ExponentialLR(o, 0.9),
        "cosine": lambda o: kinds.CosineAnnealingLR(o, 3, 0.01),
        "function": lambda o: kinds.LambdaLR(o, lambda epoch: 0.9**epoch),
        "factors": lambda o: kinds.MultiplicativeLR(o, lambda epoch: 0.9),
        "linear": lambda o: kinds.LinearLR(o),
        "constant": lambda o: kinds.ConstantLR(o, 0.5, 3),
        "polynomial": lambda o: kinds.PolynomialLR(o, 5, 2.0),
        "restarts": lambda o: kinds.CosineAnnealingWarmRestarts(o, 2, 2),
        "one_cycle": lambda o: kinds.OneCycleLR(o, 1.0, total_steps=12),
        "three_phases": lambda o: kinds.OneCycleLR(
            o, [1.0, 0.5], epochs=3, steps_per_epoch=4, three_phase=True, anneal_strategy="linear"
        ),
        "in_turn": lambda o: kinds.SequentialLR(
            o,
            [
                kinds.LinearLR(o, 0.1, total_iters=3),
                kinds.CosineAnnealingLR(o, 5),
                kinds.ExponentialLR(o, 0.5),
            ],
            [3, 7],
        ),
        "restarts_in_turn": lambda o: kinds.SequentialLR(
            o, [kinds.ConstantLR(o, 0.1, 2), kinds.CosineAnnealingWarmRestarts(o, 3)], [2]
        ),
        "at_once": lambda o: kinds.ChainedScheduler(
            [kinds.ConstantLR(o, 0.1, 2), kinds.ExponentialLR(o, 0.9)]
        ),
    }


def _optimizer(torch, kind="SGD", **settings):
    first, second = (torch.ones(1, requires_grad=True) for _ in range(2))
    groups = [{"params": [first]}, {"params": [second], "lr": 0.02}]
    return getattr(torch.optim, kind)(groups, lr=0.1, **settings)


def _run(torch, make, kind, **settings):
    optimizer = _optimizer(torch, kind, **settings)
    scheduler = make(optimizer)
    seen = [list(scheduler.get_last_lr())]
    for _ in range(11):
        optimizer.step()
        scheduler.step()
        momenta = [group.get("momentum", group.get("betas")) for group in optimizer.param_groups]
        rates = [group["lr"] for group in optimizer.param_groups]
        seen.append([list(scheduler.get_last_lr()), rates, momenta])
    return seen


def each_kind(torch, see):
    for name, make in _kinds(torch).items():
        see(**{name: _run(torch, make, "SGD", momentum=0.9)})
        see(**{f"{name}_of_adam": _run(torch, make, "Adam")})


def two_of_one_optimizer(torch, see):
    kinds = torch.optim.lr_scheduler
    optimizer = _optimizer(torch)
    schedulers = kinds.ExponentialLR(optimizer, 0.9), kinds.StepLR(optimizer, 2)
    for epoch in range(6):
        optimizer.step()
        for scheduler in schedulers:
            scheduler.step()
        see(rates=[group["lr"] for group in optimizer.param_groups])
        if epoch == 2:
            optimizer.param_groups[0]["lr"] = 3.0


def resumed(torch, see):
    kinds = torch.optim.lr_scheduler
    optimizer = _optimizer(torch)
    first = kinds.ExponentialLR(optimizer, 0.9)
    for _ in range(3):
        optimizer.step()
        first.step()
    again = kinds.ExponentialLR(optimizer, 0.9, last_epoch=3)
    see(again=again.get_last_lr(), epoch=again.last_epoch)
    other = kinds.StepLR(_optimizer(torch), 2)
    other.load_state_dict(first.state_dict())
    see(epoch=other.last_epoch, rates=other.get_last_lr())
    kept = kinds.SequentialLR(optimizer, [first, again], [2])
    kept.load_state_dict(kept.state_dict())
    see(epoch=kept.last_epoch)
    restarts = kinds.CosineAnnealingWarmRestarts(_optimizer(torch), 2, 2)
    for epoch in (0.5, 1.5, 3.2, 7):
        restarts.step(epoch)
        see(rates=restarts.get_last_lr())
    restarts.step()
    see(rates=restarts.get_last_lr())


def refused(torch, see):
    kinds = torch.optim.lr_scheduler
    optimizer = _optimizer(torch)
    exponential = kinds.ExponentialLR(optimizer, 0.9)
    see.error(
        functions=lambda: kinds.LambdaLR(optimizer, [lambda epoch: 1.0]),
        no_first_rate=lambda: kinds.ExponentialLR(_optimizer(torch), 0.9, last_epoch=3),
        no_steps=lambda: kinds.OneCycleLR(optimizer, 1.0),
        strategy=lambda: kinds.OneCycleLR(optimizer, 1.0, 5, anneal_strategy="cubic"),
        no_momentum=lambda: kinds.OneCycleLR(torch.optim.Adagrad([torch.ones(1)]), 1.0, 5),
        no_period=lambda: kinds.CosineAnnealingWarmRestarts(optimizer, 0),
        milestones=lambda: kinds.SequentialLR(optimizer, [exponential], [1, 2]),
        other_optimizer=lambda: kinds.ChainedScheduler([exponential], _optimizer(torch)),
        start=lambda: kinds.LinearLR(optimizer, 0.0),
    )


def before_the_optimizers_first_step(torch, see):
    early = torch.optim.lr_scheduler.StepLR(_optimizer(torch), 2)
    see.warned(first=early.step, second=early.step)
    late = torch.optim.lr_scheduler.StepLR(_optimizer(torch), 2)
    late.optimizer.step()
    see.warned(first=late.step)
