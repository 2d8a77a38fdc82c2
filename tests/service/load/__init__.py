"""A server under twice the load that it can serve, with many sessions, for many sessions' lives.

`python -m tests.service.load` is `make load`; a few seconds of it are part of `make test`.
"""
