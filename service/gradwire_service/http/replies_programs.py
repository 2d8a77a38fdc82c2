"""What replies of programs and their transforms look like, for OpenAPI."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from gradwire_service.http.replies import EvaluateReply, OutputSpec, Part, TensorReply

_ID = "p_55c0d0efb33845e019a5f47984548ab5"
_INPUT: dict[str, Any] = {"name": "x", "dtype": None, "shape": [None, 3]}


def _tensor(name: str, shape: list[int], data: Any) -> dict[str, Any]:
    return {
        "name": name, "dtype": "float32", "shape": shape, "device": "cpu", "requires_grad": False,
        "is_leaf": True, "grad_fn": None, "version": 0, "data": data,
    }  # fmt: skip


_X = {"x": _tensor("x", [3], [2.0, 0.0, 0.0])}
_SQUARE = [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]


class ProgramInputReply(Part):
    """An input of a program."""

    name: str = Field(description="Its name.", examples=["x"])
    dtype: str | None = Field(description="The dtype it must have.", examples=["float32"])
    shape: list[int | None] | None = Field(
        description="The shape it must have; null leaves an axis open.", examples=[[None, 3]]
    )


class ProgramItem(Part):
    """A program, in short."""

    id: str = Field(description="The hash of its normal form.", examples=[_ID])
    inputs: list[ProgramInputReply] = Field(description="What it takes.", examples=[[_INPUT]])
    outputs: list[str] = Field(description="What it gives.", examples=[["z"]])
    steps: int = Field(description="How many steps it has.", examples=[2])
    size: int = Field(
        description="Steps of one run, with those of the programs it calls.", examples=[2]
    )
    bytes: int = Field(description="Bytes of its normal form.", examples=[123])
    created: str = Field(
        description="When it was first posted, in UTC.", examples=["2026-01-05T10:00:00.000Z"]
    )


class ProgramReply(ProgramItem):
    """A program, as it was first posted."""

    calls: list[str] = Field(description="The programs that it calls.", examples=[[_ID]])
    ops: list[dict[str, Any]] | None = Field(
        description="Its steps, where it was posted as ops.",
        examples=[[{"op": "sum", "args": ["x"], "out": "z"}]],
    )
    source: str | None = Field(
        description="Its text, where it was posted as source.",
        examples=["y = x ** 2\nz = y.sum()"],
    )


class ProgramsReply(Part):
    """A page of programs, oldest first."""

    items: list[ProgramItem] = Field(
        description="The programs.",
        examples=[
            [
                {
                    "id": _ID, "inputs": [_INPUT], "outputs": ["z"], "steps": 2, "size": 2,
                    "bytes": 123, "created": "2026-01-05T10:00:00.000Z",
                }
            ]
        ],
    )  # fmt: skip
    next: str | None = Field(
        description="The cursor of the next page; null at the end.", examples=["42", None]
    )


class VjpReply(EvaluateReply):
    """The outputs of a program, and cotangents times its jacobian."""

    vjp: dict[str, TensorReply] = Field(description="By input.", examples=[_X])


class JvpReply(EvaluateReply):
    """The outputs of a program, and its jacobian times tangents."""

    jvp: dict[str, TensorReply] = Field(
        description="By output.", examples=[{"z": _tensor("z", [], 2.0)}]
    )


class HvpReply(EvaluateReply):
    """The output of a program, and its hessian times a vector."""

    hvp: dict[str, TensorReply] = Field(description="By input.", examples=[_X])


class VhpReply(EvaluateReply):
    """The output of a program, and a vector times its hessian."""

    vhp: dict[str, TensorReply] = Field(description="By input.", examples=[_X])


class JacobianReply(EvaluateReply):
    """The outputs of a program, and their jacobians."""

    jacobian: dict[str, dict[str, TensorReply]] = Field(
        description="By output and input; of the shape of the output, then of the input.",
        examples=[{"z": {"x": _tensor("x", [3], [2.0, 4.0, 6.0])}}],
    )


class HessianReply(EvaluateReply):
    """The output of a program, and its hessian."""

    hessian: dict[str, dict[str, TensorReply]] = Field(
        description="By two inputs; of the shape of the first, then of the second.",
        examples=[{"x": {"x": _tensor("x", [3, 3], _SQUARE)}}],
    )


class RegionReply(Part):
    """A part of a program that runs as one."""

    ops: list[str] = Field(
        description="Its ops. One that several regions have a share in stands in each.",
        examples=[["pow"]],
    )
    how: Literal["region", "compiled", "call", "view", "loop"] = Field(
        description="Several ops block by block; as one compiled function; an op by itself; "
        "another view of what is there, which takes nothing; or a loop.",
        examples=["call"],
    )
    shape: list[int] | None = Field(
        description="The elements that several ops go over together; null for an op by itself.",
        examples=[None],
    )
    threads: int = Field(description="Threads that share it.", examples=[1])
    reads: list[str | tuple[int, int]] = Field(
        description="Inputs by name; of other regions their place in the list, and that of the "
        "output there.",
        examples=[["x", [0, 0]]],
    )
    outputs: list[OutputSpec] = Field(
        description="What it gives to others.", examples=[[{"dtype": "float32", "shape": [3]}]]
    )
    gives: dict[str, int] = Field(
        description="What of the reply is among these, and its place.", examples=[{}]
    )
    flops: int = Field(
        description="Its floating-point operations, all steps of a loop together.", examples=[3]
    )
    bytes_moved: int = Field(description="Bytes that it reads and writes.", examples=[24])
    times: int | None = Field(
        None,
        description="Of a loop: how many steps it has; of a while_loop its bound, 1 without.",
        examples=[None],
    )
    inside: list[list[RegionReply]] | None = Field(
        None,
        description="Of a loop: the regions of a step; of a while_loop the condition's before "
        "them. They read `carry.0`, `xs.0` and `args.0`, and give `carry.0` and `ys.0`. Null where "
        "there are thousands.",
        examples=[None],
    )


class PlannedReply(Part):
    """What was of the program: in transforms, in calls with `planned`, as a loop's body."""

    made: int = Field(description="Plans that there are of it.", examples=[2])
    runs: int = Field(
        description="How often it was run there, steps of loops and ways back each for itself.",
        examples=[20000],
    )
    seconds: float = Field(description="Seconds that making plans took.", examples=[0.004])


class PlanReply(Part):
    """What a program will take, by shapes alone."""

    outputs: dict[str, OutputSpec] = Field(
        description="Dtype and shape of each output.",
        examples=[{"z": {"dtype": "float32", "shape": []}}],
    )
    grads: dict[str, OutputSpec | None] | None = Field(
        None,
        description="The same of each gradient, where `transform` asks for it.",
        examples=[{"x": {"dtype": "float32", "shape": [3]}}],
    )
    jacobian: dict[str, dict[str, OutputSpec | None]] | None = Field(
        None, description="The same of a jacobian, by output and input.", examples=[None]
    )
    hessian: dict[str, dict[str, OutputSpec | None]] | None = Field(
        None, description="The same of a hessian, by two inputs.", examples=[None]
    )
    flops: int = Field(
        description="Floating-point operations: two for a multiplication with its addition, one "
        "for an elementwise function, none for what moves elements.",
        examples=[6],
    )
    bytes_moved: int = Field(description="Bytes read and written.", examples=[40])
    peak_bytes: int = Field(
        description="Bytes held at most at one time, inputs among them.", examples=[28]
    )
    regions: list[RegionReply] = Field(
        description="Its parts, in order.",
        examples=[
            [
                {
                    "ops": ["pow"], "how": "call", "shape": None, "threads": 1, "reads": ["x"],
                    "outputs": [{"dtype": "float32", "shape": [3]}], "gives": {}, "flops": 3,
                    "bytes_moved": 24,
                }
            ]
        ],
    )  # fmt: skip
    planned: PlannedReply = Field(
        description="What it was planned for before.",
        examples=[{"made": 0, "runs": 0, "seconds": 0.0}],
    )


_WORST: dict[str, Any] = {
    "input": "x", "output": "z", "index": {"output": [], "input": [2]},
    "numerical": 6.000000000838668, "analytical": 6.0,
}  # fmt: skip


class PlaceReply(Part):
    """Which element, by an index for each axis."""

    output: list[int] = Field(description="Of the output.", examples=[[]])
    input: list[int] = Field(description="Of the input.", examples=[[2]])


class WorstReply(Part):
    """The entry of a jacobian that is furthest from its difference."""

    input: str = Field(
        description="The input; of second derivatives also `the cotangent of` an output.",
        examples=["x"],
    )
    output: str = Field(
        description="The output; of second derivatives `the gradient of` an input.",
        examples=["z"],
    )
    index: PlaceReply = Field(description="Which elements.", examples=[_WORST["index"]])
    numerical: Any = Field(
        description="By differences; a complex number is [re, im].", examples=[6.000000000838668]
    )
    analytical: Any = Field(description="By the rules.", examples=[6.0])


class GradcheckReply(Part):
    """Whether derivatives agree with central differences."""

    ok: bool = Field(description="Whether all entries are within tolerance.", examples=[True])
    worst: WorstReply | None = Field(
        description="The entry closest to failing, or failing most; null where there is none.",
        examples=[_WORST],
    )
    reason: str | None = Field(
        description="What is wrong beside entries: a program that gives something else each time.",
        examples=[None],
    )
    warnings: list[str] = Field(
        description="Inputs whose dtype is too coarse for differences.", examples=[[]]
    )
