"""What OpenAPI says of routes that run ops, wherever these come from."""

from __future__ import annotations

from typing import Any

from gradwire_service.http.openapi import DATA, Doc

STORED = ("storage_unavailable", "storage_full")
GONE = ("session_not_found", "session_closed", "session_expired", "session_damaged", *STORED)
RUN = (
    *GONE, "tensor_not_found", "op_not_found", "program_not_found", "graph_freed",
    "modified_in_place", "leaf_in_place", "view_in_place", "inference_tensor", "shape_mismatch",
    "dtype_mismatch", "not_scalar", "requires_no_grad", "unused_input", "invalid_argument",
    "numerical_error", "invalid_source", "memory_limit", "deadline_exceeded", "not_acceptable",
)  # fmt: skip


def run(reply: str, body: Any, example: Any, tag: str = "steps") -> Doc:
    """A route that runs what its body says."""
    return Doc(tag, reply, body=body, example=example, query=(DATA,), errors=RUN, binary=True)
