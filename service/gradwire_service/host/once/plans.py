"""Plans of programs that come again: for the same specs, a list of kernels in the engine's place.

A program is run op by op until it has gone well twice for the same specs. Then it is traced,
derivatives included, and what comes after runs the plan. Whatever isn't as it was then, and
whatever fails, goes the long way again, which says what is wrong.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from gradwire_engine.control.known import Figures
from gradwire_engine.errors import GradwireError
from gradwire_engine.locks import lock
from gradwire_engine.mode import using
from gradwire_engine.plan import Plan, plan_of
from gradwire_engine.spec import DType, Spec, dtype_of
from gradwire_service.host.cost import ALLOWANCE
from gradwire_service.host.elements import Array
from gradwire_service.host.ledger import Ledger
from gradwire_service.host.long_calls.watch import watching
from gradwire_service.host.memory import Meter, TooMuchHere
from gradwire_service.host.programs import Program
from gradwire_service.host.reply import Filled, Template

_MOST, _SHAPES = 256, 32
"""Programs that are known at a time, and for how many specs each."""
_OFTEN = 2
"""How often a program goes the long way before it gets a plan."""
_LARGEST = 2**26
"""Bytes that a plan may hold at once beside its inputs."""
LARGEST_INPUTS = 2**27
"""Bytes of inputs and a plan's values together, beyond which no plan is looked for."""
_CONSTANTS = 2**16
"""Bytes of constants that a plan may keep."""
_ALL = 2**26
"""Bytes that all plans of a tenant may take."""
_LONGEST = 2**14
"""Bytes of a program, and of its text, that may be held beside its plans: nobody counts them."""
_FEW = 16
"""Steps of a program whose evaluation, or one walk back, is traced on the event loop: a few ms."""
_SHORT = ("evaluate", "value_and_grad", "vjp")
_PLAN, _STEP = 2**12, 2**10
"""Bytes that a plan takes, and each of its steps, as measured, rounded up."""
_LONG = 2**17
"""Bytes from which on the clock is looked at between a plan's steps."""
_HEAVY = 2**21
"""FLOPs from which on a plan takes longer than the event loop may be held."""
_FINAL = ("deadline_exceeded", "shutting_down")
"""What the long way would only say again, later."""
_UNWATCHED: AbstractContextManager[None] = nullcontext()

Specs = tuple[tuple[tuple[int, ...], Any], ...]
"""Shapes and NumPy dtypes of arrays."""


class Planned(NamedTuple):
    """A plan, what its results are answered as, and the bytes of its inputs."""

    plan: Plan
    template: Template
    given: int

    @property
    def nbytes(self) -> int:
        """What it takes as long as it is kept, about."""
        return _PLAN + _STEP * len(self.plan.code.steps) + self.plan.kept


class Case:
    """A program with the specs of its inputs: how vectors are read, and plans by their specs."""

    __slots__ = ("dtypes", "found")

    def __init__(self, dtypes: Mapping[Any, DType]) -> None:
        self.dtypes = dtypes
        self.found: dict[Specs, int | Planned | None] = {}

    def plan(self, vectors: Sequence[Array]) -> int | Planned | None:
        """The plan for vectors like these, or how often there was none."""
        return self.found.get(specs_of(vectors))

    @property
    def plans(self) -> int:
        """How many it has."""
        return sum(isinstance(p, Planned) for p in self.found.values())

    @property
    def nbytes(self) -> int:
        """What its plans take."""
        return sum(p.nbytes for p in self.found.values() if isinstance(p, Planned))


class Known:
    """What is known of one program and what is asked of it; `ready` where it has a plan.

    runs: calls that went well, by a plan or not. seconds: what looking for plans took.
    """

    __slots__ = ("cases", "owner", "ready", "runs", "seconds")

    def __init__(self, owner: object) -> None:
        self.owner = owner  # held, since a key may be its address
        self.cases: dict[Specs, Case] = {}
        self.ready = False
        self.runs = 0
        self.seconds = 0.0


class Plans:
    """What was planned, by program and specs; what was used least lately goes.

    ledger: what plans take is counted there. nbytes: how much that is. traced: how often a plan was
    looked for, seconds: how long that took, slow: programs that went the long way. evicted: plans
    that made room for others.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._known: OrderedDict[Any, Known] = OrderedDict()
        self._ledger = ledger
        self.made = self.answered = self.nbytes = self.traced = self.slow = self.evicted = 0
        self.seconds = 0.0
        self._lock = lock()  # requests run on several threads

    def ready(self, key: object) -> Known | None:
        """A program that has a plan for some inputs at least."""
        found = self._known.get(key)
        if found is None or not found.ready:
            return None
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
        return found

    def note(self, known: Known) -> None:
        """A plan of it has answered."""
        self.answered += 1
        known.runs += 1

    def figures(self, owner: object) -> Figures:
        """Plans that there are of a program, how often it was run, and what making them took."""
        with self._lock:
            found = [known for known in self._known.values() if known.owner is owner]
            made = sum(case.plans for known in found for case in known.cases.values())
        runs, seconds = sum(known.runs for known in found), sum(known.seconds for known in found)
        return Figures(made, runs, seconds)

    def all(self) -> list[Planned]:
        """Every plan."""
        with self._lock:
            cases = [case for known in self._known.values() for case in known.cases.values()]
            return [p for case in cases for p in case.found.values() if isinstance(p, Planned)]

    def __len__(self) -> int:
        """How many programs are known."""
        return len(self._known)

    def learn(
        self,
        key: object,
        owner: object,
        inputs: Sequence[Array],
        vectors: Sequence[Array],
        dtypes: Mapping[Any, DType],
        make: Callable[[], Planned | None],
    ) -> None:
        """A program went well the long way; once it has often enough it gets its plan."""
        specs = specs_of(vectors)
        with self._lock:
            self.slow += 1
            known = self._entry(key, owner)
            known.runs += 1
            case = self._case(known, specs_of(inputs), dtypes)
            seen = case.found.get(specs, 0)
            if type(seen) is not int:
                return
            case.found[specs] = seen + 1
        if seen + 1 < _OFTEN:
            return
        began = time.perf_counter()
        made = make()
        with self._lock:
            self.traced += 1
            spent = time.perf_counter() - began
            self.seconds += spent
            known.seconds += spent
            if self._known.get(key) is not known or known.cases.get(specs_of(inputs)) is not case:
                return  # gone while the plan was made
            if isinstance(case.found.get(specs), Planned):
                return  # made by another thread
            if made is not None and not self._counted(made, known):
                made = None
            case.found[specs] = made
            known.ready = known.ready or made is not None
            self.made += made is not None

    def _counted(self, made: Planned, keep: Known) -> bool:
        """Count a plan's bytes; others go for it, but none of this program. False: no room."""
        while self.nbytes + made.nbytes > _ALL:
            oldest = next(iter(self._known))
            if self._known[oldest] is keep:
                return False
            self._forget(self._known.pop(oldest))
        if not self._ledger.take(made.nbytes):
            return False
        self.nbytes += made.nbytes
        return True

    def _forget(self, gone: Known | Case) -> None:
        """Give back what plans took."""
        cases = gone.cases.values() if isinstance(gone, Known) else (gone,)
        freed = sum(case.nbytes for case in cases)
        self.nbytes -= freed
        self.evicted += sum(case.plans for case in cases)
        self._ledger.add(-freed)

    def _case(self, known: Known, specs: Specs, dtypes: Mapping[Any, DType]) -> Case:
        found = known.cases.get(specs)
        if found is None or len(found.found) >= _SHAPES:
            if found is not None:
                self._forget(known.cases.pop(specs))
            elif len(known.cases) >= _SHAPES:
                self._forget(known.cases.pop(next(iter(known.cases))))
            found = known.cases[specs] = Case(dtypes)
        return found

    def _entry(self, key: object, owner: object) -> Known:
        """What is known of a program, from now on if it wasn't."""
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _MOST:
                self._forget(self._known.popitem(last=False)[1])
            known = self._known[key] = Known(owner)
        return known


def small(program: Program) -> bool:
    """Whether a program may be held as long as what is known of it."""
    return max(program.nbytes, len(program.source or "")) <= _LONGEST


def traced_long(transform: str, program: Program) -> bool:
    """Whether to trace this takes longer than the event loop may be held."""
    return transform not in _SHORT or program.size > _FEW


def specs_of(arrays: Sequence[Array]) -> Specs:
    """Shapes and dtypes, to look a plan up."""
    return tuple([(array.shape, array.dtype) for array in arrays])


def planned(
    function: Callable[..., Sequence[Any]], arrays: Sequence[Array], template: Template
) -> Planned | None:
    """The plan of a function for arrays like these; None where there can be none, or is no use."""
    try:
        plan = plan_of(function, [Spec(a.shape, dtype_of(a.dtype), "cpu") for a in arrays])
    except Exception:  # whatever stands in the way, the long way is open, and has answered
        return None
    if plan.kept > _CONSTANTS or plan.nbytes > _LARGEST:
        return None
    return Planned(plan, template, sum(a.nbytes for a in arrays))


def run(
    found: Planned, arrays: Sequence[Array], meter: Meter, *, own: bool = False
) -> Filled | None:
    """Run a plan and answer it; None where it fails or has no room: the long way tells why.

    own: results are to be new arrays; else they may be each other's, inputs, or the plan's. NumPy's
    warnings are the caller's to silence, who may have done so for more than this.
    """
    plan = found.plan
    long = plan.flops > _HEAVY or plan.nbytes + found.given > _LONG
    if (long or found.given > ALLOWANCE) and meter.granted <= ALLOWANCE:
        raise TooMuchHere  # more is granted to what took little the last time
    try:
        with using(watch=watching(meter)) if long else _UNWATCHED:
            meter.charge(plan.nbytes, plan.flops, plan.ops)
            made = plan.run(arrays, meter.tick if long else None)
        return Filled(found.template, _owned(plan, arrays, made, meter) if own else made)
    except GradwireError as problem:
        if problem.code in _FINAL:
            raise
        return None
    except Exception:
        return None


def _owned(
    plan: Plan, arrays: Sequence[Array], made: Sequence[Array], meter: Meter
) -> Sequence[Array]:
    """Results as arrays that nobody else has."""
    fresh = plan.fresh(arrays, made)
    if all(fresh):
        return made
    meter.charge(sum(a.nbytes for a, new in zip(made, fresh, strict=True) if not new))
    return [a if new else a.copy() for a, new in zip(made, fresh, strict=True)]
