"""The table `device_ops`: the time stamps of a device, joined to the nodes that its backend's labels name.

A label has the operations and the name of the first one's result, as in "RMS_NORM+MUL norm-0". Names repeat within a
graph, so that labels are joined in their order: nodes of a split are given to the device one after another. Each device
counts its labels for itself. A label that was open when the backend submitted its commands is opened again in the next
ones: the node then has two parts.

A kernel of a CUDA device names no node: `kernel_nodes` finds what it computes, and its label is made of that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Self

import pandas as pd

from tracegen.contract import kernel_names
from tracegen.contract import tables as contract
from tracegen.readers.native.kernel_nodes import Computed, kernel_nodes
from tracegen.readers.native.recorded import DeviceOp, Records, Split

_KERNEL = "kernel "  # how the label of a kernel begins
_FAMILIES = ("GLU", "UNARY")  # what a label says of an operation that the graph names by its kind, as SWIGLU


def device_op_table(records: Records) -> pd.DataFrame:
    """The table; a label that names no node of its split has none."""
    pass_ids = {number: p.pass_id for number, p in records.passes.items()}
    ordered = sorted(records.device_ops, key=lambda op: (pass_ids[op.pass_number], op.split, *_order(op)))
    found: dict[tuple[object, ...], list[Computed]] = {}
    rows = []
    for number, of_pass in groupby(ordered, key=lambda op: op.pass_number):
        parts = 0
        for split, of_split in groupby(of_pass, key=lambda op: op.split):
            ops = list(of_split)
            recorded = records.splits.get((number, split))
            labels = tuple(op.label for op in ops)
            graph = records.passes[number].graph
            key = (graph, recorded.nodes.tobytes() if recorded else b"", labels)
            if key not in found:  # the passes of a generation repeat
                found[key] = _computed(labels, _Nodes.of(records, recorded))
            rows += [
                _row(op, pass_ids[number], parts + n, recorded, computed)
                for n, (op, computed) in enumerate(zip(ops, found[key], strict=True))
            ]
            parts += len(ops)
    return contract.frame("device_ops", rows)


def _row(op: DeviceOp, pass_id: int, part: int, split: Split | None, computed: Computed) -> dict[str, object]:
    return dict(
        pass_id=pass_id,
        part=part,
        split=op.split,
        device=split.backend if split else None,
        node=computed.node,
        label=_label(op.label, computed.operations),
        begin_ns=op.begin_ns,
        end_ns=op.end_ns,
        exact=op.exact,
    )


def _order(op: DeviceOp) -> tuple[int, int]:
    """Where an operation stands in its split: kernels by their begins, as they are told of in another order."""
    return (op.begin_ns, op.order) if op.label.startswith(_KERNEL) else (0, op.order)


def _label(label: str, operations: str) -> str:
    """A label as the table has it; of a kernel what it computes, and its short name."""
    if not label.startswith(_KERNEL):
        return label
    return f"{operations} {kernel_names.short_name(label.removeprefix(_KERNEL))}"


@dataclass(frozen=True)
class _Nodes:
    """The nodes of a split, in order: number in the graph, operation, name of the result, and whether it computes."""

    number: Sequence[int]
    op: Sequence[str]
    name: Sequence[str]
    computes: Sequence[bool]

    @classmethod
    def of(cls, records: Records, split: Split | None) -> Self:
        if split is None:  # it was not recorded to its end
            return cls((), (), (), ())
        graph = records.passes[split.pass_number].graph
        assert graph is not None  # such a split is refused
        numbers = split.nodes[split.nodes >= 0]
        raw, texts = records.graphs[graph][1][numbers], records.strings
        ops, names = ([texts[int(text)] for text in raw[column]] for column in ("op", "name"))
        return cls(numbers.tolist(), ops, names, (raw["computes"] == 1).tolist())

    def find(self, label: str, begin: int) -> int | None:
        """The place of the first node from `begin` on that a label names."""
        ops, _, name = label.partition(" ")
        first = ops.split("+")[0]
        return next(
            (
                i
                for i in range(begin, len(self.number))
                if self.name[i] == name and (self.op[i] == first or first in _FAMILIES)
            ),
            None,
        )


def _computed(labels: Sequence[str], nodes: _Nodes) -> list[Computed]:
    """What each label stands for; that of a kernel names no node."""
    if all(label.startswith(_KERNEL) for label in labels):
        kernels = [label.removeprefix(_KERNEL) for label in labels]
        return kernel_nodes(kernels, nodes.number, nodes.op, nodes.computes)
    return [Computed(node, "") for node in _nodes_of(labels, nodes)]


def _nodes_of(labels: Sequence[str], nodes: _Nodes) -> list[int | None]:
    """The node of each label; None: it names none of those that follow the one before."""
    found: list[int | None] = []
    begin, before = 0, None  # where the search begins, and the label before
    for label in labels:
        at = nodes.find(label, begin)
        skipped = at is None or any(nodes.computes[begin + label.partition(" ")[0].count("+") : at])
        if label == before and skipped:  # opened again after a submit
            found.append(found[-1])
            continue
        found.append(None if at is None else nodes.number[at])
        before = label if at is not None else None
        begin = begin if at is None else at + 1
    return found
