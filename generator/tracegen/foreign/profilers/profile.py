"""What the traces of all profilers have in common: operations with begin and end on a device; tables of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tracegen.contract import tables as contract
from tracegen.contract.arrays import nullable
from tracegen.contract.errors import TraceFormatError
from tracegen.foreign.faults import Figures, checks_of
from tracegen.foreign.op_numbers import NOOPS
from tracegen.foreign.passes import kinds_of, produced_of
from tracegen.foreign.sequences import Nodes, graph_tables
from tracegen.foreign.trace import ForeignTrace

LATEST_NS = 1 << 62  # a later time is none
HOST = "CPU"
SEVERAL = 1 << 20  # stands for several tokens where nobody says how many
OF_FORMAT = ("by_kernel", "unnamed", "thread_0", "whole_graphs", "nameless", "fused", "passes_by")
_EXECUTED = contract.OP_STATES.index("executed")


@dataclass(frozen=True)
class Copy:
    """A copy between two memories: begin and end in ns, its bytes, and the name of the tensor (empty: unknown).

    `handed_over`: its time may be that of the hand-over alone.
    """

    begin_ns: int
    end_ns: int
    source: str
    target: str
    size_bytes: int
    tensor: str = ""
    split: int = 0
    handed_over: bool = False


@dataclass(frozen=True)
class Profile:
    """The operations that a profiler timed, in the order of the file, one entry each.

    `begin_ns`, `end_ns` int64. `op`: ggml's name of the operation, or what the profiler calls it; `name`: of the
    result, or of the kernel; `device`: what computed it. `split`: number of the scheduler's split, -1 where unknown.
    `first`: bool, whether a pass begins with it, and `n_tokens`: how many tokens such a pass evaluates (int64, -1:
    unknown, 0: several). `figures`: those of `OF_FORMAT` (for `faults.txt`) that are not 0 in its format.
    """

    format: str
    begin_ns: np.ndarray
    end_ns: np.ndarray
    op: Sequence[str]
    name: Sequence[str]
    device: Sequence[str]
    split: np.ndarray
    first: np.ndarray
    n_tokens: np.ndarray
    copies: Sequence[Copy] = ()
    figures: Figures = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)


def tables_of(name: str, profile: Profile) -> ForeignTrace:
    """The tables and checks of a profile. Raises TraceFormatError where it holds no operation, or times are none."""
    n = len(profile.begin_ns)
    if not n:
        raise TraceFormatError(f"{name}: holds no operation; record a run that computes something")
    for at in np.flatnonzero((profile.begin_ns < 0) | (profile.end_ns > LATEST_NS))[:1].tolist():
        raise TraceFormatError(f"{name}: entry {at}: expected times in ns, found {profile.begin_ns[at]}")
    backwards = int((profile.end_ns < profile.begin_ns).sum())
    order = np.argsort(profile.begin_ns, kind="stable")
    first = np.flatnonzero(profile.first[order])
    partial = int(first[0]) if len(first) else n
    if partial == n:
        raise TraceFormatError(f"{name}: no pass begins in it; record from the start of the program")
    order = order[partial:]
    rows = _Rows(profile, order, first - partial)
    tables, graph = _graphs(rows)
    kinds = kinds_of([SEVERAL if n == 0 else n for n in rows.tokens], warms_up=False)
    tables["copies"], stray = _copies(rows, profile.copies)
    passes = _passes(rows, graph, kinds, tables["copies"])
    tables |= {"passes": passes, "ops": _ops(rows), "device_ops": _device_ops(rows)}
    figures: Figures = {
        **dict.fromkeys(OF_FORMAT, 0),
        "partial": partial,
        "stray": stray,
        "backwards": backwards,
        "n_ops": len(order),
        "zero": int((rows.end_ns == 0).sum()),
        "overlapping": int((~rows.alone).sum()),
        "kinds": ", ".join(f"{kinds.count(kind)} {kind or 'unknown'}" for kind in dict.fromkeys(kinds)),
        "unknown": kinds.count(None),
    }
    checks = checks_of("profilers", figures | profile.figures)
    facts = {"n_records": n, "n_passes": len(rows.begin), "partial_records": partial, **profile.facts}
    return ForeignTrace(profile.format, contract.empty() | tables, checks, facts)


class _Rows:
    """The operations in the order of their begins, and where each pass begins."""

    def __init__(self, profile: Profile, order: np.ndarray, begin: np.ndarray) -> None:
        self.begin_ns, self.end_ns = profile.begin_ns[order], np.maximum(profile.end_ns, profile.begin_ns)[order]
        self.split = profile.split[order]
        self.op, self.name, self.device = (
            pd.Categorical([column[i] for i in order.tolist()]) for column in (profile.op, profile.name, profile.device)
        )
        self.begin = begin
        tokens = profile.n_tokens[order][begin].tolist()
        self.tokens: list[int | None] = [None if n < 0 else n for n in tokens]
        length = np.diff(np.append(begin, len(order)))
        self.pass_id = np.repeat(np.arange(len(begin), dtype=np.int32), length)
        self.node = (np.arange(len(order)) - np.repeat(begin, length)).astype(np.int32)
        self.last_ns = np.maximum.reduceat(self.end_ns, begin)
        self.alone = self._alone()

    def _alone(self) -> np.ndarray:
        """Whether all that its device was given before had ended when an operation began."""
        before = pd.Series(self.end_ns).groupby(self.device.codes).transform(lambda ends: ends.cummax().shift())
        alone: np.ndarray = ~(before > self.begin_ns).to_numpy(bool)
        return alone


def _graphs(rows: _Rows) -> tuple[dict[str, pd.DataFrame], np.ndarray]:
    label = np.where(
        np.array([bool(name) for name in rows.name.categories], bool)[rows.name.codes], rows.name.codes, -1
    )
    ops, names = (tuple(map(str, column.categories)) for column in (rows.op, rows.name))
    begin = np.append(rows.begin, len(rows.node))
    size = np.zeros(len(rows.node), np.int64)
    return graph_tables(Nodes(rows.op.codes, label, size, begin, ops, names))


def _passes(rows: _Rows, graph: np.ndarray, kinds: list[str | None], copies: pd.DataFrame) -> pd.DataFrame:
    """The table `passes`: each lasts from the first of its operations and copies to the last."""
    begin_ns, end_ns = rows.begin_ns[rows.begin], rows.last_ns.copy()
    np.minimum.at(begin_ns, copies["pass_id"].to_numpy(), copies["begin_ns"].to_numpy())
    np.maximum.at(end_ns, copies["pass_id"].to_numpy(), copies["end_ns"].to_numpy())
    return contract.frame(
        "passes",
        {
            "pass_id": np.arange(len(rows.begin), dtype=np.int32),
            "kind": pd.Series(kinds, dtype=object),
            "kind_basis": ["inferred" if kind else None for kind in kinds],
            "n_tokens": pd.array([n or None for n in rows.tokens], "Int32"),
            "produced_token": pd.array(produced_of(kinds), "Int32"),
            "graph": nullable(graph),
            "begin_ns": begin_ns,
            "end_ns": nullable(end_ns, np.int64),
        },
    )


def _ops(rows: _Rows) -> pd.DataFrame:
    n = len(rows.node)
    noop = np.array([op in NOOPS for op in rows.op.categories], bool)[rows.op.codes]
    state = np.where(noop, contract.OP_STATES.index("noop"), _EXECUTED).astype(np.int8)
    return contract.frame(
        "ops",
        {
            "pass_id": rows.pass_id,
            "node": rows.node,
            "state": contract.coded("ops", "state", state),
            "backend": rows.device,
            "split": nullable(rows.split),
            "begin_ns": nullable(rows.begin_ns, np.int64),
            "end_ns": nullable(rows.end_ns, np.int64),
            "time_basis": contract.coded("ops", "time_basis", np.zeros(n, np.int8)),
        },
    )


def _device_ops(rows: _Rows) -> pd.DataFrame:
    """The same operations as what devices ran: the timeline has a lane for each."""
    labels = [f"{op} {name}".rstrip() for op, name in zip(rows.op, rows.name, strict=True)]
    return contract.frame(
        "device_ops",
        {
            "pass_id": rows.pass_id,
            "part": rows.node,
            "split": np.maximum(rows.split, 0).astype(np.int32),
            "device": rows.device.astype(object),
            "node": nullable(rows.node),
            "label": labels,
            "begin_ns": rows.begin_ns,
            "end_ns": rows.end_ns,
            "exact": rows.alone,
        },
    )


def _copies(rows: _Rows, copies: Sequence[Copy]) -> tuple[pd.DataFrame, int]:
    """The table `copies`, and how many copies lie in no pass: before the first one, as those of a load, or after all.

    Of those between two passes, what goes to the host is a result of the first, and all else an input of the second.
    """
    ordered = sorted(copies, key=lambda copy: (copy.begin_ns, copy.end_ns))
    begin = np.array([copy.begin_ns for copy in ordered], np.int64)
    result = np.array([copy.target == HOST for copy in ordered], bool)
    started = np.searchsorted(rows.begin_ns[rows.begin], begin, "right") - 1
    pass_id = np.where(result, started, np.searchsorted(rows.last_ns, begin, "left"))
    kept = (pass_id < len(rows.begin)) & (begin >= rows.begin_ns[0])
    order = np.flatnonzero(kept)[np.argsort(pass_id[kept], kind="stable")]
    known, of = [ordered[i] for i in order.tolist()], pass_id[order].astype(np.int32)
    columns: dict[str, object] = {
        "pass_id": of,
        "copy": (np.arange(len(of)) - np.searchsorted(of, of)).astype(np.int32),
        "split": np.array([max(copy.split, 0) for copy in known], np.int32),
        "tensor": [copy.tensor for copy in known],
        "source": [copy.source for copy in known],
        "target": [copy.target for copy in known],
        "size_bytes": np.array([copy.size_bytes for copy in known], np.int64),
        "begin_ns": np.array([copy.begin_ns for copy in known], np.int64),
        "end_ns": np.array([max(copy.end_ns, copy.begin_ns) for copy in known], np.int64),
        "proof": pd.Series(["none" if copy.handed_over else None for copy in known], dtype=object),
    }
    return contract.frame("copies", columns), len(ordered) - len(known)
