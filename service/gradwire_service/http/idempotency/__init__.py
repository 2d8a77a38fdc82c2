"""Idempotency-Key: a request is run once, and answered as often as it comes."""
