"""Conditions and loops that must be refused, in programs and as steps of sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.service.bad_requests import Bad

INVALID = ("invalid_request", 422)
ARGUMENT = ("invalid_argument", 422)
MISSING = ("tensor_not_found", 404)
UNKNOWN = ("program_not_found", 404)
SHAPE = ("shape_mismatch", 422)
DTYPE = ("dtype_mismatch", 422)


def stored(ops: Callable[..., Bad]) -> Iterator[Bad]:
    """Programs whose conditions and loops don't fit."""
    cond = {"cond": "a", "true_fn": "{square}", "false_fn": "{square}", "args": ["a"], "out": "c"}
    scan = {"scan": "{square}", "init": ["a"], "out": "c"}
    loop = {"while_loop": "{square}", "body_fn": "{vector}", "init": ["a"], "out": "c"}
    for word, step in {"cond": cond, "scan": scan, "while_loop": loop}.items():
        kept = {k: v for k, v in step.items() if k not in ("init", "args")}
        yield ops(f"a {word} with too few arguments", *ARGUMENT, kept)
        yield ops(f"a {word} with an unknown field", *INVALID, step | {"carry": ["a"]})
        yield ops(f"a {word} with too many names", *ARGUMENT, step | {"out": ["c", "d", "e"]})
        field = "init" if "init" in step else "args"
        yield ops(f"a {word} with an unknown name", *MISSING, step | {field: ["q"]})
    yield ops("a cond on an unknown name", *MISSING, cond | {"cond": "q"})
    yield ops("a cond with one branch", *INVALID, {k: cond[k] for k in ("cond", "true_fn")})
    yield ops("a cond of an unknown program", *UNKNOWN, cond | {"false_fn": "p_0"})
    yield ops("branches of several results and of one", *ARGUMENT,
              cond | {"true_fn": "{two}", "false_fn": "{square}", "args": ["a", "a"]})  # fmt: skip
    yield ops("a scan of an unknown program", *UNKNOWN, scan | {"scan": "p_0"})
    yield ops("a scan of itself", *UNKNOWN, scan | {"scan": "{self}"})
    yield ops("a scan of fewer steps than none", *INVALID, scan | {"length": -1})
    yield ops(
        "a scan with too few results",
        *ARGUMENT,
        scan | {"scan": "{whole}", "init": [], "args": ["a"], "length": 1} | {"out": ["c", "d"]},
    )
    yield ops("a while_loop without a body", *INVALID, {"while_loop": "{square}", "init": ["a"]})
    yield ops("a while_loop of an unknown condition", *UNKNOWN, loop | {"while_loop": "p_0"})
    yield ops("a while_loop whose condition gives two", *ARGUMENT,
              loop | {"while_loop": "{two}", "body_fn": "{two}", "init": ["a", "a"]})  # fmt: skip
    yield ops("a while_loop that loses a carry", *ARGUMENT,
              {"while_loop": "{one}", "body_fn": "{one}", "init": ["a", "a"]})  # fmt: skip


def steps(step: Callable[..., Bad]) -> Iterator[Bad]:
    """Steps that fail when their programs meet the tensors."""
    scan = {"scan": "{vector}", "init": ["n"], "length": 3, "out": "new"}
    loop = {"while_loop": "{positive}", "body_fn": "{vector}", "init": ["n"], "out": "new"}
    cond = {"cond": True, "true_fn": "{vector}", "false_fn": "{square}", "args": ["n"]}
    yield step("a scan of a body that doubles its carry", *SHAPE, scan | {"scan": "{doubles}"})
    yield step("a while_loop that doubles its carry", *SHAPE, loop | {"body_fn": "{doubles}"})
    yield step("a scan whose carry changes its dtype", *DTYPE, scan | {"scan": "{whole}",
               "init": [1.0]})  # fmt: skip
    yield step("a scan without a length", *ARGUMENT, {k: v for k, v in scan.items()
               if k != "length"})  # fmt: skip
    yield step("a scan of rows and another length", *SHAPE,
               {"scan": "{two}", "init": [0.0], "xs": ["n"], "length": 4})  # fmt: skip
    yield step("a scan over a number", *SHAPE, {"scan": "{two}", "init": [0.0], "xs": [1.0]})
    yield step("a scan that is too large", "memory_limit", 507,
               scan | {"init": [[0.0] * 999], "length": 10**10,
                       "scan": "{collects}"})  # fmt: skip
    yield step("a scan of shapes that don't fit", *SHAPE, scan | {"scan": "{fixed}"})
    yield step("a scan that fails in a step", *SHAPE, scan | {"scan": "{writes}"})
    yield step("a while_loop past its bound", "limit_exceeded", 413, loop | {"bound": 50})
    yield step("a while_loop on what is no bool", *DTYPE, loop | {"while_loop": "{square}"})
    yield step("a while_loop on several bools", "not_scalar", 422,
               loop | {"while_loop": "{each}"})  # fmt: skip
    yield step("a cond of branches of different shapes", *SHAPE, cond)
    yield step("a cond of branches of different dtypes", *DTYPE,
               cond | {"false_fn": "{whole}", "args": [1.0], "true_fn": "{vector}"})  # fmt: skip
    yield step("a cond on a number", *DTYPE, cond | {"cond": 1.0, "false_fn": "{vector}"})
    yield step("a cond on several", "not_scalar", 422, cond | {"cond": [True, False],
               "false_fn": "{vector}"})  # fmt: skip
    call = {"call": "{vector}", "args": ["n"], "out": "new", "planned": True}
    yield step("a planned call with checkpoint", *INVALID, call | {"checkpoint": True})
    yield step("a planned call with a backward", *INVALID, call | {"backward": "{vector}"})
    yield step("a planned call of shapes that don't fit", *SHAPE, call | {"call": "{fixed}"})
