"""The operations of each pass from their begin and end records, and whether these bracket the work of each one."""

from dataclasses import dataclass

import numpy as np

from tracegen.foreign.ggmlviz.events import OP_BEGIN, VizEvents


@dataclass(frozen=True)
class VizOperations:
    """One row per operation, by pass and in the order of the begins.

    `begin` and `end` are places in the events (end -1: none was recorded), `measured` tells whether the times of both
    are those of the operation alone. `n_unopened` counts ends without a begin; `n_overlapping` the passes whose
    operations begin before others have ended, `n_batched` those whose operations all begin before the first one ends,
    of `n_passes` with operations.
    """

    pass_id: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    measured: np.ndarray
    n_unopened: int
    n_overlapping: int
    n_batched: int
    n_passes: int


def operations_of(events: VizEvents, at: np.ndarray, pass_id: np.ndarray) -> VizOperations:
    """Pair begins and ends of the records of operations at these places, which belong to these passes."""
    order = np.argsort(pass_id, kind="stable")
    at, pass_id = at[order], pass_id[order]
    is_begin = events.type[at] == OP_BEGIN
    begins, ends = (np.flatnonzero(part).astype(np.int32) for part in (is_begin, ~is_begin))
    keys = pass_id, events.pointer[at]
    end = _in_order(begins, ends, *keys)
    if end is None:
        end = _by_key(begins, ends, *keys)
    matched = end >= 0
    overlaps = np.zeros(len(begins), bool)
    overlaps[matched] = ~_follows(events.thread[at], pass_id, begins[matched], end[matched])
    of_pass = pass_id[begins]
    overlapping = np.unique(of_pass[overlaps])
    apart = ~np.isin(of_pass, overlapping)
    if len(overlapping):  # of a single operation both patterns look the same: it is what the others are
        apart &= np.bincount(of_pass)[of_pass] > 1
    begin_at, end_at = at[begins], np.where(matched, at[end], -1)
    measured = matched & apart & (events.time_ns[end_at] >= events.time_ns[begin_at])
    n_unopened = len(ends) - int(matched.sum())
    n_passes = len(np.unique(of_pass))
    n_overlapping = n_passes - len(np.unique(of_pass[apart]))
    n_batched = _batched(begins, of_pass, ends, pass_id[ends])
    return VizOperations(of_pass, begin_at, end_at, measured, n_unopened, n_overlapping, n_batched, n_passes)


def _batched(begins: np.ndarray, of_begins: np.ndarray, ends: np.ndarray, of_ends: np.ndarray) -> int:
    """In how many passes with operations no begin follows an end."""
    passes, first = np.unique(of_begins[::-1], return_index=True)
    last_begin = begins[::-1][first]
    ended, first_end = np.unique(of_ends, return_index=True)
    end_of = np.full(len(passes), np.iinfo(np.int64).max)
    known = np.isin(passes, ended)
    end_of[known] = ends[first_end][np.isin(ended, passes)]
    return int((last_begin < end_of).sum())


def _in_order(begins: np.ndarray, ends: np.ndarray, pass_id: np.ndarray, pointer: np.ndarray) -> np.ndarray | None:
    """The end of each begin (-1: none) if operations end in the order in which they begin; None if they do not."""
    end = np.full(len(begins), -1, np.int32)
    of_begins, of_ends = pass_id[begins], pass_id[ends]
    nth = np.arange(len(ends)) - np.searchsorted(of_ends, of_ends)
    begin = np.searchsorted(of_begins, of_ends) + nth
    if len(begin) and (begin >= np.searchsorted(of_begins, of_ends, "right")).any():
        return None
    end[begin] = ends
    return end if (pointer[begins[begin]] == pointer[ends]).all() else None


def _by_key(begins: np.ndarray, ends: np.ndarray, pass_id: np.ndarray, pointer: np.ndarray) -> np.ndarray:
    """The end of each begin (-1: none): the nth end of a tensor in a pass belongs to its nth begin."""
    at = np.concatenate([begins, ends])
    nth = np.concatenate([_nth(pass_id[part], pointer[part]) for part in (begins, ends)])
    keys = nth, pointer[at], pass_id[at]
    order = np.lexsort(keys)  # stable: the start stands before the end
    pairs = np.ones(max(len(order) - 1, 0), bool)
    for key in keys:
        pairs &= key[order[1:]] == key[order[:-1]]
    first = np.flatnonzero(pairs)
    end = np.full(len(begins), -1, np.int32)
    end[order[first]] = at[order[first + 1]]
    return end


def _nth(pass_id: np.ndarray, pointer: np.ndarray) -> np.ndarray:
    """Which occurrence of its pass and pointer each one is, from 0."""
    order = np.lexsort((pointer, pass_id))
    new = np.ones(len(order), bool)
    new[1:] = (pass_id[order[1:]] != pass_id[order[:-1]]) | (pointer[order[1:]] != pointer[order[:-1]])
    place = np.arange(len(order))
    nth = np.empty(len(order), np.int64)
    nth[order] = place - np.maximum.accumulate(np.where(new, place, 0))
    return nth


def _follows(thread: np.ndarray, pass_id: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Whether each end is the record that follows its start, of those of their thread in the pass."""
    order = np.lexsort((thread, pass_id))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    follows: np.ndarray = (place[ends] == place[begins] + 1) & (thread[ends] == thread[begins])
    return follows
