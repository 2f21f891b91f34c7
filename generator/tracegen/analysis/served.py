"""What a program computed for each prompt, as servers get one with each request: what it kept, what it computed again.

It follows from tokens, positions and sequences of the passes alone, and needs no server's own word.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.prompt_rows import Rows, prompt_rows

SLOT, OTHER, BEFORE, CHANGED = "its slot", "another slot", "an earlier prompt", "behind a change"
STATE = "a saved state"
COLUMNS = {
    "prompt": "int32",
    "context": "int32",
    "sequence": "int32",
    "begin_ns": "int64",
    "prompt_ns": "int64",
    "generate_ns": "int64",
    "n_tokens": "int64",
    "n_kept": "int64",
    "kept_from": "object",
    "n_computed": "int64",
    "n_generated": "int64",
    "n_again": "int64",
    "again_from": "object",
    "again_prompt": "Int32",
    "again_ns": "int64",
}
TRIED = 2  # tokens: llama-server evaluates so many at its start, to see whether a sequence can be cut back
MOST_TEXTS = 256  # prompts that ended last: those that a prompt is compared with, beside what slots hold
SHORT = 16  # tokens: fewer are no reason to look for a change
SHIFT = 8  # tokens that a change may be longer or shorter than what it replaces
MOSTLY = 0.5  # of what follows a change: so much is as it was


@dataclass
class _Prompt:
    """A prompt and what was generated from it. `tokens`: the text by position; `held`: texts in slots at its begin."""

    context: int
    sequence: int
    begin_ns: int
    n_kept: int
    kept_from: str | None
    tokens: list[int]
    held: list[tuple[str, "_Prompt", Sequence[int]]]
    n_tokens: int = 0
    n_generated: int = 0
    asked: bool = False
    prompt_end_ns: int = 0
    end_ns: int = 0
    number: int | None = None


@dataclass
class _Slot:
    """What a sequence holds; `last`: the first position of the rows that came last, where a part of them may have been
    refused; `restored`: the text of a saved state that was put back since."""

    text: list[int] = field(default_factory=list)
    prompt: _Prompt | None = None
    last: int | None = None
    restored: Sequence[int] | None = None


def served(tables: Tables) -> pd.DataFrame:
    """The prompts that were computed, in order; COLUMNS has the columns.

    Rows start a prompt where they do not go on with what was generated. A prompt has `n_tokens`; `n_kept` of them no
    pass computed for it, as they lay in its slot (llama.cpp's sequence), in another or in a saved state (`kept_from`);
    `n_computed` is the rest. `n_again` of these had been computed before: `again_from` says where they lay, and
    `again_prompt` for which prompt. Behind a change are tokens that a slot had, but behind the first that differs, so
    that no server can keep them. `again_ns` is that part of `prompt_ns`, in proportion to tokens. The last token of a
    prompt is always computed, and does not count as computed again.

    Empty where tokens, positions or outputs were not recorded, and where logits of more than a prompt's last token were
    asked for, as for perplexity.
    """
    rows = prompt_rows(tables)
    found = None if rows is None else _prompts(rows, tables["saved_states"])
    if not found:
        return _table([])
    if len(found[0].tokens) <= TRIED:
        found = found[1:]
    for number, prompt in enumerate(found):
        prompt.number = number
    texts = {id(prompt): np.array(prompt.tokens) for prompt in found}
    told = []
    for number, prompt in enumerate(found):
        ended = [one for one in found[:number] if one.end_ns <= prompt.begin_ns][-MOST_TEXTS:]
        before = [(BEFORE, one, texts[id(one)]) for one in reversed(ended)]
        told.append(_told(prompt, [(where, one, np.array(text)) for where, one, text in prompt.held], before))
    return _table(told)


def totals(table: pd.DataFrame, *, whole: bool) -> tuple[int, int] | None:
    """How many tokens of all prompts in `served` were computed, and how many were kept; None without any prompt.

    `whole`: the trace has every pass of the program. Where it has not, passes that computed the start of a prompt may
    be among those left out: then both are unknown.
    """
    if table.empty or (not whole and table["kept_from"].eq(OTHER).any()):
        return None
    return int(table["n_computed"].sum()), int(table["n_kept"].sum())


def _table(rows: list[dict[str, object]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def _prompts(every: Sequence[Rows], states: pd.DataFrame) -> list[_Prompt] | None:
    """All prompts in order of begin; None where logits within one were asked for."""
    slots: dict[tuple[int, int], _Slot] = {}
    saved = _States(states)
    unknown = count(-1, -1)  # what nobody knows equals nothing
    found = []
    for rows in every:
        saved.until(rows.begin_ns, slots)
        slot = slots.setdefault((rows.context, rows.sequence), _Slot())
        prompt = slot.prompt
        if prompt is None or _begins(slot, prompt, rows):
            prompt = _begun(slot, rows, [of for key, of in slots.items() if key != (rows.context, rows.sequence)])
            prompt.tokens += [next(unknown) for _ in range(rows.first - len(prompt.tokens))]
            found.append(prompt)
            slot.prompt, slot.restored, slot.text = prompt, None, prompt.tokens
        elif rows.moved:
            slot.text[:] = [next(unknown) for _ in range(rows.first)]
        if not prompt.asked and rows.n_asked > int(rows.last_asked):
            return None
        before = len(slot.text)
        slot.text[rows.first :] = [next(unknown) if token is None else token for token in rows.tokens]
        slot.last = rows.first if prompt.asked and len(rows.tokens) > 1 else None
        prompt.end_ns = rows.end_ns
        if prompt.asked and rows.n_asked == len(rows.tokens):
            prompt.n_generated += len(slot.text) - before
        else:
            prompt.n_tokens, prompt.prompt_end_ns, prompt.asked = (
                before + len(rows.tokens),
                rows.end_ns,
                rows.last_asked,
            )
            prompt.n_generated = int(prompt.asked)
    return found


def _begins(slot: _Slot, prompt: _Prompt, rows: Rows) -> bool:
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
    return not (end if slot.last is None else slot.last + 1) <= rows.first <= end


def _begun(slot: _Slot, rows: Rows, others: Sequence[_Slot]) -> _Prompt:
    """The prompt that begins with these rows: what lies before their first position was kept."""
    kept = rows.first
    held: list[tuple[str, _Prompt, Sequence[int]]] = [(SLOT, slot.prompt, slot.text)] if slot.prompt is not None else []
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
    return _Prompt(rows.context, rows.sequence, rows.begin_ns, kept, source, list(text[:kept]), held)


class _States:
    """The states that were saved and put back, in order."""

    def __init__(self, states: pd.DataFrame) -> None:
        whole = states[~states["partial"].to_numpy(bool)].dropna(subset=["context"])
        self._left = list(whole.sort_values("begin_ns", kind="stable").to_dict("records"))[::-1]
        self._saved: list[tuple[int, int, Sequence[int]]] = []  # context, bytes, text

    def until(self, time_ns: int, slots: dict[tuple[int, int], _Slot]) -> None:
        """Take the states from before a time: a state that was put back is the latest of its size."""
        while self._left and self._left[-1]["begin_ns"] < time_ns:
            state = self._left.pop()
            context, size = int(state["context"]), int(state["size_bytes"])
            slot = slots.setdefault((context, int(state["sequence"])), _Slot())
            if state["event"] == "saved":
                self._saved.append((context, size, slot.text))
            else:
                alike = [text for of, bytes_, text in self._saved if (of, bytes_) == (context, size)]
                slot.restored = alike[-1] if alike else ()


def _told(prompt: _Prompt, held: Sequence["_Text"], ended: Sequence["_Text"]) -> dict[str, object]:
    """The row of a prompt; `held` and `ended`: the texts that it is compared with."""
    text = np.array(prompt.tokens[: prompt.n_tokens])
    n_computed = prompt.n_tokens - prompt.n_kept
    prompt_ns = prompt.prompt_end_ns - prompt.begin_ns
    again, source, of = _again(prompt.n_kept, text, [*held, *ended])
    if again < SHORT:
        again, source, of = max(_changed(prompt.n_kept, text, held), (again, source, of), key=lambda found: found[0])
    return {
        "prompt": prompt.number,
        "context": prompt.context,
        "sequence": prompt.sequence,
        "begin_ns": prompt.begin_ns,
        "prompt_ns": prompt_ns,
        "generate_ns": prompt.end_ns - prompt.prompt_end_ns,
        "n_tokens": prompt.n_tokens,
        "n_kept": prompt.n_kept,
        "kept_from": prompt.kept_from,
        "n_computed": n_computed,
        "n_generated": prompt.n_generated,
        "n_again": again,
        "again_from": source,
        "again_prompt": None if of is None else of.number,
        "again_ns": prompt_ns * again // n_computed if n_computed else 0,
    }


_Text = tuple[str, _Prompt, np.ndarray]
_Found = tuple[int, str | None, _Prompt | None]


def _again(kept: int, text: np.ndarray, others: Sequence[_Text]) -> _Found:
    """How many tokens behind the kept ones another text begins with too, where it lay, and whose it is."""
    best: _Found = (0, None, None)
    for where, of, other in others:
        n = min(_common(text, other), len(text) - 1) - kept
        if n > best[0]:
            best = (n, where, of)
    return best


def _changed(kept: int, text: np.ndarray, held: Sequence[_Text]) -> _Found:
    """How many tokens behind the first that differs are as in a slot, where that is most of them."""
    best: _Found = (0, None, None)
    for _, of, other in held:
        begin = max(kept, _common(text, other))
        rest = text[begin:-1]
        for shift in range(-SHIFT, SHIFT + 1):
            skipped = max(0, -begin - shift)  # of the rest, where the other text is shorter
            here, there = rest[skipped:], other[begin + shift + skipped :]
            length = min(len(here), len(there))
            n = int((here[:length] == there[:length]).sum())
            if n > best[0] and n >= SHORT and n >= MOSTLY * len(rest):
                best = (n, CHANGED, of)
    return best


def _common(one: np.ndarray, other: np.ndarray) -> int:
    """How many tokens two texts begin with alike."""
    n = min(len(one), len(other))
    differ = np.flatnonzero(one[:n] != other[:n])
    return int(differ[0]) if len(differ) else n
