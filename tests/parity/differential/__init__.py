"""The differential tester: random programs, run step by step on torch and on gradwire.

A program is data (`step`). `generate` makes one, `run` runs it on both libraries and compares after
every step what `observe` takes down, `shrink` cuts a failing one to a few steps, and `report`
writes it as a script. `campaign` does that for thousands of programs; `python -m` shows it at work.
"""
