"""What the slots of a program (llama.cpp's sequences) held, prompt by prompt, as its passes tell."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pandas as pd

from tracegen.analysis.prompt_rows import Rows

SLOT, OTHER, STATE, BEFORE = "its slot", "another slot", "a saved state", "an earlier prompt"
MOST_TEXTS = 256  # prompts that others replaced last: earlier ones are forgotten
MOST_SLOTS = 1024
MOST_UNKNOWN = 1 << 22  # tokens that were kept and that nobody knows, of all prompts


@dataclass
class Prompt:
    """A prompt and what was generated from it.

    `tokens` is the text by position: the first `n_tokens` are the prompt's, of which `n_kept` lay in the cache already,
    and had come from `kept_from`. `held` are the texts that had been computed when it began, each with where it lay and
    with its prompt: that of its own slot, of other slots, then those that later prompts had replaced, the last first.
    """

    number: int
    context: int
    sequence: int
    begin_ns: int
    n_kept: int
    kept_from: str | None
    tokens: list[int]
    held: list[Held]
    n_tokens: int = 0
    n_generated: int = 0
    asked: bool = False  # the logits of its last token were asked for: it is whole
    told: bool = False
    prompt_end_ns: int = 0
    end_ns: int = 0


Held = tuple[str, Prompt, Sequence[int] | np.ndarray]


@dataclass
class _Slot:
    """What a slot holds.

    `tried`: the position at which rows began of which a part may have been refused (speculative decoding); `restored`:
    the text of a saved state that was put back since.
    """

    text: list[int] = field(default_factory=list)
    prompt: Prompt | None = None
    tried: int | None = None
    restored: Sequence[int] | None = None


def played(every: Sequence[Rows], states: pd.DataFrame, whole: Callable[[Prompt], None]) -> list[Prompt] | None:
    """All prompts in order of begin. `whole` is called with each when all of it has come, before others replace it.

    None where logits within a prompt were asked for, as for perplexity, and where no program has so many slots, or kept
    so much that no pass computed.
    """
    slots: dict[tuple[int, int], _Slot] = {}
    saved = _States(states)
    unknown = count(-1, -1)  # what nobody knows equals nothing
    found: list[Prompt] = []
    replaced: deque[Held] = deque(maxlen=MOST_TEXTS)
    for rows in every:
        saved.until(rows.begin_ns, slots)
        key = rows.context, rows.sequence
        slot = slots.setdefault(key, _Slot())
        prompt = slot.prompt
        if prompt is None or _begins(slot, prompt, rows):
            # what another context holds, as that of a model that drafts, is of no use to this one
            others = [of for other, of in slots.items() if other != key and other[0] == rows.context]
            before, prompt = prompt, _begun(slot, rows, others, len(found))
            prompt.held += [text for text in reversed(replaced) if text[1].context == rows.context]
            if before is not None:
                _complete(before, whole)
                replaced.append((BEFORE, before, np.array(before.tokens)))
            missing = rows.first - len(prompt.tokens)
            if len(slots) > MOST_SLOTS or missing - next(unknown) > MOST_UNKNOWN:
                return None
            prompt.tokens += [next(unknown) for _ in range(missing)]
            found.append(prompt)
            slot.prompt, slot.restored, slot.text = prompt, None, prompt.tokens
        elif rows.moved:
            slot.text[:] = [next(unknown) for _ in range(rows.first)]
        if not prompt.asked and rows.n_asked > int(rows.last_asked):
            return None
        _take(slot, prompt, rows, unknown, whole)
    for slot in slots.values():
        if slot.prompt is not None:
            _complete(slot.prompt, whole)
    return found


def _take(slot: _Slot, prompt: Prompt, rows: Rows, unknown: Iterator[int], whole: Callable[[Prompt], None]) -> None:
    """Put rows into their slot: more of its prompt, or what is generated from it."""
    before = len(slot.text)
    generates = prompt.asked and rows.n_asked == len(rows.tokens)
    if generates:
        _complete(prompt, whole)
    slot.text[rows.first :] = [next(unknown) if token is None else token for token in rows.tokens]
    slot.tried = rows.first if prompt.asked and len(rows.tokens) > 1 else None
    prompt.end_ns = rows.end_ns
    if generates:
        prompt.n_generated += len(slot.text) - before
    else:
        prompt.n_tokens, prompt.prompt_end_ns, prompt.asked = len(slot.text), rows.end_ns, rows.last_asked
        prompt.n_generated = int(prompt.asked)


def _complete(prompt: Prompt, whole: Callable[[Prompt], None]) -> None:
    """Tell of a prompt once, and forget what lay in slots when it began."""
    if not prompt.told:
        whole(prompt)
        prompt.told, prompt.held = True, []


def _begins(slot: _Slot, prompt: Prompt, rows: Rows) -> bool:
    """Whether rows begin a prompt, and do not go on with the one of their slot."""
    if rows.first == 0:
        return True
    end = len(slot.text)
    if not prompt.asked:
        return rows.first != end
    if rows.n_asked < len(rows.tokens):  # one after another call, as of a prompt longer than a batch
        return rows.first != end or prompt.n_generated > 1
    if rows.moved and rows.first <= end:
        return False
    return not (end if slot.tried is None else slot.tried + 1) <= rows.first <= end


def _begun(slot: _Slot, rows: Rows, others: Sequence[_Slot], number: int) -> Prompt:
    """The prompt that begins with these rows: what lies before their first position was kept."""
    kept = rows.first
    held: list[Held] = [(SLOT, slot.prompt, slot.text)] if slot.prompt is not None else []
    held += [(OTHER, of.prompt, of.text[:]) for of in others if of.prompt is not None]
    source: str | None = None
    text: Sequence[int] = ()
    if kept and rows.moved:
        source = SLOT
    elif kept and slot.restored is not None:
        source, text = STATE, slot.restored
    elif kept and kept <= len(slot.text):
        source, text = SLOT, slot.text
    elif kept:
        source, having = OTHER, [of.text for of in others if len(of.text) >= kept]
        text = having[0] if len(having) == 1 else ()
    return Prompt(number, rows.context, rows.sequence, rows.begin_ns, kept, source, list(text[:kept]), held)


class _States:
    """The states that were saved and put back, in order."""

    def __init__(self, states: pd.DataFrame) -> None:
        whole = states[~states["partial"].to_numpy(bool)].dropna(subset=["context"])
        self._left = list(whole.sort_values("begin_ns", kind="stable").to_dict("records"))[::-1]
        self._saved: dict[tuple[int, int], Sequence[int]] = {}  # context and bytes -> the text saved last

    def until(self, time_ns: int, slots: dict[tuple[int, int], _Slot]) -> None:
        """Take the states from before a time: a state that was put back is the latest of its size."""
        while self._left and self._left[-1]["begin_ns"] < time_ns:
            state = self._left.pop()
            context, size = int(state["context"]), int(state["size_bytes"])
            slot = slots.setdefault((context, int(state["sequence"])), _Slot())
            if state["event"] == "saved":
                self._saved[context, size] = slot.text
            else:
                slot.restored = self._saved.get((context, size), ())
