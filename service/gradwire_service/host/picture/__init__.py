"""Pictures of a graph that is plain data: DOT, Mermaid and SVG, with no other program needed.

Each of the three takes a `GraphData` and answers with text; a graph of more nodes than the format
can show is refused with limit_exceeded.
"""

from __future__ import annotations

from gradwire_service.host.picture.dot import to_dot
from gradwire_service.host.picture.mermaid import to_mermaid
from gradwire_service.host.picture.svg import to_svg

DRAW = {"svg": to_svg, "dot": to_dot, "mermaid": to_mermaid}
"""What draws a graph, by the name of the format."""
