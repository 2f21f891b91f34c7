"""What a program computed for each prompt, as servers get one with each request: what it kept, what it computed again.

It follows from tokens, positions and sequences of the passes alone, and needs no server's own word.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tracegen.analysis.accesses import Tables
from tracegen.analysis.prompt_rows import prompt_rows
from tracegen.analysis.slots import BEFORE, OTHER, SLOT, STATE, Prompt, played

__all__ = ["BEFORE", "CHANGED", "COLUMNS", "OTHER", "SLOT", "STATE", "served", "totals"]

CHANGED = "behind a change"
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
SHORT = 16  # tokens: fewer are no reason to look for a change
SHIFT = 8  # tokens that a change may be longer or shorter than what it replaces
MOSTLY = 0.5  # of what follows a change: so much is as it was

_Text = tuple[str, Prompt, np.ndarray]
_Found = tuple[int, str | None, Prompt | None]  # how many tokens, where they lay, whose they were


def served(tables: Tables) -> pd.DataFrame:
    """The prompts that were computed, in order; COLUMNS has the columns.

    Rows start a prompt where they do not go on with what was generated. A prompt has `n_tokens`; `n_kept` of them no
    pass computed for it, as they lay in its slot (llama.cpp's sequence), in another or in a saved state (`kept_from`);
    `n_computed` is the rest. `n_again` of these had been computed before: `again_from` says where they lay, and
    `again_prompt` for which prompt. Behind a change are tokens that a slot had, but behind the first that differs, so
    that no server can keep them. `again_ns` is that part of `prompt_ns`, in proportion to tokens. The last token of a
    prompt is always computed, and does not count as computed again.

    Empty where tokens, positions or outputs were not recorded, and where `played` finds none.
    """
    rows = prompt_rows(tables)
    again: dict[int, _Found] = {}

    def compare(prompt: Prompt) -> None:
        again[prompt.number] = _had(prompt, [(where, of, np.array(text)) for where, of, text in prompt.held])

    found = [] if rows is None else played(rows, tables["saved_states"], compare) or []
    tried = int(bool(found) and len(found[0].tokens) <= TRIED)
    told = [_told(prompt, again[prompt.number], tried) for prompt in found[tried:]]
    return pd.DataFrame(told, columns=list(COLUMNS)).astype(COLUMNS)


def totals(table: pd.DataFrame, *, whole: bool) -> tuple[int, int] | None:
    """How many tokens of all prompts in `served` were computed, and how many were kept; None without any prompt.

    `whole`: the trace has every pass of the program. Where it has not, passes that computed the start of a prompt may
    be among those left out: then both are unknown.
    """
    if table.empty or (not whole and table["kept_from"].eq(OTHER).any()):
        return None
    return int(table["n_computed"].sum()), int(table["n_kept"].sum())


def _told(prompt: Prompt, again: _Found, tried: int) -> dict[str, object]:
    """The row of a prompt; `tried`: how many before it were none."""
    n_again, source, of = again
    n_computed, prompt_ns = prompt.n_tokens - prompt.n_kept, prompt.prompt_end_ns - prompt.begin_ns
    known = of is not None and of.number >= tried
    return {
        "prompt": prompt.number - tried,
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
        "n_again": n_again if known else 0,
        "again_from": source if known else None,
        "again_prompt": of.number - tried if of is not None and known else None,
        "again_ns": prompt_ns * n_again // n_computed if known and n_computed else 0,
    }


def _had(prompt: Prompt, held: Sequence[_Text]) -> _Found:
    """How much of what was computed for a prompt the texts had that had been computed before."""
    text = np.array(prompt.tokens[: prompt.n_tokens])
    again = _again(prompt.n_kept, text, held)
    if again[0] >= SHORT:
        return again
    return max(_changed(prompt.n_kept, text, held), again, key=lambda found: found[0])


def _again(kept: int, text: np.ndarray, others: Sequence[_Text]) -> _Found:
    """How many tokens behind the kept ones another text begins with too, where it lay, and whose it is."""
    best: _Found = (0, None, None)
    for where, of, other in others:
        n = min(_common(text, other), len(text) - 1) - kept
        if n > best[0]:
            best = (n, where, of)
    return best


def _changed(kept: int, text: np.ndarray, others: Sequence[_Text]) -> _Found:
    """How many tokens behind the first that differs are as in a slot, where that is most of them."""
    best: _Found = (0, None, None)
    for where, of, other in others:
        if where == BEFORE:
            break
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
