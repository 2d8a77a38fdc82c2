"""Derivative rules: what each needs, checked when the op is declared, pre-resolved for each call.

A rule is `lambda g, <what is saved>, <attributes and specs>: gradient of one operand`, written in
ops. Its parameter names say what it gets: `g` (or `g_<output>` for ops with several results),
operands and outputs by name, which are thereby saved, then attributes and `<operand>_spec`. The
entry `joint` gives the gradients of all operands at once, and may ask for `needs`, a bool each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from gradwire_engine.errors import error
from gradwire_engine.signature import Signature, parameter_names


class Rule(NamedTuple):
    """One rule with the names of its parameters sorted by what they are."""

    operand: str
    function: Callable[..., Any]
    cotangents: tuple[int, ...]  # which outputs' cotangents it takes
    saved: tuple[str, ...]
    static: tuple[str, ...]
    nothing: Callable[..., bool] | None = None


class Rules:
    """All rules of an op by operand."""

    __slots__ = ("by_operand", "common", "joint", "saved_names")

    def __init__(
        self,
        op: str,
        rules: dict[str, Callable[..., Any]],
        signature: Signature,
        outputs: tuple[str, ...],
        keeps: tuple[str, ...] = (),
    ) -> None:
        operands = [signature.parameters[i].name for i in signature.operand_places]
        stages = _stages(operands, signature, outputs) if rules else {}
        self.by_operand: dict[str, Rule] = {}
        for operand, function in rules.items():
            if operand != "joint" and operand not in operands:
                raise TypeError(f"op {op}: a rule for {operand!r}, but the operands are {operands}")
            self.by_operand[operand] = _read(op, operand, function, stages, outputs)
        self.joint = self.by_operand.pop("joint", None)
        if self.joint and self.by_operand:
            raise TypeError(f"op {op}: either one joint rule or a rule for each operand")
        names = [n for rule in self.all() for n in rule.saved]
        self.saved_names = tuple(dict.fromkeys([*names, *keeps]))
        several = len(self.by_operand) > 1
        # what torch saves whichever of the rules is to run, even where none is
        shared = [n for n in self.saved_names if names.count(n) > 1 or not several]
        self.common = tuple(dict.fromkeys([*shared, *keeps]))

    def all(self) -> list[Rule]:
        return [self.joint] if self.joint else list(self.by_operand.values())

    def __bool__(self) -> bool:
        return bool(self.joint or self.by_operand)


def _stages(operands: list[str], signature: Signature, outputs: tuple[str, ...]) -> dict[str, int]:
    """What a rule may ask for: cotangents (0), what is saved (1), attributes and specs (2)."""
    stages = {parameter.name: 2 for parameter in signature.parameters}
    stages["needs"] = 2
    for name in (*operands, *outputs):
        stages[f"{name}_spec"] = 2
        stages[name] = 1
    for name in outputs:
        stages[f"g_{name}"] = 0
    if len(outputs) == 1:
        stages["g"] = 0
    return stages


def _read(
    op: str,
    operand: str,
    function: Callable[..., Any],
    stages: dict[str, int],
    outputs: tuple[str, ...],
) -> Rule:
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    stage = 0
    for name in parameter_names(function):
        where = stages.get(name)
        if where is None:
            raise TypeError(
                f"op {op}, rule for {operand}: no operand, output or attribute is called {name!r}"
            )
        if where < stage:
            raise TypeError(
                f"op {op}, rule for {operand}: {name!r} stands too late; "
                "the order is cotangents, saved tensors, attributes and specs"
            )
        stage = where
        found[where].append(name)
    cotangents = tuple([0 if name == "g" else outputs.index(name[2:]) for name in found[0]])
    nothing = _NOTHING.get(function)
    return Rule(operand, function, cotangents, tuple(found[1]), tuple(found[2]), nothing)


class Derivative(dict[str, Callable[..., Any]]):
    """Rules by operand, and the formula that says them to people."""

    formula: str | None = None
    refused = False


def vjp(formula: str | None = None, /, **rules: Callable[..., Any]) -> Derivative:
    """The derivative rules of an op, an operand each, and what they come to as a formula:
    `vjp("g conj(other)", input=lambda g, other: g * conj(other))`.
    """
    made = Derivative(rules)
    made.formula = formula
    return made


# kept beside the rules, as functions are declared to have no such attribute
_NOTHING: WeakKeyDictionary[Callable[..., Any], Callable[..., bool]] = WeakKeyDictionary()


def nothing_where(condition: Callable[..., bool], rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule of which nothing comes, not even zeros, in calls whose attributes say so.

    condition: takes attributes, by their names.
    """
    _NOTHING[rule] = condition
    return rule


_LINEAR: WeakKeyDictionary[Callable[..., Any], Callable[..., Any]] = WeakKeyDictionary()


def checked(check: Callable[..., Any], rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule whose cotangents are looked at before: some of them have no gradient.

    check: takes what the rule takes, and gives that to the rule. A rule that is transposed has no
    cotangents yet, but variables for them: `linear_part` is the rule without the check.
    """

    @wraps(rule)
    def run(*arguments: Any) -> Any:
        return rule(*check(*arguments))

    _LINEAR[run] = rule
    return run


def linear_part(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A rule as a linear map of its cotangents, whichever they are."""
    return _LINEAR.get(rule, rule)


def unknown(op: str, *operands: str) -> Derivative:
    """Of an op that torch records, though it has no derivative of it: a walk that comes there ends.

    NOT_IMPLEMENTED is what its node is called.
    """

    def refuse(g: Any) -> Any:
        raise error(
            "invalid_argument",
            f"backward: the derivative of {op} is not implemented",
            "detach() what it is taken of",
        )

    found = Derivative(dict.fromkeys(operands, refuse))
    found.formula = "refused"
    found.refused = True
    return found


NOT_IMPLEMENTED = "NotImplemented"
