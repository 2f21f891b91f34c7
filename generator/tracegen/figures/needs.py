"""Which checks each figure needs: where one of them failed, the figure would be false and the reason stands instead.

Each group of checks has its reason, which the reference page prints beside the figures that need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """Checks that belong together, and why a figure is false where one of them failed."""

    why: str
    checks: tuple[str, ...]


EVIDENCE = Need("what is missing or foreign in the trace is missing or foreign in every sum",
                ("one_run_id", "dropped_events", "zero_records"))  # fmt: skip
NODES = Need("an operation that nobody recorded has no time and no bytes", ("nodes_accounted",))
CLOCK = Need("times are wrong, of some threads or of all",
             ("threads_accounted", "monotone_time", "even_clock", "time_accounted"))  # fmt: skip
COST = Need("times are those of the tracer, not of the model", ("tracing_cost",))
PLACES = Need("bytes would be laid at the wrong place of the file", ("offsets_in_tensors", "tensors_tile_file"))
NAMES = Need("operations have wrong names, and their names decide what they read", ("first_op", "op_mix"))
LAYERS = Need("operations would stand in wrong layers", ("layers_agree",))
KINDS = Need("passes would be counted as what they are not: warm-up as prompt, prompt as tokens",
             ("pass_kinds", "passes_agree"))  # fmt: skip
ROWS = Need("sums would be divided by the wrong number of token rows", ("tokens_agree",))
WHOLE = Need("the trace ends before the run did: nothing can be said of the run as a whole", ("trace_complete",))
BALANCE = Need("more was freed than allocated, so that no level is right", ("buffers_balance",))

TIMES = (EVIDENCE, NODES, CLOCK, COST, KINDS)
BYTES = (EVIDENCE, NODES, PLACES, NAMES, KINDS)
CHOICES = (EVIDENCE, NODES, NAMES, LAYERS, KINDS, WHOLE)

# Figures, tables and key figures by their keys. `rates`, `bytes` and `file-use` are key figures of the overview and the
# findings made of them: tokens per second and operations; bytes per token; what the whole run used of the file.
NEEDS: Mapping[str, tuple[Need, ...]] = {
    "rates": (*TIMES, ROWS),
    "bytes": BYTES,
    "file-use": (*BYTES, WHOLE),
    "storage": (EVIDENCE, KINDS, WHOLE),
    "components": (*TIMES, ROWS),
    "op-kinds": (*TIMES, NAMES, ROWS),
    "layers": (*TIMES, LAYERS, ROWS),
    "tokens": TIMES,
    "top-operations": (*TIMES, NAMES),
    "heatmap": (*BYTES, WHOLE),
    "residency": (EVIDENCE, KINDS),
    "tensor-groups": (*BYTES, WHOLE),
    "biggest-tensors": (*BYTES, WHOLE),
    "never-touched": (*BYTES, WHOLE),
    "buffers": (EVIDENCE, BALANCE, WHOLE),
    "buffer-peaks": (EVIDENCE, BALANCE, WHOLE),
    "operations": (EVIDENCE, NODES, CLOCK, COST, PLACES, NAMES, KINDS),
    "graph": (EVIDENCE, NAMES, LAYERS),
    "timeline": TIMES,
    "waiting-kinds": (*TIMES, NAMES),
    "waiting-nodes": (*TIMES, NAMES),
    "generated-tokens": (EVIDENCE, KINDS),
    **dict.fromkeys(
        (
            "experts", "experts-tokens", "experts-of-tokens", "experts-load", "experts-cover", "experts-layers",
            "experts-reuse", "experts-again", "experts-weights", "experts-strength",
        ),
        CHOICES,
    ),
}  # fmt: skip

# A check that only warned leaves its figures standing, with its words beside them: above all times of a page, or in
# the caption of each figure or table.
NOTED_ABOVE_TIMES = ("interference", "not_stopped", "even_tokens", "tracing_cost")
NOTED_IN_CAPTIONS: Mapping[str, tuple[Need, ...]] = {
    "pass_kinds": (KINDS,),
    "trace_complete": (WHOLE,),
    "buffers_balance": (BALANCE,),
}


def checks_of(key: str) -> tuple[str, ...]:
    """The keys of all checks that a figure needs."""
    needs = NEEDS["graph" if key.startswith("graph-") else key]
    return tuple(dict.fromkeys(check for need in needs for check in need.checks))


def figures_of(check: str) -> tuple[str, ...]:
    """The figures that are not shown when a check failed."""
    return tuple(key for key in NEEDS if check in checks_of(key))


def why(check: str) -> str:
    """What a failed check makes of the figures that need it; empty when none does."""
    return next((need.why for needs in NEEDS.values() for need in needs if check in need.checks), "")


def noted_in(check: str) -> tuple[str, ...]:
    """The figures whose captions say that a check warned."""
    needs = NOTED_IN_CAPTIONS.get(check, ())
    return tuple(key for key, of in NEEDS.items() if any(need in of for need in needs))
