"""Programs with tensors of their own, and checkpointed runs, in a snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire_engine.checkpoint import Packed, Region
from gradwire_engine.snapshot.fields import listed, need, whole
from gradwire_engine.tape import Bound
from gradwire_engine.tensor import Tensor

if TYPE_CHECKING:
    from gradwire_engine.snapshot.reader import Reader
    from gradwire_engine.snapshot.writer import Row, Writer

_SEED = 2**64


def write_bound(writer: Writer, bound: Bound, row: Row) -> None:
    row += [writer.program(bound.program), list(map(writer.value, bound.values))]


def read_bound(reader: Reader, bound: Bound, row: Row) -> None:
    bound.program = reader.foreign(row[1])
    bound.values = tuple(map(reader.operand, listed(row[2], "values of a program")))
    need(all(type(value) is Tensor for value in bound.values), "a program's value is no tensor")


def write_packed(writer: Writer, packed: Packed, row: Row) -> None:
    row += [writer.cell(packed.region), packed.number, packed.size]


def read_packed(reader: Reader, packed: Packed, row: Row) -> None:
    packed.region = reader.cell(row[1], Region)
    packed.number, packed.size = whole(row[2], "a node's number"), whole(row[3], "a number saved")


def check_packed(reader: Reader, packed: Packed) -> None:
    """It stands for a node of its region."""
    recipes = packed.region.recipes
    need(packed.number < len(recipes), "a checkpointed run has no such node")
    need(
        packed.size == len(recipes[packed.number].saved), "a checkpointed node saves another number"
    )


def write_region(writer: Writer, region: Region, row: Row) -> None:
    row += [
        writer.program(region.program),
        list(map(writer.value, region.args)),
        list(region.versions),
        None if region.draws is None else list(region.draws),
    ]
    writer.moment(row, region.start)
    writer.moment(row, region.end)
    row.append(list(map(writer.calls.recipe, region.recipes)))


def read_region(reader: Reader, region: Region, row: Row) -> None:
    _, program, args, versions, draws, start, end, recipes = row
    region.program = reader.foreign(program)
    region.args = tuple(map(reader.operand, listed(args, "arguments of a run")))
    given = listed(versions, "versions", len(region.args))
    region.versions = tuple([whole(v, "a version") for v in given])
    region.draws = None
    if draws is not None:
        seed, count = listed(draws, "a random state", 2)
        region.draws = whole(seed, "a seed", 0, _SEED), whole(count, "a number of draws")
    region.start, region.end = reader.moment(start), reader.moment(end)
    region.recipes = tuple(map(reader.calls.recipe, listed(recipes, "recipes of a run")))
