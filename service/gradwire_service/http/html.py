"""The frame of every page that the server has: one style, no script, nothing from elsewhere."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape

from gradwire_service.http.answer import Answer

HTML = "text/html; charset=utf-8"
_STYLE = """
:root { color-scheme: light dark; --link: #1d4ed8 }
@media (prefers-color-scheme: dark) { :root { --link: #93b4ff } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem;
  overflow-wrap: anywhere }
a { color: var(--link) }
h1 small { font-weight: 400; opacity: .65 }
code, pre { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .9em;
  background: #8882; border-radius: 4px; padding: .1em .3em }
pre { padding: .7em .9em; white-space: pre-wrap }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35em .8em .35em 0;
  border-bottom: 1px solid #8884 }
th, td { white-space: nowrap }
td.text { white-space: normal; width: 100% }
td.number { text-align: right }
@media (max-width: 34rem) { body { margin: 1.5rem auto } .wide { display: none } }
"""
_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style></head>
<body>
{body}
</body>
</html>
"""
_HEADERS = (
    (
        b"content-security-policy",
        f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'".encode(),
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


def framed(title: str, body: str) -> str:
    """Return a whole page of a title, which is text, and a body, which is HTML."""
    return _PAGE.format(title=escape(title), style=_STYLE, body=body)


def html(page: str) -> Answer:
    """Return the answer that a page is; browsers run nothing in it and put it in no frame."""
    return Answer(200, HTML, [page.encode("utf-8", "replace")], _HEADERS)
