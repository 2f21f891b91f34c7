"""The checks of times: whether parts add up, what tracing cost and changed, what delayed threads."""

import math

from tracegen.analysis.disturbance import Disturbance, disturbance, token_skew
from tracegen.analysis.observer import Effect, effects
from tracegen.analysis.pass_parts import pass_parts
from tracegen.analysis.passes import OUTSIDE
from tracegen.analysis.tracing_cost import FAULT_NS, by_phase, elapsed, pass_costs
from tracegen.contract.check_keys import FAIL_COST, FAIL_SLOWER, WARN_COST, WARN_DELAY, WARN_SKEW, WARN_SLOWER, Key
from tracegen.contract.model import Check, CheckState
from tracegen.contract.quantities import count, counted
from tracegen.measure.checks.evidence import Evidence, check, percent

# A processor may read its time stamp counter before a load that stands earlier in the program has arrived. So an
# operation can seem to begin, by the duration of a cache miss, before the last thread has ended the one before.
COUNTER_SLACK_NS = 300


def parts(e: Evidence) -> Check:
    """Operations, and the time before, between and after them, add up to each pass, as exactly as the clock is read."""
    slack = COUNTER_SLACK_NS if e.trace["clock"] == "tsc" else 0
    limit = f"≤ {slack} ns apart in one place"
    rows = pass_parts(e.tables)
    if rows.empty:
        return check(Key.TIME_ACCOUNTED, "not checked", "no pass with timed operations", limit=limit)
    apart, worst = int(rows["apart_ns"].sum()), rows.sort_values("longest_apart_ns", kind="stable").iloc[-1]
    longest = int(worst["longest_apart_ns"])
    finding = f"{counted(len(rows), 'pass', 'passes')}, {count(longest)} ns apart"
    detail = (
        f"operations overlap or lie outside their pass: for {count(longest)} ns in pass {worst['pass_id']}, "
        f"for {count(apart)} ns in the whole run"
    )
    if slack and longest <= slack:
        detail += "; a thread can read the counter some ns before it has seen that a barrier has opened"
    return check(Key.TIME_ACCOUNTED, longest <= slack, finding, detail if apart else "", limit=limit)


def cost(e: Evidence) -> Check:
    """The cost of tracing as a share of undisturbed pass time: the median pass of each phase; the worst phase decides.

    It fails only where it is too high a share of the time that passed too, for undisturbed time is known at least.
    """
    costs = pass_costs(e.tables, e.trace)
    shares = by_phase(costs)
    if not shares:
        return check(Key.TRACING_COST, "not checked", "not measured")
    worst = max(shares.values())
    surely = max(elapsed(costs).values())
    state: CheckState = "passed" if worst <= WARN_COST else "warning" if surely <= FAIL_COST else "failed"
    finding = ", ".join(f"{phase} {percent(share, 2)}" for phase, share in sorted(shares.items()))
    if beside := by_phase(costs, "between_share"):
        finding += f"; between passes, which this does not limit, {percent(max(beside.values()), 2)}"
    hooks = {p: ns for p, ns in e.trace["hook_ns"].items() if p in set(costs["pass_id"])}
    per_pass = sorted(hooks.values())[len(hooks) // 2] / 1e3 if hooks else math.nan
    detail = (
        "median pass of each kind, waits for processors taken out of its time; "
        f"{e.trace['event_cost_ns']:.1f} ns per event, measured when the run began; "
        f"hooks around a pass: {per_pass:.1f} \u00b5s at the median, measured during the run"
    )
    between = costs["between_ns"].dropna()
    if len(between):
        detail += f"; {between.median() / 1e3:.1f} \u00b5s more between two passes, which are part of neither"
    detail += _of_begin(e.trace.get("begin_cost_ns", math.nan))
    if len(e.tables["faults"]):
        detail += f"; {FAULT_NS / 1e3:.0f} \u00b5s for each recorded page fault, the most that one costs"
    return check(Key.TRACING_COST, state, finding, detail)


def _of_begin(begin_ns: float) -> str:
    """What is known of the time that tracing takes before the first pass and after the last one."""
    known = "" if math.isnan(begin_ns) else f" takes {begin_ns / 1e6:.1f} ms and"
    return f"; to begin the trace{known} is in no share, nor is to end it, which is not measured"


def interference(e: Evidence) -> Check:
    """The share of thread time spent runnable without a processor; waits for the disk do not count."""
    delays = disturbance(e.tables)
    if delays.share is None:
        return check(Key.INTERFERENCE, "not checked", "not recorded")
    state: CheckState = "passed" if delays.share <= WARN_DELAY else "warning"
    text = f"{percent(delays.share, 1)} of thread time"
    if delays.n_passes > 1:
        text += f", {percent(min(delays.worst_share or 0, 1))} in the worst of {count(delays.n_passes)} passes"
    return check(Key.INTERFERENCE, state, text, _whose(e, delays) if state == "warning" else "")


def _whose(e: Evidence, delays: Disturbance) -> str:
    """Why threads had no processor: the run has more threads than it may use processors, or others had them.

    Others are programs, and the kernel itself, which is busy when it reads and drops pages.
    """
    allowed = e.trace["processors_allowed"]
    if allowed is not None and delays.n_threads > allowed:
        processors = counted(allowed, "processor", "processors")
        return f"{delays.n_threads} threads on {processors} take them from each other; set fewer `threads`"
    return (
        "other programs or the kernel had the processors, or threads of this program that compute nothing; touched "
        "bytes are not affected; if other programs ran, run it again without them"
    )


def stopped(e: Evidence) -> Check:
    """Passes in which no thread ran or waited for a processor, though nothing was read from the disk."""
    passes = e.tables["passes"]
    if passes.loc[~passes["kind"].isin(OUTSIDE).to_numpy(bool), "blocked_ns"].isna().all():
        return check(Key.NOT_STOPPED, "not checked", "not recorded")
    delays = disturbance(e.tables)
    text = f"{counted(delays.n_stopped, 'pass', 'passes')}, {delays.stopped_ns / 1e9:,.2f} s together"
    if delays.n_blocked > delays.n_stopped:
        text += f"; {count(delays.n_blocked - delays.n_stopped)} more waited while files were read"
    detail = (
        "no thread ran or waited for a processor, nothing was read, and no page fault began a read: the program was "
        "stopped (SIGSTOP, a debugger), the machine was suspended, or it waited for something other than the disk"
    )
    state: CheckState = "passed" if delays.n_stopped == 0 else "warning"
    return check(Key.NOT_STOPPED, state, text, detail if delays.n_stopped else "")


def skew(e: Evidence) -> Check:
    """The mean of the token times over their median: a few long passes make the mean misleading."""
    measured = token_skew(e.tables)
    if measured is None:
        few = "fewer than three generate passes with a duration"
        return check(Key.EVEN_TOKENS, "not checked", few)
    ratio, n = measured
    state: CheckState = "passed" if 1 / WARN_SKEW <= ratio <= WARN_SKEW else "warning"
    detail = "some passes took much longer than most and dominate sums and rates; the figure of token times shows which"
    finding = f"mean {ratio:.2f} times the median of {count(n)} generate passes"
    return check(Key.EVEN_TOKENS, state, finding, detail if state == "warning" else "")


KERNELS_SLOW = (
    "to record kernels makes launching them slower, most of all CUDA graphs; the kernels’ own times stand, the "
    "program’s are those of a run with `passive` device times"
)


def observer(e: Evidence) -> Check:
    """Time per token traced and untraced, each with what is known of the noise; the worst phase that is decided counts.

    A phase is not decided where the noise leaves open whether it is over the limit that fails.
    """
    if e.control is None or not e.control.untraced:
        return check(Key.OBSERVER, "not checked", "no untraced run")
    failures = [execution.failure for execution in e.control.untraced if execution.failure]
    passes = e.tables["passes"]
    tokens = passes[(passes["kind"] == "generate").to_numpy(bool) & passes["end_ns"].notna().to_numpy(bool)]
    found = effects(e.control, (tokens["end_ns"] - tokens["begin_ns"]).astype(float).tolist())
    if not found:
        why = "; ".join(sorted(set(failures)))
        return check(Key.OBSERVER, "warning", f"the untraced program ended early: {why}")
    decided = [effect for effect in found if effect.surely_within(FAIL_SLOWER) or effect.surely_over(FAIL_SLOWER)]
    if not decided:
        detail = "without tracing, too, executions may differ by more than the limit; `control = 5` runs five untraced"
        return check(Key.OBSERVER, "not checked", f"not decided: {_in_words(found)}", detail)
    state: CheckState = "passed"
    if any(effect.slower > WARN_SLOWER for effect in decided):
        state = "warning"
    if any(effect.surely_over(FAIL_SLOWER) for effect in decided):
        state = "failed"
    open_ones = [effect.phase for effect in found if effect not in decided]
    details = [f"not decided for the {' and the '.join(open_ones)}"] if open_ones else []
    if state != "passed" and e.tables["device_ops"]["device"].astype(str).str.startswith("CUDA").any():
        details.append(KERNELS_SLOW)
    return check(Key.OBSERVER, state, _in_words(found), "; ".join(details))


def _in_words(found: tuple[Effect, ...]) -> str:
    """`generation 3.5 % slower (± 2.0 %), prompt 1.0 % faster (± 2.0 %); 1 untraced run`."""
    texts = [
        f"{effect.phase} {percent(abs(effect.slower), 1)} {'slower' if effect.slower >= 0 else 'faster'} "
        f"(± {percent(effect.noise, 1)})"
        if effect.noise < 1
        else f"{effect.phase} within the noise, which is larger than the time itself"
        for effect in reversed(found)
    ]
    return f"{', '.join(texts)}; {counted(found[0].n, 'untraced run')}"
