"""Autograd with torch's names, embedded or against a gradwire server."""
