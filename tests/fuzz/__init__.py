"""Chance against the service: broken bodies, requests made of OpenAPI, sessions held to a model."""
