"""Calls that take long: what they will take, and where they can be ended."""
