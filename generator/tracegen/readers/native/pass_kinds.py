"""The kind of each pass: recorded where llama.cpp states it, inferred from its calls otherwise, or null."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracegen.readers.native.recorded import ENCODER, OUTSIDE, WARMUP, Pass

MOST_DRAFTED = 64  # most tokens of a call that checks a draft; a longer call is not taken for one

Kind = tuple[str | None, str | None, int | None]  # kind, basis, produced token


@dataclass
class _Call:
    """One call of llama_decode: the passes of its ubatches, in order."""

    context: int | None
    passes: list[Pass]
    n_outside: int  # number of earlier passes without a ubatch, such as a shift of the KV cache
    kind: str = "mixed"

    def first(self, column: str) -> int:
        """Sequence or position of the first token; negative when not recorded."""
        rows = self.passes[0].tokens
        return int(rows[column][0]) if len(rows) else -1

    @property
    def n_rows(self) -> int:
        return sum(len(p.tokens) for p in self.passes)

    @property
    def n_outputs(self) -> int:
        return sum(int((p.tokens["output"] != 0).sum()) for p in self.passes)

    @property
    def position(self) -> int:
        return self.first("position")

    @property
    def logits_read(self) -> bool:
        return self.passes[-1].logits_read


def kinds_of(ordered: Sequence[Pass]) -> list[Kind]:
    """(kind, basis, produced token) of each pass, in the order of their begin.

    Load, warm-up and encode are recorded. A pass without a ubatch has no kind. Others are inferred from their call:
    - `prompt`: one sequence, logits requested for its last row at most.
    - `generate`: a single row, after logits were read in its context, that continues the sequence at its next
      position. A row at an earlier position is `prompt`: the end of another prompt.
    - `verify` and `draft`: one context checks several rows at once, at least once after logits of it were read, while
      another generates; all calls of the other are `draft`.
    - `mixed`: everything else, such as several sequences, rows that all request logits (perplexity, embeddings), or
      single rows whose logits nobody reads.
    A pass of a prompt or generate call produced a token if its logits were read. After `verify`, or `mixed` whose
    logits were read, the number of tokens in that context is unknown: its later passes have no produced token.
    """
    calls = _calls(ordered)
    _infer(calls)
    kind_of = {id(p): call for call in calls for p in call.passes}
    kinds: list[Kind] = []
    produced, lost = 0, set()
    for p in ordered:
        if p.is_load or p.flags & (OUTSIDE | WARMUP | ENCODER):
            kinds.append(_recorded(p))
            continue
        call, token = kind_of[id(p)], None
        if call.kind == "verify" or (call.kind == "mixed" and any(part.logits_read for part in call.passes)):
            lost.add(p.context)
        elif call.kind in ("prompt", "generate") and p.logits_read and p.context not in lost:
            token, produced = produced, produced + 1
        kinds.append((call.kind, "inferred", token))
    return kinds


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
    checking = set()
    ends: dict[tuple[int | None, int], int] = {}  # the next position of a sequence, where it is known
    n_outside = 0
    last_read = {call.context: i for i, call in enumerate(calls) if call.logits_read}
    for i, call in enumerate(calls):
        before = generating.get(call.context)
        key = call.context, call.first("sequence")
        if call.n_outside != n_outside:  # such a pass may have moved every sequence
            ends.clear()
            n_outside = call.n_outside
        goes_on = call.position < 0 or ends.get(key, call.position) == call.position
        call.kind = _kind(call, before and goes_on, i <= last_read.get(call.context, -1))
        if call.kind in ("prompt", "generate") and call.position >= 0:
            ends[key] = call.position + call.n_rows
        else:
            ends.pop(key, None)  # unknown, as some of its rows may be discarded
        if call.kind == "mixed" and _may_check(call):
            checks.setdefault(call.context, []).append(call)
            checking |= {call.context} if before else set()
        generating[call.context] = call.logits_read
    drafting = {call.context for call in calls if call.kind == "generate"} - checking
    if not (checking and drafting):
        return
    for call in calls:
        if call.context in drafting and call.kind in ("prompt", "generate"):
            call.kind = "draft"
    for context in checking:
        for call in checks[context]:
            call.kind = "verify"


def _kind(call: _Call, generating: bool | None, leads_to_logits: bool) -> str:
    """The kind of a call; `generating` is None for the first call of a context, as a window may begin in the middle."""
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
    """Whether the call may check a draft: a few rows of one sequence, not at its start, all requesting logits."""
    return _is_one_sequence(call) and 1 < call.n_rows == call.n_outputs <= MOST_DRAFTED and call.position > 0


def _is_one_sequence(call: _Call) -> bool:
    """Whether all passes have one sequence. 0 means that an attached tracer could not see the number: not certain."""
    return all(p.n_sequences == 1 for p in call.passes)
