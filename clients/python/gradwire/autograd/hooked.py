"""A walk with hooks: each is called while the mirrors are walked, and written down as a program.

The programs are registered at the host for this walk only. What a hook kept of what it saw or made
becomes a tensor of the session once the host has it. What a hook of a leaf records, whose gradient
was added, is done after the walk. A hook may look at values: the walk is tried on a copy of the
session. That costs requests, so from the next walk on such a hook is called after the walk, with
the gradient; and it may replace nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from gradwire.autograd.hook_errors import differs, looks, part_of_no_function, raised, replaces
from gradwire.autograd.hook_run import Run
from gradwire.autograd.registered import Registered, under_way
from gradwire.faults import meant, tells
from gradwire.later import Later
from gradwire.pending import Pending
from gradwire.trace import Trace
from gradwire.within import within
from gradwire_engine.errors import GradwireError

if TYPE_CHECKING:
    from gradwire.session import Session
    from gradwire.transport import Step, Values


class Walk:
    """A walk of the SDK, and the hooks that it comes to."""

    def __init__(self, session: Session, create_graph: bool, step: Step) -> None:
        self.session, self.step = session, step
        self._create_graph = create_graph
        self._batched = bool(step.get("grad", {}).get("is_grads_batched"))
        self._runs: list[Run] = []
        self._kept: dict[str, dict[str, str]] = {}
        self._ids: list[str] = []
        self._later: list[Later] = []
        self._after: list[Callable[[], None]] = []
        self._readers: list[Registered] = []

    @property
    def is_plain(self) -> bool:
        """Whether no function of the user has to do with it."""
        return not (self._runs or self._later or self._after or self._readers)

    def arrived(self, hook: Registered, values: Sequence[Any]) -> tuple[Any, ...]:
        """Call a hook, or note that it is to be called after the walk."""
        if hook.kind == "post_accumulate":
            self._accumulated(hook)
            return ()
        if self._batched or not hook.reads:
            run = Run(hook, self, values)
            mark = len(self.session.journal.entries)
            try:
                with run.trace.here():
                    found = run.replaced(hook.call(run.placeholders))
            except Exception as problem:  # whatever the user's Python raises
                if self._batched or not looks(problem):
                    run.fail(problem)
                    self._runs.append(run)
                    raise
                self.session.journal.rollback(mark)
                hook.reads = True
            else:
                self._runs.append(run)
                if run.looked:
                    self._readers.append(hook)
                    if run.outputs is not None:
                        run.fail(replaces(hook))
                        raise replaces(hook)
                return found
        self._observe(hook, values)
        return ()

    def _observe(self, hook: Registered, values: Sequence[Any]) -> None:
        """Keep what came, and show it when it is there."""
        run = Run(hook, self, values)
        given = list(run.placeholders)
        self._runs.append(run)

        def look() -> None:
            found = hook.call(given)
            parts = found if isinstance(found, tuple | list) else (found,)
            if any(p is not None and all(p is not g for g in given) for p in parts):
                raise replaces(hook)

        self._after.append(look)

    def _accumulated(self, hook: Registered) -> None:
        """Call the hook of a leaf; what it records is done after the walk."""
        leaf = hook.owner()
        if leaf is None:
            return
        session: Any = self.session
        inside = isinstance(session, Trace)
        if not inside and not hook.reads:
            self._call_of_leaf(hook, leaf)
        if inside or hook.reads:
            self._after.append(lambda: hook.call([leaf]))

    def _call_of_leaf(self, hook: Registered, leaf: Any) -> None:
        """Call it now; if it can't be shown what it looks at, it is to be called after the walk."""
        later = self._put_off(hook)
        mark = len(self.session.journal.entries)
        try:
            with self.session.putting_off(later), within(grad=self._create_graph):
                hook.call([leaf])
        except Exception as problem:
            if not looks(problem):
                run = Run(hook, self, [leaf._meta])
                run.fail(problem)
                self._runs.append(run)
                raise
            self.session.journal.rollback(mark)
            self.session.abandon(self._later.pop(), problem)
            hook.reads = True
        self._readers += [hook] * later.looked

    def _put_off(self, hook: Registered) -> Later:
        """What is done after the walk, of this hook."""
        self._adopt()
        later = Later(self.session, f"the hook {hook.id}", self._before)
        self._later.append(later)
        return later

    @contextmanager
    def after(self, hook: Registered) -> Iterator[None]:
        """A block of a hook in which what is recorded is done after the walk, not in it."""
        with self.session.putting_off(self._put_off(hook)), self.session.here():
            yield

    def _adopt(self) -> None:
        """What hooks before kept is of the session from now on; of rows nothing is kept."""
        for run in self._runs:
            if self._batched:
                run.let_go(differs(run.trace.called))
            self._kept[run.id] = self._kept.get(run.id, {}) | run.adopt()

    def _before(self) -> Pending:
        """The walk as a copy of the session does it, and what is done after it."""
        found = Pending()
        for step in [*self._steps(), self.step]:
            found.add(step)
        for later in self._later:
            found.extend(later.pending, 0)
        return found

    def _steps(self) -> list[Step]:
        """What the walk's hooks record, of each hook that records anything."""
        return [*filter(None, [run.step(self._kept.get(run.id, {})) for run in self._runs])]

    def look(self, run: Run, names: Sequence[str]) -> Values:
        """Values that a hook under way looks at: seen in a walk of a copy of the session."""
        if self._batched:
            raise differs(run.trace.called)
        self._adopt()
        keep = {name: self.session.new_name() for name in dict.fromkeys(names)}
        before = self._steps()
        outputs, run.outputs, run.looked = run.outputs, None, True
        steps = [*filter(None, [*before, run.step(keep)]), self.step]
        run.outputs = outputs
        found = self.session.imagined(steps, {}, list(keep.values()), run.trace.called)
        return {name: found[keep[name]] for name in names}

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """The walk of the mirrors, which raises what the walk of the host would.

        That has elements and runs rules: it may fail before it comes to where the mirrors did.
        """
        try:
            yield
        except Exception as problem:
            first = self._first(problem)
            try:
                if first is problem:
                    raise
                raise first from None
            finally:
                del first  # which leads to this frame
        if any(later.may_fail for later in self._later):
            self._try_what_follows()

    def _try_what_follows(self) -> None:
        """Raise what fails of what is done after the walk, as long as nothing is done."""
        self._adopt()
        done = self._before()
        found = self.session.foreseen(done.steps, done.arrays)
        if found is not None:
            try:
                raise meant(found)
            finally:
                del found  # which leads to this frame

    def _first(self, problem: Exception) -> Exception:
        """What a walk raises that was seen to raise this; tried on a copy of the session."""
        session: Any = self.session
        before = isinstance(problem, GradwireError) and not problem.walked
        passed_over = any(run.fails and run.is_passed_over for run in self._runs)
        if before or passed_over or isinstance(session, Trace):
            return problem
        self._adopt()
        hooks = self._steps()
        found = session.foreseen([*hooks, self.step], {})
        at_a_hook = found is not None and found.step != len(hooks)  # none can hang at a frozen leaf
        if found is None or at_a_hook:
            return problem
        if tells(found, problem) or any(run.tells(found) for run in self._runs):
            return problem
        same = getattr(problem, "code", "") == found.code in _SEEN
        return problem if same else meant(found)

    @contextmanager
    def here(self) -> Iterator[Walk]:
        """Hooks that the mirrors come to in this block are of this walk."""
        before, under_way.walk = under_way.walk, self
        try:
            with self.session.walking():
                yield self
        finally:
            under_way.walk = before

    def register(self, mark: int) -> None:
        """Record the steps that go before the walk's own."""
        session: Any = self.session
        if isinstance(session, Trace):
            self._refuse_hooks()
            return
        self._adopt()
        for run in self._runs:
            step = run.step(self._kept[run.id])
            if step is not None:
                self._ids.append(run.id)
                self.session.record(step, run.kept(), mark=mark)
                self.session.asked_for(self._kept.pop(run.id).values())

    def _refuse_hooks(self) -> None:
        """A walk that is only written down has no hooks: those that do something are refused."""
        for run in self._runs:
            problem = part_of_no_function(run.trace.called, self.session.id)
            run.let_go(problem)
            if run.step({}) is not None:
                try:
                    raise problem
                finally:
                    del problem  # which leads to this frame

    def unregister(self, mark: int) -> None:
        """Record the steps that go after it."""
        for key in self._ids:
            self.session.record({"unhook": key}, mark=mark)
        while self._later:
            self.session.take_up(self._later.pop(0))

    def failed(self, problem: BaseException) -> None:
        """What wasn't recorded yet is given up; what the request left registered is taken away.

        After an interrupt nothing is asked of the host: what is under way takes it away itself.
        """
        self._give_up(problem if isinstance(problem, GradwireError) else raised(problem))
        self.session.settle()
        for key in self._ids if isinstance(problem, Exception) else ():
            with suppress(GradwireError):
                self.session.record({"unhook": key})
                self.session.flush()

    def _give_up(self, problem: GradwireError) -> None:
        for later in self._later:
            self.session.abandon(later, problem)
        adopted = Pending()
        for run in self._runs:
            if run.id in self._kept:
                adopted.add({"keep": self._kept[run.id]}, made=run.kept())
        if len(adopted):  # in a trace there are none
            self.session.give_up(adopted, problem)

    def finish(self) -> None:
        """Call what waited for the walk."""
        for hook in self._readers:
            hook.reads = True  # from the next walk on it waits for the end, in place of a copy
        if self._after:
            with within(grad=self._create_graph):
                for call in self._after:
                    call()


_SEEN = ("graph_freed", "modified_in_place")
"""Errors of a walk that mirrors meet as the host does."""


__all__ = ["Walk"]
