"""Anomaly mode: what is an error, and what is none."""

import warnings


def _faulty(torch):
    x = torch.tensor([0.0, 1.0], requires_grad=True)
    return x, (torch.sqrt(x) * 0).sum()


def nan_is_an_error(torch, see):
    x, y = _faulty(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            see.error(backward=lambda: y.backward(retain_graph=True))
            see.error(grad=lambda: torch.autograd.grad(y, x, retain_graph=True))
    see(x=x)
    y.backward()
    see(x=x)


def infinity_is_none(torch, see):
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        torch.sqrt(x).sum().backward()
    see(x=x)


def it_may_be_told_not_to_look(torch, see):
    x, y = _faulty(torch)
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        see(on=torch.is_anomaly_enabled(), looks=torch.is_anomaly_check_nan_enabled())
        y.backward()
    see(x=x, on=torch.is_anomaly_enabled())


def what_was_made_before_is_looked_at(torch, see):
    _, y = _faulty(torch)
    torch.autograd.set_detect_anomaly(True)
    see.error(backward=lambda: y.backward())
    torch.autograd.set_detect_anomaly(False)
    x, y = _faulty(torch)
    y.backward()
    see(x=x)
