"""no_grad, enable_grad, inference_mode: what is recorded, and what is refused afterwards."""

from tests.parity.data import draw


def no_grad(torch, see):
    x = draw(torch, 3, requires_grad=True)
    with torch.no_grad():
        y = x * 2
        see(y=y, on=torch.is_grad_enabled(), leaf=torch.ones(2, requires_grad=True))
        with torch.enable_grad():
            z = x * 3
        see(z=z)
    see(on=torch.is_grad_enabled(), later=x * 4)
    z.sum().backward()
    see(x=x)
    see.error(unrecorded=lambda: y.sum().backward())


def decorators(torch, see):
    @torch.no_grad()
    def silent(x):
        return x * 2

    @torch.enable_grad()
    def loud(x):
        return x * 3

    @torch.inference_mode()
    def quick(x):
        return x * 4

    x = draw(torch, 2, requires_grad=True)
    see(silent=silent(x), quick=quick(x).is_inference())
    with torch.no_grad():
        see(loud=loud(x))
    see(on=torch.is_grad_enabled())


def set_grad_enabled(torch, see):
    x = draw(torch, 2, requires_grad=True)
    with torch.set_grad_enabled(False):
        see(off=x * 2)
        with torch.set_grad_enabled(True):
            see(on=x * 2)
    torch.set_grad_enabled(False)
    see(off_for_good=x * 2)
    torch.set_grad_enabled(True)
    see(on_again=x * 2)


def modes_end_when_blocks_raise(torch, see):
    def failing():
        with torch.no_grad():
            torch.ones(2) + torch.ones(3)

    see.error(inside=failing)
    see(on=torch.is_grad_enabled())


def frozen_parts(torch, see):
    x, w = draw(torch, 3), draw(torch, 3, seed=1, requires_grad=True)
    b = draw(torch, 3, seed=2, requires_grad=True)
    b.requires_grad_(False)
    loss = ((x * w + b) ** 2).mean()
    loss.backward()
    see(loss=loss, w=w, b=b)


def updates(torch, see):
    w = draw(torch, 3, requires_grad=True)
    for _ in range(3):
        loss = (w**2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
            w.grad.zero_()
        see(w=w, version=w._version)
    see.error(recorded=lambda: w.sub_(1.0))
    see(unchanged=w)


def inference(torch, see):
    x = draw(torch, 3, requires_grad=True)
    with torch.inference_mode():
        y = x * 2
        y.add_(1)
        see(y=y, is_inference=y.is_inference(), mode=torch.is_inference_mode_enabled())
    see(mode=torch.is_inference_mode_enabled(), x_is=x.is_inference())
    see(copy=y.clone(), copied=y.clone().is_inference(), read=y + 1)
    see.error(
        saved=lambda: (y * x).sum().backward(),
        requires_grad=lambda: y.requires_grad_(),
        in_place=lambda: y.add_(1),
    )
    normal = torch.ones(2)
    with torch.inference_mode():
        normal.add_(1)
    see(normal=normal)


def inference_tensors_detached_outside(torch, see):
    w = draw(torch, 2, requires_grad=True)
    with torch.inference_mode():
        x = torch.ones(2).double()
    y, z = x.detach(), x.detach()
    y.add_(1)
    y.mul_(2)
    with torch.inference_mode():
        y.add_(1)
    see(x=x, own=(y._version, z._version), again=y.detach()._version)
    see.error(view=lambda: y[:]._version, it=lambda: x._version)
    y.unsqueeze_(0)
    see(y=y, form=y._version)
    z.mul_(w)
    see(z=z, written=z._version)


def inference_switched_off_inside(torch, see):
    x = draw(torch, 3, requires_grad=True)
    with torch.inference_mode():
        with torch.inference_mode(False):
            y = x * 2
            see(y=y)
        z = x * 2
    see(z=z.is_inference())
    y.sum().backward()
    see(x=x)


def views_made_without_grad(torch, see):
    base = draw(torch, 4)
    with torch.no_grad():
        part = base[:2]
    part.mul_(2)
    see(base=base, part=part)


def an_inference_tensor_written_with_a_history(torch, see):
    with torch.inference_mode():
        made = torch.tensor(-0.5)
        places = torch.tensor([[0], [0]])
    w = torch.tensor(2.0, requires_grad=True)
    x = made.detach()
    x.mul_(w)
    x.exp_()
    x.backward()
    see(x=x.detach().clone(), w=w)
    line = torch.ones(2, requires_grad=True)
    see.error(said_first=lambda: line.index_select(0, places))
    see.error(else_its_shape=lambda: torch.ones(2).index_select(0, places))


def decorated_generators(torch, see):
    def steps(x):
        got = []
        try:
            for i in range(3):
                try:
                    got.append((yield (x * i).requires_grad, torch.is_grad_enabled()))
                except ValueError:
                    yield "thrown", torch.is_grad_enabled()
        finally:
            see(at_the_end=torch.is_grad_enabled())
        return got

    def delegated(function, x):
        see(result=(yield from function(x)))

    x = torch.ones(2, requires_grad=True)
    for decorate in (
        torch.no_grad(),
        torch.no_grad,
        torch.inference_mode(),
        torch.enable_grad(),
        torch.set_grad_enabled(False),
    ):
        decorated = decorate(steps)
        see(inside=list(decorated(x)), outside=torch.is_grad_enabled(), name=decorated.__name__)
        running = decorated(x)
        see(first=next(running), sent=running.send(3), thrown=running.throw(ValueError))
        running.close()
        see(delegated=list(delegated(decorated, x)))


def products_that_are_views_are_so_in_no_grad_too(torch, see):
    many = draw(torch, 1, 3, 1)
    for recorded in (False, True):
        one, weight = (draw(torch, n, 3, requires_grad=recorded) for n in (1, 2))
        with torch.no_grad():
            made = [one @ many, weight @ many, one @ draw(torch, 2, 3, 2)]
        for y in made:
            see(is_view=y._is_view(), version=y._version)
            y.requires_grad_()
            with torch.no_grad():
                see(seen=y.view(-1).requires_grad)


def a_product_made_in_no_grad_and_written_later(torch, see):
    with torch.no_grad():
        y = draw(torch, 1, 3, requires_grad=True) @ draw(torch, 1, 3, 1)
    try:
        y.mul_(draw(torch, 1, requires_grad=True))
    except RuntimeError:
        see(refused=y, recorded=y.requires_grad)
