"""Which request makes what others name: OpenAPI's links, from an id to the routes that take it."""

from __future__ import annotations

from typing import Any

_MAKERS = ("/v1/sessions", "/v1/programs")
"""Routes whose POST answers with an id, under which the others stand."""
_TENSOR = "/v1/sessions/{id}/tensors/{name}"
_MADE = {"id": "$response.body#/id"}
_WRITTEN = {"id": "$request.path.id", "name": "$request.path.name"}


def add(paths: dict[str, Any]) -> None:
    """Write them into the answers of those that make something."""
    for made in _MAKERS:
        _link(paths, paths[made]["post"], f"{made}/{{id}}", _MADE)
    _link(paths, paths["/v1/sessions/{id}/fork"]["post"], "/v1/sessions/{id}", _MADE)
    _link(paths, paths[_TENSOR]["put"], _TENSOR, _WRITTEN)


def _link(
    paths: dict[str, Any], maker: dict[str, Any], root: str, parameters: dict[str, str]
) -> None:
    """From one that answers with success to the operations at `root` and below it."""
    links = {
        operation["operationId"]: {
            "operationId": operation["operationId"],
            "description": operation["summary"],
            "parameters": parameters,
        }
        for path, methods in paths.items()
        if path == root or path.startswith(f"{root}/")
        for operation in methods.values()
        if path.count("{") == len(parameters)
    }
    for status, response in maker["responses"].items():
        if status.startswith("2"):
            response["links"] = links
