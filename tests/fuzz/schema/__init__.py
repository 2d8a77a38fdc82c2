"""Requests that schemathesis makes of the OpenAPI document, and what must hold of replies."""
