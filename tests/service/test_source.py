"""Source text: valid programs and the steps they become."""

from __future__ import annotations

from typing import Any

import pytest

from gradwire_service.host.source import parse, read


def op(name: str, *args: object, out: object = None, **kwargs: object) -> dict[str, Any]:
    """A step as a client writes it."""
    step: dict[str, Any] = {"op": name, "args": list(args)}
    if kwargs:
        step["kwargs"] = kwargs
    return step if out is None else {**step, "out": out}


def bind(name: str, out: str) -> dict[str, str]:
    return {"bind": name, "out": out}


def cut(start: int | None, stop: int | None, step: int | None = None) -> dict[str, Any]:
    return {"slice": [start, stop, step]}


VALID: list[tuple[str, list[dict[str, Any]]]] = [
    ("", []),
    ("# nothing but a comment (with brackets\n", []),
    # operators, in Python's order
    ("z = x + y * 2", [op("mul", "y", 2, out="%0"), op("add", "x", "%0", out="z")]),
    ("z = 2 - x", [op("sub", 2, "x", out="z")]),
    ("z = x / y // 3", [op("div", "x", "y", out="%0"), op("floor_divide", "%0", 3, out="z")]),
    ("z = x % 2.5", [op("remainder", "x", 2.5, out="z")]),
    ("z = -x ** 2", [op("pow", "x", 2, out="%0"), op("neg", "%0", out="z")]),
    ("z = x ** -2", [op("pow", "x", -2, out="z")]),
    ("z = x @ w.T", [op("T", "w", out="%0"), op("matmul", "x", "%0", out="z")]),
    ("z = +x", [op("positive", "x", out="z")]),
    (
        "z = ~a & b | c ^ d",
        [
            op("bitwise_not", "a", out="%0"),
            op("bitwise_and", "%0", "b", out="%1"),
            op("bitwise_xor", "c", "d", out="%2"),
            op("bitwise_or", "%1", "%2", out="z"),
        ],
    ),
    (
        "z = x << 1 >> k",
        [
            op("bitwise_left_shift", "x", 1, out="%0"),
            op("bitwise_right_shift", "%0", "k", out="z"),
        ],
    ),
    ("z = x <= 0", [op("le", "x", 0, out="z")]),
    ("z = x == y", [op("eq", "x", "y", out="z")]),
    ("z = 0 != x", [op("ne", 0, "x", out="z")]),
    ("z = x * True", [op("mul", "x", True, out="z")]),
    # numbers
    ("z = x * -1.5", [op("mul", "x", -1.5, out="z")]),
    ("z = x * (1 / 4)", [op("mul", "x", 0.25, out="z")]),
    ("z = x.reshape(2 * 3, -1)", [op("reshape", "x", 6, -1, out="z")]),
    ("z = x + 2j", [op("add", "x", {"complex": [0.0, 2.0]}, out="z")]),
    ("z = x + (1 - 2j)", [op("add", "x", {"complex": [1.0, -2.0]}, out="z")]),
    ("z = x + 0x10 + 1_000", [op("add", "x", 16, out="%0"), op("add", "%0", 1000, out="z")]),
    ("z = x.clamp(max=1e999)", [op("clamp", "x", max="Infinity", out="z")]),
    ("z = where(m, x, -Infinity)", [op("where", "m", "x", "-Infinity", out="z")]),
    ("z = x + float('nan')", [op("add", "x", "NaN", out="z")]),
    ("z = x * 18446744073709551615", [op("mul", "x", 2**64 - 1, out="z")]),
    # calls
    ("z = softmax(x, dim=1)", [op("softmax", "x", dim=1, out="z")]),
    ("z = x.sum(0, keepdim=True)", [op("sum", "x", 0, keepdim=True, out="z")]),
    ("z = nn.functional.gelu(x)", [op("nn.functional.gelu", "x", out="z")]),
    ("z = torch.linalg.det(x)", [op("linalg.det", "x", out="z")]),
    ("z = torch.sin(x)", [op("sin", "x", out="z")]),
    ("z = mse_loss(x, y, reduction='sum')", [op("mse_loss", "x", "y", reduction="sum", out="z")]),
    ("z = cat([a, b], dim=-1)", [op("cat", ["a", "b"], dim=-1, out="z")]),
    ("z = cat((a, b * 2))", [op("mul", "b", 2, out="%0"), op("cat", ["a", "%0"], out="z")]),
    ("z = x.sum(None)", [op("sum", "x", None, out="z")]),
    ("z = zeros(2, 3)", [op("zeros", 2, 3, out="z")]),
    (
        "z = zeros((2, 3), dtype=torch.float64)",
        [op("zeros", [2, 3], dtype="float64", out="z")],
    ),
    ("z = x.to(float16)", [op("to", "x", "float16", out="z")]),
    ("z = tensor([[1, 2], [3.5, -4]])", [op("tensor", [[1, 2], [3.5, -4]], out="z")]),
    (
        "z = f(g(x), h(y), k=m(w))",
        [
            op("g", "x", out="%0"),
            op("h", "y", out="%1"),
            op("m", "w", out="%2"),
            op("f", "%0", "%1", k="%2", out="z"),
        ],
    ),
    ("z = (x).exp().sum()", [op("exp", "x", out="%0"), op("sum", "%0", out="z")]),
    # names, attributes, namespaces
    ('z = t["a.b"] + t', [op("add", "a.b", "t", out="z")]),
    ('t["a.b"] = x.exp()', [op("exp", "x", out="a.b")]),
    ('t["a.b"] += 1', [op("add_", "a.b", 1)]),
    ("z = t[0]", [op("__getitem__", "t", 0, out="z")]),
    ("z = x.grad * 2", [op("mul", "x.grad", 2, out="z")]),
    ('z = t["a.b"].grad.sum()', [op("sum", "a.b.grad", out="z")]),
    ("z = x.real.mT", [op("real", "x", out="%0"), op("mT", "%0", out="z")]),
    (
        "fft = fft.fft(x)\nz = fft.sum()",
        [op("fft.fft", "x", out="fft"), op("sum", "fft", out="z")],
    ),
    # indices
    ("z = x[-1]", [op("__getitem__", "x", -1, out="z")]),
    (
        "z = x[1:, ::2]",
        [op("__getitem__", "x", {"index": [cut(1, None), cut(None, None, 2)]}, out="z")],
    ),
    ("z = x[:-1]", [op("__getitem__", "x", cut(None, -1), out="z")]),
    ("z = x[..., None]", [op("__getitem__", "x", {"index": ["...", None]}, out="z")]),
    ("z = x[m]", [op("__getitem__", "x", "m", out="z")]),
    ("z = x[[0, 2], i]", [op("__getitem__", "x", {"index": [[0, 2], "i"]}, out="z")]),
    ("z = x[()]", [op("__getitem__", "x", {"index": []}, out="z")]),
    ("z = x[x > 0]", [op("gt", "x", 0, out="%0"), op("__getitem__", "x", "%0", out="z")]),
    ("z = x[0][1]", [op("__getitem__", "x", 0, out="%0"), op("__getitem__", "%0", 1, out="z")]),
    # assignments
    ("x = y", [bind("y", "x")]),
    ("x = x", []),
    ("g = x.grad", [bind("x.grad", "g")]),
    ("a = b = x.exp()", [op("exp", "x", out="a"), bind("a", "b")]),
    ("v, i = x.max(0)", [op("max", "x", 0, out=["v", "i"])]),
    ("v, _ = x.max(0)", [op("max", "x", 0, out=["v", None])]),
    ("[q, r] = linalg.qr(x)", [op("linalg.qr", "x", out=["q", "r"])]),
    ("a, b = x", [op("unbind", "x", out=["a", "b"])]),
    ("a, b = x.add_(1)", [op("add_", "x", 1), op("unbind", "x", out=["a", "b"])]),
    ("a, b = b, a", [bind("b", "%0"), bind("a", "%1"), bind("%0", "a"), bind("%1", "b")]),
    (
        "a, b = x.exp(), a",
        [op("exp", "x", out="%0"), bind("a", "%1"), bind("%0", "a"), bind("%1", "b")],
    ),
    # in place
    ("x += y", [op("add_", "x", "y")]),
    ("x **= 2", [op("pow_", "x", 2)]),
    ("x -= 0.1 * x.grad", [op("mul", 0.1, "x.grad", out="%0"), op("sub_", "x", "%0")]),
    ("x.grad /= 2", [op("div_", "x.grad", 2)]),
    ("x.grad.zero_()", [op("zero_", "x.grad")]),
    ("relu_(x)", [op("relu_", "x")]),
    ("y = x.add_(1).mul_(2)", [op("add_", "x", 1), op("mul_", "x", 2), bind("x", "y")]),
    ("x = x.add_(1)", [op("add_", "x", 1)]),
    ("z = x.add_(1).sum()", [op("add_", "x", 1), op("sum", "x", out="z")]),
    ("x[0].zero_()", [op("__getitem__", "x", 0, out="%0"), op("zero_", "%0")]),
    ("x[0] = 1", [op("__setitem__", "x", 0, 1)]),
    (
        "x[m, 1:] = y.exp()",
        [op("exp", "y", out="%0"), op("__setitem__", "x", {"index": ["m", cut(1, None)]}, "%0")],
    ),
    ("x.grad[0] = 0.0", [op("__setitem__", "x.grad", 0, 0.0)]),
    (
        "x[m] *= y + 1",
        [
            op("__getitem__", "x", "m", out="%0"),
            op("add", "y", 1, out="%1"),
            op("mul_", "%0", "%1"),
            op("__setitem__", "x", "m", "%0"),
        ],
    ),
    ("y = x.exp(); z = y.sum()", [op("exp", "x", out="y"), op("sum", "y", out="z")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "steps"), VALID, ids=[text for text, _ in VALID])
def test_text_becomes_the_steps_a_client_would_post(text: str, steps: list[dict[str, Any]]) -> None:
    assert parse(text) == steps


def test_each_step_knows_its_line() -> None:
    source = read("# a comment\ny = x ** 2\n\nz = (y\n     .exp().sum())\n")
    assert [step["op"] for step in source.steps] == ["pow", "exp", "sum"]
    assert source.lines == [2, 4, 4]


def test_a_tensor_hides_a_namespace() -> None:
    assert parse("z = fft.sum()", names=["fft"]) == [op("sum", "fft", out="z")]
    assert parse("z = fft.sum()") == [op("fft.sum", out="z")]
