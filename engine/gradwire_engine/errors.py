"""Every error of gradwire: one table of codes, one exception shape, torch's own exception classes.

The same text comes from the engine, over REST and out of the SDK. A code fixes the HTTP status, the
title and the Python class that torch raises in that place; `error` builds the exception.
"""

from __future__ import annotations

import builtins
from functools import cache, partial
from typing import Any, NamedTuple


class LinAlgError(RuntimeError):
    """A matrix of which there is no inverse, no such factor, or no decomposition that converges."""


class Code(NamedTuple):
    """What one error code stands for: HTTP status, title, and the class a torch user catches."""

    status: int
    title: str
    raised: type[Exception]


CODES: dict[str, Code] = {
    "invalid_json": Code(400, "Invalid JSON", ValueError),
    "invalid_body": Code(400, "Invalid body", ValueError),
    "unauthorized": Code(401, "Unauthorized", PermissionError),
    "forbidden": Code(403, "Forbidden", PermissionError),
    "not_found": Code(404, "Not found", LookupError),
    "session_not_found": Code(404, "Session not found", LookupError),
    "tensor_not_found": Code(404, "Tensor not found", LookupError),
    "program_not_found": Code(404, "Program not found", LookupError),
    "op_not_found": Code(404, "Op not found", AttributeError),
    "method_not_allowed": Code(405, "Method not allowed", RuntimeError),
    "not_acceptable": Code(406, "Not acceptable", RuntimeError),
    "request_timeout": Code(408, "Request timeout", TimeoutError),
    "graph_freed": Code(409, "Graph freed", RuntimeError),
    "modified_in_place": Code(409, "Modified in place", RuntimeError),
    "leaf_in_place": Code(409, "Leaf in place", RuntimeError),
    "view_in_place": Code(409, "View in place", RuntimeError),
    "inference_tensor": Code(409, "Inference tensor", RuntimeError),
    "idempotency_conflict": Code(409, "Idempotency conflict", RuntimeError),
    "session_damaged": Code(409, "Session damaged", RuntimeError),
    "forked_process": Code(409, "Forked process", RuntimeError),
    "session_closed": Code(410, "Session closed", RuntimeError),
    "session_expired": Code(410, "Session expired", RuntimeError),
    "payload_too_large": Code(413, "Payload too large", RuntimeError),
    "limit_exceeded": Code(413, "Limit exceeded", RuntimeError),
    "unsupported_media_type": Code(415, "Unsupported media type", RuntimeError),
    "invalid_request": Code(422, "Invalid request", TypeError),
    "invalid_source": Code(422, "Invalid source", SyntaxError),
    "shape_mismatch": Code(422, "Shape mismatch", RuntimeError),
    "dtype_mismatch": Code(422, "Dtype mismatch", RuntimeError),
    "not_scalar": Code(422, "Not a scalar", RuntimeError),
    "requires_no_grad": Code(422, "Requires no grad", RuntimeError),
    "unused_input": Code(422, "Unused input", RuntimeError),
    "invalid_argument": Code(422, "Invalid argument", RuntimeError),
    "invalid_gradient": Code(422, "Invalid gradient", RuntimeError),
    "untraceable": Code(422, "Untraceable", RuntimeError),
    "data_dependent_shape": Code(422, "Data-dependent shape", RuntimeError),
    "numerical_error": Code(422, "Numerical error", RuntimeError),
    "nan_gradient": Code(422, "NaN gradient", RuntimeError),
    "unsupported_device": Code(422, "Unsupported device", RuntimeError),
    "snapshot_incompatible": Code(422, "Snapshot incompatible", RuntimeError),
    "rate_limited": Code(429, "Rate limited", RuntimeError),
    "overloaded": Code(503, "Overloaded", RuntimeError),
    "unreachable": Code(503, "Unreachable", ConnectionError),
    "shutting_down": Code(503, "Shutting down", RuntimeError),
    "storage_unavailable": Code(503, "Storage unavailable", RuntimeError),
    "unanswered": Code(504, "Unanswered", TimeoutError),
    "deadline_exceeded": Code(504, "Deadline exceeded", TimeoutError),
    "memory_limit": Code(507, "Memory limit", MemoryError),
    "storage_full": Code(507, "Storage full", RuntimeError),
    "internal": Code(500, "Internal error", RuntimeError),
}


class GradwireError(Exception):
    """An error with a stable code: `detail` says what was asked and came in, `hint` the way out.

    Instances come from `error`, which mixes in the exception class that torch raises in the same
    place, so `except RuntimeError` written for torch keeps working.
    """

    code: str
    detail: str
    hint: str | None
    step: int | None = None
    op: str | None = None
    request_id: str | None = None
    walked = False
    """Whether it was met on the way back, at a node; not before that, in what was asked."""
    retry_after: float | None = None
    """Seconds after which the same may go well, where that is known."""

    def __init__(self, code: str, detail: str, hint: str | None = None) -> None:
        super().__init__(_told(detail, hint))
        self.code, self.detail, self.hint = code, detail, hint
        self._found = detail

    def __reduce__(self) -> Any:
        """In pickles: what `error` makes, which is the same class there, and all that was noted."""
        kind = type(self)
        if kind.__bases__[0] is not GradwireError:
            return super().__reduce__()
        return _again, (self.code, self.detail, self.hint, kind.__bases__[1].__name__), vars(self)

    def __str__(self) -> str:
        return _told(self.detail, self.hint)

    def within(self, op: str) -> None:
        """Say that it was met in this op, where its text has another's name: the outermost counts.

        An op written in others is what was asked for, and one of those is what complains.
        """
        named = op.rpartition(".")[2] in self._found.partition(":")[0]
        if self.status == 422:
            self.detail = self._found if named else f"{op}: {self._found}"
            self.args = (_told(self.detail, self.hint),)

    def at(self, place: str) -> None:
        """Say where in what was asked it was met."""
        self.detail = f"{place}: {self.detail}"
        self.args = (_told(self.detail, self.hint),)

    @property
    def status(self) -> int:
        """The HTTP status that goes with the code."""
        return CODES[self.code].status

    @property
    def title(self) -> str:
        """The code in words."""
        return CODES[self.code].title


def _told(detail: str, hint: str | None) -> str:
    return detail if hint is None else f"{detail}\n  hint: {hint}"


@cache
def _exception_class(code: str, raised: type[Exception]) -> type[GradwireError]:
    name = "".join(word.title() for word in code.split("_"))
    return type(name, (GradwireError, raised), {"__module__": __name__})


def _again(code: str, detail: str, hint: str | None, raised: str) -> GradwireError:
    """The exception that a pickle tells of. raised: by name."""
    kind = LinAlgError if raised == LinAlgError.__name__ else getattr(builtins, raised)
    return error(code, detail, hint, raised=kind)


def error(
    code: str, detail: str, hint: str | None = None, *, raised: type[Exception] | None = None
) -> GradwireError:
    """Build the exception for `code`; `raised` is the builtin class where it differs from CODES."""
    kind: Any = raised or CODES[code].raised
    return _exception_class(code, kind)(code, detail, hint)


shape_mismatch = partial(error, "shape_mismatch")
dtype_mismatch = partial(error, "dtype_mismatch")
invalid_argument = partial(error, "invalid_argument")
"""What ops refuse most often, each by its code."""
