"""Restores the graph of a pass from its operations, and from a dump of the graph where there is one.

An operation names its operands, so that most edges are known. A name such as `Qcur-0 (reshaped)`, which no recorded
operation produced, belongs to a view of `Qcur-0`; a name that nothing produced is a leaf.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from tracegen.contract.ggml_types import BLOCKS
from tracegen.contract.naming import places_of
from tracegen.foreign.dot import DotGraph, DotNode
from tracegen.foreign.ops import Described, fills

# What ggml adds to the name of a tensor for an operation that computes nothing.
VIEWS = {" (view)": "VIEW", " (reshaped)": "RESHAPE", " (permuted)": "PERMUTE", " (transposed)": "TRANSPOSE"}


@dataclass
class Node:
    """A node or leaf: unknown dtype, shape and size are None; `operands` are numbers of nodes by slot."""

    kind: str
    op: str
    name: str
    operands: dict[int, int] = field(default_factory=dict)
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    size_bytes: int | None = None


@dataclass(frozen=True)
class Graph:
    """Nodes in order of execution, then leaves. `at` has the node of each operation of the pass, `sources` for each the
    node or leaf of every operand. `dumped`: the nodes come from a dump."""

    nodes: tuple[Node, ...]
    n_nodes: int
    at: tuple[int, ...]
    sources: tuple[tuple[int, ...], ...]
    dumped: bool

    @property
    def topology(self) -> str:
        """Hash of operations, names, types and operands, without sizes."""
        digest = hashlib.sha256(str(self.n_nodes).encode())
        for node in self.nodes:
            digest.update(repr((node.op, node.name, node.dtype, sorted(node.operands.items()))).encode())
        return digest.hexdigest()[:16]

    def places(self) -> list[tuple[int | None, str]]:
        """Layer and component of each node and leaf, by their names."""
        operands = [[number for _, number in sorted(node.operands.items())] for node in self.nodes]
        return places_of([n.op for n in self.nodes], [n.name for n in self.nodes], operands, self.n_nodes)


def graph_of(ops: Sequence[Described], room: tuple[int, int], weights: Sequence[str]) -> Graph:
    """The graph of the operations of a pass. `room`: the longest names of results and operands, 0: any.

    A name that fills its room may be cut: it stands for the last result, or the only one of `weights`, that begins so.
    """
    building = _Building(room, weights)
    return building.graph([building.add(each) for each in ops])


class _Building:
    """Nodes as they are found, and which of them has a name now."""

    def __init__(self, room: tuple[int, int], weights: Sequence[str]) -> None:
        self._nodes: list[Node] = []
        self._leaves: list[Node] = []
        self._named: dict[str, int] = {}
        self._leaf: dict[tuple[str, int], int] = {}
        self._room, self._weights = room, weights
        self._views: dict[str, list[str]] = {}  # by name of what they view
        self._cut: set[str] = set()  # names of results that may be cut

    def add(self, each: Described) -> tuple[int, tuple[int, ...]]:
        """Take the next operation; its number, and those of its operands (leaves: −1 − number)."""
        sources = tuple(self._source(o.name, o.address, o.size_bytes) for o in each.operands)
        node = Node("op", each.op, each.name, dict(enumerate(sources)))
        self._nodes.append(node)
        number = len(self._nodes) - 1
        if each.name:
            for name in self._views.pop(each.name, ()):  # views of the former result of this name
                self._named.pop(name, None)
            self._named[each.name] = number
            if fills(each.name, self._room[0]):
                self._cut.add(each.name)
        return number, sources

    def _source(self, name: str, address: int, size: int) -> int:
        number = self._producer(name)
        if number is None:
            return self._leaf_of(name, address, size)
        self._nodes[number].size_bytes = self._nodes[number].size_bytes or size
        return number

    def _producer(self, name: str) -> int | None:
        """The node that has the name now, or a view of one that is made for it; None: a leaf."""
        if not name:
            return None
        if name in self._named:
            return self._named[name]
        if fills(name, self._room[1]):
            numbers = [number for known, number in self._named.items() if known.startswith(name)]
            if numbers:
                return max(numbers)
        for known in self._cut:
            if known in self._named and name.startswith(known):
                return self._named[known]
        base, view = _view_of(name)
        of = self._producer(base) if view is not None else None
        if view is None or of is None:
            return None
        self._nodes.append(Node("noop", view, name, {0: of}))
        self._named[name] = len(self._nodes) - 1
        self._views.setdefault(name.partition(" (")[0], []).append(name)
        return self._named[name]

    def _leaf_of(self, name: str, address: int, size: int) -> int:
        key = (name, address)
        if key not in self._leaf:
            whole = name
            if fills(name, self._room[1]):
                matching = [weight for weight in self._weights if weight.startswith(name)]
                whole = matching[0] if len(matching) == 1 else name
            self._leaves.append(Node("leaf", "NONE", whole, size_bytes=size))
            self._leaf[key] = -len(self._leaves)
        return self._leaf[key]

    def graph(self, added: list[tuple[int, tuple[int, ...]]]) -> Graph:
        """The graph, with leaves behind the nodes."""
        n = len(self._nodes)

        def final(number: int) -> int:
            return number if number >= 0 else n - 1 - number

        for node in self._nodes:
            node.operands = {slot: final(number) for slot, number in node.operands.items()}
        return Graph(
            (*self._nodes, *self._leaves),
            n,
            tuple(number for number, _ in added),
            tuple(tuple(map(final, sources)) for _, sources in added),
            False,
        )


def _view_of(name: str) -> tuple[str, str | None]:
    """What a name is a view of, and the operation of the view; None where the name is not that of a view."""
    for suffix, op in VIEWS.items():
        if name.endswith(suffix):
            return name.removesuffix(suffix), op
    return name, None


def joined(ops: Sequence[Described], dump: DotGraph, room: tuple[int, int]) -> Graph | None:
    """The graph of a dump, if the operations of a pass are in it in their order, with their names and operands.

    Operations may be missing in the pass, nodes may not be missing in the dump. None: it is not the graph of the pass.
    """
    at: list[int] = []
    node = 0
    for each in ops:
        while node < dump.n_nodes and not _is(each, dump, node, room):
            node += 1
        if node == dump.n_nodes:
            return None
        at.append(node)
        node += 1
    nodes = [
        Node(
            "leaf" if i >= dump.n_nodes else "op" if known.computes else "noop",
            known.op,
            known.name,
            dict(dump.operands[i]),
            known.dtype,
            known.shape,
        )
        for i, known in enumerate(dump.nodes)
    ]
    sources = []
    for number, each in zip(at, ops, strict=True):
        nodes[number].op = each.op
        operands = [dump.operands[number][slot] for slot in range(len(each.operands))]
        for source, operand in zip(operands, each.operands, strict=True):
            nodes[source].size_bytes = operand.size_bytes
        sources.append(tuple(operands))
    return Graph(tuple(nodes), dump.n_nodes, tuple(at), tuple(sources), True)


def agreement(ops: Sequence[Described], dump: DotGraph, graph: Graph) -> int:
    """How many operands have exactly the size of their node: a view may have holes, so that it may also be larger."""
    return sum(
        operand.size_bytes == _WHOLE[node.dtype] * prod(node.shape)
        for sources, each in zip(graph.sources, ops, strict=True)
        for node, operand in zip((dump.nodes[source] for source in sources), each.operands, strict=True)
        if node.dtype in _WHOLE
    )


def _is(each: Described, dump: DotGraph, number: int, room: tuple[int, int]) -> bool:
    """Whether an operation can be this node: its name, and name and size of each operand that it names."""
    node, operands = dump.nodes[number], dump.operands[number]
    if not node.computes or not _same(each.name, node.name, room[0]):
        return False
    for slot, operand in enumerate(each.operands):
        if slot not in operands:
            return False
        source = dump.nodes[operands[slot]]
        if not _same(operand.name, source.name, room[1]):
            return False
        if not _fits(operand.size_bytes, source, is_leaf=operands[slot] >= dump.n_nodes):
            return False
    return True


_WHOLE = {name: BLOCKS[name][1] for name in ("F32", "F16", "I32", "I64")}  # bytes of an element


def _fits(size: int, source: DotNode, *, is_leaf: bool) -> bool:
    """Whether an operand of `size` bytes can be this node. Of a leaf the dump states two dimensions of up to four."""
    if source.dtype not in _WHOLE or (not is_leaf and not source.computes):  # a view may have holes
        return True
    stated = _WHOLE[source.dtype] * prod(source.shape)
    return size == stated or (is_leaf and stated > 0 and size % stated == 0)


def _same(name: str, whole: str, room: int) -> bool:
    """Whether a recorded name, which may be cut, is this one.

    A dump drops spaces around a name; an exported graph keeps the first of several groups in parentheses.
    """
    if name.strip() == whole.strip() or (" (" in whole and name.startswith(f"{whole} (")):
        return True
    return fills(name, room) and whole.startswith(name)
