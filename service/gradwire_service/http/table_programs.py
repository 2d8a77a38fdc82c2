"""The routes of programs, and of transforms of them."""

from __future__ import annotations

from typing import Any

from gradwire_service.host.protocol.requests import Program
from gradwire_service.host.protocol.transforms import TRANSFORMS
from gradwire_service.http.drawing import PICTURES
from gradwire_service.http.openapi import FORMAT, Doc
from gradwire_service.http.paging import PAGE
from gradwire_service.http.route import Route
from gradwire_service.http.routes import applied, programs
from gradwire_service.http.running import STORED, run

PROGRAM = "/v1/programs/{id}"
EXAMPLE = {"inputs": ["x"], "source": "y = x ** 2\nz = y.sum()", "outputs": ["z"]}
_REPLIES = {
    "evaluate": "EvaluateReply",
    "value_and_grad": "ValueAndGradReply",
    "vjp": "VjpReply",
    "jvp": "JvpReply",
    "hvp": "HvpReply",
    "vhp": "VhpReply",
    "jacobian": "JacobianReply",
    "hessian": "HessianReply",
    "plan": "PlanReply",
    "gradcheck": "GradcheckReply",
    "gradgradcheck": "GradcheckReply",
}
_BESIDE: dict[str, dict[str, Any]] = {
    "jvp": {"tangents": {"x": [1, 0, 0]}},
    "hvp": {"vector": {"x": [1, 0, 0]}},
    "vhp": {"vector": {"x": [1, 0, 0]}},
    "plan": {"inputs": {"x": {"dtype": "float32", "shape": [3]}}},
}
"""What examples have beside inputs, or in their place."""


def program_routes() -> list[Route]:
    """Programs as resources."""
    tag, missing = "programs", ("program_not_found", *STORED)
    made = ("memory_limit", "tensor_not_found", "op_not_found", "invalid_argument",
            "invalid_source", *missing)  # fmt: skip
    page = Doc(tag, "ProgramsReply", query=PAGE)
    return [
        Route(
            "/v1/programs", "POST", programs.create_program,
            Doc(
                tag, "ProgramReply", 201, Program, EXAMPLE, errors=made, binary=True, again=True
            ),
        ),
        Route("/v1/programs", "GET", programs.list_programs, page),
        Route(PROGRAM, "GET", programs.read_program, Doc(tag, "ProgramReply", errors=missing)),
        Route(PROGRAM, "DELETE", programs.delete_program, Doc(tag, None, 204, errors=missing)),
    ]  # fmt: skip


def transform_routes() -> list[Route]:
    """Every transform, of a program in the body and of a stored one."""
    return [route for name in TRANSFORMS for route in (_inline(name), _stored(name))]


def _inline(name: str) -> Route:
    body = {"program": EXAMPLE, "inputs": {"x": [1, 2, 3]}, **_BESIDE.get(name, {})}
    doc = _doc(name, TRANSFORMS[name].inline, body)
    return Route(f"/v1/{name}", "POST", applied.inline(name), doc)


def _stored(name: str) -> Route:
    body = {"inputs": {"x": [1, 2, 3]}, **_BESIDE.get(name, {})}
    doc = _doc(name, TRANSFORMS[name].stored, body)
    return Route(f"{PROGRAM}/{name}", "POST", applied.stored(name), doc)


def _doc(name: str, kind: Any, body: dict[str, Any]) -> Doc:
    """What OpenAPI says of a transform; a plan may be drawn."""
    doc = run(_REPLIES[name], kind, body, "transforms")
    if name != "plan":
        return doc
    errors = (*doc.errors, "limit_exceeded", "untraceable")
    return doc._replace(query=(*doc.query, FORMAT), also=PICTURES, errors=errors)
