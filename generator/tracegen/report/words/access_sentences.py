"""The sentences about the order of accesses to the mapped files: values in, text out; none of them reads a table."""

from collections.abc import Mapping

from tracegen.contract import quantities as q

STEP = (
    "A step leads from the end of an access to the begin of the next one of its pass: contiguous if nothing lies "
    "between, overlapping if both share bytes, else forward or backward in the file."
)


def nothing(*, has_files: bool, copied: bool) -> str:
    """Why there is no access to a mapped file."""
    if not has_files:
        return "The trace names no model file."
    if copied:
        return (
            "No operation of a measured pass touched the mapped file: the weights that it read were copied into memory "
            "when the model was loaded."
        )
    return "No operation of a measured pass touched the mapped model file."


def layers(n_down: int, n_steps: int) -> str:
    """Whether layers come in their order; empty where no step is known."""
    if not n_steps:
        return ""
    if not n_down:
        return " Layers come in their order: no step leads to an earlier layer."
    return (
        f" {q.counted(n_down, 'step')} of {q.count(n_steps)} {'leads' if n_down == 1 else 'lead'} to an earlier layer."
    )


def blocks_title(block: float, touched: float, in_blocks: float, phase: str) -> str:
    """How much larger what a pass touches is in whole blocks, bytes."""
    who = {"generate": "a generated token", "prompt": "a pass of the prompt"}[phase]
    return (
        f"What {who} touches of the mapped file, {q.size(touched)}, is {q.three(in_blocks / touched)} times as much in "
        f"blocks of {q.size(block)}"
    )


def ledger_title(sums: Mapping[str, object]) -> str:
    """What was loaded for nothing, or else touched and gone at the end; `sums` over all tensors, null if unknown."""
    known = {name: float(value) for name, value in sums.items() if q.known(value)}  # type: ignore[arg-type]
    loaded, size = known.get("loaded_bytes"), known.get("size_bytes", 0.0)
    if loaded and "waste_bytes" in known and loaded >= 0.01 * size:
        waste = known["waste_bytes"]
        return (
            f"Of the {q.size(loaded)} that loading left in memory, {q.percent(waste / loaded)} was touched there by no "
            "measured pass"
        )
    touched = known.get("touched_bytes")
    if touched and "gone_bytes" in known:
        gone = known["gone_bytes"] / touched
        return f"{q.percent(gone)} of the bytes that measured passes touched were no longer in memory at the end"
    return "What was loaded and never touched, and what was touched but not in memory at the end?"
