"""The contract as OpenAPI: whole, described, and true."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from tests.engine.samples import samples_of
from tests.service.conftest import Client, Running

from gradwire_engine.catalogue import CATALOGUE
from gradwire_engine.errors import CODES
from gradwire_service.host.catalogue import as_json
from gradwire_service.http.app import create_app
from gradwire_service.http.openapi import document

DOCUMENT: dict[str, Any] = document(create_app().api)
OP_STEP: dict[str, Any] = DOCUMENT["components"]["schemas"]["OpStep"]
OPERATIONS = [
    (f"{method.upper()} {path}", operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def fields() -> Iterator[tuple[str, dict[str, Any]]]:
    for model, schema in DOCUMENT["components"]["schemas"].items():
        for name, field in schema.get("properties", {}).items():
            yield f"{model}.{name}", field


def schema(name: str) -> Draft202012Validator:
    """A validator of one schema of the document."""
    return Draft202012Validator(
        {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    )


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_every_operation_is_described_with_examples(name: str, operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"]
    assert operation["tags"]
    for parameter in operation["parameters"]:
        assert parameter["description"]
        assert "example" in parameter
    assert {operation["parameters"][i]["name"] for i in range(name.count("{"))} == {
        part[1:-1] for part in name.split("/") if part.startswith("{")
    }
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        model = content["schema"]["$ref"].rpartition("/")[2]
        schema(model).validate(content["example"])
    for status, response in operation["responses"].items():
        assert response["description"]
        for kind, content in response.get("content", {}).items():
            if kind.endswith("json") and "$ref" in content["schema"]:
                model = content["schema"]["$ref"].rpartition("/")[2]
                schema(model).validate(content["example"])
        if status >= "400":
            assert all(CODES[c].status == int(status) for c in response["description"].split(", "))


@pytest.mark.parametrize(("name", "operation"), OPERATIONS, ids=[name for name, _ in OPERATIONS])
def test_what_holds_for_many_operations(name: str, operation: dict[str, Any]) -> None:
    """Keys, retries, and refusals of those who ask too much."""
    method, path = name.split()
    work, changes = path.startswith("/v1/"), path.startswith("/v1/") and method != "GET"
    headers = {p["name"] for p in operation["parameters"] if p["in"] == "header"}
    assert ("Idempotency-Key" in headers) == changes
    responses = operation["responses"]
    codes = {code: r for s in responses if s >= "400" for r in [responses[s]]
             for code in r["description"].split(", ")}  # fmt: skip
    assert ("idempotency_conflict" in codes) == changes
    assert {"rate_limited", "unauthorized", "shutting_down"} <= codes.keys() or not work
    assert "overloaded" in codes
    for code in ("rate_limited", "overloaded", "shutting_down", "storage_unavailable"):
        assert code not in codes or "Retry-After" in codes[code]["headers"]
    wants_key = work or path == "/metrics"
    assert operation["security"] == ([{"key": []}, {}] if wants_key else [])
    assert DOCUMENT["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_what_wants_a_key_is_said(serve: Callable[..., Running]) -> None:
    http = serve(keys=["a-key-of-the-tests"]).client
    for name, operation in OPERATIONS:
        method, path = name.split()
        path = path.replace("{id}", "none").replace("{name}", "sin").replace("{code}", "internal")
        refused = http.request(method, path).status_code == 401
        assert refused == bool(operation["security"]), name


@pytest.mark.parametrize("where", [name for name, _ in fields()])
def test_every_field_is_described_with_an_example(where: str) -> None:
    field = dict(fields())[where]
    if where.partition(".")[0] == "Limits":
        assert field["description"]
        assert "default" in field
        return
    assert field.get("description"), where
    assert field.get("examples"), where


def as_sent(value: Any) -> Any:
    """A sample's argument as a step has it; arrays by a name."""
    if isinstance(value, np.ndarray):
        return "x"
    if isinstance(value, list | tuple):
        return [as_sent(v) for v in value]
    return as_json(value.item() if isinstance(value, np.generic) else value)


@cache
def schema_of(name: str) -> Draft202012Validator:
    """A validator of one op's schema, with the schemas that it refers to."""
    found = {n: s for n, s in DOCUMENT["components"]["schemas"].items() if n.startswith("kind.")}
    one = DOCUMENT["components"]["schemas"][f"op.{name}"]
    return Draft202012Validator(one | {"components": {"schemas": found}})


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_an_op_has_a_schema_of_its_own(name: str) -> None:
    """It takes all samples of the op, and no argument that the op has not."""
    step_schema = schema_of(name)
    assert {"$ref": f"#/components/schemas/op.{name}"} in OP_STEP["x-ops"]
    calls = samples_of(name)
    assert calls
    for args, kwargs in calls:
        step = {
            "op": name,
            "args": as_sent(args),
            "kwargs": {k: as_sent(v) for k, v in kwargs.items()},
        }
        step_schema.validate(step)
        step["kwargs"]["no_such_argument"] = 1
        assert not step_schema.is_valid(step)
    assert not step_schema.is_valid({"op": "no_such_op"})


def test_a_schema_knows_kinds_of_arguments() -> None:
    for wrong in ({"dim": "x"}, {"dim": 1, "half_to_float": 1}, {"dim": [0]}):
        assert not schema_of("softmax").is_valid({"op": "softmax", "args": ["x"], "kwargs": wrong})
    assert schema_of("permute").is_valid({"op": "permute", "args": ["x", 1, 0]})
    assert not schema_of("permute").is_valid({"op": "permute", "args": ["x", 1, "y"]})


def test_the_document_is_served(server: Running) -> None:
    reply = server.client.get("/openapi.json")
    assert reply.json() == json.loads(json.dumps(DOCUMENT))
    page = server.client.get("/docs").text
    assert 'href="/openapi.json"' in page
    assert "//" not in page.replace("http://", "").split("<body>")[0]  # nothing comes from afar
    assert "<script" not in page
    for path in server.client.get("/openapi.json").json()["paths"]:
        assert html.escape(path) in page


def test_every_example_of_a_request_is_one(server: Running) -> None:
    session, program = server.session(), stored_program(server)
    for name, operation in OPERATIONS:
        if "requestBody" not in operation:
            continue
        method, path = name.split()
        body = operation["requestBody"]["content"]["application/json"]["example"]
        path = path.replace("/programs/{id}", f"/programs/{program}")
        path = path.replace("{id}", session.id).replace("{name}", "q")
        reply = server.client.request(method, path, json=body)
        assert reply.status_code < 300, (name, reply.text)
        model = reply_model(operation, reply.status_code)
        if model is not None:
            schema(model).validate(reply.json())
            content = operation["responses"][str(reply.status_code)]["content"]
            shown = content["application/json"]["example"]
            if "values" in shown:
                assert shown["values"].keys() == reply.json()["values"].keys(), name


def stored_program(server: Running) -> str:
    """The id of the program that the examples use."""
    example = dict(OPERATIONS)["POST /v1/programs"]["requestBody"]["content"]["application/json"]
    return str(server.client.post("/v1/programs", json=example["example"]).json()["id"])


def reply_model(operation: dict[str, Any], status: int) -> str | None:
    content = operation["responses"][str(status)].get("content", {})
    found = content.get("application/json", {}).get("schema", {}).get("$ref")
    return None if found is None else str(found).rpartition("/")[2]


@pytest.mark.parametrize("name", [n for n, _ in OPERATIONS if n.startswith("GET")])
def test_replies_are_as_documented(server: Running, name: str) -> None:
    session = server.session()
    session.steps(
        {"tensor": "x", "value": [1.0, 2.0], "requires_grad": True},
        {"op": "mul", "args": ["x", "x"], "out": "y"},
        {"op": "sum", "args": ["y"], "kwargs": {"dim": 0}, "out": "z"},
        {"backward": {"tensors": ["z"]}},
    )
    path = name.split()[1].replace("/programs/{id}", f"/programs/{stored_program(server)}")
    path = path.replace("{id}", session.id).replace("{code}", "internal")
    path = path.replace("/ops/{name}", "/ops/sin").replace("{name}", "x")
    reply = server.client.get(path)
    assert reply.status_code == 200
    operation = dict(OPERATIONS)[name]
    model = reply_model(operation, 200)
    if model is not None:
        schema(model).validate(reply.json())
    kinds = [kind.partition(";")[0] for kind in operation["responses"]["200"]["content"]]
    assert reply.headers["content-type"].partition(";")[0] in kinds


def test_a_server_with_keys_says_that_they_are_needed(serve: Callable[..., Running]) -> None:
    key = "a-key-of-the-tests-own"
    document = serve(keys=[key]).client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            named = dict(OPERATIONS)[f"{method.upper()} {path}"]
            assert operation["security"] == named["security"][:1]


def test_links_lead_from_what_was_made_to_all_that_takes_it(server: Running) -> None:
    by_id = {operation["operationId"]: operation for _, operation in OPERATIONS}
    linked = set()
    for name, operation in OPERATIONS:
        for response in operation["responses"].values():
            for link in response.get("links", {}).values():
                target = by_id[link["operationId"]]
                names = {p["name"] for p in target["parameters"] if p["in"] == "path"}
                assert names == link["parameters"].keys(), name
                linked.add(link["operationId"])
    below = {o["operationId"] for n, o in OPERATIONS if "/sessions/{id}" in n or "/programs/{" in n}
    assert below == linked


def test_a_body_is_ops_or_source() -> None:
    ops, source = [{"op": "sin", "args": ["x"], "out": "y"}], "y = sin(x)"
    assert schema("OpsRequest").is_valid({"ops": ops})
    assert schema("OpsRequest").is_valid({"source": source, "ops": None})
    for wrong in ({}, {"ops": ops, "source": source}, {"ops": None}):
        assert not schema("OpsRequest").is_valid(wrong)


def test_a_literal_is_as_the_schema_says(session: Client) -> None:
    for value in ({"data": 1}, {"data": False, "shape": None, "dtype": None}, {"data": "NaN"}):
        assert schema("TensorBody").is_valid({"value": value})
        assert session.http.put(f"{session.path}/tensors/x", json={"value": value}).is_success
    for value in ({"data": [1], "size": 1}, {"binary": "w", "data": [1]}, {"data": None}):
        assert not schema("TensorBody").is_valid({"value": value})
        reply = session.http.put(f"{session.path}/tensors/x", json={"value": value})
        assert reply.status_code == 422
