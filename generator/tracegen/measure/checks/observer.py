"""The check of the observer: whether the traced program was as fast as the same program untraced."""

from tracegen.analysis.observer import Effect, effects
from tracegen.contract.check_keys import Key
from tracegen.contract.limits import FAIL_SLOWER, WARN_SLOWER
from tracegen.contract.model import Check, CheckState
from tracegen.contract.quantities import counted
from tracegen.measure.checks.evidence import Evidence, check, percent


def observer(e: Evidence) -> Check:
    """Time per token traced and untraced, each with what is known of the noise; the worst phase that is decided counts.

    A phase is not decided where the noise leaves open whether it is over the limit that fails.
    """
    if e.control is None or not e.control["untraced"]:
        return check(Key.OBSERVER, "not checked", "no untraced run")
    failures = [execution["failure"] for execution in e.control["untraced"] if execution["failure"]]
    passes = e.tables["passes"]
    tokens = passes[(passes["kind"] == "generate").to_numpy(bool) & passes["end_ns"].notna().to_numpy(bool)]
    found = effects(e.control, (tokens["end_ns"] - tokens["begin_ns"]).astype(float).tolist())
    if not found:
        why = "; ".join(sorted(set(failures)))
        return check(Key.OBSERVER, "warning", f"the untraced program ended early: {why}")
    decided = [effect for effect in found if effect.surely_within(FAIL_SLOWER) or effect.surely_over(FAIL_SLOWER)]
    if not decided:
        detail = "the executions differ by more than the limit without tracing; `control = 5` runs five untraced"
        return check(Key.OBSERVER, "not checked", f"not decided: {_said(found)}", detail)
    state: CheckState = "passed"
    if any(effect.slower > WARN_SLOWER for effect in decided):
        state = "warning"
    if any(effect.surely_over(FAIL_SLOWER) for effect in decided):
        state = "failed"
    open_ones = [effect.phase for effect in found if effect not in decided]
    detail = f"not decided for the {' and the '.join(open_ones)}" if open_ones else ""
    return check(Key.OBSERVER, state, _said(found), detail)


def _said(found: tuple[Effect, ...]) -> str:
    """`generation 3.5 % slower (± 2.0 %), prompt 1.0 % faster (± 2.0 %); 1 untraced run`."""
    texts = [
        f"{effect.phase} {percent(abs(effect.slower), 1)} {'slower' if effect.slower >= 0 else 'faster'} "
        f"(± {percent(effect.noise, 1)})"
        if effect.noise < 1
        else f"{effect.phase} within the noise, which is larger than the time itself"
        for effect in reversed(found)
    ]
    return f"{', '.join(texts)}; {counted(found[0].n, 'untraced run')}"
