"""The chains: each rule makes a call, says the same to the model, and looks at what is left."""

from __future__ import annotations

import io
from collections.abc import Callable
from copy import deepcopy
from typing import Any
from uuid import uuid4

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.fuzz.sessions import model
from tests.fuzz.sessions.calls import Calls, Tensors, same
from tests.fuzz.sessions.model import Refused, Tensor
from tests.fuzz.sessions.wrong import WRONG, Wrong

MOST = 2.0**20
"""Elements stay below: what is larger is no operand any more, so that everything is exact."""
_LEAVES, _RESULTS = st.sampled_from(("a", "d.e")), st.sampled_from(("b", "c", "f"))
_NUMBER = st.integers(-3, 3)
_ELEMENTS = st.one_of(_NUMBER, st.lists(_NUMBER, min_size=2, max_size=2))
_UNARY, _BINARY = ("neg", "sum", "relu"), ("add", "sub", "mul")
Change = Callable[[Tensors], object]


class Sessions(RuleBasedStateMachine):
    """Some sessions at a time; `calls` is set before a run."""

    calls: Calls

    def __init__(self) -> None:
        super().__init__()
        self.open: dict[str, Tensors] = {}
        self.closed: list[str] = []
        self.done: list[tuple[str, dict[str, Any], str, Any]] = []  # by Idempotency-Key

    def teardown(self) -> None:
        """Leave nothing on the server."""
        for key in list(self.open):
            self.calls.expect(204, "DELETE", f"/v1/sessions/{key}")

    # what rules are made of

    def pick(self, data: st.DataObject) -> tuple[str, Tensors]:
        """One of the sessions."""
        key = data.draw(st.sampled_from(list(self.open)), "session")
        return key, self.open[key]

    def name(self, data: st.DataObject, tensors: Tensors) -> str:
        """Of a tensor that is there; or one that may not be, where there is none."""
        return data.draw(st.sampled_from(sorted(tensors) or ["a"]), "name")

    def root(self, data: st.DataObject, tensors: Tensors) -> str:
        """Mostly of one that can be differentiated, where there is any."""
        fit = [name for name, t in tensors.items() if t.node is not None and not t.array.shape]
        anyone = data.draw(st.integers(0, 4), "any") == 0
        return self.name(data, tensors if anyone or not fit else {n: tensors[n] for n in fit})

    def steps(self, key: str, steps: list[dict[str, Any]], change: Change, **fields: Any) -> None:
        """Steps that do this, or must be refused, after which nothing has changed."""
        after = deepcopy(self.open[key])
        path, body = f"/v1/sessions/{key}/steps", {"steps": steps, **fields}
        try:
            change(after)
        except KeyError:
            self.calls.refused(("tensor_not_found",), "POST", path, json=body)
        except Refused as refused:
            self.calls.refused(refused.codes, "POST", path, json=body)
        else:
            self.calls.expect(200, "POST", path, json=body)
            self.open[key] = after
        self.calls.compare(key, self.open[key])

    # the rules

    @initialize()
    def begin(self) -> None:
        """A chain begins with a session in which something has been computed."""
        self.create()
        (key,) = self.open
        a = {"tensor": "a", "value": {"dtype": "float64", "data": [2, -1]}, "requires_grad": True}
        made = [a, {"op": "mul", "args": ["a", "a"], "out": "b"},
                {"op": "sum", "args": ["b"], "out": "c"}]  # fmt: skip

        def change(tensors: Tensors) -> None:
            tensors["a"] = model.leaf([2, -1], True)
            tensors["b"] = model.apply("mul", [tensors["a"], tensors["a"]])
            tensors["c"] = model.apply("sum", [tensors["b"]])

        self.steps(key, made, change)

    @precondition(lambda self: len(self.open) < 3)
    @rule()
    def create(self) -> None:
        """A new one, empty."""
        made = self.calls.expect(201, "POST", "/v1/sessions", json={"dtype": "float64"})
        self.open[made["id"]] = {}

    @rule(data=st.data(), name=_LEAVES, elements=_ELEMENTS, flag=st.booleans())
    def tensor(self, data: st.DataObject, name: str, elements: Any, flag: bool) -> None:
        """A leaf by a step."""
        key, _ = self.pick(data)
        value = {"dtype": "float64", "data": elements}
        step = {"tensor": name, "value": value, "requires_grad": flag}
        self.steps(key, [step], lambda t: t.__setitem__(name, model.leaf(elements, flag)))

    @rule(data=st.data(), name=_LEAVES, elements=_ELEMENTS, flag=st.booleans())
    def put(self, data: st.DataObject, name: str, elements: Any, flag: bool) -> None:
        """A leaf as an npy file, which is then read back."""
        key, tensors = self.pick(data)
        file = io.BytesIO()
        np.save(file, np.array(elements, np.float64))
        path, kind = f"/v1/sessions/{key}/tensors/{name}", "application/x-npy"
        asked = {"params": {"requires_grad": str(flag).lower()}, "headers": {"content-type": kind}}
        self.calls.expect(200, "PUT", path, content=file.getvalue(), **asked)
        tensors[name] = model.leaf(elements, flag)
        reply = self.calls.expect(200, "GET", path, headers={"accept": kind})
        same(np.load(io.BytesIO(reply.content)).tolist(), tensors[name].array.tolist(), name)
        self.calls.compare(key, tensors)

    @rule(data=st.data(), out=_RESULTS, op=st.sampled_from(_UNARY + _BINARY))
    def op(self, data: st.DataObject, out: str, op: str) -> None:
        """An op under a name, which may be an operand's."""
        key, tensors = self.pick(data)
        args: list[Any] = [self.name(data, tensors)]
        if op in _BINARY:
            args.append(data.draw(st.one_of(_NUMBER, st.just(self.name(data, tensors))), "other"))
        self._apply(key, op, args, out, data.draw(st.booleans(), "grad mode"))

    @rule(data=st.data(), out=_RESULTS, exponent=st.integers(1, 3))
    def power(self, data: st.DataObject, out: str, exponent: int) -> None:
        """One that keeps its input."""
        key, tensors = self.pick(data)
        self._apply(key, "pow", [self.name(data, tensors), exponent], out, True)

    def _apply(self, key: str, op: str, args: list[Any], out: str, grad_mode: bool) -> None:
        def change(tensors: Tensors) -> None:
            tensors[out] = model.apply(op, _operands(tensors, args), grad_mode)

        if self._small(key, args):
            step = {"op": op, "args": args, "out": out, "grad_mode": _mode(grad_mode)}
            self.steps(key, [step], change)

    def _small(self, key: str, args: list[Any]) -> bool:
        tensors = [self.open[key][a] for a in args if type(a) is str and a in self.open[key]]
        return all(np.abs(t.array).max() < MOST for t in tensors)

    @rule(data=st.data(), op=st.sampled_from(_BINARY), grad_mode=st.booleans())
    def in_place(self, data: st.DataObject, op: str, grad_mode: bool) -> None:
        """An op that writes to its first operand."""
        key, tensors = self.pick(data)
        name = self.name(data, tensors)
        other = data.draw(st.one_of(_NUMBER, st.just(self.name(data, tensors))), "other")

        def change(tensors: Tensors) -> None:
            target, value = _operands(tensors, [name, other])
            model.write(target, op, value, grad_mode)

        if self._small(key, [name, other]):
            step = {"op": f"{op}_", "args": [name, other], "grad_mode": _mode(grad_mode)}
            self.steps(key, [step], change)

    @rule(data=st.data(), keep=st.booleans())
    def backward(self, data: st.DataObject, keep: bool) -> None:
        """Gradients accumulate in the leaves."""
        key, tensors = self.pick(data)
        name = self.root(data, tensors)
        self.steps(key, [_walk(name, keep)], lambda t: model.backward(t[name], keep))

    @rule(data=st.data(), spoiled=st.booleans())
    def twice(self, data: st.DataObject, spoiled: bool) -> None:
        """A graph that is walked again, or whose tensors were written to meanwhile."""
        key, tensors = self.pick(data)
        name, other = self.root(data, tensors), self.name(data, tensors)
        self.steps(key, [_walk(name, spoiled)], lambda t: model.backward(t[name], spoiled))
        if spoiled and self._small(key, [other]):
            step = {"op": "add_", "args": [other, 1], "grad_mode": "no_grad"}
            self.steps(key, [step], lambda t: model.write(t[other], "add", 1.0, grad_mode=False))
        self.steps(key, [_walk(name, False)], lambda t: model.backward(t[name], keep=False))

    @rule(data=st.data(), keep=st.booleans(), unused=st.booleans())
    def grad(self, data: st.DataObject, keep: bool, unused: bool) -> None:
        """Gradients that are answered, and change nothing but what is freed."""
        key, tensors = self.pick(data)
        root, one = self.root(data, tensors), self.name(data, tensors)
        fields = {"outputs": [root], "inputs": [one], "retain_graph": keep, "allow_unused": unused}

        def change(tensors: Tensors) -> None:
            (found,) = model.gradients(tensors[root], [tensors[one]], keep, unused)
            if not unused:
                tensors["g"] = model.leaf(found)

        self.steps(key, [{"grad": fields, "out": [None if unused else "g"]}], change)

    @rule(data=st.data(), flag=st.booleans())
    def require(self, data: st.DataObject, flag: bool) -> None:
        """Whether a leaf takes gradients."""
        key, tensors = self.pick(data)
        name = self.name(data, tensors)
        if name in tensors and tensors[name].node is None:
            step = {"requires_grad": name, "value": flag}
            self.steps(key, [step], lambda t: setattr(t[name], "requires_grad", flag))

    @rule(data=st.data(), out=_RESULTS)
    def detach(self, data: st.DataObject, out: str) -> None:
        """A second name for the same elements."""
        key, tensors = self.pick(data)
        name = self.name(data, tensors)
        step = {"detach": name, "out": out}
        self.steps(key, [step], lambda t: t.__setitem__(out, Tensor(t[name].storage)))

    @rule(data=st.data(), whole=st.booleans())
    def zero(self, data: st.DataObject, whole: bool) -> None:
        """No gradients any more, by a step or at their address."""
        key, tensors = self.pick(data)
        name = self.name(data, tensors)
        if not whole and name in tensors:
            self.calls.expect(204, "DELETE", f"/v1/sessions/{key}/tensors/{name}/grad")
            tensors[name].grad = None
            self.calls.compare(key, tensors)
            return
        step = {"zero_grad": [name]}
        self.steps(key, [step], lambda t: setattr(t[name], "grad", None))

    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        """A name less; what the graph needs of it lives on."""
        key, tensors = self.pick(data)
        name = self.name(data, tensors)
        path = f"/v1/sessions/{key}/tensors/{name}"
        if tensors.pop(name, None) is None:
            self.calls.refused(("tensor_not_found",), "DELETE", path)
        else:
            self.calls.expect(204, "DELETE", path)
        self.calls.refused(("tensor_not_found",), "GET", path)
        self.calls.compare(key, tensors)

    @precondition(lambda self: len(self.open) < 3)
    @rule(data=st.data(), file=st.booleans())
    def again(self, data: st.DataObject, file: bool) -> None:
        """A second session as this one is: by fork, or by a snapshot that is restored."""
        key, tensors = self.pick(data)
        path = f"/v1/sessions/{key}"
        if file:
            content = self.calls.expect(200, "GET", f"{path}/snapshot").content
            kind = {"content-type": "application/x-safetensors"}
            made = self.calls.expect(201, "POST", "/v1/sessions", content=content, headers=kind)
        else:
            made = self.calls.expect(201, "POST", f"{path}/fork")
        self.open[made["id"]] = deepcopy(tensors)
        self.calls.compare(made["id"], tensors)

    @precondition(lambda self: len(self.open) > 1)
    @rule(data=st.data())
    def close(self, data: st.DataObject) -> None:
        """A session less; those made of it stay."""
        key, _ = self.pick(data)
        self.calls.expect(204, "DELETE", f"/v1/sessions/{key}")
        del self.open[key]
        self.closed.append(key)
        self.calls.refused(("session_closed",), "GET", f"/v1/sessions/{key}/tensors")
        for other, tensors in self.open.items():
            self.calls.compare(other, tensors)

    @rule(data=st.data())
    def once(self, data: st.DataObject) -> None:
        """A change with a key is made once, however often it is asked for."""
        key, tensors = self.pick(data)
        value = {"tensor": "k", "value": {"dtype": "float64", "data": 1}}
        body = {"steps": [value if "k" not in tensors else {"op": "add_", "args": ["k", 1]}],
                "return": ["k"], "grad_mode": "no_grad"}  # fmt: skip
        retried, path = str(uuid4()), f"/v1/sessions/{key}/steps"
        head = {"idempotency-key": retried}
        first = self.calls.expect(200, "POST", path, json=body, headers=head)
        if "k" in tensors:
            model.write(tensors["k"], "add", 1, grad_mode=False)
        else:
            tensors["k"] = model.leaf(1)
        same(self.calls.expect(200, "POST", path, json=body, headers=head), first, "a retry")
        other = {"steps": [], "return": []}
        self.calls.refused(("idempotency_conflict",), "POST", path, json=other, headers=head)
        self.calls.compare(key, tensors)
        self.done.append((path, body, retried, first))

    @precondition(lambda self: self.done)
    @rule(data=st.data())
    def late_retry(self, data: st.DataObject) -> None:
        """Also after much else has happened, its session's end included."""
        path, body, retried, first = data.draw(st.sampled_from(self.done), "which")
        head = {"idempotency-key": retried}
        same(self.calls.expect(200, "POST", path, json=body, headers=head), first, "a late retry")

    @rule(data=st.data(), wrong=st.sampled_from(WRONG), kept=st.booleans())
    def wrong(self, data: st.DataObject, wrong: Wrong, kept: bool) -> None:
        """A request that can't be; behind a step that can, which is undone unless it says not."""
        key, tensors = self.pick(data)
        if not wrong.step:
            path = wrong.path.replace("{s}", f"/v1/sessions/{key}")
            self.calls.refused((wrong.code,), wrong.method, path, **wrong.fields)
        else:
            first = {"tensor": "w", "value": {"dtype": "float64", "data": 7}}
            body = {"steps": [first, wrong.fields], "atomic": not kept}
            self.calls.refused((wrong.code,), "POST", f"/v1/sessions/{key}/steps", json=body)
            if kept and not wrong.early:
                tensors["w"] = model.leaf(7)
        self.calls.compare(key, tensors)

    @precondition(lambda self: self.closed)
    @rule(data=st.data())
    def gone(self, data: st.DataObject) -> None:
        """Whatever is asked of a closed session is 410, whatever else is wrong with it."""
        path = f"/v1/sessions/{data.draw(st.sampled_from(self.closed))}"
        for method, below in (("GET", ""), ("POST", "/fork"), ("DELETE", ""), ("GET", "/graph")):
            self.calls.refused(("session_closed",), method, path + below)


def _walk(name: str, keep: bool) -> dict[str, Any]:
    return {"backward": {"tensors": [name], "retain_graph": keep}}


def _mode(grad_mode: bool) -> str:
    return "enable_grad" if grad_mode else "no_grad"


def _operands(tensors: Tensors, args: list[Any]) -> list[Any]:
    return [tensors[arg] if type(arg) is str else float(arg) for arg in args]
