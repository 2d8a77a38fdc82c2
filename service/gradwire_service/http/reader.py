"""The contract as a page for people, made from the OpenAPI document, with nothing from afar."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from json import dumps
from typing import Any

from gradwire_service.http.codec.negotiation import JSON
from gradwire_service.http.html import framed

Document = Mapping[str, Any]
_SHORT = 1500
"""Characters of an example that are shown."""


def contract(document: Document) -> str:
    """Every route with its parameters, fields, examples and errors; then every object."""
    calls = [
        (method.upper(), path, call)
        for path, methods in document["paths"].items()
        for method, call in methods.items()
    ]
    contents = "\n".join(
        f'<li><a href="#{escape(call["operationId"])}"><code>{method} {escape(path)}</code></a> '
        f"{escape(call['summary'])}</li>"
        for method, path, call in calls
    )
    parts = "\n".join(_call(*call) for call in calls)
    objects = "\n".join(_object(n, s) for n, s in document["components"]["schemas"].items())
    body = (
        f"<h1>{escape(document['info']['title'])} {escape(document['info']['version'])}</h1>\n"
        f"<p>{escape(document['info']['description'])}</p>\n"
        '<p>For tools: <a href="/openapi.json">openapi.json</a>. '
        'Errors: <a href="/errors">what each means</a>.</p>\n'
        f"<ul>\n{contents}\n</ul>\n{parts}\n<h1>Objects</h1>\n{objects}"
    )
    return framed("gradwire: the contract", body)


def _call(method: str, path: str, call: Document) -> str:
    parts = [
        f'<h2 id="{escape(call["operationId"])}"><code>{method} {escape(path)}</code></h2>',
        f"<p>{escape(call['description'])}</p>",
        _list(
            f"<code>{escape(p['name'])}</code> ({escape(p['in'])}): {escape(p['description'])}"
            for p in call.get("parameters", ())
        ),
    ]
    body = call.get("requestBody", {}).get("content", {}).get(JSON)
    if body:
        parts.append(f"<p>Body{_kind(body)}:</p>{_example(body)}")
    for status, reply in call["responses"].items():
        shown = reply.get("content", {}).get(JSON)
        if shown:
            parts.append(f"<p>{status}{_kind(shown)}:</p>{_example(shown)}")
    errors = [
        f"{status}: {escape(reply['description'])}"
        for status, reply in call["responses"].items()
        if "application/problem+json" in reply.get("content", {})
    ]
    parts.append(f"<details><summary>Errors</summary>{_list(errors)}</details>")
    return "\n".join(parts)


def _kind(content: Document) -> str:
    """The name of an object, as a link to its fields."""
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return f', <a href="#{escape(name)}">{escape(name)}</a>' if name else ""


def _example(content: Document) -> str:
    if "example" not in content:
        return ""
    text = dumps(content["example"], ensure_ascii=False)
    return f"<pre>{escape(text if len(text) <= _SHORT else text[:_SHORT] + ' …')}</pre>"


def _object(name: str, schema: Document) -> str:
    fields = _list(
        f"<code>{escape(field)}</code>: {escape(said.get('description', ''))}"
        for field, said in schema.get("properties", {}).items()
    )
    about = escape(schema.get("description", ""))
    return f'<h3 id="{escape(name)}">{escape(name)}</h3>\n<p>{about}</p>\n{fields}'


def _list(items: Any) -> str:
    rows = "".join(f"<li>{item}</li>\n" for item in items)
    return f"<ul>\n{rows}</ul>" if rows else ""
