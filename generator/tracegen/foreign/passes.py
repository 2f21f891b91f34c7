"""Restores the passes of a trace of operations: where each begins, how many tokens it evaluated, what it was for."""

from dataclasses import dataclass

import numpy as np

from tracegen.foreign.ops import Described, OpTrace

TOKEN_BYTES = 4  # a token id is an int32


@dataclass(frozen=True)
class Restored:
    """The passes: `begin` and `end` are places in the trace (end exclusive), int64.

    `n_tokens`: tokens, None where unknown. `kinds`: what each was for, None where that is not known. `produced`:
    the number of the generated token. `partial`: the trace begins inside of a pass, whose operations are left out.
    """

    begin: np.ndarray
    end: np.ndarray
    n_tokens: tuple[int | None, ...]
    kinds: tuple[str | None, ...]
    produced: tuple[int | None, ...]
    partial: int


def restore_passes(trace: OpTrace) -> Restored:
    """Cut the trace into passes. Each begins with the lookup of its tokens, or else with the first op once more."""
    described = trace.described
    looks_up = np.array([_looks_up(each) for each in described])
    if looks_up.any():
        first = looks_up
    else:
        key = _identity(described[int(trace.which[0])])
        first = np.array([_identity(each) == key for each in described])
    begin = np.flatnonzero(first[trace.which])
    partial = int(begin[0])
    end = np.append(begin[1:], len(trace))
    tokens = _tokens([described[number] for number in trace.which[begin]])
    first_pass, last_pass = (trace.description(int(begin[i]), int(end[i])) for i in (0, -1))
    warms_up = _uses_all_experts(first_pass) and not _uses_all_experts(last_pass)
    kinds = kinds_of(tokens, warms_up)
    return Restored(begin, end, tuple(tokens), tuple(kinds), tuple(produced_of(kinds)), partial)


def _looks_up(each: Described) -> bool:
    """Whether an operation looks up the embeddings of the tokens of its pass."""
    return each.op == "GET_ROWS" and bool(each.operands) and each.operands[0].name.startswith("token_embd")


def _identity(each: Described) -> tuple[object, ...]:
    """What tells an operation from the others of its graph, whatever the number of tokens."""
    weight = each.operands[0] if each.operands else None
    return each.op, each.name, weight and (weight.name or weight.address)


def _tokens(firsts: list[Described]) -> list[int | None]:
    """Tokens of each pass, by its first operation: the ids that a lookup reads, else the sizes of activations.

    Without a lookup, a pass with the smallest activations has one row: some pass of a run generates a token.
    """
    if all(_looks_up(each) and len(each.operands) > 1 for each in firsts):
        sizes = [each.operands[1].size_bytes for each in firsts]
        return [size // TOKEN_BYTES if size and size % TOKEN_BYTES == 0 else None for size in sizes]
    sizes = [each.operands[1].size_bytes if len(each.operands) > 1 else 0 for each in firsts]
    least = min(sizes, default=0)
    if not least or len(sizes) < 2 or any(size % least for size in sizes):
        return [None] * len(sizes)
    return [size // least for size in sizes]


def _uses_all_experts(ops: list[Described]) -> bool:
    """Whether the first layer with experts chooses all of them, as only a warm-up and a graph that it left do."""
    every: int | None = None  # bytes of a number for each expert of each row, which the router sorts
    for each in ops:
        if each.op == "ARGSORT" and each.operands:
            every = each.operands[0].size_bytes
        elif each.op == "MUL_MAT_ID" and len(each.operands) > 2:
            return bool(every == each.operands[2].size_bytes)
    return False


def kinds_of(tokens: list[int | None], warms_up: bool) -> list[str | None]:
    """What each pass was for, from the numbers of tokens alone; None where that does not decide.

    llama.cpp warms up with a pass of at most two tokens (start and end of text) before it evaluates the prompt, and
    then uses all experts. So a first pass of one or two tokens is the warm-up if the next pass has several tokens, or
    if it uses all experts and the last pass does not (`warms_up`).
    """
    kinds: list[str | None] = [None] * len(tokens)
    at = 0
    small = len(tokens) > 1 and tokens[0] is not None and tokens[0] <= 2
    if small and ((tokens[1] or 0) > 1 or warms_up):
        kinds[0], at = "warmup", 1
    prompted = False
    for i in range(at, len(tokens)):
        n = tokens[i]
        if n is None:
            return kinds[:i] + [None] * (len(tokens) - i)
        if n > 1:
            if i == 0 and small and tokens[1] in (1, None):
                continue  # a warm-up before a prompt of one token, or a prompt of two tokens without a warm-up
            kinds[i], prompted = "prompt", True
        elif prompted or (i > 0 and kinds[i - 1] == "generate"):
            kinds[i] = "generate"
        elif i == at and at == 1:
            kinds[i], prompted = "prompt", True
    return kinds


def produced_of(kinds: list[str | None]) -> list[int | None]:
    """The number of the token that each pass gave: the last prompt pass gives token 0, each generate pass the next.

    None after a second prompt: a number would then stand for two tokens.
    """
    produced: list[int | None] = [None] * len(kinds)
    last = max((i for i, kind in enumerate(kinds) if kind == "prompt"), default=None)
    if last is None or "generate" in kinds[:last]:
        return produced
    token = 0
    for i in range(last, len(kinds)):
        if kinds[i] in ("prompt", "generate"):
            produced[i], token = token, token + 1
    return produced
