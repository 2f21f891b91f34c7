"""Reads the records of a tensor_trace.bin in pieces, so that a file of many GiB needs little memory.

Most of a record is the same each time its operation runs: names, addresses, sizes. That part is kept once for each
distinct value (found by a hash, whose factors are drawn again for each file), and each record keeps its number.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tracegen.contract.arrays import hashed
from tracegen.contract.errors import TraceFormatError
from tracegen.foreign.source import SourceFile
from tracegen.foreign.tensor_trace.layouts import LAYOUTS, MEMORY, N_IDS, OPS, SAMPLE, RecordLayout, layout_of

PIECE = 16 << 20  # bytes that are read at a time
MOST_PLACE = 1 << 62  # bytes: no file is larger
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Records:
    """The records until the first empty one: one entry each, in the order of the file.

    `time_ns` int64, `token` uint32, `phase` uint8, `thread` uint16, `which` int32: the entry of `distinct` (records of
    the layout) that holds the rest. `expert_at` are the records that name experts: `experts` int32 (n, 16) and
    `n_experts` uint8 belong to them. `n_later`: records that hold data behind the first empty one, which nobody reads;
    `cut_at`: where a record is cut, None: nowhere.
    """

    layout: RecordLayout
    time_ns: np.ndarray
    token: np.ndarray
    phase: np.ndarray
    thread: np.ndarray
    which: np.ndarray
    distinct: np.ndarray
    expert_at: np.ndarray
    experts: np.ndarray
    n_experts: np.ndarray
    n_later: int
    cut_at: int | None


def read_records(file: SourceFile, progress: Progress = lambda done, total: None) -> Records:
    """All records of the file.

    Raises TraceFormatError when it has none, its layout is not clear, or a record holds what none can.
    """
    head = file.read(0, LAYOUTS[-1].size_bytes * SAMPLE)
    if not head.strip(b"\0"):
        raise TraceFormatError(f"{file.name}: holds no record: its first {len(head):,} bytes are 0 or missing")
    layout = layout_of(file.name, head)
    gathered = _Gathered(file.name, layout)
    stretches = list(file.stretches()) or [(0, file.size_bytes)]
    total = sum(end - begin for begin, end in stretches)
    done, n_later, cut_at, ended_at = 0, 0, None, None
    buffer = bytearray(PIECE)
    for begin, end in stretches:
        at = begin - begin % layout.size_bytes  # a stretch begins at a block of the disk, not at a record
        while at < end:
            # The last record of a stretch may reach into a hole, which reads as zeros.
            room = min(-(-(end - at) // layout.size_bytes) * layout.size_bytes, PIECE)
            n = file.read_into(at, memoryview(buffer)[:room])
            whole = n // layout.size_bytes
            records = np.frombuffer(buffer, layout.record, whole)
            if ended_at is None and at == (gathered.n * layout.size_bytes):
                kept = gathered.add(records)
                if kept < whole:
                    ended_at = at + kept * layout.size_bytes
                    n_later += int(np.count_nonzero(records["time_ns"][kept:]))
            else:
                ended_at = gathered.n * layout.size_bytes if ended_at is None else ended_at
                n_later += int(np.count_nonzero(records["time_ns"]))
            if n < room and n % layout.size_bytes:
                cut_at = at + whole * layout.size_bytes
                break
            if whole == 0:
                break
            at += whole * layout.size_bytes
            done = min(done + n, total)
            progress(done, total)
    file.refuse_change()
    if cut_at is not None and ended_at is not None:
        cut_at = None  # what is cut lies behind the end of the data
    return gathered.records(n_later, cut_at)


class _Gathered:
    """The records that were read so far."""

    def __init__(self, name: str, layout: RecordLayout) -> None:
        self.name, self.layout, self.n = name, layout, 0
        self._factors = np.random.default_rng().integers(0, 1 << 64, (2, layout.fixed_end // 8), dtype=np.uint64)
        self._known: dict[int, int] = {}
        none, fields = np.zeros(0, layout.record), ("time_ns", "token", "phase", "thread")
        self._parts = [none]
        self._columns = [(*(none[name] for name in fields), np.zeros(0, np.int32))]
        self._experts = [(np.zeros(0, np.int64), np.zeros((0, N_IDS), np.int32), np.zeros(0, np.uint8))]

    def add(self, records: np.ndarray) -> int:
        """Take the records before the first empty one; their number."""
        empty = np.flatnonzero(records["time_ns"] == 0)
        records = records[: empty[0]] if len(empty) else records
        if not len(records):
            return 0
        numbers = self._numbered(records)
        columns = [records[name].copy() for name in ("time_ns", "token", "phase", "thread")]
        self._columns.append((*columns, numbers))
        if self.layout.has("experts"):
            naming = np.flatnonzero(records["n_experts"])
            self._experts.append(
                (naming + self.n, records["experts"][naming].copy(), records["n_experts"][naming].copy())
            )
        self.n += len(records)
        return len(records)

    def _numbered(self, records: np.ndarray) -> np.ndarray:
        """The number of what each record has in common with others, int32."""
        words = records.view(np.uint64).reshape(len(records), -1)
        keys = self._keys(words)
        distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        new = [i for i, key in enumerate(distinct.tolist()) if key not in self._known]
        if new:
            self._refuse_impossible(records, first[new])
            known = len(self._known)
            self._known |= {int(distinct[i]): known + j for j, i in enumerate(new)}
            self._parts.append(records[first[new]].copy())
        codes = np.array([self._known[key] for key in distinct.tolist()], np.int32)
        numbers: np.ndarray = codes[inverse]
        return numbers

    def _keys(self, words: np.ndarray) -> np.ndarray:
        """A hash of what each record has in common with others, uint64; two different ones agree by a chance of 2^-56.

        A sum of products forgets what differs in the last bytes of words alone, here the last letters of names, so it
        is made of the words as they are, and with their bytes in reverse order.
        """
        there, back = self._factors
        names = words[:, 3 : len(there)]
        keys: np.ndarray = hashed(names @ there[3:]) ^ (names.byteswap() @ back[3:])
        # Words 1 and 2 hold token and thread, and the phase, which are columns of their own.
        for at, common in ((1, 0x0000_FFFF_0000_0000), (2, 0x00FF_00FF)):
            keys ^= hashed((words[:, at] & np.uint64(common)) ^ there[at])
        return keys

    def _refuse_impossible(self, records: np.ndarray, places: np.ndarray) -> None:
        """Raise TraceFormatError for an operation or a memory without a name, and for a place that no file has."""
        if not self.layout.has("operands"):
            return
        operands = records["operands"][places]
        used = np.arange(operands.shape[1]) < records["n"][places][:, None]
        on_disk = used & (operands["memory"] == MEMORY.index("disk"))
        for what, values, limit, counts in (
            ("operation", records["op"][places][:, None], len(OPS), True),
            ("memory", operands["memory"], len(MEMORY), used),
            ("place in the model file", operands["place"], MOST_PLACE, on_disk),
        ):
            wrong = np.argwhere((values >= limit) & counts)
            if len(wrong):
                row, column = wrong[0]
                offset = (self.n + int(places[row])) * self.layout.size_bytes
                raise TraceFormatError(
                    f"{self.name}: record at offset {offset:,}: expected {what} below {limit:,}, "
                    f"found {int(values[row, column]):,}"
                )

    def records(self, n_later: int, cut_at: int | None) -> Records:
        """All that was read."""
        time_ns, token, phase, thread, which = (np.concatenate(parts) for parts in zip(*self._columns, strict=True))
        at, ids, n = (np.concatenate(parts) for parts in zip(*self._experts, strict=True))
        distinct = np.concatenate(self._parts)
        return Records(
            self.layout, time_ns.astype(np.int64), token, phase, thread, which, distinct, at, ids, n, n_later, cut_at
        )
