"""Training scripts as tutorials have them: loaders, models as classes, schedules, what is saved."""

import copy
import math
from collections import OrderedDict

import numpy as np
from tests.parity.data import classes, draw


def _begin(torch, model):
    """Parameters that are the same in every run, of about the size that layers begin with."""
    with torch.no_grad():
        for place, p in enumerate(model.parameters()):
            p.copy_(draw(torch, *p.shape, seed=place) / math.sqrt(max(p.shape[-1], 1)))
    return model


def classification_with_loaders(torch, see):
    nn, F = torch.nn, torch.nn.functional
    torch.set_default_dtype(torch.float64)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, y = draw(torch, 48, 6), classes(torch, 48, below=3)
    train, test = torch.utils.data.TensorDataset(x[:36], y[:36]), (x[36:], y[36:])

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(
                OrderedDict(
                    [
                        ("first", nn.Linear(6, 16)),
                        ("norm", nn.BatchNorm1d(16)),
                        ("act", nn.ReLU(inplace=True)),
                        ("drop", nn.Dropout(0.0)),
                    ]
                )
            )
            self.head = nn.Linear(16, 3)

        def forward(self, x):
            return self.head(self.body(x))

    model = _begin(torch, Net()).to(device)
    optimizer = torch.optim.AdamW(
        [
            {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.1},
            {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=1e-2,
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=0.05, epochs=3, steps_per_epoch=3
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    losses, rates = [], []
    for _ in range(3):
        model.train()
        running = 0.0
        for inputs, labels in torch.utils.data.DataLoader(train, batch_size=12):
            inputs, labels = inputs.to(device, non_blocking=True), labels.to(device)
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(inputs), labels)
            loss.backward()
            total = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            running += loss.item() * inputs.size(0)
            rates.append(scheduler.get_last_lr()[0])
        losses.append(running / len(train))
    model.eval()
    with torch.no_grad():
        logits = model(test[0])
        right = (logits.argmax(dim=1) == test[1]).float().mean().item()
        top = logits.topk(2, dim=-1)
    see(losses=losses, rates=rates, total=total, right=right, top=top.values, which=top.indices)
    see(state=dict(model.state_dict().items()))
    see(score=F.softmax(logits, dim=1).max(dim=1).values)


def autoencoder_that_draws(torch, see):
    """A variational one, with the noise given, so that it is the same everywhere."""
    nn, F = torch.nn, torch.nn.functional
    x, noise = torch.sigmoid(draw(torch, 10, 8)), draw(torch, 5, 10, 2, seed=3)

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.mu, self.logvar = nn.Linear(8, 6), nn.Linear(6, 2), nn.Linear(6, 2)
            self.fc3, self.fc4 = nn.Linear(2, 6), nn.Linear(6, 8)

        def reparameterize(self, mu, logvar, eps):
            return mu + eps * torch.exp(0.5 * logvar)

        def forward(self, x, eps):
            h = F.relu(self.fc1(x.view(-1, 8)))
            mu, logvar = self.mu(h), self.logvar(h)
            z = self.reparameterize(mu, logvar, eps)
            return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar

    model = _begin(torch, VAE().double())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.99))
    losses = []
    for step in range(5):
        recon, mu, logvar = model(x, noise[step])
        bce = F.binary_cross_entropy(recon, x, reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = bce + kld
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    see(losses=losses, recon=recon, weight=model.fc1.weight)


def characters(torch, see):
    """An LSTM that learns a text; states are detached between pieces, and it writes on."""
    nn = torch.nn
    text = "hello world, hello autograd! " * 3
    letters = sorted(set(text))
    index = {letter: place for place, letter in enumerate(letters)}
    data = torch.tensor([index[letter] for letter in text], dtype=torch.long)

    class CharRNN(nn.Module):
        def __init__(self, vocabulary, hidden=12, layers=2):
            super().__init__()
            self.hidden, self.layers = hidden, layers
            self.embed = nn.Embedding(vocabulary, 6)
            self.lstm = nn.LSTM(6, hidden, num_layers=layers, batch_first=True)
            self.out = nn.Linear(hidden, vocabulary)

        def forward(self, x, state=None):
            h, state = self.lstm(self.embed(x), state)
            return self.out(h), state

        def init_hidden(self, batch):
            weight = next(self.parameters())
            shape = (self.layers, batch, self.hidden)
            return weight.new_zeros(shape), weight.new_zeros(shape)

    model = _begin(torch, CharRNN(len(letters)).double())
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    losses = []
    for _ in range(2):
        hidden = model.init_hidden(2)
        rows = data[: len(data) // 2 * 2].view(2, -1)
        for first in range(0, rows.size(1) - 1, 16):
            piece = rows[:, first : first + 16]
            target = rows[:, first + 1 : first + 17]
            piece = piece[:, : target.size(1)]
            hidden = tuple(h.detach() for h in hidden)
            output, hidden = model(piece, hidden)
            loss = nn.functional.cross_entropy(output.reshape(-1, len(letters)), target.reshape(-1))
            model.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_value_(model.parameters(), 0.25)
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
    written, state, last = [], None, data[:1].view(1, 1)
    with torch.inference_mode():
        for _ in range(5):
            output, state = model(last, state)
            last = output[:, -1].argmax(-1, keepdim=True)
            written.append(letters[last.item()])
    see(losses=losses, written="".join(written), hidden=[h.detach() for h in hidden])


def two_that_play_against_each_other(torch, see):
    nn = torch.nn
    real, noise = draw(torch, 24, 2) + 2, draw(torch, 6, 8, 3, seed=1)
    leaky = lambda: nn.LeakyReLU(0.2, inplace=True)  # noqa: E731
    netG = nn.Sequential(nn.Linear(3, 8), leaky(), nn.Linear(8, 2)).double()
    netD = nn.Sequential(nn.Linear(2, 8), leaky(), nn.Linear(8, 1), nn.Flatten(0)).double()
    _begin(torch, netG), _begin(torch, netD)
    criterion = nn.BCEWithLogitsLoss()
    optD = torch.optim.Adam(netD.parameters(), lr=2e-2, betas=(0.5, 0.999))
    optG = torch.optim.Adam(netG.parameters(), lr=2e-2, betas=(0.5, 0.999))
    losses = []
    for step in range(6):
        batch = real[step % 3 * 8 : step % 3 * 8 + 8]
        label = torch.full((batch.size(0),), 1.0, dtype=torch.float64)
        netD.zero_grad()
        errD_real = criterion(netD(batch), label)
        errD_real.backward()
        fake = netG(noise[step])
        label.fill_(0.0)
        errD_fake = criterion(netD(fake.detach()), label)
        errD_fake.backward()
        optD.step()
        for p in netD.parameters():
            p.requires_grad_(False)
        netG.zero_grad()
        label.fill_(1.0)
        errG = criterion(netD(fake), label)
        errG.backward()
        optG.step()
        for p in netD.parameters():
            p.requires_grad = True
        losses.append([(errD_real + errD_fake).item(), errG.item()])
    see(losses=losses, made=netG(noise[0]), judged=netD(real[:4]))


def learned_quickly_with_func(torch, see):
    """MAML: a step for each task by functional_call, gradients through it, all tasks by vmap."""
    from_func = torch.func
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    _begin(torch, model.double())
    params = {name: p.detach().clone() for name, p in model.named_parameters()}
    x1, x2, shift = draw(torch, 3, 5, 1), draw(torch, 3, 5, 1, seed=1), draw(torch, 3, 1, 1, seed=2)

    def loss_of(params, x, y):
        return torch.nn.functional.mse_loss(from_func.functional_call(model, params, (x,)), y)

    def adapted(params, x1, y1, x2, y2):
        grads = from_func.grad(loss_of)(params, x1, y1)
        fast = {name: params[name] - 0.1 * grads[name] for name in params}
        return loss_of(fast, x2, y2)

    def meta(params):
        tasks = (x1, torch.sin(x1 + shift), x2, torch.sin(x2 + shift))
        return from_func.vmap(adapted, in_dims=(None, 0, 0, 0, 0))(params, *tasks).mean()

    losses = []
    for _ in range(4):
        grads, loss = from_func.grad_and_value(meta)(params)
        params = {name: params[name] - 0.05 * grads[name] for name in params}
        losses.append(loss.item())
    see(losses=losses, params=params)


def per_sample_gradients_and_ensembles(torch, see):
    func = torch.func
    x, y = draw(torch, 6, 4), classes(torch, 6, below=3)
    models = [_begin(torch, torch.nn.Linear(4, 3).double()) for _ in range(3)]
    for scale, model in enumerate(models, 1):
        with torch.no_grad():
            model.weight.mul_(scale)
    model = models[0]
    params = {k: v.detach() for k, v in model.named_parameters()}
    buffers = {k: v.detach() for k, v in model.named_buffers()}

    def compute_loss(params, buffers, sample, target):
        predictions = func.functional_call(model, (params, buffers), (sample.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(predictions, target.unsqueeze(0))

    each = func.vmap(func.grad(compute_loss), in_dims=(None, None, 0, 0))(params, buffers, x, y)
    see(each=each, norms=each["weight"].flatten(1).norm(dim=1))
    stacked, held = func.stack_module_state(models)
    base = copy.deepcopy(model)
    found = func.vmap(lambda p, b: func.functional_call(base, (p, b), (x,)))(stacked, held)
    see(found=found.detach())
    see(jacobian=func.jacrev(lambda p: func.functional_call(model, p, (x[:2],)))(params))
    kernel = func.vmap(lambda v: func.jvp(lambda w: torch.tanh(x @ w), (v,), (v,))[1])
    see(kernel=kernel(draw(torch, 2, 4)))


def what_physics_says(torch, see):
    """u'' + u = 0 with u(0) = 0, u'(0) = 1, by a network whose derivatives are in its loss."""
    grad = torch.autograd.grad
    torch.set_default_dtype(torch.float64)
    net = torch.nn.Sequential(
        torch.nn.Linear(1, 10), torch.nn.Tanh(), torch.nn.Linear(10, 10), torch.nn.SiLU(),
        torch.nn.Linear(10, 1),
    )  # fmt: skip
    _begin(torch, net)
    t = torch.linspace(0, 3, 12).reshape(-1, 1).requires_grad_(True)
    t0 = torch.zeros(1, 1, requires_grad=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        u = net(t)
        (du,) = grad(u, t, grad_outputs=torch.ones_like(u), create_graph=True)
        (ddu,) = grad(du, t, torch.ones_like(du), create_graph=True)
        u0 = net(t0)
        (du0,) = grad(u0, t0, create_graph=True)
        loss = (ddu + u).square().mean() + u0.pow(2).squeeze() + (du0 - 1).pow(2).sum()
        loss.backward()
        optimizer.step()
        plateau.step(loss.item())
        losses.append(float(loss))
    see(losses=losses, u=u, ddu=ddu, rate=optimizer.param_groups[0]["lr"])


def with_lbfgs(torch, see):
    x = torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([x], lr=1, max_iter=5, line_search_fn="strong_wolfe")
    calls = []

    def closure():
        optimizer.zero_grad()
        loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
        loss.backward()
        calls.append(loss.item())
        return loss

    losses = [optimizer.step(closure).item() for _ in range(4)]
    see(losses=losses, calls=calls, x=x)


def averaged_accumulated_tied_and_saved(torch, see):
    nn = torch.nn

    class Tied(nn.Module):
        def __init__(self, vocabulary=7, width=5):
            super().__init__()
            self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
            self.mix = nn.GRU(width, width, batch_first=True)
            self.norm = nn.LayerNorm(width)
            self.decoder = nn.Linear(width, vocabulary, bias=False)
            self.decoder.weight = self.embed.weight
            self.register_buffer("scale", torch.tensor(0.5, dtype=torch.float64))

        def forward(self, tokens):
            hidden, _ = self.mix(self.embed(tokens))
            return self.decoder(self.norm(hidden) * self.scale)

    model = _begin(torch, Tied().double())
    see(tied=model.decoder.weight is model.embed.weight, many=len(list(model.parameters())))
    ema = copy.deepcopy(model)
    for p in ema.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    warm = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 3))
    tokens = classes(torch, 6, 5, below=7)
    losses, every = [], 2
    for step in range(6):
        batch = tokens[step : step + 1]
        loss = nn.functional.cross_entropy(
            model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten(), ignore_index=0
        )
        (loss / every).backward()
        losses.append(loss.detach())
        if (step + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()
            warm.step()
            with torch.no_grad():
                for mean, p in zip(ema.parameters(), model.parameters(), strict=True):
                    mean.lerp_(p, 0.1)
                for mean, b in zip(ema.buffers(), model.buffers(), strict=True):
                    mean.copy_(b)
    see(losses=torch.stack(losses), ema=list(ema.parameters()))
    kept = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "s": warm.state_dict(),
    }
    other = Tied().double()
    kept = copy.deepcopy(kept)  # torch's tensors are the optimizer's own
    see(keys=str(other.load_state_dict(kept["model"])))
    again = torch.optim.SGD(other.parameters(), lr=0.5, momentum=0.9, nesterov=True)
    again.load_state_dict(kept["optimizer"])
    for net, opt in ((model, optimizer), (other, again)):
        opt.zero_grad()
        net(tokens[:, :-1]).logsumexp(-1).sum().backward()
        opt.step()
    see(
        same=[
            (a - b).abs().max() for a, b in zip(model.parameters(), other.parameters(), strict=True)
        ]
    )
    see.error(missing=lambda: other.load_state_dict({}), kind=lambda: other.load_state_dict(3))
    see(loose=str(other.load_state_dict({"nope": torch.ones(1)}, strict=False)))


def frozen_and_fine_tuned(torch, see):
    nn = torch.nn
    body = nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2)
    )
    model = nn.Sequential(body, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, 2)).double()
    _begin(torch, model)
    for p in body.parameters():
        p.requires_grad = False
    body.eval()
    model[-1] = _begin(torch, nn.Linear(12, 4).double())
    optimizer = torch.optim.Adagrad(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    images, labels = draw(torch, 5, 1, 6, 6), classes(torch, 5, below=4)
    losses, activations = [], {}
    handle = body.register_forward_hook(lambda m, args, out: activations.update(body=out.detach()))
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.NLLLoss()(model(images).log_softmax(1), labels)
        loss.backward()
        optimizer.step()
        cosine.step()
        losses.append(loss.item())
    handle.remove()
    see(losses=losses, seen=activations["body"], rate=cosine.get_last_lr())
    see(frozen=[p.grad is None for p in model.parameters()], mean=body[1].running_mean)
    see(count=sum(p.numel() for p in model.parameters() if p.requires_grad), text=repr(model))


def by_reinforcement(torch, see):
    """REINFORCE with a baseline: log-probabilities are gathered, returns are plain numbers."""
    nn = torch.nn
    policy = _begin(torch, nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2)).double())
    value = _begin(torch, nn.Linear(3, 1).double())
    both = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.02)
    losses = []
    for episode in range(3):
        states, rewards = draw(torch, 6, 3, seed=episode), np.linspace(-1, 1, 6) * (episode + 1)
        actions = classes(torch, 6, below=2, seed=episode)
        logs = policy(states).log_softmax(-1).gather(1, actions[:, None]).squeeze(1)
        returns, total = [], 0.0
        for reward in rewards[::-1]:
            total = reward + 0.9 * total
            returns.insert(0, total)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        guess = value(states).squeeze(-1)
        advantage = returns - guess.detach()
        entropy = -(logs.exp() * logs).sum()
        loss = -(logs * advantage).sum() + nn.SmoothL1Loss()(guess, returns) - 0.01 * entropy
        both.zero_grad()
        loss.backward()
        both.step()
        losses.append(loss.item())
    see(losses=losses, weights=policy[0].weight)
