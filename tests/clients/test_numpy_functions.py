"""Custom functions whose backward is NumPy: embedded they run, a server says what to do."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as torch
from gradwire.session import Session


class Square(torch.autograd.Function):
    """As torch's tutorial on NumPy extensions writes it."""

    @staticmethod
    def forward(ctx, input):
        ctx.kept = input.detach().numpy()
        return torch.as_tensor(ctx.kept**2, dtype=input.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.from_numpy(grad_output.numpy() * 2 * ctx.kept)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input * 3

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        return grad_output.new_tensor(grad_output.numpy() * np.sign(input.numpy()) * 3)


def test_embedded_it_runs() -> None:
    torch.connect()
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    (Square.apply(x) * torch.tensor([1.0, 10.0])).sum().backward()
    assert x.grad.tolist() == [2.0, -40.0]
    (found,) = torch.autograd.grad(Scaled.apply(x).sum(), x)
    assert found.tolist() == [3.0, -3.0]
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()


def test_a_server_names_the_line_and_the_way_out(session: Session) -> None:
    if session.transport.url == "embedded":
        return
    x = torch.tensor([1.0], requires_grad=True)
    y = Scaled.apply(x)
    with pytest.raises(torch.GradwireError) as found:
        y.sum().backward()
    assert found.value.code == "untraceable"
    assert "Scaled.backward looks at the value" in str(found.value)
    assert "use ops" in found.value.hint
