"""The models of the wire contract: what they take, and the sentence for everything else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gradwire_engine.errors import GradwireError
from gradwire_service.host.protocol import from_source, limit_steps, read
from gradwire_service.host.protocol import steps as kinds
from gradwire_service.host.protocol.requests import (
    BackwardRequest,
    GradRequest,
    OpsRequest,
    ProgramInput,
    SessionCreate,
    SessionPatch,
    StepsRequest,
    TensorBody,
)
from gradwire_service.host.protocol.steps import BindStep, GradStep, OpStep
from gradwire_service.host.protocol.transforms import (
    EvaluateRequest,
    JvpRequest,
    ValueAndGradRequest,
)
from gradwire_service.host.source import parse

BODIES: list[type[BaseModel]] = [
    StepsRequest, OpsRequest, GradRequest, BackwardRequest, SessionCreate, SessionPatch,
    TensorBody, EvaluateRequest, ValueAndGradRequest,
]  # fmt: skip

STEPS: list[dict[str, Any]] = [
    {"tensor": "x", "value": [1, 2, 3], "dtype": "float64", "requires_grad": True},
    {"requires_grad": True, "value": {"complex": [1, 2]}, "tensor": "a.b"},
    {"op": "pow", "args": ["x", 2], "out": "y", "grad_mode": "no_grad"},
    {"op": "max", "args": ["x"], "kwargs": {"dim": 0}, "out": ["v", None]},
    {"op": "add_", "args": ["x", 1]},
    {"grad": {"outputs": ["y"], "inputs": ["x"], "grad_outputs": [[1.0], None, "v"],
              "retain_graph": True, "create_graph": True, "allow_unused": None,
              "materialize_grads": False, "is_grads_batched": False}, "out": ["g", None]},
    {"backward": {"tensors": ["y"], "grad_tensors": None, "inputs": ["x"]}},
    {"zero_grad": "all", "set_to_none": False},
    {"zero_grad": ["x", "a.b"]},
    {"set_grad": "x", "value": None},
    {"set_grad": "x", "value": "g"},
    {"requires_grad": "x", "value": False},
    {"retain_grad": "y"},
    {"detach": "x.grad", "out": "d"},
    {"seed": 2**64 - 1},
    {"free": ["y"]},
    {"hook": "h", "program": "p_1", "kind": "node", "observes": True, "out": "g", "id": "a"},
    {"unhook": "a"},
    {"edge": "h", "out": "e"},
    {"call": "p_1", "args": ["x"], "checkpoint": True, "out": "y"},
    {"call": "p_1", "args": ["x"], "backward": "p_2", "save": ["x"], "null": ["n"], "name": "F",
     "non_differentiable": ["i"], "dirty": ["x"], "materialize_grads": False,
     "once_differentiable": True, "out": ["y", "i"]},
]  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda step: next(iter(step)))
def test_every_step_of_the_contract_is_read(step: dict[str, Any]) -> None:
    read_step = read(StepsRequest, {"steps": [step]}).steps[0]
    assert read_step.word in step
    assert read_step.model_dump(exclude_unset=True) == step


def test_fields_left_out_have_the_documented_defaults() -> None:
    request = read(StepsRequest, {"steps": [{"op": "sin"}, {"backward": {"tensors": ["y"]}}]})
    assert (request.atomic, request.anomaly, request.returns, request.grad_mode) == (
        True, None, [], None)  # fmt: skip
    op = request.steps[0]
    assert isinstance(op, OpStep)
    assert (op.args, op.kwargs, op.out) == ([], {}, None)
    session = read(SessionCreate, {})
    assert (session.device, session.dtype, session.seed) == ("cpu", "float32", None)
    assert read(SessionPatch, {"label": None}).model_fields_set == {"label"}


def test_programs_take_ops_or_source_and_inputs_with_or_without_a_shape() -> None:
    inputs = ["w", {"name": "x", "dtype": "float32", "shape": [None, 3]}]
    grad = {"grad": {"outputs": ["y"], "inputs": ["x"]}, "out": ["g"]}
    program = {"inputs": inputs, "ops": [{"op": "sin", "out": "y"}, grad], "outputs": ["y"]}
    known = read(EvaluateRequest, {"program": program, "inputs": {"w": 1}}).program
    assert known.inputs == ["w", ProgramInput(name="x", dtype="float32", shape=[None, 3])]
    assert known.ops is not None
    assert isinstance(known.ops[1], GradStep)
    assert read(OpsRequest, {"source": "x += 1"}).ops is None


def steps(*items: object) -> dict[str, object]:
    return {"steps": list(items)}


def ops(*items: object) -> dict[str, object]:
    return {"program": {"inputs": ["x"], "ops": list(items), "outputs": ["z"]}, "inputs": {}}


GRAD = {"outputs": ["y"], "inputs": ["x"]}

BAD: list[tuple[type[BaseModel], object, int | None, str]] = [
    (StepsRequest, [], None, "the body must be an object; got []"),
    (StepsRequest, None, None, "the body must be an object; got null"),
    (StepsRequest, "steps", None, 'the body must be an object; got "steps"'),
    (StepsRequest, {}, None, "steps is missing"),
    (StepsRequest, {"steps": None}, None, "steps must be a list; got null"),
    (StepsRequest, {"steps": {"op": "sin"}}, None, "steps must be a list; got an object"),
    (StepsRequest, steps() | {"step": []}, None, "step is not a field here"),
    (StepsRequest, steps() | {"returns": []}, None, "did you mean return?"),
    (StepsRequest, steps() | {"return": "z"}, None, 'return must be a list; got "z"'),
    (StepsRequest, steps() | {"return": ["z", 1]}, None, "return[1] must be a string; got 1"),
    (StepsRequest, steps() | {"return": ["x.grad.grad"]}, None, "return[0]: a name matches"),
    (StepsRequest, steps() | {"return": ["%0"]}, None, "return[0]: a name matches"),
    (StepsRequest, steps() | {"atomic": 1}, None, "atomic must be true or false; got 1"),
    (StepsRequest, steps() | {"atomic": "true"}, None, "atomic must be true or false"),
    (StepsRequest, steps() | {"atomic": None}, None, "atomic must be true or false; got null"),
    (StepsRequest, steps() | {"anomaly": 1}, None, "anomaly"),
    (StepsRequest, steps() | {"grad_mode": "off"}, None, 'must be "enable_grad", "no_grad" or'),
    (StepsRequest, steps({"op": "sin"}, 3), 1, "steps[1] must be an object; got 3"),
    (StepsRequest, steps([]), 0, "steps[0] must be an object; got []"),
    (StepsRequest, steps({}), 0, "steps[0]: no field of it makes a step"),
    (StepsRequest, steps({"out": "y"}), 0, "steps[0]: no field of it makes a step; got [\"out\"]"),
    (StepsRequest, steps({"tensr": "x"}), 0, "did you mean tensor?"),
    (StepsRequest, steps({"bind": "x", "out": "y"}), 0, "no field of it makes a step"),
    (StepsRequest, steps({"call": "p", "save": ["x"]}), 0, "save goes with backward only"),
    (StepsRequest, steps({"call": "p", "preserve_rng_state": False}), 0,
     "preserve_rng_state goes with checkpoint only"),
    (StepsRequest, steps({"call": "p", "backward": "q", "checkpoint": True}), 0,
     "checkpoint doesn't go with backward"),
    (StepsRequest, steps({"hook": "x"}), 0, "a hook needs a program, or a name in out"),
    (StepsRequest, steps({"call": 3}), 0, "steps[0].call must be a string"),
    (StepsRequest, steps({"call": "p", "arg": []}), 0, "did you mean args?"),
    (StepsRequest, steps({"transform": "jvq", "call": "p"}), 0, "steps[0].transform must be"),
    (StepsRequest, steps({"transform": "jvp"}), 0, "steps[0].call is missing"),
    (StepsRequest, steps({"op": 3}), 0, "steps[0].op must be a string; got 3"),
    (StepsRequest, steps({"op": ""}), 0, "steps[0].op must not be empty"),
    (StepsRequest, steps({"op": "a" * 200}), 0, "at most 128 characters"),
    (StepsRequest, steps({"op": "sin", "arg": []}), 0, "did you mean args?"),
    (StepsRequest, steps({"op": "sin", "args": "x"}), 0, 'args must be a list; got "x"'),
    (StepsRequest, steps({"op": "sin", "kwargs": []}), 0, "kwargs must be an object; got []"),
    (StepsRequest, steps({"op": "sin", "out": 1}), 0, "out is a name, or a list of names"),
    (StepsRequest, steps({"op": "sin", "out": ["y", 1]}), 0, "out is a name, or a list"),
    (StepsRequest, steps({"op": "sin", "out": "x.grad"}), 0, "doesn't end in .grad"),
    (StepsRequest, steps({"op": "sin", "out": "a b"}), 0, "steps[0].out: a name matches"),
    (StepsRequest, steps({"op": "sin", "out": "y\n"}), 0, "steps[0].out: a name matches"),
    (StepsRequest, steps({"op": "sin", "out": "é"}), 0, "steps[0].out: a name matches"),
    (StepsRequest, steps({"op": "sin", "out": "NaN"}), 0, "isn't NaN or Infinity"),
    (StepsRequest, steps({"op": "sin", "backward": {}}), 0, "backward is not a field here"),
    (StepsRequest, steps({"tensor": "x"}), 0, "steps[0].value is missing"),
    (StepsRequest, steps({"tensor": "", "value": 1}), 0, "steps[0].tensor: a name matches"),
    (StepsRequest, steps({"tensor": "a" * 129, "value": 1}), 0, "steps[0].tensor: a name matches"),
    (StepsRequest, steps({"tensor": None, "value": 1}), 0, "steps[0].tensor must be a string"),
    (StepsRequest, steps({"tensor": "x", "value": 1, "dtype": "f4"}), 0, "a dtype is one of bool"),
    (StepsRequest, steps({"tensor": "x", "value": 1, "requires_grad": 1}), 0, "true or false"),
    (StepsRequest, steps({"grad": None}), 0, "steps[0].grad must be an object; got null"),
    (StepsRequest, steps({"grad": {"inputs": []}}), 0, "steps[0].grad.outputs is missing"),
    (StepsRequest, steps({"grad": GRAD | {"outputs": "y"}}), 0, "grad.outputs must be a list"),
    (StepsRequest, steps({"grad": GRAD | {"inputs": [None]}}), 0, "inputs[0] must be a string"),
    (StepsRequest, steps({"grad": GRAD | {"retain_graph": 0}}), 0, "retain_graph must be true or"),
    (StepsRequest, steps({"grad": GRAD | {"is_grads_batched": 1}}), 0, "must be true or false"),
    (StepsRequest, steps({"grad": GRAD | {"create": True}}), 0, "did you mean create_graph?"),
    (StepsRequest, steps({"grad": GRAD, "out": "g"}), 0, 'out must be a list; got "g"'),
    (StepsRequest, steps({"backward": ["y"]}), 0, "backward must be an object; got [\"y\"]"),
    (StepsRequest, steps({"backward": {"tensors": [3]}}), 0, "tensors[0] must be a string"),
    (StepsRequest, steps({"zero_grad": "x"}), 0, 'zero_grad is a list of names, or "all"'),
    (StepsRequest, steps({"zero_grad": [1]}), 0, 'zero_grad is a list of names, or "all"'),
    (StepsRequest, steps({"set_grad": "x"}), 0, "steps[0].value is missing"),
    (StepsRequest, steps({"requires_grad": "x", "value": 1}), 0, "value must be true or false"),
    (StepsRequest, steps({"requires_grad": "x"}), 0, "steps[0].value is missing"),
    (StepsRequest, steps({"retain_grad": "x.grad"}), 0, "doesn't end in .grad"),
    (StepsRequest, steps({"detach": "x"}), 0, "steps[0].out is missing"),
    (StepsRequest, steps({"seed": True}), 0, "seed must be a whole number; got true"),
    (StepsRequest, steps({"seed": "1"}), 0, "seed must be a whole number"),
    (StepsRequest, steps({"seed": 1.0}), 0, "seed must be a whole number; got 1.0"),
    (StepsRequest, steps({"seed": -1}), 0, "seed must be at least 0"),
    (StepsRequest, steps({"seed": 2**64}), 0, "seed must be less than 18446744073709551616"),
    (StepsRequest, steps({"seed": 10**5000}), 0, "seed must be less than"),
    (StepsRequest, steps({"free": "x"}), 0, "free must be a list"),
    (OpsRequest, {}, None, "neither ops nor source is given"),
    (OpsRequest, {"ops": [], "source": ""}, None, "give either ops or source"),
    (OpsRequest, {"source": 1}, None, "source must be a string"),
    (OpsRequest, {"ops": [{"op": "sin"}, {"seed": 1}]}, 1, "ops[1]: a seed step can't stand here"),
    (OpsRequest, {"ops": [{"op": "sin"}, {"op": 1}]}, 1, "ops[1].op must be a string"),
    (OpsRequest, {"ops": [{"hook": 1}]}, 0, "a hook step can't stand here"),
    (GradRequest, {"outputs": ["y"]}, None, "inputs is missing"),
    (GradRequest, GRAD | {"atomic": True}, None, "atomic is not a field here"),
    (BackwardRequest, {"tensors": ["y"], "out": []}, None, "out is not a field here"),
    (TensorBody, {"dtype": "float32"}, None, "value is missing"),
    (SessionCreate, {"dtype": "int64"}, None, 'dtype must be "float16"'),
    (SessionCreate, {"ttl_seconds": 0}, None, "ttl_seconds must be greater than 0"),
    (SessionCreate, {"ttl_seconds": True}, None, "ttl_seconds must be a number; got true"),
    (SessionCreate, {"ttl_seconds": float("nan")}, None, "ttl_seconds must be a finite number"),
    (SessionCreate, {"ttl_seconds": 10**400}, None, "ttl_seconds must be a number"),
    (SessionCreate, {"memory_limit_bytes": 1.5}, None, "memory_limit_bytes must be a whole number"),
    (SessionCreate, {"memory_limit_bytes": 10**400}, None, "must be less than"),
    (SessionCreate, {"label": "a" * 201}, None, "at most 200 characters"),
    (SessionCreate, {"label": "\ud800"}, None, "label"),
    (SessionCreate, {"device": 0}, None, "device must be a string; got 0"),
    (SessionCreate, {"durable": 1}, None, "durable must be true or false"),
    (SessionCreate, {"ttl": 3}, None, "did you mean ttl_seconds?"),
    (SessionCreate, {"\ud800": 3}, None, "must be text that UTF-8 can carry"),
    (SessionCreate, {"k" * 10**6: 3}, None, "is not a field here"),
    (SessionPatch, {"device": "cpu"}, None, "device is not a field here"),
    (SessionPatch, {"detect_anomaly": 1}, None, "detect_anomaly must be true or false"),
    (StepsRequest, {"backward": "loss"}, None, 'as in {"steps": [{"op": "ones"'),
    (StepsRequest, {"ops": []}, None, '"return": ["x"]}'),
    (StepsRequest, {"steps": [{"backward": "loss"}]}, 0, '{"backward": {"tensors": ["loss"]}}'),
    (StepsRequest, {"steps": [{"tensor": "x", "value": [1.0], "dtype": "float"}]}, 0,
     "this one is called float32"),
    (StepsRequest, {"steps": [{"tensor": "x", "value": [1.0], "dtype": "torch.long"}]}, 0,
     "this one is called int64"),
    (EvaluateRequest, {"inputs": {}}, None, "program is missing"),
    (EvaluateRequest, {"program": "p_1", "inputs": {}}, None, "program must be an object"),
    (EvaluateRequest, ops({"op": "sin"}, {"op": "sin", "args": 3}), 1, "ops[1].args must be"),
    (EvaluateRequest, ops({"backward": {}}), 0, "ops[0]: a backward step can't stand here"),
    (EvaluateRequest, ops({"requires_grad": "x"}), 0, "program.ops[0].value is missing"),
    (EvaluateRequest, ops({"hook": "p"}), 0, "program.ops[0]: a hook step can't stand here"),
    (JvpRequest, ops({"op": "sin", "args": 3}), 0, "program.ops[0].args must be a list"),
    (EvaluateRequest, ops() | {"inputs": []}, None, "inputs must be an object; got []"),
    (EvaluateRequest, ops() | {"wrt": []}, None, "wrt is not a field here"),
    (ValueAndGradRequest, ops() | {"wrt": "x"}, None, "wrt must be a list"),
    (ValueAndGradRequest, {"program": {"inputs": [{"shape": []}], "source": "", "outputs": []},
                           "inputs": {}}, None, "program.inputs[0].name is missing"),
    (ValueAndGradRequest, {"program": {"inputs": [{"name": "x", "shape": [-1]}], "source": "",
                                       "outputs": []}, "inputs": {}}, None, "must be at least 0"),
    (ValueAndGradRequest, {"program": {"inputs": [3], "source": "", "outputs": []}, "inputs": {}},
     None, "program.inputs[0] must be a string; got 3"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "body", "step", "sentence"), BAD, ids=[case[3] for case in BAD])
def test_what_does_not_fit_gets_one_sentence_with_its_place(
    kind: type[BaseModel], body: object, step: int | None, sentence: str
) -> None:
    with pytest.raises(GradwireError) as caught:
        read(kind, body)
    problem = caught.value
    assert (problem.code, problem.status, problem.step) == ("invalid_request", 422, step)
    assert sentence in f"{problem.detail}; hint: {problem.hint}"
    assert len(problem.detail) < 400
    (problem.detail + (problem.hint or "")).encode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [*kinds.STEPS, "steps", "ops", "out", "args", "inputs", "program", "?"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(st.sampled_from(BODIES), JSON)
def test_no_json_value_gets_past_as_anything_but_an_invalid_request(
    kind: type[BaseModel], body: object
) -> None:
    for value in (body, {"steps": [body]}, {"ops": [body]}, {"program": body, "inputs": {}}):
        try:
            read(kind, value)
        except GradwireError as refused:
            found = refused
        else:
            continue
        assert found.code == "invalid_request"
        assert len(found.detail) < 400


def test_steps_are_counted() -> None:
    limit_steps(3, 3)
    with pytest.raises(GradwireError, match="4 steps in one request") as caught:
        limit_steps(4, 3)
    assert caught.value.code == "limit_exceeded"


def test_source_becomes_models_without_being_checked_again() -> None:
    made = from_source(parse("a, b = x.max(0)\nc = a"))
    first = OpStep(op="max", args=["x", 0], out=["a", "b"])
    assert made == [first, BindStep(bind="a", out="c")]


def test_a_long_list_of_bad_steps_costs_one_error() -> None:
    with pytest.raises(GradwireError, match=r"steps\[0\]"):
        read(StepsRequest, {"steps": [{"op": 3}] * 100_000})


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, model in schema["$defs"].items():
        for field, described in model.get("properties", {}).items():
            yield f"{name}.{field}", described


def test_every_field_has_a_description_and_an_example() -> None:
    _, schema = models_json_schema([(kind, "validation") for kind in BODIES])
    bare = [
        name
        for name, field in properties(schema)
        if not field.get("description") or not field.get("examples")
    ]
    assert bare == []
    assert "BindStep" not in schema["$defs"]
    json.dumps(schema)


def test_every_example_of_a_field_is_valid() -> None:
    needed = {
        StepsRequest: {"steps": []},
        OpsRequest: {},
        GradRequest: GRAD,
        BackwardRequest: {"tensors": ["y"]},
        TensorBody: {"value": 1},
        EvaluateRequest: ops(),
        ValueAndGradRequest: ops(),
    }
    for kind in BODIES:
        for name, field in kind.model_fields.items():
            for example in field.examples or []:
                body: dict[str, Any] = {**needed.get(kind, {}), field.alias or name: example}
                if kind is OpsRequest and name not in ("ops", "source"):
                    body["source"] = ""
                read(kind, body)
