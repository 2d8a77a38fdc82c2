"""Checkpoints: a program whose nodes keep nothing; what they saved is made again when it is needed.

The graph of a checkpointed program is the same as without, node by node, hooks and names included.
Only `saved` of its nodes is a `Packed`, which runs the program again on the inputs, from the same
random state, and reads off the second run what the first one had saved. As a walk goes from new to
old, what newer nodes needed is forgotten on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gradwire_engine.errors import error
from gradwire_engine.mode import local, using
from gradwire_engine.random import Generator
from gradwire_engine.recipe import Recipe
from gradwire_engine.tape import Node, next_seq, target
from gradwire_engine.tensor import Tensor

Run = Callable[..., tuple[Any, ...]]


def checkpoint(
    program: Run, args: Sequence[Any], preserve_rng_state: bool = True
) -> tuple[Any, ...]:
    """Run a program so that its nodes save nothing but these arguments.

    preserve_rng_state: the second run draws the same random numbers as the first.
    """
    state = local.state
    if not state.grad:
        return program(*args)
    if state.generator is None:
        state.generator = Generator()
    region = Region(program, args, state.generator if preserve_rng_state else None)
    outputs = program(*args)
    region.pack(_made_since(region.start, (*outputs, *args)))
    return outputs


class Region:
    """One run of a checkpointed program: all that it takes to do it again.

    versions: of the arguments, before the run. draws: seed and number of draws of the random state
    then, None where it is not to be the same. start, end: numbers of nodes made before and after.
    """

    __slots__ = ("args", "draws", "end", "program", "recipes", "start", "versions")

    def __init__(self, program: Run, args: Sequence[Any], generator: Generator | None) -> None:
        self.program = program
        self.args = tuple(args)
        self.versions = tuple([a.version if type(a) is Tensor else 0 for a in args])
        self.draws = None if generator is None else (generator.seed, generator.draws)
        self.start = self.end = next_seq()
        self.recipes: tuple[Any, ...] = ()

    def pack(self, nodes: list[Node]) -> None:
        """Let nodes of the first run forget what they saved."""
        self.end = next_seq()
        self.recipes = tuple([node.recipe for node in nodes])
        for index, node in enumerate(nodes):
            if node.saved:
                node.saved = Packed(self, index, len(node.saved))

    def saved(self, index: int) -> Sequence[Any]:
        """What node number `index` had saved, from a run for the walk in progress."""
        cache = local.state.recomputed
        if cache is None:
            return self._again()[index]
        found = cache.get(self)
        if found is None or index not in found:
            for other in [r for r in cache if r.start >= self.end]:
                del cache[other]  # all its nodes are newer: the walk has been there
            found = cache[self] = dict(enumerate(self._again()))
        for newer in [place for place in found if place > index]:
            del found[newer]
        saved: Sequence[Any] = found[index]
        return saved

    def _again(self) -> list[Sequence[Any]]:
        self._check_arguments()
        args = [a.alias(a.edge) if type(a) is Tensor else a for a in self.args]
        fields: dict[str, Any] = {"grad": True}
        if self.draws is not None:
            fields["generator"] = generator = Generator(self.draws[0])
            generator.draws = self.draws[1]
        start = next_seq()
        with using(**fields):
            outputs = self.program(*args)
        nodes = _made_since(start, (*outputs, *args))
        self._check_same(nodes)
        return [node.saved for node in nodes]

    def _check_arguments(self) -> None:
        for index, (arg, version) in enumerate(zip(self.args, self.versions, strict=True)):
            if type(arg) is Tensor and arg.version != version:
                raise error(
                    "modified_in_place",
                    f"checkpoint: argument {index} ({arg.spec}) was modified in place: it is at "
                    f"version {arg.version}, expected version {version}",
                    "clone() it before the in-place op, or use the op that is not in place",
                )

    def _check_same(self, nodes: list[Node]) -> None:
        again = [_what(node.recipe) for node in nodes]
        if again != [_what(recipe) for recipe in self.recipes]:
            raise error(
                "invalid_argument",
                f"checkpoint: the program did something else when it ran again: {len(nodes)} nodes "
                f"then, {len(self.recipes)} before, or of other ops or shapes",
                "it must do the same each time it is run on the same arguments",
            )


def _what(recipe: Recipe) -> tuple[Any, ...]:
    return (recipe.call.op, recipe.call.outputs, recipe.needs)


class Packed(Sequence[Any]):
    """What a node of a checkpointed program saved: nothing, but it can be had."""

    __slots__ = ("number", "region", "size")

    def __init__(self, region: Region, number: int, size: int) -> None:
        self.region, self.number, self.size = region, number, size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: Any) -> Any:
        return self.region.saved(self.number)[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.region.saved(self.number))

    @property
    def held(self) -> tuple[Any, ...]:
        """What is kept meanwhile."""
        return self.region.args


def _made_since(start: int, values: Sequence[Any]) -> list[Node]:
    """The nodes that lead to these values and were made after number `start`, oldest first."""
    stack = [value.edge for value in values if type(value) is Tensor]
    found: set[Node] = set()
    while stack:
        edge = stack.pop()
        node = None if edge is None else target(edge)
        if type(node) is Node and node.seq > start and node not in found:
            found.add(node)
            stack += node.edges
    return sorted(found, key=lambda node: node.seq)
