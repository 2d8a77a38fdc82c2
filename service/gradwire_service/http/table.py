"""Every route of the service: its path, its handler, and what OpenAPI says of it."""

from __future__ import annotations

from typing import Any

from gradwire_service.host.protocol.requests import (
    BackwardRequest,
    GradRequest,
    OpsRequest,
    SessionCreate,
    SessionFork,
    SessionPatch,
    StepsRequest,
    TensorBody,
)
from gradwire_service.http.drawing import PICTURES
from gradwire_service.http.openapi import DATA, FORMAT, Doc, Query
from gradwire_service.http.paging import PAGE
from gradwire_service.http.route import Route
from gradwire_service.http.routes import pages, server, sessions, steps, tensors
from gradwire_service.http.running import GONE, STORED, run
from gradwire_service.http.table_programs import program_routes, transform_routes

SESSION = "/v1/sessions/{id}"
TENSOR = f"{SESSION}/tensors/{{name}}"
_LEAF: dict[str, Any] = {"tensor": "x", "value": [1, 2, 3], "requires_grad": True}
_STEPS = {
    "steps": [
        _LEAF,
        {"op": "pow", "args": ["x", 2], "out": "y"},
        {"op": "sum", "args": ["y"], "out": "z"},
        {"backward": {"tensors": ["z"]}},
    ],
    "return": ["z", "x.grad"],
}
_LABEL = Query("label", "Only those with this label.", {"type": "string"}, "digits")
_ARRAYS = Query(
    "data", "Whether the arrays come too; `none` gives JSON.",
    {"enum": list(sessions.SNAPSHOT_DATA), "default": sessions.SNAPSHOT_DATA[0]}, "binary",
)  # fmt: skip
_ONLY = Query("tensor", "Only what leads to this tensor.", {"type": "string"}, "z")
_DTYPE = Query("dtype", "The dtype to convert an npy body to.", {"type": "string"}, "float32")
_FLAG = Query("requires_grad", "Whether an npy body requires grad.", {"type": "boolean"}, True)


def routes() -> list[Route]:
    """The routes in the order in which they are tried: those first that small gradients take."""
    return [
        *_steps(),
        *transform_routes(),
        *_sessions(),
        *program_routes(),
        *_tensors(),
        *_server(),
        *_pages(),
    ]


def _steps() -> list[Route]:
    ops = {"source": "y = x ** 2\nz = y.sum()", "return": ["z"]}
    grad = {"outputs": ["z"], "inputs": ["x"], "retain_graph": True}
    backward = {"tensors": ["z"], "return": ["x.grad"]}
    return [
        Route(f"{SESSION}/steps", "POST", steps.steps, run("ValuesReply", StepsRequest, _STEPS)),
        Route(f"{SESSION}/ops", "POST", steps.ops, run("ValuesReply", OpsRequest, ops)),
        Route(f"{SESSION}/grad", "POST", steps.grad, run("GradsReply", GradRequest, grad)),
        Route(
            f"{SESSION}/backward", "POST", steps.backward,
            run("ValuesReply", BackwardRequest, backward),
        ),
    ]  # fmt: skip


def _sessions() -> list[Route]:
    made = ("limit_exceeded", "memory_limit", "unsupported_device", "invalid_argument", *STORED)
    tag = "sessions"
    return [
        Route(
            "/v1/sessions", "POST", sessions.create_session,
            Doc(
                tag, "SessionReply", 201, SessionCreate, {"label": "digits"},
                errors=(*made, "snapshot_incompatible"), snapshot=True, bare=True,
            ),
        ),
        Route(
            "/v1/sessions", "GET", sessions.list_sessions,
            Doc(tag, "SessionsReply", query=(*PAGE, _LABEL)),
        ),
        Route(SESSION, "GET", sessions.read_session, Doc(tag, "SessionReply", errors=GONE)),
        Route(
            SESSION, "PATCH", sessions.change_session,
            Doc(tag, "SessionReply", 200, SessionPatch, {"ttl_seconds": 600}, errors=GONE),
        ),
        Route(SESSION, "DELETE", sessions.close_session, Doc(tag, None, 204, errors=GONE)),
        Route(
            f"{SESSION}/snapshot", "GET", sessions.snapshot_session,
            Doc(
                tag, ("application/x-safetensors", None), query=(_ARRAYS,),
                errors=(*GONE, "not_acceptable", "payload_too_large", "untraceable"),
            ),
        ),
        Route(
            f"{SESSION}/fork", "POST", sessions.fork_session,
            Doc(
                tag, "SessionReply", 201, SessionFork, {"label": "digits, lr 0.1"},
                errors=(*GONE, *made), bare=True,
            ),
        ),
        Route(
            f"{SESSION}/graph", "GET", sessions.session_graph,
            Doc(
                tag, "GraphReply", query=(FORMAT, _ONLY),
                errors=(*GONE, "tensor_not_found", "limit_exceeded"),
                also=PICTURES,
            ),
        ),
    ]  # fmt: skip


def _tensors() -> list[Route]:
    tag, missing = "tensors", (*GONE, "tensor_not_found", "not_acceptable")
    body = {"value": [1, 2, 3], "requires_grad": True}
    one = Doc(tag, "TensorReply", query=(DATA,), errors=missing, binary=True, lone=True)
    put = Doc(
        tag, "TensorReply", 200, TensorBody, body, (_DTYPE, _FLAG, DATA),
        (*GONE, "shape_mismatch", "dtype_mismatch", "memory_limit"), binary=True, lone=True,
    )  # fmt: skip
    return [
        Route(
            f"{SESSION}/optimizers",
            "GET",
            tensors.list_optimizers,
            Doc(tag, "OptimizersReply", query=(DATA,), errors=GONE, binary=True),
        ),
        Route(
            f"{SESSION}/tensors", "GET", tensors.list_tensors, Doc(tag, "TensorsReply", errors=GONE)
        ),
        Route(TENSOR, "GET", tensors.read_tensor, one),
        Route(TENSOR, "PUT", tensors.write_tensor, put),
        Route(TENSOR, "DELETE", tensors.free_tensor, Doc(tag, None, 204, errors=missing)),
        Route(f"{TENSOR}/grad", "GET", tensors.read_grad, one),
        Route(f"{TENSOR}/grad", "DELETE", tensors.clear_grad, Doc(tag, None, 204, errors=missing)),
    ]


def _server() -> list[Route]:
    metric = 'gradwire_requests_total{method="POST",route="/v1/sessions",status="201"} 1.0'
    plain = ("text/plain; version=0.0.4", metric)
    missing = ("op_not_found",)
    return [
        Route(
            "/",
            "GET",
            server.welcome,
            Doc("server", "WelcomeReply", errors=("not_acceptable",), also=("text/html",)),
        ),
        Route("/v1/ops", "GET", server.list_ops, Doc("catalogue", "OpsReply")),
        Route("/v1/ops/{name}", "GET", server.read_op, Doc("catalogue", "OpReply", errors=missing)),
        Route("/v1/info", "GET", server.info, Doc("server", "InfoReply")),
        Route("/health/live", "GET", server.live, Doc("server", "HealthReply")),
        Route("/health/ready", "GET", server.ready, Doc("server", "HealthReply")),
        Route("/metrics", "GET", server.metrics, Doc("server", plain)),
    ]


def _pages() -> list[Route]:
    html = ("text/html", "<h1>Graph freed</h1>")
    missing = ("not_found",)
    return [
        Route("/errors", "GET", pages.errors, Doc("pages", html)),
        Route("/errors/{code}", "GET", pages.error_page, Doc("pages", html, errors=missing)),
        Route("/openapi.json", "GET", pages.openapi, Doc("pages", ("application/json", "{…}"))),
        Route("/docs", "GET", pages.docs, Doc("pages", html)),
        Route("/favicon.ico", "GET", pages.icon, Doc("pages", ("image/svg+xml", "<svg/>"))),
    ]
