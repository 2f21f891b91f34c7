"""What each pass was for: recorded where llama.cpp says it, inferred from what its calls asked for, else null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracegen.readers.native.recorded import ENCODER, OUTSIDE, WARMUP, Pass

MOST_DRAFTED = 64  # token rows of a call that checks a draft; a longer one may be anything

Kind = tuple[str | None, str | None, int | None]  # kind, basis, produced token


@dataclass
class _Call:
    """One llama_decode: the passes of its ubatches, in order."""

    context: int | None
    passes: list[Pass]
    n_outside: int  # passes that no ubatch asked for (a shift of the KV cache, say) before it
    kind: str = "mixed"

    @property
    def sequence(self) -> int:
        """Of the first row; below 0 when it was not recorded."""
        rows = self.passes[0].tokens
        return int(rows["sequence"][0]) if len(rows) else -1

    @property
    def n_rows(self) -> int:
        return sum(len(p.tokens) for p in self.passes)

    @property
    def n_outputs(self) -> int:
        return sum(int((p.tokens["output"] != 0).sum()) for p in self.passes)

    @property
    def position(self) -> int:
        """Position of the first row; below 0 when it was not recorded."""
        rows = self.passes[0].tokens
        return int(rows["position"][0]) if len(rows) else -1

    @property
    def logits_read(self) -> bool:
        return self.passes[-1].logits_read


def kinds_of(ordered: Sequence[Pass]) -> list[Kind]:
    """(kind, basis, produced token) of each pass, in the order of their begin.

    Load, warm-up and encode are recorded, a graph that no ubatch asked for has no kind. A call of one sequence
    that asks for the logits of its last row at most is `prompt`; one that feeds a single row after logits were
    read in its context, and goes on where the sequence was, is `generate`; one that goes back reads the end of
    another prompt. Where one context checks several rows at once and another generates beside it, the first
    does `verify`, and all that the other does is `draft`. All else is `mixed`: several sequences, rows whose
    logits are all asked for (perplexity, embeddings), single rows whose logits nobody reads. The pass of a
    prompt or generate call whose logits were read produced a token; after a `verify`, or a `mixed` whose logits
    were read, of the same context nobody knows how many there were.
    """
    calls = _calls(ordered)
    _infer(calls)
    kind_of = {id(p): call for call in calls for p in call.passes}
    made: list[Kind] = []
    produced, lost = 0, set()
    for p in ordered:
        if p.is_load or p.flags & (OUTSIDE | WARMUP | ENCODER):
            made.append(_recorded(p))
            continue
        call, token = kind_of[id(p)], None
        if call.kind == "verify" or (call.kind == "mixed" and any(part.logits_read for part in call.passes)):
            lost.add(p.context)
        elif call.kind in ("prompt", "generate") and p.logits_read and p.context not in lost:
            token, produced = produced, produced + 1
        made.append((call.kind, "inferred", token))
    return made


def _recorded(p: Pass) -> Kind:
    if p.is_load:
        return "load", "recorded", None
    if p.flags & OUTSIDE:
        return None, None, None
    return "warmup" if p.flags & WARMUP else "encode", "recorded", None


def _calls(ordered: Iterable[Pass]) -> list[_Call]:
    """The calls whose kind must be inferred, in the order of their begin."""
    calls: dict[tuple[int | None, int | None], _Call] = {}
    n_outside = 0
    for p in ordered:
        n_outside += bool(p.flags & OUTSIDE)
        if not p.is_load and not p.flags & (OUTSIDE | WARMUP | ENCODER):
            calls.setdefault((p.context, p.call), _Call(p.context, [], n_outside)).passes.append(p)
    return list(calls.values())


def _infer(calls: list[_Call]) -> None:
    generating: dict[int | None, bool] = {}  # whether logits of the context's last call were read
    checks: dict[int | None, list[_Call]] = {}
    ends: dict[tuple[int | None, int], int] = {}  # the next position of a sequence, where it is known
    n_outside = 0
    last_read = {call.context: i for i, call in enumerate(calls) if call.logits_read}
    for i, call in enumerate(calls):
        before = generating.get(call.context)
        key = call.context, call.sequence
        if call.n_outside != n_outside:  # it may have moved all that was there
            ends.clear()
            n_outside = call.n_outside
        goes_on = call.position < 0 or ends.get(key, call.position) == call.position
        call.kind = _kind(call, before and goes_on, i <= last_read.get(call.context, -1))
        if call.kind in ("prompt", "generate") and call.position >= 0:
            ends[key] = call.position + call.n_rows
        else:
            ends.pop(key, None)  # how many of its rows stay is not known
        if call.kind == "mixed" and before and _may_check(call):
            checks.setdefault(call.context, []).append(call)
        generating[call.context] = call.logits_read
    drafting = {call.context for call in calls if call.kind == "generate"} - checks.keys()
    if not (checks and drafting):
        return
    for call in calls:
        if call.context in drafting and call.kind in ("prompt", "generate"):
            call.kind = "draft"
    for found in checks.values():
        for call in found:
            call.kind = "verify"


def _kind(call: _Call, generating: bool | None, leads_to_logits: bool) -> str:
    """`generating` is null for the first call of a context: a window may have begun in the middle."""
    if not _is_one_sequence(call):
        return "mixed"
    if call.n_rows > 1:
        return "prompt" if call.n_outputs <= 1 else "mixed"
    if call.position == 0:
        return "prompt"
    if generating or (generating is None and call.logits_read):
        return "generate"
    return "prompt" if leads_to_logits else "mixed"


def _may_check(call: _Call) -> bool:
    """Whether the call may check a draft: a few rows of one sequence, not at its begin, all logits asked for."""
    return _is_one_sequence(call) and 1 < call.n_rows == call.n_outputs <= MOST_DRAFTED and call.position > 0


def _is_one_sequence(call: _Call) -> bool:
    """Where an attached tracer could not see how many sequences there were (0), there may be several."""
    return all(p.n_sequences == 1 for p in call.passes)
