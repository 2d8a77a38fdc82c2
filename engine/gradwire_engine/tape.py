"""The graph as data: nodes, and the edges that lead from an operand back to where it was made.

A node has no closure in it: the call (op, attributes, specs), an edge per operand, what was saved
and at which version. An edge is a `Node` (its only output), an `Output` (one of several) or an
`AccumulateGrad` (a leaf); None where nothing flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from weakref import ReferenceType, ref

from gradwire_engine.errors import error
from gradwire_engine.journal import assign
from gradwire_engine.mode import local

if TYPE_CHECKING:
    from gradwire_engine.call import Call, Recipe
    from gradwire_engine.spec import Spec
    from gradwire_engine.tensor import Tensor

next_seq = count(1).__next__
"""Creation order: a node's operands always have smaller numbers than the node itself."""

FREED = ()
"""What stands in `saved` once the saved tensors were freed; `versions` is then None."""


class Program(Protocol):
    """A user's function as the graph holds it: data that can run, on tensors and on None."""

    @property
    def id(self) -> str: ...

    def __call__(self, *values: Any) -> tuple[Any, ...]: ...


class Bound:
    """A program with its last values given: tensors that it uses beside what comes."""

    __slots__ = ("program", "values")

    def __init__(self, program: Program, values: tuple[Any, ...]) -> None:
        self.program, self.values = program, values

    @property
    def id(self) -> str:
        """The program's."""
        return self.program.id

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        return self.program(*given, *self.values)


class Hooked:
    """What nodes and leaves' edges have in common: attachments."""

    __slots__ = ("extra",)

    extra: Extra | None

    def annotate(self) -> Extra:
        """The rare attachments of this node, made when first asked for."""
        if self.extra is None:
            self.extra = Extra()
        return self.extra

    def register_prehook(self, program: Program) -> Handle:
        """Run it on the gradients of the outputs before the rules; it may replace them all."""
        return self.annotate().attach(BEFORE, 0, program)

    def register_hook(self, program: Program) -> Handle:
        """Run it on the operands' gradients and then the outputs'; it may replace the former."""
        return self.annotate().attach(AFTER, 0, program)


class Node(Hooked):
    """One recorded call. saved: Tensors and numbers; versions: the version each was saved at.

    saved is a tuple, or what makes one again when it is read (see checkpoint.py).
    """

    __slots__ = ("__weakref__", "edges", "recipe", "saved", "seq", "versions")

    def __init__(
        self,
        recipe: Recipe,
        edges: tuple[Edge | None, ...],
        saved: Sequence[Any],
        versions: tuple[int, ...] | None,
        seq: int,
    ) -> None:
        self.recipe = recipe
        self.edges = edges
        self.saved = saved
        self.versions = versions
        self.seq = seq
        self.extra: Extra | None = None

    @property
    def call(self) -> Call:
        """The op, attributes and specs."""
        return self.recipe.call

    @property
    def held(self) -> tuple[Any, ...]:
        """What is kept for the way back: `saved`, or where that can be made again, the means."""
        saved: Any = self.saved
        return saved if type(saved) is tuple else saved.held

    @property
    def freed(self) -> bool:
        """Whether a backward freed what this node had saved."""
        return self.versions is None

    def name(self) -> str:
        """PyTorch's name for this node: "PowBackward0"."""
        return (self.extra and self.extra.label) or self.recipe.call.name

    @property
    def next_functions(self) -> tuple[tuple[Node | AccumulateGrad | None, int], ...]:
        """Where the operands' gradients go: (node, output number) each that could have one."""
        edges = [self.edges[place] for place in self.recipe.call.counted]
        return tuple((None, 0) if e is None else (target(e), place(e)) for e in edges)

    def describe(self) -> str:
        """The name, and where known the step and tensor that made the node."""
        origin = local.state.origin
        where = origin(self.seq) if origin is not None else ""
        return f"{self.name()} ({where})" if where else self.name()

    def __repr__(self) -> str:
        return f"<{self.name()} #{self.seq}>"


RETAIN, TENSOR, BEFORE, AFTER, ACCUMULATED = "retain", "tensor", "before", "after", "accumulated"
"""Kinds of attachments: a tensor that retains its gradient; hooks of a tensor, of a node before and
after its rules, of a leaf after its gradient was accumulated."""


class Attachment(NamedTuple):
    """Something at an output of a node: a weak reference to a tensor, or a hook's program."""

    kind: str
    output: int
    what: Any


_MOST = 1000
"""Hooks at one node or leaf."""


class Extra:
    """What few nodes and leaves have: another name, and attachments in the order they came.

    A tensor that is detached in place takes its list of hooks along, which an older graph may lead
    to as well. listed: whether there is one, though it may be empty. origin: of a leaf, where the
    list hung before, and at which output; heir: there, the leaf's. A node that gave its tensor
    another form in place has such an origin too, where hooks go on to hang, and is no heir.
    """

    __slots__ = ("__weakref__", "attached", "heir", "label", "listed", "origin")

    def __init__(self) -> None:
        self.label: str | None = None
        self.attached: tuple[Attachment, ...] = ()
        self.listed = False
        self.origin: tuple[Extra, int] | None = None
        self.heir: ReferenceType[Extra] | None = None

    def inherit(self, older: Extra, output: int) -> None:
        """Share the hooks that hang at an output of a node, those to come among them."""
        self.attached = tuple([a for a in older.attached if (a.kind, a.output) == (TENSOR, output)])
        self.listed, self.origin = True, (older, output)
        assign(older, "heir", ref(self))

    def attach(self, kind: str, output: int, what: Any) -> Handle:
        """Add an attachment, undone with the running transaction; limit_exceeded past a thousand.

        The transaction keeps what was there before each, which would grow with the square of them.
        """
        if len(self.attached) >= _MOST:
            raise error(
                "limit_exceeded",
                f"{_MOST} hooks hang there already",
                "remove those that are no longer needed, or do their work in one",
            )
        older = self
        if kind == TENSOR and self.origin is not None:
            older, output = self.origin
        older.listed = older.listed or kind == TENSOR
        made = Attachment(kind, output, what)
        for extra in older.sharing(made):
            assign(extra, "attached", (*extra.attached, made))
        return Handle(older, made)

    def sharing(self, attachment: Attachment) -> list[Extra]:
        """This, and the leaf's where hooks of this kind and place hang too."""
        heir = None if self.heir is None else self.heir()
        if heir is None or heir.origin != (self, attachment.output) or attachment.kind != TENSOR:
            return [self]
        return [self, heir]


class Handle:
    """Takes a hook away again, as long as what it hangs at is there."""

    __slots__ = ("attachment", "extra")

    def __init__(self, extra: Extra, attachment: Attachment) -> None:
        self.extra, self.attachment = ref(extra), attachment

    def remove(self) -> None:
        """Remove the hook; once more does nothing."""
        extra = self.extra()
        for one in () if extra is None else extra.sharing(self.attachment):
            assign(one, "attached", tuple(a for a in one.attached if a is not self.attachment))


class Output:
    """An edge to one of several outputs of a node."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node, self.index = node, index


class AccumulateGrad(Hooked):
    """The edge of a leaf: gradients that arrive are added to the tensor's `.grad`.

    The graph holds neither the leaf nor its gradient, which may hold the graph. spec: the form of
    gradients that arrive, which stays when the leaf gets another one in place. grad: where the leaf
    is gone, its gradient may still be known by a name, and is added to.
    """

    __slots__ = ("__weakref__", "grad", "leaf", "seq", "spec")

    edges: tuple[Edge | None, ...] = ()

    def __init__(self, leaf: Tensor) -> None:
        self.leaf = ref(leaf)
        self.spec: Spec | None = leaf.spec
        self.grad: ReferenceType[Tensor] | None = None if leaf.grad is None else ref(leaf.grad)
        self.seq = 0
        self.extra: Extra | None = None

    @property
    def next_functions(self) -> tuple[()]:
        return ()

    def name(self) -> str:
        return "AccumulateGrad"


Edge = Node | Output | AccumulateGrad


def target(edge: Edge) -> Node | AccumulateGrad:
    """The node that an edge leads to."""
    return edge.node if type(edge) is Output else edge  # type: ignore[return-value]


def place(edge: Edge) -> int:
    """Which output of its node an edge stands for."""
    return edge.index if type(edge) is Output else 0


def bare(edge: Edge | None, anyway: bool = False) -> Edge | None:
    """The same edge to a node without attachments: a second one, where the node has some.

    anyway: also where it has none, for hooks that hang in another graph, which mirrors this one.
    """
    node = None if edge is None else target(edge)
    if type(node) is not Node:
        return edge
    extra = node.extra
    if not anyway and (extra is None or not extra.attached):
        return edge
    return again(edge, node.edges)  # type: ignore[arg-type]


def again(edge: Node | Output, edges: tuple[Edge | None, ...]) -> Edge:
    """The same edge to a second node, without attachments, that leads on by these edges."""
    node = edge.node if type(edge) is Output else edge
    assert type(node) is Node
    made = Node(node.recipe, edges, node.saved, node.versions, next_seq())
    made.annotate().label = None if node.extra is None else node.extra.label
    return Output(made, edge.index) if type(edge) is Output else made


class GradientEdge(NamedTuple):
    """A place in the graph where a gradient can be asked for, as torch names it."""

    node: Node | AccumulateGrad
    output_nr: int

    @property
    def edge(self) -> Edge:
        """The same as an operand's edge."""
        node = self.node
        several = type(node) is Node and not node.recipe.call.single
        return Output(node, self.output_nr) if several else node  # type: ignore[arg-type]

    @property
    def spec(self) -> Spec:
        """Shape and dtype of the gradient that comes here."""
        node = self.node
        if type(node) is Node:
            return node.recipe.call.outputs[self.output_nr]
        if node.spec is None:  # type: ignore[union-attr]
            raise error("invalid_argument", "gradient edge: its leaf is gone", "keep the tensor")
        return node.spec  # type: ignore[union-attr]
