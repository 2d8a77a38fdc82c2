"""Source text that is refused: by which code, at which line and column, and within which bounds."""

from __future__ import annotations

import threading

import pytest

from gradwire_engine.catalogue import resolve
from gradwire_engine.errors import GradwireError
from gradwire_service.host.source import parse

BAD: list[tuple[str, int, int, str]] = [
    ("y = (", 1, 5, "never closed"),
    ("y = x +", 1, 8, "invalid syntax"),
    ("y = x\nz = = 2", 2, 5, "invalid syntax"),
    ("x", 1, 1, "goes nowhere"),
    ("x.sum()", 1, 1, "goes nowhere"),
    ("x + 1", 1, 1, "goes nowhere"),
    ("'text'", 1, 1, "goes nowhere"),
    ("y = x\ny.backward()", 2, 1, "goes nowhere"),
    ("import os", 1, 1, "an import"),
    ("from os import path", 1, 1, "an import"),
    ("def f(): pass", 1, 1, "a function definition"),
    ("class A: pass", 1, 1, "a class definition"),
    ("if x: y = x", 1, 1, "an 'if'"),
    ("for i in x: y = i", 1, 1, "a 'for'"),
    ("while x: y = x", 1, 1, "a 'while'"),
    ("with no_grad(): y = x", 1, 1, "a 'with'"),
    ("del x", 1, 1, "a 'delete'"),
    ("pass", 1, 1, "a 'pass'"),
    ("global x", 1, 1, "a 'global'"),
    ("assert x", 1, 1, "'assert'"),
    ("y: int = x", 1, 1, "an annotation"),
    ("y = 2", 1, 5, "a number where a tensor belongs"),
    ("y = -1 / 3", 1, 5, "a number where a tensor belongs"),
    ("y = 'x'", 1, 5, "of type str"),
    ("y = None", 1, 5, "of type NoneType"),
    ("y = [a, b]", 1, 5, "a 'list'"),
    ("y = (a, b)", 1, 5, "a 'tuple'"),
    ("y = x + 'a'", 1, 9, "of type str"),
    ("y = x + b'a'", 1, 9, "of type bytes"),
    ("y = f(...)", 1, 7, "of type ellipsis"),
    ("y = f(b'a')", 1, 7, "of type bytes"),
    ("y = f'{x}'", 1, 5, "an f-string"),
    ("y = {1: x}", 1, 5, "a dict"),
    ("y = f({1, 2})", 1, 7, "a set"),
    ("y = [v for v in x]", 1, 5, "a comprehension"),
    ("y = lambda v: v", 1, 5, "a function definition"),
    ("y = (lambda v: v)(x)", 1, 6, "a call of what isn't an op"),
    ("y = x if a else b", 1, 5, "a conditional expression"),
    ("y = a and b", 1, 5, "'and' or 'or'"),
    ("y = not a", 1, 5, "'not'"),
    ("y = a < b < c", 1, 5, "chained comparison"),
    ("y = a is b", 1, 5, "chained comparison"),
    ("y = a in b", 1, 5, "chained comparison"),
    ("y = (z := x)", 1, 6, "':='"),
    ("y = f(*a)", 1, 7, "a starred expression"),
    ("y = f(**a)", 1, 7, "a starred argument"),
    ("y = f(dim=1, dim=2)", 1, 14, "given twice"),
    ("y = await x", 1, 5, "'await'"),
    ("y = x.shape", 1, 5, "an attribute .shape"),
    ("y = x.max(0).values", 1, 5, "an attribute .values"),
    ("y = (x * 2).grad", 1, 5, "an attribute .grad"),
    ("y = x.grad.grad", 1, 5, "an attribute .grad"),
    ("y = x.__class__", 1, 5, "an attribute .__class__"),
    ("y = x.__add__(2)", 1, 5, "a name that no op has"),
    ("y = __import__('os')", 1, 5, "a name that no op has"),
    ("y = f(x)(2)", 1, 5, "a call of what isn't an op"),
    ("y = (2).exp()", 1, 6, "a number where a tensor belongs"),
    ("y = 'a'.exp()", 1, 5, "of type str"),
    ("y = add_(2, x)", 1, 5, "without a tensor to write to"),
    ("y = add_(other=x)", 1, 5, "without a tensor to write to"),
    ("y = add_('x', 1)", 1, 5, "without a tensor to write to"),
    ("x @= y", 1, 1, "@="),
    ("x.T += 1", 1, 1, "a 'attribute'"),
    ("x.grad = y", 1, 1, "an assignment to a gradient"),
    ("x.data = y", 1, 1, "a 'attribute'"),
    ("f(x) = y", 1, 1, "cannot assign"),
    ("2 = x", 1, 1, "cannot assign"),
    ("(a, b), c = f(x)", 1, 1, "a 'tuple'"),
    ("a, *b = f(x)", 1, 4, "a starred expression"),
    ("a, x[0] = f(x)", 1, 4, "a 'subscript'"),
    ("a, b = x, y, z", 1, 1, "2 names for 3 values"),
    ("a = b, c = f(x)", 1, 5, "a 'tuple'"),
    ("_ = f(x)", 1, 1, "the name of"),
    ("y = _ + 1", 1, 5, "discards"),
    ('t["x.grad"] = y', 1, 1, "the name of"),
    ('t["a b"] = y', 1, 1, "no tensor can have"),
    ('y = t["%0"]', 1, 5, "no tensor can have"),
    ("NaN = x", 1, 1, "no tensor can have"),
    ("é = x", 1, 1, "no tensor can have"),
    ("y = é + x", 1, 5, "no tensor can have"),
    ("ab = x; ü = x", 1, 9, "no tensor can have"),
    ("y = " + "a" * 129, 1, 5, "no tensor can have"),
    ("y = " + "a" * 129 + "(x)", 1, 5, "no op has"),
    ("y = x['a']", 1, 7, "of type str"),
    ("y = x[1.5]", 1, 7, "isn't whole"),
    ("y = x[a:b]", 1, 7, "a bound"),
    ("y = x[1:2.0]", 1, 9, "a bound"),
    ("y = x[{}]", 1, 7, "a dict"),
    ("x[0] = 'a'", 1, 8, "of type str"),
    ("x[0] = [1, 2]", 1, 8, "a 'list'"),
    ("y = x * 10 ** 30", 1, 9, "out of range"),
    ("y = x * 18446744073709551616", 1, 9, "out of range"),
    ("y = x * (-9223372036854775808 - 1)", 1, 10, "out of range"),
    ("y = x * 9 ** 9 ** 9", 1, 9, "out of range"),
    ("y = x * (1 / 0)", 1, 10, "without a result"),
    ("y = x * " + "9" * 5000, 1, 9, "digits"),
    ("y = f('" + "a" * 2000 + "')", 1, 7, "a string of 2000"),
    ("y = f('\\n')", 1, 8, "a backslash"),
    ("y = x\\\n+ 1", 1, 6, "a backslash"),
    ("y = '''x'''", 1, 5, "'''"),
    ("y = x\0", 1, 6, "a null character"),
    ("y = '\ud800'", 1, 1, "surrogates"),
    ("y = " + "(" * 50 + "x" + ")" * 50, 1, 44, "nested too deeply"),
    ("y = " + "-" * 200 + "x", 1, 103, "nested too deeply"),
    ("y = " + "-" * 60_000 + "x", 1, 515, "nested too deeply"),
    ("y = x" + " + x" * 120, 1, 5, "nested too deeply"),
    ("y = x" + "[0]" * 10_000, 1, 1534, "nested too deeply"),
    ("y = " + "lambda a,: " * 1_000 + "x", 1, 5, "nested too deeply"),
    ("y = f'{" + "-" * 5_000 + "x}'", 1, 5, "nested too deeply"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "line", "column", "found"), BAD, ids=[ascii(text)[:40] for text, *_ in BAD]
)
def test_anything_else_is_refused_with_its_position(
    text: str, line: int, column: int, found: str
) -> None:
    with pytest.raises(GradwireError) as caught:
        parse(text)
    assert caught.value.code == "invalid_source"
    assert f"source, line {line}, column {column}: " in caught.value.detail
    assert found in caught.value.detail
    assert caught.value.hint
    caught.value.detail.encode()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("last, all = scan(body, start, xs)", "scan"),
        ("last, all = torch.scan(lambda c, x: (c + x, c), start, xs)", "scan"),
        ("y = while_loop(a, b, (x,))", "while_loop"),
        ("y = cond(p, a, b, (x,))", "cond"),
        ("y = call(f, x)", "call"),
        ("y = vmap(f)(x)", "vmap"),
        ("y = torch.func.vmap(f, in_dims=0)(x)", "vmap"),
        ("g, = torch.autograd.grad(y, x)", "grad"),
        ("h = hessian(f)(x)", "hessian"),
    ],
)
def test_steps_of_their_own_are_no_calls(text: str, word: str) -> None:
    with pytest.raises(GradwireError) as caught:
        parse(text)
    assert caught.value.code == "invalid_source"
    assert f"found {word}, which is no op: " in caught.value.detail
    assert f"{word} is a step of its own" in str(caught.value.hint)
    stored = "a program that was stored before" in str(caught.value.hint)
    assert stored == (word != "grad")


@pytest.mark.parametrize("text", ["for v in x: y = v", "while x: y = x", "if x: y = x",
                                  "y = a if b else c", "y = cat([v for v in x])"])  # fmt: skip
def test_loops_and_branches_are_told_of_the_steps(text: str) -> None:
    with pytest.raises(GradwireError) as caught:
        parse(text)
    hint = str(caught.value.hint)
    assert all(f'{{"{word}": …}}' in hint for word in ("scan", "while_loop", "cond"))
    assert "stored before" in hint


@pytest.mark.parametrize("text", ["def f(x): y = x", "y = lambda v: v", "y = sin(lambda v: v)"])
def test_functions_are_told_of_programs(text: str) -> None:
    with pytest.raises(GradwireError) as caught:
        parse(text)
    assert "a program of its own, stored before" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["scan", "torch.while_loop", "vmap", "torch.func.hessian"])
def test_an_op_that_is_a_step_is_told_so(name: str) -> None:
    with pytest.raises(GradwireError) as caught:
        resolve(name)
    assert caught.value.code == "op_not_found"
    assert f"{name.rpartition('.')[2]} is a step of its own" in str(caught.value.hint)


def test_ops_that_share_a_name_with_a_step_are_ops() -> None:
    text = "a = tensor([1.0])\nb = a.detach()\nc = cond(m, 2)\nd = m.cond()"
    assert [step["op"] for step in parse(text)] == ["tensor", "detach", "cond", "cond"]
    with pytest.raises(GradwireError, match="did you mean detach"):
        resolve("torch.detach")


def test_length_and_steps_are_bounded() -> None:
    with pytest.raises(GradwireError, match="70000 characters") as long:
        parse("#" * 70_000)
    with pytest.raises(GradwireError, match="line 11 needs more than the 10 steps") as many:
        parse("x += 1\n" * 11, max_steps=10)
    assert long.value.code == many.value.code == "limit_exceeded"
    assert len(parse("x += 1\n" * 10, max_steps=10)) == 10


def test_hostile_nesting_fits_a_small_stack() -> None:
    """Python's parser recurses in C: what reaches it must fit a thread of half a megabyte."""
    pieces = (
        "(",
        "[",
        "{",
        "-",
        "not ",
        "a[(",
        "f(",
        "lambda:",
        "x if ",
        "x.y",
        "[0]",
        "**x",
        "@(",
    )
    texts = [piece * count + "x" for piece in pieces for count in (39, 170, 500, 5_000)]

    def parse_all() -> None:
        for text in texts:
            with pytest.raises(GradwireError):
                parse(text)
        done.append(True)

    done: list[bool] = []
    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=parse_all)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert done == [True]
