"""The pages at /errors/{code}: what causes an error, a request that meets it, the way out."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

from gradwire_engine.errors import CODES
from gradwire_service.http.html import framed


class Explanation(NamedTuple):
    """What a page says: the cause, an example of it, the way out."""

    cause: str
    example: str
    way_out: str


EXPLANATIONS: dict[str, Explanation] = {
    "invalid_json": Explanation(
        "The body is not JSON in UTF-8.",
        'POST /v1/sessions with the body {"label": "a"',
        "Send complete JSON. NaN and infinities are the strings NaN, Infinity and -Infinity.",
    ),
    "invalid_body": Explanation(
        "A binary body doesn't follow its format: a safetensors header that doesn't fit its bytes, "
        "an npy file with Python objects in it, a compressed body that ends early.",
        "A safetensors file whose data_offsets reach past its end.",
        "Write the body with a safetensors library or numpy.save, and send all of it.",
    ),
    "unauthorized": Explanation(
        "The server asks for a key, and the request has none that it knows.",
        "POST /v1/sessions without the header Authorization.",
        "Send Authorization: Bearer KEY with a key that the server was started with.",
    ),
    "forbidden": Explanation(
        "The way the server was set up doesn't allow this. Where it asks for no key, it serves no "
        "page of another site, and on loopback no name but loopback's: whatever page a browser "
        "on that machine has open could send requests otherwise.",
        "GET /v1/sessions with the header Origin: https://other.example, or with a Host that isn't "
        "localhost; gradwire serve --host 0.0.0.0 where no keys are configured.",
        "Call the server by localhost, 127.0.0.1 or [::1]. GRADWIRE_ALLOWED_HOSTS allows another "
        "name, GRADWIRE_ALLOWED_ORIGINS a site. A server that other machines reach wants keys.",
    ),
    "not_found": Explanation(
        "There is no such route.",
        "GET /v1/session",
        "/docs lists every route.",
    ),
    "session_not_found": Explanation(
        "No session has this id; or it was closed so long ago that it is forgotten.",
        "GET /v1/sessions/s_unknown",
        "Use the id that POST /v1/sessions answered.",
    ),
    "tensor_not_found": Explanation(
        "The session has no tensor of this name, or the tensor has no gradient.",
        '{"steps": [{"op": "sin", "args": ["x"], "out": "y"}]} before there is an x.',
        "Make the tensor by a step before this one; run backward before you use x.grad.",
    ),
    "program_not_found": Explanation(
        "No program has this id.",
        "GET /v1/programs/p_unknown",
        "Post the program again: its id is the hash of what it does.",
    ),
    "op_not_found": Explanation(
        "The catalogue has no op of this name, or several end in it.",
        '{"op": "sinus", "args": ["x"], "out": "y"}',
        "GET /v1/ops lists all ops. Their names are torch's, without the word torch.",
    ),
    "method_not_allowed": Explanation(
        "The path exists, but takes other methods.",
        "PUT /v1/sessions",
        "The header Allow of the reply says which methods it takes.",
    ),
    "not_acceptable": Explanation(
        "The reply can't be written in any form that the header Accept allows.",
        "Accept: application/x-npy for a tensor of bfloat16, which npy lacks.",
        "Accept application/json or application/x-safetensors.",
    ),
    "request_timeout": Explanation(
        "The body came too slowly: between two pieces of it more time passed than the limit.",
        "A client that announces 100 bytes, sends 50 and waits.",
        "Send the whole body at once. GET /v1/info says the limit (body_seconds).",
    ),
    "graph_freed": Explanation(
        "An earlier backward freed what the nodes of the graph had saved.",
        '{"backward": {"tensors": ["z"]}} twice.',
        "Pass retain_graph=true to the first call, or compute the output again.",
    ),
    "modified_in_place": Explanation(
        "A tensor that backward needs was written in place since it was saved.",
        'y = exp(x), then {"op": "add_", "args": ["y", 1]}, then backward.',
        "clone() it before the in-place op, or use the op that makes a new tensor.",
    ),
    "leaf_in_place": Explanation(
        "A leaf that requires grad would be written in place while grad mode is on.",
        '{"op": "add_", "args": ["w", 1]} where w requires grad.',
        'Do it with "grad_mode": "no_grad", or on a copy made with clone().',
    ),
    "view_in_place": Explanation(
        "A view that must not be written would be written in place: one of several views of one "
        "op, one made in no_grad mode, or one whose elements share memory.",
        'a, b = split(x, 1), then {"op": "mul_", "args": ["a", 2]}.',
        "Write through the base, or clone() the view first.",
    ),
    "inference_tensor": Explanation(
        "A tensor made in inference mode was to be saved for backward or written outside.",
        'x made with "grad_mode": "inference_mode", then used where gradients are recorded.',
        "Make a normal tensor of it with clone(), or use no_grad instead.",
    ),
    "idempotency_conflict": Explanation(
        "The same Idempotency-Key came before with another body.",
        "Two different requests with Idempotency-Key: 1.",
        "Use a new key for each new request.",
    ),
    "session_damaged": Explanation(
        "What is stored of the session can't be read back whole.",
        "A bit that changed on the server's disk.",
        "Delete it, or have a backup of the server's data restored.",
    ),
    "session_closed": Explanation(
        "The session was closed with DELETE.",
        "GET /v1/sessions/{id} after DELETE /v1/sessions/{id}.",
        "Make a new session.",
    ),
    "session_expired": Explanation(
        "Nobody used the session for its ttl_seconds.",
        "A session with ttl_seconds 60, used again after five minutes.",
        "Make a new session; ask for a longer ttl_seconds.",
    ),
    "payload_too_large": Explanation(
        "The body is larger than the limit, counted after decompression.",
        "A body of 1 GB where body_bytes is 512 MiB.",
        "Send less in one request. GET /v1/info says the limit.",
    ),
    "limit_exceeded": Explanation(
        "One of the limits of GET /v1/info is passed: steps, nesting, names, sessions, source.",
        "5000 steps in one request where the limit is 4096.",
        "Send several requests; the message names the limit.",
    ),
    "unsupported_media_type": Explanation(
        "The body has a Content-Type or Content-Encoding that the route doesn't read.",
        "curl -d, which sends application/x-www-form-urlencoded.",
        "Send application/json (curl --json) or application/x-safetensors; one tensor may also be "
        "application/x-npy.",
    ),
    "invalid_request": Explanation(
        "The JSON is well formed, but a field is missing, misspelt or of the wrong type.",
        '{"steps": [{"tensor": "x", "value": 1, "require_grad": true}]}',
        "The message names the field; /docs has the schema of every request.",
    ),
    "invalid_source": Explanation(
        "The source text is not in the small part of Python's grammar that is read here.",
        "for i in range(3): y = y * x",
        "The message has line and column. Loops and functions are written by the client.",
    ),
    "shape_mismatch": Explanation(
        "Shapes don't fit: operands that don't broadcast, a gradient of another shape than its "
        "tensor, data that disagrees with its shape.",
        '{"op": "add", "args": ["a", "b"]} with a of shape [2, 3] and b of shape [4].',
        "Reshape or unsqueeze one of them; the message has both shapes.",
    ),
    "dtype_mismatch": Explanation(
        "A dtype doesn't fit: integers can't require grad, a float can't be stored in an integer "
        "tensor, a literal names a dtype that doesn't exist.",
        '{"tensor": "n", "value": {"dtype": "int64", "data": [1]}, "requires_grad": true}',
        "Convert the tensor, or state the dtype of the literal.",
    ),
    "not_scalar": Explanation(
        "A gradient was asked of an output with several elements, without a cotangent.",
        '{"backward": {"tensors": ["y"]}} where y has shape [3].',
        "Reduce it with sum() or mean(), pass grad_tensors or grad_outputs of its shape, or ask "
        "for a jacobian.",
    ),
    "requires_no_grad": Explanation(
        "An output has no history, or an input doesn't require grad.",
        '{"backward": {"tensors": ["z"]}} where z was made in no_grad mode.',
        "Set requires_grad on the leaves before they are used, with grad mode on.",
    ),
    "unused_input": Explanation(
        "An input has no part in the outputs.",
        '{"grad": {"outputs": ["z"], "inputs": ["x", "unused"]}}',
        "Pass allow_unused=true to get null for it, or materialize_grads=true to get zeros.",
    ),
    "invalid_argument": Explanation(
        "An argument of an op is missing, of the wrong kind or out of range.",
        '{"op": "sum", "args": ["x"], "kwargs": {"dim": 7}} where x has two axes.',
        "GET /v1/ops/{name} has the op's signature.",
    ),
    "invalid_gradient": Explanation(
        "The backward program of a custom function gave the wrong number or shape of gradients.",
        "A function of two arguments whose backward answers one gradient.",
        "Give one gradient or null for each argument, of its shape.",
    ),
    "untraceable": Explanation(
        "What is to be written down, or worked out from shapes alone, needs values: a function of "
        "Python that becomes a program, a function under vmap, a program that plan is asked about.",
        "if x.item() > 0: inside a function given to vmap.",
        "Use ops such as where, or cond; run a function embedded, without a server; run a program "
        "by evaluate.",
    ),
    "data_dependent_shape": Explanation(
        "The shape of a result depends on elements, where it has to be known before.",
        "nonzero(x) in a program that is planned.",
        "Use an op with a fixed shape, such as where with three arguments.",
    ),
    "numerical_error": Explanation(
        "The numbers allow no result: a singular matrix, a decomposition that doesn't converge.",
        "linalg.inv of a matrix of zeros.",
        "Check the values; a small multiple of the identity often helps.",
    ),
    "nan_gradient": Explanation(
        "Anomaly detection is on, and backward made a NaN.",
        "sqrt(x).sum() at x = 0, multiplied by 0.",
        "The message names the node and the step that built it.",
    ),
    "unsupported_device": Explanation(
        "The device isn't there, or the operands of one op are on several.",
        '{"device": "cuda"} on a server without a GPU.',
        "GET /v1/info lists the devices.",
    ),
    "snapshot_incompatible": Explanation(
        "A snapshot can't be read: it is of a newer version, was changed, or is inconsistent.",
        "A snapshot of a version that this server doesn't know, or one with another byte.",
        "Restore it unchanged, with a server of the version that wrote it.",
    ),
    "rate_limited": Explanation(
        "More requests came than the key may send.",
        "A hundred requests in a second where fifty are allowed.",
        "Wait as long as the header Retry-After says.",
    ),
    "overloaded": Explanation(
        "The server has no room for more work at the moment.",
        "More requests wait than the limit.",
        "Wait as long as the header Retry-After says.",
    ),
    "unreachable": Explanation(
        "No server answered: only the SDK and the command line say so, no server does.",
        "A URL where nothing listens.",
        "Start the server, or mend the URL.",
    ),
    "forked_process": Explanation(
        "A forked child uses a session on a server that is its parent's: only the SDK says so. "
        "Parent and child would give names and graph to each other without knowing.",
        "`os.fork()`, or a `multiprocessing.Pool` by fork, and a tensor of before in the child.",
        "Make a session in the child, and hand values over as arrays; or start the process by "
        "spawn. Embedded tensors are copies in the child, and go on.",
    ),
    "unanswered": Explanation(
        "A server was asked and gave no answer, or none within the client's timeout: only the SDK "
        "says so, no server does. Whether the request was done shows when it is asked for again.",
        "`connect(url, timeout=1)`, and an op that takes ten seconds.",
        "Go on: the SDK's next call asks again by the same key, and the server does it once. Where "
        "work takes longer, give connect() a longer timeout.",
    ),
    "shutting_down": Explanation(
        "The server was asked to end: it finishes what it does and takes nothing new.",
        "A request after SIGTERM.",
        "Send it to another server, or wait as long as the header Retry-After says.",
    ),
    "storage_unavailable": Explanation(
        "The change couldn't be written where sessions are kept. The session is as before; if it "
        "was to be deleted, the detail may say that it is closed all the same.",
        "The server's database is restarted.",
        "Wait as long as the header Retry-After says.",
    ),
    "deadline_exceeded": Explanation(
        "The request computed longer than it may, or an op of it would have, by far, and was not "
        "begun: then the detail says how long it was forecast to take. The session is as before.",
        "Ten thousand steps on large tensors in one request, or one linalg.svd of 6000 rows on a "
        "server that lets a request compute for three seconds.",
        "Send less in one request, use smaller tensors, or ask for more time by Gradwire-Timeout. "
        "GET /v1/info says the limit (seconds).",
    ),
    "memory_limit": Explanation(
        "A result would take more memory than the session or the server may hold. It is refused "
        "before anything is allocated.",
        '{"op": "zeros", "args": [[1000000, 1000000]], "out": "x"}',
        "Free tensors, work on smaller ones, or ask for a higher memory_limit_bytes.",
    ),
    "storage_full": Explanation(
        "There is no room left where sessions are kept. The session is as before.",
        "A full disk.",
        "Delete sessions, or have the disk made larger.",
    ),
    "internal": Explanation(
        "The server failed, by a fault of its own. The session is as before.",
        "A defect in gradwire.",
        "Report it with the request id; the server's log has the rest.",
    ),
}


def page(code: str) -> str:
    """The page of one error, as HTML."""
    said = EXPLANATIONS[code]
    status, title, raised = CODES[code]
    body = (
        f"<h1>{escape(title)}</h1>\n"
        f"<p><code>{code}</code>, HTTP status {status}; the SDK raises it as a kind of "
        f"<code>{raised.__name__}</code>.</p>\n"
        f"<h2>Cause</h2>\n<p>{escape(said.cause)}</p>\n"
        f"<h2>Example</h2>\n<pre>{escape(said.example)}</pre>\n"
        f"<h2>Way out</h2>\n<p>{escape(said.way_out)}</p>\n"
        '<p><a href="/errors">All errors</a></p>'
    )
    return framed(f"gradwire: {title}", body)


def index() -> str:
    """The list of all errors, as HTML."""
    rows = "\n".join(
        f'<li><a href="/errors/{code}"><code>{code}</code></a> ({status}): '
        f"{escape(EXPLANATIONS[code].cause)}</li>"
        for code, (status, _, _) in CODES.items()
    )
    return framed("gradwire: errors", f"<h1>Errors</h1>\n<ul>\n{rows}\n</ul>")
