"""Graphviz files of ggml_graph_dump_dot: the graph with every node, types, shapes and operands.

    "0xPTR" [ style = filled; fillcolor = white; shape = record; label="NAME (TYPE)|NUMBER [ne0, ne1] | <x>SYMBOL"; ]
    "0xPTR" [ style = filled; fillcolor = pink; shape = record; label="<x>NAME (TYPE)|CONST NUMBER [ne0, ne1]"; ]
    "0xPTR" -> "0xPTR" [ arrowhead = vee; style = solid; label = "src 0"; ]

A name may hold spaces and parentheses, so the type is the last group in parentheses.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tracegen.contract.errors import TraceFormatError
from tracegen.foreign.op_numbers import NOOPS

_NODE = re.compile(r'\s*"(?P<key>[^"]*)" \[ (?P<style>[^\]"]*?)label="(?P<label>.*)"; \]\s*')
_LABEL = re.compile(
    r"(?:<x>)?(?P<name>.*) ?\((?P<dtype>[^()|]*)\)\|(?P<const>CONST )?(?P<number>[0-9]{1,9})"
    r" \[(?P<shape>[0-9]{1,18}(?:, [0-9]{1,18}){0,3})\](?: \| <x>(?P<symbol>.*))?"
)
_EDGE = re.compile(
    r'\s*"(?P<source>[^":]*)"(?::\w+)? -> "(?P<target>[^":]*)"(?::\w+)? \[.*label = "src (?P<slot>[0-9])"; \]\s*'
)
_FUNCTION = re.compile(r"(\w+)\(x\)")
_SYMBOLS: Mapping[str, str] = {
    "X*Y": "MUL_MAT",
    "X[i]*Y": "MUL_MAT_ID",
    "x+y": "ADD",
    "x[i]+y": "ADD_ID",
    "x-y": "SUB",
    "x*y": "MUL",
    "x/y": "DIV",
    "x-\\>y": "CPY",
    "x->y": "CPY",
    "x^2": "SQR",
    "√x": "SQRT",
    "Σx": "SUM",
    "Σx_k": "SUM_ROWS",
    "x*v": "SCALE",
}


@dataclass(frozen=True)
class DotNode:
    """A node or leaf: name, dtype in capitals, shape in ggml's order, and its operation (NONE: a leaf)."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    op: str

    @property
    def computes(self) -> bool:
        """Whether the node computes something; views and leaves do not."""
        return self.op not in NOOPS


@dataclass(frozen=True)
class DotGraph:
    """Nodes in order of execution, then leaves; `operands` has for each the number of its operand by slot."""

    nodes: tuple[DotNode, ...]
    n_nodes: int
    operands: tuple[Mapping[int, int], ...]


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with `head` is a Graphviz file."""
    return head.lstrip()[:8].lower().startswith(b"digraph")


def read_dot(name: str, data: bytes) -> DotGraph:
    """Read a dump. Raises TraceFormatError with file and line."""
    nodes: dict[str, tuple[int, DotNode]] = {}
    leaves: dict[str, tuple[int, DotNode]] = {}
    edges: list[tuple[str, str, int, int]] = []
    lines = data.decode("utf-8", "replace").splitlines()
    for number, line in enumerate(lines, 1):
        if edge := _EDGE.fullmatch(line):
            edges.append((edge["source"], edge["target"], int(edge["slot"]), number))
        elif (node := _NODE.fullmatch(line)) and "record" in node["style"]:
            label = _LABEL.fullmatch(node["label"])
            if label is None:
                raise TraceFormatError(f"{name}: line {number}: the label {node['label'][:80]!r} is not one of ggml’s")
            side = leaves if label["const"] else nodes
            if node["key"] in nodes or node["key"] in leaves:
                raise TraceFormatError(f"{name}: line {number}: the node {node['key'][:40]!r} stands there twice")
            side[node["key"]] = (int(label["number"]), _node(label))
    if not nodes or lines[-1].strip() != "}":
        raise TraceFormatError(
            f"{name}: expected a graph of ggml that ends with a brace, found {len(nodes)} nodes in {len(lines)} lines"
        )
    ordered = [*sorted(nodes.items(), key=lambda item: item[1][0]), *sorted(leaves.items(), key=lambda i: i[1][0])]
    place = {key: i for i, (key, _) in enumerate(ordered)}
    operands: list[dict[int, int]] = [{} for _ in ordered]
    for source, target, slot, number in edges:
        if source not in place or target not in place:
            raise TraceFormatError(f"{name}: line {number}: an edge names a node that is not in the file")
        operands[place[target]][slot] = place[source]
    return DotGraph(tuple(node for _, (_, node) in ordered), len(nodes), tuple(operands))


def _node(label: re.Match[str]) -> DotNode:
    shape = tuple(int(n) for n in label["shape"].split(", "))
    if any(n >= 1 << 62 for n in shape):
        shape = (0,)
    op = "NONE" if label["const"] else op_of(label["symbol"] or "")
    return DotNode(label["name"].rstrip() if label["name"].strip() else "", label["dtype"].upper(), shape, op)


def op_of(symbol: str) -> str:
    """The operation of a symbol, as far as the symbol tells: `X*Y` is MUL_MAT, and could be OUT_PROD."""
    symbol = symbol.strip()
    function = _FUNCTION.fullmatch(symbol)
    return _SYMBOLS.get(symbol) or (function[1].upper() if function else symbol)
