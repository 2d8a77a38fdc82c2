"""Hooks of modules on the way back."""


def _network(torch):
    m = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    with torch.no_grad():
        for k, p in enumerate(m.parameters()):
            p.copy_(torch.cos(torch.arange(float(p.numel())) + k).reshape(p.shape))
    return m


def what_hooks_see(torch, see):
    m = _network(torch)
    out = []

    def note(mod, gi, go):
        out.append((type(mod).__name__, gi, go))

    hs = [part.register_full_backward_hook(note) for part in m]
    m[0].register_full_backward_pre_hook(lambda mod, go: out.append(("pre", go)))
    for req in (True, False):
        x = torch.ones(2, 2, requires_grad=req)
        y = m(x)
        see(y=y, f=y.grad_fn.name(), nf=[n.name() for n, _ in y.grad_fn.next_functions])
        y.pow(2).sum().backward()
        see(out=out, g=x.grad)
        out.clear()
    hs[1].remove()
    m(torch.ones(1, 2)).sum().backward()
    see(n=len(out), w=m[0].weight.grad)


def gradients_replaced(torch, see):
    m = _network(torch)
    m[1].register_full_backward_hook(lambda mod, gi, go: (gi[0] * 2 + go[0],))
    m[2].register_full_backward_pre_hook(lambda mod, go: (go[0] * 3,))
    m[0].register_full_backward_hook(lambda mod, gi, go: (torch.zeros_like(gi[0]),))
    x = torch.ones(2, 2, requires_grad=True)
    m(x).sum().backward()
    see(g=x.grad, w=m[0].weight.grad)
    m[1].register_full_backward_hook(lambda mod, gi, go: (gi[0], gi[0]))
    see.error(e=lambda: m(x).sum().backward())


def activations_weighed_by_gradients(torch, see):
    m = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 2)
    )
    with torch.no_grad():
        for k, p in enumerate(m.parameters()):
            p.copy_(torch.cos(torch.arange(float(p.numel())) + k).reshape(p.shape))
    acts, grads = [], []
    m[0].register_forward_hook(lambda mod, a, o: acts.append(o.detach()))
    m[0].register_full_backward_hook(lambda mod, gi, go: grads.append(go[0].detach()))
    x = torch.sin(torch.arange(16.0)).reshape(1, 1, 4, 4)
    m(x)[0, 1].backward()
    w = grads[0].mean((2, 3), keepdim=True)
    see(cam=torch.relu((w * acts[0]).sum(1)), n=[float(g.abs().sum()) for g in grads])


def several_arguments_and_results(torch, see):
    class Two(torch.nn.Module):
        def forward(self, a, k, b=None):
            return a * 2, 5, a * b

    m = Two()
    out = []
    m.register_full_backward_hook(lambda mod, gi, go: out.append((gi, go)))
    a, b = torch.ones(2, requires_grad=True), torch.full((2,), 3.0)
    p, q, r = m(a, 7, b)
    (p.sum() + r.sum()).backward()
    see(out=out, g=a.grad, q=q)
    out.clear()
    p, q, r = m(a, 7, b)
    p.sum().backward()
    see(out=out)
    with torch.no_grad():
        see(ng=m(a, 1, b))

    class In(torch.nn.Module):
        def forward(self, a):
            a.add_(1)
            return a

    i = In()
    i.register_full_backward_hook(lambda *_: None)
    see.error(e=lambda: i(a * 1))
