"""Regions: steps over the elements of one space, that are run together block by block.

A step joins the region that makes its operands where it goes over the same elements and nothing
that it needs has to wait for the region's end. Two regions become one where a step needs both.
"""

from __future__ import annotations

from math import prod
from typing import Any

from gradwire_engine.plan.code import FOLDS, FUSES, VIEW, Code, Step
from gradwire_engine.plan.space import Axes, aligned, row_major, seen, spans_rows

SMALLEST = 1 << 12
"""Elements from which on a region costs less than its steps one by one."""
LARGEST = 1 << 31
"""Elements of a space that is looked at."""


class Region:
    """Steps that run together. axes: of each value in it; late: values that are whole only at the
    end: folds over all rows.
    """

    def __init__(self, code: Code, size: int) -> None:
        self.code, self.size = code, size
        self.steps: list[tuple[int, Step]] = []
        self.axes: dict[int, Axes] = {}
        self.made: set[int] = set()
        self.late: set[int] = set()

    def reads(self) -> set[int]:
        """Values from outside."""
        found = {n for _, step in self.steps for n in step.operands}
        return {n for n in found - self.made if n in self.code.phantoms}

    def add(self, place: int, step: Step) -> bool:
        """Take a step in; False, and nothing is changed, where it can't be part of this region."""
        if any(n in self.late for n in step.operands):
            return False
        if step.kind == VIEW:
            return self._add_view(place, step)
        axes = self._operand_axes(step)
        if axes is None:
            return False
        found = self._result(step, axes)
        if found is None:
            return False
        shape = (
            self.code.phantoms[step.operands[0]].shape if step.kind in FOLDS else self._shape(step)
        )
        for number in step.operands:
            if number in self.code.phantoms and number not in self.axes:
                self.axes[number] = _of_operand(self.code.phantoms[number], shape, axes)
        self._enter(place, step, found)
        return True

    def _enter(self, place: int, step: Step, axes: Axes) -> None:
        number = step.results[0]
        self.steps.append((place, step))
        self.made.add(number)
        self.axes[number] = axes
        if not spans_rows(self._shape(step), axes, self.size):
            self.late.add(number)

    def _shape(self, step: Step) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.code.phantoms[step.results[0]].shape
        return shape

    def _add_view(self, place: int, step: Step) -> bool:
        source = step.operands[0]
        if source not in self.made or len(step.results) != 1:
            return False
        laid_out = self.code.phantoms[source]
        if laid_out.dtype != self.code.phantoms[step.results[0]].dtype:  # a part of each element
            return False
        axes = seen(step.run, laid_out.shape, self.axes[source], self.size)
        if axes is None:
            return False
        self._enter(place, step, axes)
        return True

    def _operand_axes(self, step: Step) -> Axes | None:
        """The axes of the space that a step goes over, in the shape that its operands have."""
        phantoms = self.code.phantoms
        arrays = [n for n in step.operands if n in phantoms]
        shape = phantoms[arrays[0]].shape if step.kind in FOLDS else self._shape(step)
        known = [(phantoms[n].shape, self.axes[n]) for n in arrays if n in self.axes]
        found = aligned(shape, known)
        if found is None:
            return None
        if -1 in found:
            whole = row_major(shape)
            if prod(shape) != self.size or any(
                f not in (-1, w) for f, w in zip(found, whole, strict=True)
            ):
                return None
            found = whole
        return found

    def _result(self, step: Step, axes: Axes) -> Axes | None:
        """The axes of a step's result; None where it can't be worked out block by block."""
        phantoms = self.code.phantoms
        if step.kind not in FOLDS:
            shape = self._shape(step)
            varies = [0] * len(shape)
            for number in step.operands:
                if number not in phantoms:
                    continue
                own = self.axes.get(number) or _of_operand(phantoms[number], shape, axes)
                lead = len(shape) - len(own)
                for i, step_size in enumerate(own):
                    varies[lead + i] = step_size or varies[lead + i]
            found = tuple(varies)
            return found if spans_rows(shape, found, self.size) else None
        options = dict(step.options)
        gone = options["axis"]
        shape = phantoms[step.operands[0]].shape
        each = [self.axes.get(n) or _of_operand(phantoms[n], shape, axes) for n in step.operands]
        axes = tuple(map(max, zip(*each, strict=True)))
        if any(shape[i] > 1 and not axes[i] for i in gone) or not spans_rows(
            shape, axes, self.size
        ):
            return None
        if options["keepdims"]:
            return tuple(0 if i in gone else s for i, s in enumerate(axes))
        return tuple(s for i, s in enumerate(axes) if i not in gone)


def _of_operand(laid_out: Any, whole: tuple[int, ...], axes: Axes) -> Axes:
    """The axes of an operand from outside that is broadcast to the whole."""
    lead = len(whole) - laid_out.ndim
    varies = [n > 1 and step != 0 for n, step in zip(laid_out.shape, laid_out.strides, strict=True)]
    return tuple(axes[lead + i] if v else 0 for i, v in enumerate(varies))


class Group:
    """A region, or a single step that is none's part. needs: groups that run before it."""

    __slots__ = ("needs", "places", "region")

    def __init__(self, places: list[int], region: Region | None) -> None:
        self.places, self.region = places, region
        self.needs: set[Group] = set()


def grouped(code: Code) -> list[Group]:
    """The steps of a code in groups, in an order in which they can run."""
    return _Grouping(code).ordered()


class _Grouping:
    def __init__(self, code: Code) -> None:
        self.code = code
        self.maker: dict[int, Group] = {}  # of each value
        self.groups: dict[Group, None] = {}
        self.readers: dict[int, Group] = {}  # of values: the region that read it last
        self.barrier = -1  # the last step that no region can hold
        for place, step in enumerate(code.steps):
            self._place(place, step)

    def _place(self, place: int, step: Step) -> None:
        needs = {self.maker[n] for n in step.operands if n in self.maker}
        group = self._joined(place, step, needs) if step.kind in FUSES else None
        if group is None:
            group = self._alone(place, step)
            if step.kind not in FUSES:
                self.barrier = place
            group.needs = needs
            self.groups[group] = None
        for number in step.results:
            self.maker[number] = group

    def _alone(self, place: int, step: Step) -> Group:
        if step.kind in FUSES and step.kind != VIEW:
            source = step.operands[0] if step.kind in FOLDS else step.results[0]
            size = prod(self.code.phantoms[source].shape)
            if SMALLEST <= size < LARGEST:
                region = Region(self.code, size)
                if region.add(place, step):
                    group = Group([place], region)
                    self._note_reads(group, step)
                    return group
        return Group([place], None)

    def _note_reads(self, group: Group, step: Step) -> None:
        for number in step.operands:
            if number in self.code.phantoms and number not in self.code.constants:
                self.readers[number] = group

    def _joined(self, place: int, step: Step, needs: set[Group]) -> Group | None:
        makers = sorted((g for g in needs if g.region), key=lambda g: -g.places[-1])
        readers = (self.readers[n] for n in step.operands if n in self.readers)
        beside = [group for group in readers if group.places[-1] > self.barrier]
        for group in dict.fromkeys([*makers, *beside]):
            if group not in self.groups or group.region is None:
                continue
            if step.kind == VIEW and group not in makers:
                continue
            if any(self._waits(other, group) for other in needs if other is not group):
                continue
            if group.region.add(place, step):
                group.places.append(place)
                group.needs |= needs - {group}
                self._note_reads(group, step)
                for other in makers:
                    if other is not group:
                        group = self._merged(group, other)
                return group
        return None

    def _waits(self, group: Group, other: Group) -> bool:
        """Whether a group has to run after another."""
        pending, met = [group], set()
        while pending:
            one = pending.pop()
            if one is other:
                return True
            if one not in met:
                met.add(one)
                pending.extend(one.needs)
        return False

    def _merged(self, group: Group, other: Group) -> Group:
        """Two regions as one, where nothing has to run between them; else the first."""
        one, two = group.region, other.region
        if one is None or two is None or one.size != two.size or other not in self.groups:
            return group
        between = any(self._waits(n, group) for n in other.needs - {group})
        if between or any(self._waits(n, other) for n in group.needs - {other}):
            return group
        tried = Region(self.code, one.size)
        steps = sorted([*one.steps, *two.steps], key=lambda item: item[0])
        if all(tried.add(place, step) for place, step in steps):
            group.region, group.places = tried, [place for place, _ in steps]
            self._replace(other, group)
        return group

    def _replace(self, gone: Group, group: Group) -> None:
        """Have a group stand wherever another stood that is part of it now."""
        group.needs = (group.needs | gone.needs) - {group, gone}
        del self.groups[gone]
        for third in self.groups:
            if gone in third.needs:
                third.needs = (third.needs - {gone}) | {group}
        for known in (self.maker, self.readers):
            known.update({n: group for n, found in known.items() if found is gone})

    def ordered(self) -> list[Group]:
        """The groups, each after those that it needs, else as their first steps stood."""
        places = {group: group.places[0] for group in self.groups}
        found: list[Group] = []
        met: set[Group] = set()
        pending = sorted(self.groups, key=places.__getitem__, reverse=True)
        while pending:
            group = pending[-1]
            missing = [g for g in group.needs if g not in met]
            if group in met or not missing:
                pending.pop()
                if group not in met:
                    met.add(group)
                    found.append(group)
            else:
                pending += sorted(missing, key=places.__getitem__, reverse=True)
        return found
