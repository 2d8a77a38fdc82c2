"""Functions that write their result piece by piece into a tensor that they made."""


def _points(torch):
    return torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)


def _in_pieces(torch):
    def function(v):
        out = torch.zeros(3, 2, dtype=v.dtype)
        out[0, 0] = v[1] * v[2]
        row = out[1]
        row[0] = v[0] ** 3
        out[:, 1] = v.sin() * out[:, 0].clone()
        out[2].copy_(v[:2] * 2)
        out[2] *= v[2]
        return out.sum(0)

    return function


def forward_mode(torch, see):
    x, function = _points(torch), _in_pieces(torch)
    see(pushed=torch.func.jvp(function, (x,), (x + 1,)), columns=torch.func.jacfwd(function)(x))
    of_functional = torch.autograd.functional
    see(pushed=of_functional.jvp(function, x, x + 1))
    see(columns=of_functional.jacobian(function, x, vectorize=True, strategy="forward-mode"))

    def twice(v):
        return torch.func.jvp(function, (v,), (v * 2,))[1]

    see(second=torch.func.jvp(twice, (x,), (x + 1,)))


def reverse_mode(torch, see):
    x, function = _points(torch), _in_pieces(torch)
    see(rows=torch.func.jacrev(function)(x), pulled=torch.func.vjp(function, x)[1](x[:2]))
    see(rows=torch.autograd.functional.jacobian(function, x))
    see(slope=torch.func.grad(lambda v: function(v).sum())(x))


def both(torch, see):
    x, function = _points(torch), _in_pieces(torch)

    def length(v):
        return (function(v) ** 2).sum()

    forward, reverse = torch.func.jacfwd, torch.func.jacrev
    see(hessian=torch.func.hessian(length)(x), other_way=reverse(forward(length))(x))
    see(reverse=reverse(reverse(length))(x), forward=forward(forward(length))(x))
    of_functional = torch.autograd.functional
    see(hessian=of_functional.hessian(length, x), product=of_functional.hvp(length, x, x))


def a_trajectory(torch, see):
    def steps(v):
        path = torch.zeros(4, 3, dtype=v.dtype)
        path[0] = v
        for i in range(3):
            path[i + 1] = path[i] + 0.1 * torch.sin(path[i].clone())
        return path

    x = _points(torch)
    see(columns=torch.func.jacfwd(steps)(x), rows=torch.func.jacrev(steps)(x))
    see(pushed=torch.func.jvp(steps, (x,), (x,)))


def several_arguments(torch, see):
    def function(a, b):
        out, count = torch.empty(2, dtype=a.dtype), torch.zeros(3, dtype=torch.int64)
        out[0], out[1] = a.sum(), (a * b).sum()
        count[1] = 2
        return out, count * a

    x = _points(torch)
    see(pushed=torch.func.jvp(function, (x, x + 1), (x, x)))
    see(columns=torch.func.jacfwd(function, argnums=(0, 1))(x, x + 1))


def over_a_batch(torch, see):
    def fixed(v):
        out = torch.zeros(3, dtype=v.dtype)
        out[0] = v[1] * v[2]
        return out

    def like(v):
        out = torch.zeros_like(v)
        out[0] = v[1] * v[2]
        return out

    x = torch.stack([_points(torch), _points(torch) + 1])
    see.error(
        fixed=lambda: torch.vmap(fixed)(x),
        fixed_moved=lambda: torch.vmap(lambda v: torch.func.jvp(fixed, (v,), (v,)))(x),
    )
    see(like=torch.vmap(like)(x), moved=torch.vmap(torch.func.jacfwd(like))(x))


def constants_are_made_anew(torch, see):
    def function(v):
        out = torch.tensor([0.0, 0.0], dtype=torch.float64)
        out[0] = v.sum()
        out += 1
        return out * v[:2]

    x = _points(torch).requires_grad_()
    y = torch.utils.checkpoint.checkpoint(function, x, use_reentrant=False)
    y.sum().backward()
    see(y=y, x=x)
    x = x.detach()
    see(rows=torch.func.jacrev(function)(x), columns=torch.func.jacfwd(function)(x))
    see(hessian=torch.func.hessian(lambda v: function(v * v).sum())(x))
    see(rows=torch.autograd.functional.jacobian(function, x))
