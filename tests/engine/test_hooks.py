"""Hooks of tensors, leaves and nodes; gradient edges. The numbers and orders are torch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.engine.calls import leaf, numbers, op, plain, write
from tests.engine.programs import Log, Python

from gradwire_engine.backward import backward, grad
from gradwire_engine.errors import GradwireError
from gradwire_engine.fork import fork_all
from gradwire_engine.hooks import (
    get_gradient_edge,
    register_hook,
    register_post_accumulate_grad_hook,
)
from gradwire_engine.journal import transaction
from gradwire_engine.mode import local, no_grad
from gradwire_engine.tape import Bound, Handle
from gradwire_engine.tensor import Tensor

pytestmark = pytest.mark.usefixtures("each_library")


def times(factor: float) -> Callable[[Any], Any]:
    return lambda g: op("mul", g, factor)


def total(tensor: Tensor) -> Tensor:
    found: Tensor = op("sum", tensor)
    return found


def chain() -> tuple[Tensor, Tensor, Tensor]:
    """x, h = 2 x, and the sum of 3 h."""
    x = leaf([1, 2])
    h = op("mul", x, 2)
    return x, h, total(op("mul", h, 3))


def refused(code: str, run: Callable[[], object], *words: str) -> GradwireError:
    with pytest.raises(GradwireError) as caught:
        run()
    assert caught.value.code == code
    assert all(word in caught.value.detail for word in words), caught.value.detail
    return caught.value


# tensor hooks


def test_a_hook_sees_the_summed_gradient_once() -> None:
    log, x = Log(), leaf([1, 2])
    h = op("mul", x, 2)
    register_hook(h, log.note("h"))
    backward([total(op("add", op("mul", h, 3), op("exp", op("mul", h, 0))))])
    assert log == [("h", [3, 3])]


def test_hooks_replace_one_after_the_other_and_retain_grad_sees_the_last() -> None:
    log, (x, h, z) = Log(), chain()
    h.retain_grad()
    register_hook(h, log.note("a", give=times(10)))
    register_hook(h, log.note("b", give=lambda g: (None,)))
    register_hook(h, log.note("c", give=times(0.5)))
    backward([z])
    assert log == [("a", [3, 3]), ("b", [30, 30]), ("c", [30, 30])]
    assert (numbers(h.grad), numbers(x.grad)) == ([15, 15], [30, 30])


def test_a_hook_of_a_leaf_runs_before_it_accumulates() -> None:
    x, _, z = chain()
    register_hook(x, Python(times(2)))
    backward([z], retain_graph=True)
    assert numbers(x.grad) == [12, 12]
    backward([z])
    assert numbers(x.grad) == [24, 24]


def test_what_a_hook_writes_in_place_counts() -> None:
    x, h, z = chain()
    register_hook(h, Python(lambda g: write("mul_", g, 7) and None))
    backward([z])
    assert numbers(x.grad) == [42, 42]


def test_a_given_cotangent_is_not_written_by_a_hook() -> None:
    x, h, _ = chain()
    v = plain([1, 1])
    register_hook(h, Python(lambda g: write("mul_", g, 7) and None))
    (g,) = grad([h], [x], [v])
    assert numbers(g) == [14, 14]
    assert numbers(v) == [1, 1]


def test_an_input_that_the_walk_ends_at_is_captured_after_its_hooks() -> None:
    _, h, z = chain()
    register_hook(h, Python(times(10)))
    assert numbers(grad([z], [h])[0]) == [30, 30]


def test_an_input_that_the_walk_goes_on_from_is_captured_before_its_hooks() -> None:
    x, h, z = chain()
    register_hook(h, Python(times(10)))
    found = grad([z], [h, x])
    assert list(map(numbers, found)) == [[3, 3], [60, 60]]


def test_a_hook_of_a_leaf_runs_for_grad_too() -> None:
    x, _, z = chain()
    register_hook(x, Python(times(10)))
    assert numbers(grad([z], [x])[0]) == [60, 60]
    assert x.grad is None


def test_a_hook_is_not_run_where_no_gradient_is_asked_for() -> None:
    log, (_, h, z) = Log(), chain()
    w = leaf([1.0, 1.0])
    register_hook(h, log.note("h"))
    grad([op("add", z, total(w))], [w])
    assert log == []


def test_a_hook_of_one_of_several_results_gets_null_where_nothing_came() -> None:
    log, x = Log(), leaf([0, 1, 2, 3])
    a, b = op("split", x, 2)
    register_hook(a, log.note("a1"))
    register_hook(b, log.note("b"))
    register_hook(a, log.note("a2"))
    backward([total(op("mul", b, 2))])
    assert log == [("a1", None), ("a2", None), ("b", [2, 2])]


def test_the_root_itself_may_have_hooks() -> None:
    log, x = Log(), leaf([1.0])
    register_hook(x, log.note("x", give=times(3)))
    register_post_accumulate_grad_hook(x, Python(lambda p: log.append(numbers(p.grad))))
    backward([x])
    assert (numbers(x.grad), log) == ([3], [("x", [1]), [3]])


def test_hooks_are_under_the_grad_mode_of_create_graph() -> None:
    seen: list[Any] = []
    x = leaf([3.0])
    register_hook(x, Python(lambda g: seen.append((local.state.grad, g.requires_grad))))
    y = total(op("mul", x, x))
    grad([y], [x], retain_graph=True)
    grad([y], [x], create_graph=True)
    assert seen == [(False, False), (True, True)]


def test_a_recorded_walk_differentiates_through_hooks() -> None:
    x = leaf([3.0])
    y = op("mul", x, x)
    register_hook(y, Python(lambda g: op("mul", g, x)))
    (first,) = grad([total(y)], [x], create_graph=True)
    assert first is not None and numbers(first) == [18]
    assert numbers(grad([total(first)], [x])[0]) == [12]  # 2 x², by x


@pytest.mark.parametrize(
    ("give", "code", "raised", "words"),
    [
        (total, "shape_mismatch", RuntimeError, "changed the size of value (was [2], got [])"),
        (lambda g: op("to", g, "float32"), "dtype_mismatch", RuntimeError, "changed the type"),
        (lambda g: 3, "invalid_argument", TypeError, "returned 'int'"),
    ],
)
def test_a_wrong_replacement_is_refused_and_nothing_changes(
    give: Callable[[Any], Any], code: str, raised: type[Exception], words: str
) -> None:
    x, h, z = chain()
    register_hook(h, Python(give, "p_wrong"))
    problem = refused(code, lambda: backward([z]), words, "p_wrong")
    assert isinstance(problem, raised)
    assert x.grad is None
    assert z.grad_fn is not None and not z.grad_fn.freed


def test_a_hook_needs_a_tensor_that_requires_grad() -> None:
    problem = refused(
        "requires_no_grad", lambda: register_hook(plain([1]), Python(times(1))), "cannot register"
    )
    assert isinstance(problem, RuntimeError)
    refused(
        "requires_no_grad",
        lambda: register_post_accumulate_grad_hook(plain([1]), Python(times(1))),
    )


def test_hooks_are_removed_by_their_handles() -> None:
    log, (_, h, z) = Log(), chain()
    kept = register_hook(h, log.note("kept"))
    gone = register_hook(h, log.note("gone"))
    gone.remove()
    gone.remove()
    backward([z], retain_graph=True)
    kept.remove()
    backward([z])
    assert log == [("kept", [3, 3])]


def test_a_transaction_undoes_registering_and_removing() -> None:
    log, (_, h, z) = Log(), chain()
    kept = register_hook(h, log.note("kept"))
    with pytest.raises(KeyError), transaction():
        kept.remove()
        register_hook(h, log.note("new"))
        raise KeyError
    backward([z])
    assert log == [("kept", [3, 3])]


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_of_batched_walks_see_one_row_at_a_time(create_graph: bool) -> None:
    x = leaf([1, 2])
    h = op("mul", x, 2)
    own = Python(lambda g: op("mul", g, total(g)))
    register_hook(h, own)
    register_hook(x, own)
    assert h.grad_fn is not None
    h.grad_fn.register_hook(Python(lambda a, b, g: (op("add", a, total(g)), b)))
    rows = plain([[1, 0], [0, 2]])
    y = op("mul", h, 3)
    each = [op("select", rows, 0, i) for i in range(2)]
    found = [numbers(grad([y], [x], [row], retain_graph=True)[0]) for row in each]
    (g,) = grad([y], [x], [rows], is_grads_batched=True, create_graph=create_graph)
    assert numbers(g) == found


# in place and views


def test_after_an_in_place_op_old_hooks_stay_with_the_old_history() -> None:
    log, x = Log(), leaf([1, 2])
    z = op("mul", x, 3)
    register_hook(z, log.note("old"))
    z.retain_grad()
    write("mul_", z, 5)
    register_hook(z, log.note("new"))
    backward([total(z)])
    assert log == [("new", [1, 1]), ("old", [5, 5])]
    assert numbers(z.grad) == [1, 1]


def two(log: Log) -> tuple[Tensor, Tensor, Tensor]:
    """b, c = b, a view of c's first half, with a hook on each of the latter."""
    b = leaf([1, 1, 1, 1])
    c = op("mul", b, 1)
    v = op("slice", c, 0, 0, 2)
    register_hook(v, log.note("v old"))
    register_hook(c, log.note("c old"))
    return b, c, v


def after_a_write(log: Log, b: Tensor, c: Tensor, v: Tensor) -> Any:
    register_hook(v, log.note("v new"))
    register_hook(c, log.note("c new"))
    backward([op("add", total(c), total(op("mul", v, 5)))])
    return numbers(b.grad)


def test_a_view_written_through() -> None:
    log = Log()
    b, c, v = two(log)
    write("mul_", v, 3)
    assert after_a_write(log, b, c, v) == [18, 18, 1, 1]
    assert log == [("v new", [5, 5]), ("c new", [6, 6, 1, 1]), ("c old", [18, 18, 1, 1])]


def test_a_base_written_under_its_view() -> None:
    log = Log()
    b, c, v = two(log)
    write("mul_", c, 3)
    assert after_a_write(log, b, c, v) == [18, 18, 3, 3]
    assert log[-2:] == [("c new", [6, 6, 1, 1]), ("c old", [18, 18, 3, 3])]
    assert ("v old", [5, 5]) not in log


# post-accumulate hooks


def test_leaves_hooks_run_as_soon_as_their_gradients_are_complete() -> None:
    log = Log()
    w1, w2 = leaf([1.0]), leaf([1.0])
    for name, w in (("w1", w1), ("w2", w2)):
        register_hook(w, log.note(name))
        register_post_accumulate_grad_hook(w, log.note("after", name))
    h = op("mul", w1, plain([1.0]))
    register_hook(h, log.note("h"))
    last = op("mul", h, w2)
    register_hook(last, log.note("last"))
    backward([total(last)])
    order = [" ".join(entry[:-1]) for entry in log]
    assert order == ["last", "w2", "after w2", "h", "w1", "after w1"]


def test_a_post_accumulate_hook_may_take_a_step_and_clear_the_gradient() -> None:
    x = leaf([1.0])

    def step(p: Tensor) -> None:
        with no_grad():
            write("sub_", p, p.grad)
        p.set_grad(None)

    register_post_accumulate_grad_hook(x, Python(step))
    backward([total(op("mul", x, 2))])
    assert (numbers(x), x.grad, x.version) == ([-1], None, 1)


def test_post_accumulate_hooks_do_not_run_for_grad_but_for_inputs_of_backward() -> None:
    log, (x, _, z) = Log(), chain()
    register_post_accumulate_grad_hook(x, log.note("x"))
    grad([z], [x], retain_graph=True)
    assert log == []
    backward([z], inputs=[x])
    assert log == [("x", [1, 2])]


def test_a_failing_post_accumulate_hook_undoes_the_walk() -> None:
    a, b = leaf([1.0]), leaf([2.0])
    y = op("mul", op("mul", a, b), a)
    register_post_accumulate_grad_hook(b, Python(lambda p: op("add", p, plain([1, 2, 3]), 1, 2)))
    with pytest.raises(GradwireError):
        backward([total(y)])
    assert a.grad is None and b.grad is None
    assert y.grad_fn is not None and not y.grad_fn.freed


def test_post_accumulate_hooks_are_for_leaves() -> None:
    refused(
        "invalid_argument",
        lambda: register_post_accumulate_grad_hook(chain()[1], Python(times(1))),
        "non-leaf",
    )


def test_inputs_of_backward_that_are_no_leaves_retain_what_hooks_made() -> None:
    x, h, z = chain()
    register_hook(h, Python(times(10)))
    backward([z], inputs=[h, x], retain_graph=True)
    assert (numbers(h.grad), numbers(x.grad), h.retains_grad) == ([30, 30], [60, 60], True)
    backward([z])
    assert (numbers(h.grad), numbers(x.grad)) == ([60, 60], [120, 120])


# node hooks


def test_a_hook_of_a_node_sees_both_sides() -> None:
    log, x = Log(), leaf([0, 1])
    z = op("mul", x, plain([1, 1]))
    assert z.grad_fn is not None
    z.grad_fn.register_hook(log.note("z"))
    backward([total(z)])
    assert log == [("z", [1, 1], None, [1, 1])]


def test_a_hook_of_a_node_replaces_what_goes_on() -> None:
    x = leaf([1, 2])
    z = op("mul", x, 3)
    assert z.grad_fn is not None
    handle = z.grad_fn.register_hook(Python(lambda mine, _, g: (op("add", mine, g), None)))
    backward([total(z)], retain_graph=True)
    assert numbers(x.grad) == [4, 4]
    handle.remove()
    backward([total(z)])
    assert numbers(x.grad) == [7, 7]


def test_a_hook_before_a_node_replaces_what_comes() -> None:
    x, h, z = chain()
    assert h.grad_fn is not None
    h.grad_fn.register_prehook(Python(times(100)))
    assert list(map(numbers, grad([z], [h, x], retain_graph=True))) == [[3, 3], [600, 600]]
    assert numbers(grad([z], [h])[0]) == [3, 3]


def test_nulls_from_a_hook_of_a_node_stop_the_gradient() -> None:
    x = leaf([1, 2])
    for register in ("register_hook", "register_prehook"):
        z = op("mul", x, 3)
        nulls = (None, None) if register == "register_hook" else (None,)
        getattr(z.grad_fn, register)(Python(lambda *_, n=nulls: n))
        backward([total(z)])
        assert x.grad is None


def test_hooks_of_a_leafs_own_node() -> None:
    log, x = Log(), leaf([0, 1])
    z = op("mul", x, 3)
    assert z.grad_fn is not None
    node = z.grad_fn.next_functions[0][0]
    assert node is not None
    node.register_hook(log.note("post"))
    node.register_prehook(log.note("pre"))
    register_hook(x, log.note("tensor"))
    register_post_accumulate_grad_hook(x, log.note("accumulated"))
    backward([total(z)])
    assert [entry[0] for entry in log] == ["tensor", "pre", "accumulated", "post"]


@pytest.mark.parametrize(
    ("give", "words"),
    [
        (lambda a, b, g: (a,), "incorrect number of values (got 1, but expected 2)"),
        (lambda a, b, g: (total(a), b), "changed the size"),
        (lambda a, b, g: (a, a), "can't replace a null gradient"),
    ],
)
def test_wrong_results_of_a_nodes_hook(give: Callable[..., Any], words: str) -> None:
    x = leaf([1, 2])
    z = op("mul", x, 3)
    assert z.grad_fn is not None
    z.grad_fn.register_hook(Python(give))
    with pytest.raises(GradwireError) as caught:
        backward([total(z)])
    assert words in caught.value.detail
    assert x.grad is None


def test_a_program_with_tensors_of_its_own_has_those_of_its_side_of_a_fork() -> None:
    x, _, z = chain()
    scale = plain([10, 100])
    register_hook(x, Bound(Python(lambda g, k: op("mul", g, k)), (scale,)))
    tensors = fork_all({"x": x, "z": z, "scale": scale})[0]
    write("mul_", tensors["scale"], 2)
    assert numbers(grad([z], [x])[0]) == [60, 600]
    assert numbers(grad([tensors["z"]], [tensors["x"]])[0]) == [120, 1200]


# gradient edges


def test_gradient_edges_stand_for_tensors() -> None:
    x, h, z = chain()
    edges = [get_gradient_edge(h), get_gradient_edge(x)]
    assert [e.node.name() for e in edges] == ["MulBackward0", "AccumulateGrad"]
    found = grad([get_gradient_edge(z)], [*edges, x], retain_graph=True)
    assert list(map(numbers, found)) == [[3, 3], [6, 6], [6, 6]]
    backward([get_gradient_edge(z)], inputs=[edges[1]])
    assert numbers(x.grad) == [6, 6]


def test_an_edge_keeps_standing_for_the_gradient_before_an_in_place_op() -> None:
    x = leaf([1, 2])
    h = op("mul", x, 3)
    edge = get_gradient_edge(h)
    write("mul_", h, 5)
    found = grad([total(h)], [edge, h])
    assert list(map(numbers, found)) == [[5, 5], [1, 1]]


def test_an_edge_of_one_of_several_results() -> None:
    a, b = op("split", leaf([1, 2, 3, 4]), 2)
    z = op("add", total(op("mul", a, 2)), total(op("mul", b, 5)))
    found = grad([z], [get_gradient_edge(b), a])
    assert list(map(numbers, found)) == [[5, 5], [2, 2]]
    assert get_gradient_edge(b).output_nr == 1


def test_refusals_of_edges() -> None:
    refused("requires_no_grad", lambda: get_gradient_edge(plain([1])))
    lone = leaf([1, 2])
    zeros = {"materialize_grads": True}
    refused(
        "invalid_argument", lambda: grad([total(lone)], [get_gradient_edge(chain()[1])], **zeros)
    )
    x, h, _ = chain()
    refused("not_scalar", lambda: grad([get_gradient_edge(h)], [x]))
    refused("shape_mismatch", lambda: grad([get_gradient_edge(h)], [x], [plain([1, 1, 1])]))


# forks


def test_a_fork_has_the_hooks_and_its_own_handles() -> None:
    log, (x, h, z) = Log(), chain()
    handles: dict[str, Handle] = {
        "h": register_hook(h, log.note("h", give=times(2))),
        "x": register_hook(x, log.note("x")),
    }
    tensors, theirs = fork_all({"x": x, "h": h, "z": z}, handles)
    handles["h"].remove()
    theirs["x"].remove()
    backward([z])
    assert log == [("x", [6, 6])]
    log.clear()
    backward([tensors["z"]])
    assert log == [("h", [3, 3])]
    assert numbers(tensors["x"].grad) == [12, 12]
