"""Snapshots: tensors and the graph behind them as plain data and arrays, and back.

writer = Writer(program)         # program: from a user's program to plain data
root = writer.cell(tensor)       # whatever it leads to is written too
data, arrays = writer.finish()   # JSON's kinds of values alone; arrays by name

reader = Reader(data, arrays, program)
tensor = reader.tensor(root)

A snapshot comes from outside: nothing in it is believed. What doesn't hold together is refused with
snapshot_incompatible, and of what was built so far nothing is kept.
"""

from gradwire_engine.snapshot.optimizers import read_optimizer, write_optimizer
from gradwire_engine.snapshot.reader import Reader
from gradwire_engine.snapshot.writer import Writer

__all__ = ["Reader", "Writer", "read_optimizer", "write_optimizer"]
