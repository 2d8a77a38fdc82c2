"""Reads the project's pages and does what they say: see `page.py` for the rules."""
