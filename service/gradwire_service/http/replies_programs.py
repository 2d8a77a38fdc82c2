"""What replies of programs and their transforms look like, for OpenAPI."""

from __future__ import annotations

from typing import Any, Literal

from gradwire_service.host.protocol.names import field, optional
from gradwire_service.http.replies import EvaluateReply, OutputSpec, Part, TensorReply

_ID = "p_55c0d0efb33845e019a5f47984548ab5"
_INPUT: dict[str, Any] = {"name": "x", "dtype": None, "shape": [None, 3]}
_PROGRAM = {
    "id": _ID, "inputs": [_INPUT], "outputs": ["z"], "steps": 2, "size": 2, "bytes": 123,
    "created": "2026-01-05T10:00:00.000Z",
}  # fmt: skip
_REGION: dict[str, Any] = {
    "ops": ["pow"], "how": "call", "shape": None, "threads": 1, "reads": ["x"],
    "outputs": [{"dtype": "float32", "shape": [3]}], "gives": {}, "flops": 3, "bytes_moved": 24,
}  # fmt: skip


def _tensor(name: str, shape: list[int], data: Any) -> dict[str, Any]:
    return {
        "name": name, "dtype": "float32", "shape": shape, "device": "cpu", "requires_grad": False,
        "is_leaf": True, "grad_fn": None, "version": 0, "data": data,
    }  # fmt: skip


_X = {"x": _tensor("x", [3], [2.0, 0.0, 0.0])}
_SQUARE = [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]


class ProgramInputReply(Part):
    """An input of a program."""

    name: str = field("Its name.", "x")
    dtype: str | None = field("The dtype it must have.", "float32")
    shape: list[int | None] | None = field(
        "The shape it must have; null leaves an axis open.", [None, 3]
    )


class ProgramItem(Part):
    """A program, in short."""

    id: str = field("The hash of its normal form.", _ID)
    inputs: list[ProgramInputReply] = field("What it takes.", [_INPUT])
    outputs: list[str] = field("What it gives.", ["z"])
    steps: int = field("How many steps it has.", 2)
    size: int = field("Steps of one run, with those of the programs it calls.", 2)
    bytes: int = field("Bytes of its normal form.", 123)
    created: str = field("When it was first posted, in UTC.", "2026-01-05T10:00:00.000Z")


class ProgramReply(ProgramItem):
    """A program, as it was first posted."""

    calls: list[str] = field("The programs that it calls.", [_ID])
    ops: list[dict[str, Any]] | None = field(
        "Its steps, where it was posted as ops.", [{"op": "sum", "args": ["x"], "out": "z"}]
    )
    source: str | None = field(
        "Its text, where it was posted as source.", "y = x ** 2\nz = y.sum()"
    )


class ProgramsReply(Part):
    """A page of programs, oldest first."""

    items: list[ProgramItem] = field("The programs.", [_PROGRAM])
    next: str | None = field("The cursor of the next page; null at the end.", "42", None)


class VjpReply(EvaluateReply):
    """The outputs of a program, and cotangents times its jacobian."""

    vjp: dict[str, TensorReply] = field("By input.", _X)


class JvpReply(EvaluateReply):
    """The outputs of a program, and its jacobian times tangents."""

    jvp: dict[str, TensorReply] = field("By output.", {"z": _tensor("z", [], 2.0)})


class HvpReply(EvaluateReply):
    """The output of a program, and its hessian times a vector."""

    hvp: dict[str, TensorReply] = field("By input.", _X)


class VhpReply(EvaluateReply):
    """The output of a program, and a vector times its hessian."""

    vhp: dict[str, TensorReply] = field("By input.", _X)


class JacobianReply(EvaluateReply):
    """The outputs of a program, and their jacobians."""

    jacobian: dict[str, dict[str, TensorReply]] = field(
        "By output and input; of the shape of the output, then of the input.",
        {"z": {"x": _tensor("x", [3], [2.0, 4.0, 6.0])}},
    )


class HessianReply(EvaluateReply):
    """The output of a program, and its hessian."""

    hessian: dict[str, dict[str, TensorReply]] = field(
        "By two inputs; of the shape of the first, then of the second.",
        {"x": {"x": _tensor("x", [3, 3], _SQUARE)}},
    )


class RegionReply(Part):
    """A part of a program that runs as one."""

    ops: list[str] = field(
        "Its ops. One that several regions have a share in stands in each.", ["pow"]
    )
    how: Literal["region", "compiled", "call", "view", "loop"] = field(
        "Several ops block by block; as one compiled function; an op by itself; another view of "
        "what is there, which takes nothing; or a loop.",
        "call",
    )
    shape: list[int] | None = field(
        "The elements that several ops go over together; null for an op by itself.", None
    )
    threads: int = field("Threads that share it.", 1)
    reads: list[str | tuple[int, int]] = field(
        "Inputs by name; of other regions their place in the list, and that of the output there.",
        ["x", [0, 0]],
    )
    outputs: list[OutputSpec] = field(
        "What it gives to others.", [{"dtype": "float32", "shape": [3]}]
    )
    gives: dict[str, int] = field("What of the reply is among these, and its place.", {})
    flops: int = field("Its floating-point operations, all steps of a loop together.", 3)
    bytes_moved: int = field("Bytes that it reads and writes.", 24)
    times: int | None = optional(
        "Of a loop: how many steps it has; of a while_loop its bound, 1 without.", None
    )
    inside: list[list[RegionReply]] | None = optional(
        "Of a loop: the regions of a step; of a while_loop the condition's before them. They read "
        "`carry.0`, `xs.0` and `args.0`, and give `carry.0` and `ys.0`. Null where there are "
        "thousands.",
        None,
    )


class PlannedReply(Part):
    """What was of the program: in transforms, in calls with `planned`, as a loop's body."""

    made: int = field("Plans that there are of it.", 2)
    runs: int = field(
        "How often it was run there, steps of loops and ways back each for itself.", 20000
    )
    seconds: float = field("Seconds that making plans took.", 0.004)


class PlanReply(Part):
    """What a program will take, by shapes alone."""

    outputs: dict[str, OutputSpec] = field(
        "Dtype and shape of each output.", {"z": {"dtype": "float32", "shape": []}}
    )
    grads: dict[str, OutputSpec | None] | None = optional(
        "The same of each gradient, where `transform` asks for it.",
        {"x": {"dtype": "float32", "shape": [3]}},
    )
    jacobian: dict[str, dict[str, OutputSpec | None]] | None = optional(
        "The same of a jacobian, by output and input.", None
    )
    hessian: dict[str, dict[str, OutputSpec | None]] | None = optional(
        "The same of a hessian, by two inputs.", None
    )
    flops: int = field(
        "Floating-point operations: two for a multiplication with its addition, one for an "
        "elementwise function, none for what moves elements.",
        6,
    )
    bytes_moved: int = field("Bytes read and written.", 40)
    peak_bytes: int = field("Bytes held at most at one time, inputs among them.", 28)
    regions: list[RegionReply] = field("Its parts, in order.", [_REGION])
    planned: PlannedReply = field(
        "What it was planned for before.", {"made": 0, "runs": 0, "seconds": 0.0}
    )


_WORST: dict[str, Any] = {
    "input": "x", "output": "z", "index": {"output": [], "input": [2]},
    "numerical": 6.000000000838668, "analytical": 6.0,
}  # fmt: skip


class PlaceReply(Part):
    """Which element, by an index for each axis."""

    output: list[int] = field("Of the output.", [])
    input: list[int] = field("Of the input.", [2])


class WorstReply(Part):
    """The entry of a jacobian that is furthest from its difference."""

    input: str = field("The input; of second derivatives also `the cotangent of` an output.", "x")
    output: str = field("The output; of second derivatives `the gradient of` an input.", "z")
    index: PlaceReply = field("Which elements.", _WORST["index"])
    numerical: Any = field("By differences; a complex number is [re, im].", 6.000000000838668)
    analytical: Any = field("By the rules.", 6.0)


class GradcheckReply(Part):
    """Whether derivatives agree with central differences."""

    ok: bool = field("Whether all entries are within tolerance.", True)
    worst: WorstReply | None = field(
        "The entry closest to failing, or failing most; null where there is none.", _WORST
    )
    reason: str | None = field(
        "What is wrong beside entries: a program that gives something else each time.", None
    )
    warnings: list[str] = field("Inputs whose dtype is too coarse for differences.", [])
