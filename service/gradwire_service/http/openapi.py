"""The contract as OpenAPI: FastAPI's document, with bodies and replies that it can't see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gradwire_engine.errors import CODES
from gradwire_service.host.limits import Limits
from gradwire_service.http import everywhere, links, op_schemas
from gradwire_service.http.codec.negotiation import JSON, NPY, SAFETENSORS
from gradwire_service.http.problem import PROBLEM_JSON, RETRY

REF = "#/components/schemas/{model}"


Models = Mapping[str, type[BaseModel]]
"""The models of replies, by name."""


class Query(NamedTuple):
    """A parameter of the query."""

    name: str
    description: str
    schema: dict[str, Any]
    example: Any


class Doc(NamedTuple):
    """What OpenAPI says of a route beside its description.

    reply: the name of a reply's model, or a media type and an example of text. errors: codes
    beside those that more routes may answer. also: media types of pictures. again: 200 says that
    the same was there already. snapshot: the body may be one. bare: there may be no body.
    """

    tag: str
    reply: str | tuple[str, str | None] | None
    status: int = 200
    body: type[BaseModel] | None = None
    example: Any = None
    query: tuple[Query, ...] = ()
    errors: tuple[str, ...] = ()
    binary: bool = False
    lone: bool = False
    also: tuple[str, ...] = ()
    again: bool = False
    snapshot: bool = False
    bare: bool = False


_PROGRAM = ("The program's id.", "p_55c0d0efb33845e019a5f47984548ab5")
PATH = {
    "id": ("The session's id.", "s_9f2c4e1a7b3d5f6081a2c3d4"),
    "name": ("The name of the tensor or op.", "x"),
    "code": ("The error's code.", "graph_freed"),
}
DATA = Query(
    "data",
    "How elements are shown in JSON: nested lists, not at all, or base64 of their bytes.",
    {"type": "string", "enum": ["nested", "none", "base64"], "default": "nested"},
    "none",
)
FORMAT = Query(
    "format",
    "As data, or as a picture.",
    {"type": "string", "enum": ["json", "dot", "mermaid", "svg"], "default": "json"},
    "json",
)
_WITH_BODY = (
    "invalid_json", "invalid_body", "request_timeout", "payload_too_large", "limit_exceeded",
    "unsupported_media_type", "invalid_request",
)  # fmt: skip


def operation(path: str, method: str, doc: Doc, models: Models, keys: bool) -> dict[str, Any]:
    """What stands in the operation of a route, beside what FastAPI writes."""
    once = path.startswith("/v1/") and method != "GET"
    reply = _response(doc, models, once)
    found: dict[str, Any] = {
        "parameters": [*_path(path), *map(_query, doc.query), *_headers(doc, once)],
        "responses": {
            **({"200": reply} if doc.again else {}),
            str(doc.status): reply,
            **_problems(doc, everywhere.codes(path, once)),
        },
        "security": everywhere.security(path, keys),
    }
    if doc.body is not None:
        found["requestBody"] = _body(doc, doc.body)
    return found


def _path(path: str) -> Iterator[dict[str, Any]]:
    for name, said in PATH.items():
        description, example = _PROGRAM if name == "id" and "/programs/" in path else said
        if f"{{{name}}}" in path:
            yield {
                "name": name, "in": "path", "required": True, "description": description,
                "schema": {"type": "string"}, "example": example,
            }  # fmt: skip


def _headers(doc: Doc, once: bool) -> list[dict[str, Any]]:
    deadline = "deadline_exceeded" in doc.errors
    return [
        everywhere.REQUEST_ID,
        *[everywhere.IDEMPOTENCY_KEY] * once,
        *[everywhere.TIMEOUT] * deadline,
    ]


def _query(query: Query) -> dict[str, Any]:
    return {
        "name": query.name, "in": "query", "required": False, "description": query.description,
        "schema": query.schema, "example": query.example,
    }  # fmt: skip


def _body(doc: Doc, model: type[BaseModel]) -> dict[str, Any]:
    schema = {"$ref": REF.format(model=model.__name__)}
    binary = {"schema": {"type": "string", "format": "binary"}}
    content: dict[str, Any] = {JSON: {"schema": schema, "example": doc.example}}
    if doc.binary or doc.snapshot:
        content[SAFETENSORS] = binary
    if doc.lone:
        content[NPY] = binary
    return {
        "required": not doc.bare,
        "content": content,
        "description": (model.__doc__ or "").partition("\n")[0]
        + (" As safetensors, the JSON stands in `__metadata__` under `request`." * doc.binary)
        + (" Or a snapshot, as safetensors: the session that it holds." * doc.snapshot),
    }


def _response(doc: Doc, models: Models, once: bool) -> dict[str, Any]:
    header = {"description": "The request's id.", "schema": {"type": "string"}}
    found: dict[str, Any] = {"headers": {"X-Request-Id": header}}
    if once:
        found["headers"]["Idempotency-Replayed"] = everywhere.REPLAYED
    if doc.reply is None:
        return found | {"description": "Done; there is nothing to say."}
    if isinstance(doc.reply, tuple):
        media_type, example = doc.reply
        if example is None:
            file = {media_type: {"schema": {"type": "string", "format": "binary"}}}
            return found | {"description": "The file.", "content": file}
        text = {media_type: {"schema": {"type": "string"}, "example": example}}
        return found | {"description": "The text.", "content": text}
    model = models[doc.reply]
    content: dict[str, Any] = {
        JSON: {"schema": {"$ref": REF.format(model=doc.reply)}, "example": _replied(model, doc)}
    }
    binary = [SAFETENSORS] * doc.binary + [NPY] * doc.lone
    content |= {kind: {"schema": {"type": "string", "format": "binary"}} for kind in binary}
    content |= {kind: {"schema": {"type": "string"}} for kind in doc.also}
    return found | {"description": (model.__doc__ or "").partition("\n")[0], "content": content}


def _example(model: type[BaseModel]) -> Any:
    """A reply put together from its fields' examples."""
    stated = model.model_config.get("json_schema_extra")
    if isinstance(stated, dict) and isinstance(stated["examples"], list):
        return stated["examples"][0]
    return {
        field.alias or name: field.examples[0]
        for name, field in model.model_fields.items()
        if field.examples and field.is_required()
    }


def _replied(model: type[BaseModel], doc: Doc) -> Any:
    """The example of a reply: of what its request's example names, that alone."""
    found = _example(model)
    if isinstance(doc.example, dict) and "return" in doc.example:
        found = found | {"values": {name: found["values"][name] for name in doc.example["return"]}}
    return found


def _problems(doc: Doc, more: Iterable[str]) -> dict[str, Any]:
    """The errors of a route, by status."""
    codes = [*doc.errors, *(_WITH_BODY if doc.body else ()), *more]
    by_status: dict[int, list[str]] = {}
    for code in sorted(set(codes)):
        by_status.setdefault(CODES[code].status, []).append(code)
    return {str(status): _problem(found) for status, found in sorted(by_status.items())}


def _problem(codes: list[str]) -> dict[str, Any]:
    status, title, raised = CODES[codes[0]]
    example = {
        "type": f"/errors/{codes[0]}", "title": title, "status": status, "code": codes[0],
        "detail": "what was asked, and what came in", "hint": "how to mend it", "step": None,
        "op": None, "raised": raised.__name__, "request_id": "r_4f1d2c3b5a697887",
    }  # fmt: skip
    schema = {"$ref": REF.format(model="Problem")}
    found: dict[str, Any] = {
        "description": ", ".join(codes),
        "content": {PROBLEM_JSON: {"schema": schema, "example": example}},
    }
    return found | (
        {"headers": {"Retry-After": everywhere.RETRY_AFTER}} if RETRY.keys() & codes else {}
    )


@cache
def document(api: FastAPI, keys: bool = False) -> dict[str, Any]:
    """The whole document. keys: whether the server has any, and takes no request without one."""
    models = _reply_models()
    found = deepcopy(api.openapi())
    bodies: set[type[BaseModel]] = set()
    for route in api.router.routes:
        doc = getattr(route, "doc", None)
        if isinstance(doc, Doc) and isinstance(route, APIRoute):
            method = next(iter(route.methods or ()))
            written = operation(route.path, method, doc, models, keys)
            found["paths"][route.path][method.lower()] |= written
            bodies |= {doc.body} - {None}  # type: ignore[arg-type]
    pairs: list[Any] = [(model, "validation") for model in bodies]
    pairs += [(model, "serialization") for model in models.values()]
    links.add(found["paths"])
    _, schemas = models_json_schema(
        sorted(pairs, key=lambda pair: str(pair[0].__name__)), ref_template=REF
    )
    of_ops = op_schemas.schemas()
    schemas["$defs"]["OpStep"]["x-ops"] = [
        {"$ref": REF.format(model=name)} for name in of_ops if name.startswith("op.")
    ]
    found["components"] = {
        "schemas": schemas["$defs"] | of_ops,
        "securitySchemes": everywhere.SECURITY,
    }
    return found


def _reply_models() -> Models:
    """The models of replies: imported when the document is asked for, since nothing else is."""
    from gradwire_service.http import replies, replies_programs, replies_server

    return {
        name: value
        for module in (replies, replies_programs, replies_server)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, replies.Part | Limits)
    }
