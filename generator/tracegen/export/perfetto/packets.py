"""The packets of a Perfetto trace: what stands in a file first, and events as columns.

All packets are of one sequence. Its texts are interned: a packet tells them once, and events name them by number.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tracegen.export.protobuf import Column, chosen, message, messages, number, numbers, some, text

SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4  # TrackEvent.Type
MONOTONIC = 3  # the builtin clock CLOCK_MONOTONIC
PROCESS = 1  # the uuid of the track of the process
FLOW, LAST_OF_FLOW = 47, 48  # TrackEvent.flow_ids, terminating_flow_ids

_PACKET = 1  # Trace.packet
_TIMESTAMP, _SEQUENCE, _EVENT, _INTERNED, _FLAGS, _DEFAULTS, _DESCRIPTOR = 8, 10, 11, 12, 13, 59, 60  # of TracePacket
_OF_SEQUENCE = number(_SEQUENCE, 1)
_STATE_CLEARED, _NEEDS_STATE = number(_FLAGS, 1), number(_FLAGS, 2)
_CATEGORY, _ARGUMENT, _TYPE, _NAME, _TRACK, _COUNTER_VALUE = 3, 4, 9, 10, 11, 30  # of TrackEvent
_BYTES = 3  # CounterDescriptor.Unit: UNIT_SIZE_BYTES

# Lists of InternedData by field: texts that are names of events, categories, names of arguments, and their values.
NAMES, CATEGORIES, ARGUMENTS, VALUES = 2, 1, 3, 29


class Words:
    """The interned texts; each has a number from 1 on in its list."""

    def __init__(self) -> None:
        """No text yet."""
        self._numbers: dict[int, dict[str, int]] = {CATEGORIES: {}, NAMES: {}, ARGUMENTS: {}, VALUES: {}}

    def number(self, kind: int, word: str) -> int:
        """The number of a text in the list `kind`, which gains it if it is new."""
        known = self._numbers[kind]
        return known.setdefault(word, len(known) + 1)

    @property
    def counts(self) -> dict[int, int]:
        """How many texts each list has."""
        return {kind: len(known) for kind, known in self._numbers.items()}

    def packet(self, counts: dict[int, int]) -> bytes:
        """A packet with the texts beyond the first `counts` of each list; nothing where there are none."""
        fields = [
            message(kind, number(1, place), text(2, word))
            for kind, known in self._numbers.items()
            for word, place in list(known.items())[counts.get(kind, 0) :]
        ]
        return message(_PACKET, _OF_SEQUENCE, _NEEDS_STATE, message(_INTERNED, *fields)) if fields else b""

    def name(self, word: str) -> bytes:
        """The field of an event that gives its name."""
        return number(_NAME, self.number(NAMES, word))

    def category(self, word: str) -> bytes:
        """The field of an event that gives its category."""
        return number(_CATEGORY, self.number(CATEGORIES, word))

    def argument(self, name: str, value: int | str | None) -> bytes:
        """The field of an event that gives an argument; nothing where its value is unknown."""
        if value is None:
            return b""
        given = number(17, self.number(VALUES, value)) if isinstance(value, str) else number(4, value)
        return message(_ARGUMENT, number(1, self.number(ARGUMENTS, name)), given)

    def integers(self, name: str, values: pd.Series | np.ndarray, known: np.ndarray | None = None) -> list[Column]:
        """An argument that is a whole number in each row; nothing where it is null, or `known` is false."""
        if known is None:
            known = np.asarray(pd.notna(values), bool)
        whole = pd.Series(values).to_numpy(np.int64, na_value=0)
        given = messages(_ARGUMENT, [number(1, self.number(ARGUMENTS, name)), *numbers(4, np.where(known, whole, 0))])
        return given if known.all() else [some(given, known)]

    def texts(self, name: str, values: pd.Series) -> Column:
        """An argument that is text in each row; nothing where it is null."""
        index, words = words_of(values)
        return chosen([*(self.argument(name, word) for word in words), b""], index)

    def names(self, values: pd.Series, unknown: str) -> Column:
        """The name of each row's event; `unknown` where it is null."""
        index, words = words_of(values)
        return chosen([self.name(word) for word in [*words, unknown]], index)


def words_of(values: pd.Series) -> tuple[np.ndarray, list[str]]:
    """The distinct texts of a column, and for each row the place of its text; null: the place after the last."""
    codes, words = pd.factorize(values)
    return np.where(codes < 0, len(words), codes), [str(word) for word in words]


def opening(first_ns: int) -> bytes:
    """The first packets of a file: its clock, which showed `first_ns` then, and the start of the sequence."""
    moment = message(1, number(1, MONOTONIC), number(2, first_ns))
    clock = message(_PACKET, message(6, moment, number(2, MONOTONIC)), _OF_SEQUENCE)
    first = number(87, 1)  # first_packet_on_sequence
    return clock + message(_PACKET, _OF_SEQUENCE, _STATE_CLEARED, message(_DEFAULTS, number(58, MONOTONIC)), first)


def process(name: str) -> bytes:
    """The packet that describes the track of the process, which the trace gives the number 1."""
    fields = number(1, PROCESS), message(3, number(1, 1), text(6, name))
    return message(_PACKET, message(_DESCRIPTOR, *fields), _OF_SEQUENCE)


def track(uuid: int, name: str, *, thread: int | None = None, counts_bytes: bool = False) -> bytes:
    """The packet that describes a track below that of the process; `thread`: the number of the thread it shows."""
    fields = [number(1, uuid), number(5, PROCESS)]
    if thread is None:
        fields.append(text(2, name))
    else:
        fields.append(message(4, number(1, 1), number(2, thread), text(5, name)))
    if counts_bytes:
        fields.append(message(8, number(3, _BYTES)))
    return message(_PACKET, message(_DESCRIPTOR, *fields), _OF_SEQUENCE)


def events(kind: int | np.ndarray, time_ns: np.ndarray, tracks: np.ndarray, fields: Sequence[Column]) -> list[Column]:
    """A packet for each event: its type (of all, or of each), time, the uuid of its track, and its other fields."""
    kinds = [number(_TYPE, kind)] if isinstance(kind, int) else numbers(_TYPE, kind)
    event = messages(_EVENT, [*kinds, *numbers(_TRACK, tracks), *fields])
    return messages(_PACKET, [*numbers(_TIMESTAMP, time_ns), _OF_SEQUENCE + _NEEDS_STATE, *event])


def counts(time_ns: np.ndarray, tracks: np.ndarray, values: np.ndarray) -> list[Column]:
    """A packet for each value that a counter takes."""
    return events(COUNTER, time_ns, tracks, numbers(_COUNTER_VALUE, values))
