"""A server that keeps sessions is killed again and again under random work.

After each restart every acknowledged result is there, nothing unacknowledged is half there, and a
retried key answers its first reply. `python -m tests.service.crash` is `make crash`.
"""
