"""What would help, in sentences; and when to stop."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tracegen.analysis import device_speed, measures
from tracegen.analysis.causes.cause import Cause, Phase
from tracegen.analysis.remedies.remedy import LEAST, Remedy
from tracegen.contract import quantities as q
from tracegen.report.figures.context import Context

DISTURBED = 0.2  # of the time: so much waiting for a processor makes predictions of a quiet machine false
MOSTLY = 0.5  # of the time
WAITING = ("unused-reads", "evicted", "first-reads", "reads", "paging")
_SIMULATED, _AGAIN = "Rests on a simulated page cache", "Rests on the same simulation."
STOP = {
    "generate": f"No setting is expected to make tokens more than {100 * LEAST:.0f} % faster; you may stop here.",
    "prompt": f"No setting is expected to make the prompt more than {100 * LEAST:.0f} % faster; you may stop here.",
}


@dataclass(frozen=True)
class Advice:
    """A remedy in words: what to do, what it is predicted to gain, and what the prediction rests on."""

    remedy: Remedy
    do: str
    gain: str
    basis: str

    @property
    def text(self) -> str:
        """What to do and what it gains, as one sentence."""
        return f"{self.do}: predicted {self.gain}."


def advices(remedies: Sequence[Remedy]) -> tuple[Advice, ...]:
    """Remedies in words; what several rest on is said once."""
    said = [advice(remedy) for remedy in remedies]
    simulated = [n for n, one in enumerate(said) if one.basis.startswith(_SIMULATED)]
    for n in simulated[1:]:
        rest = said[n].basis.removeprefix(_simulated(said[n].remedy))
        said[n] = replace(said[n], basis=f"{_AGAIN}{rest}")
    return tuple(said)


def advice(remedy: Remedy) -> Advice:
    """A remedy in words."""
    do, basis = _WORDS[remedy.key](remedy)
    low, high = remedy.gain
    what = "for the prompt" if remedy.phase == "prompt" else "a token"
    takes = f"{_between(q.duration(remedy.low_ns), q.duration(remedy.high_ns))} {what}"
    gain = f"{takes} instead of {q.duration(remedy.now_ns)}, {_between(_times(low), _times(high))} times as fast"
    return Advice(remedy, do, gain, basis)


def _between(low: str, high: str) -> str:
    """`5.1 ms to 6.3 ms`; once where both are the same."""
    return low if low == high else f"{low} to {high}"


def _times(factor: float) -> str:
    return q.decimal(factor, 2 if factor < 2 else 1)


def _read_ahead(remedy: Remedy) -> tuple[str, str]:
    now, best = (q.size(remedy.numbers[name] * 1024) for name in ("now_kib", "kib"))
    sweep = ", ".join(str(of["read_ahead_kib"]) for of in remedy.settings)
    return (
        f"Let the device read {best} ahead instead of {now} (`read_ahead_kib`; worth trying: {sweep})",
        _simulated(remedy),
    )


def _memory(remedy: Remedy) -> tuple[str, str]:
    now, more = remedy.numbers["limit_gb"], float(str(remedy.settings[0]["memory_limit_gb"]))
    measured = remedy.numbers.get("unlimited_ns")
    beside = f" Untraced and without the limit, a token took {q.duration(measured)}." if measured else ""
    sizes = [q.size(gib * (1 << 30)) for gib in (more, now)]
    do = f"Allow {sizes[0]} of memory instead of {sizes[1]} (`memory_limit_gb = {more}`)"
    return do, f"{_simulated(remedy)}{beside}"


def _pin(remedy: Remedy) -> tuple[str, str]:
    n, size = q.counted(int(remedy.numbers["n_tensors"]), "tensor"), q.size(remedy.numbers["pinned_bytes"])
    return f"Keep {size} of the model in memory, {n} that cost most waiting for their size (`pin`)", _simulated(remedy)


def _prefault(remedy: Remedy) -> tuple[str, str]:
    size, takes = q.size(remedy.numbers["file_bytes"]), q.duration(remedy.numbers["load_ns"])
    return (
        "Read the model when it is loaded (`prefault = true`)",
        f"At best no waiting is left; the load then reads {size}, which takes the device about {takes}.",
    )


def _simulated(remedy: Remedy) -> str:
    factor = q.decimal(remedy.numbers["factor"], 2)
    return (
        f"{_SIMULATED} (the run itself read {factor} times what the simulation of it reads) and on what "
        "the device can read."
    )


def _fewer(remedy: Remedy) -> tuple[str, str]:
    n, most = (q.count(remedy.numbers[name]) for name in ("n_processors", "n_threads"))
    return (
        f"Use as many threads as processors, {n} instead of {most} (`threads`)",
        "At best, threads share what they compute without waiting; at worst, a token takes twice as long as at best.",
    )


def _strict(remedy: Remedy) -> tuple[str, str]:
    return (
        "Give each thread a processor of its own (`--cpu-strict 1` with `--cpu-mask`; here `cpu_strict = true`)",
        "At best, no thread waits for the processor of another one; at worst, half as long as now.",
    )


def _more(remedy: Remedy) -> tuple[str, str]:
    n, now = (q.count(remedy.numbers[name]) for name in ("n_processors", "n_threads"))
    return (
        f"Use all processors, {n} threads instead of {now} (`threads`)",
        "At best, all share what is computed, as far as memory bandwidth allows; at worst, a token takes twice as long "
        "as at best.",
    )


def _quantised(remedy: Remedy) -> tuple[str, str]:
    dtype, left = remedy.names["dtype"], remedy.numbers.get("left_bytes")
    if left:
        return (
            f"Quantise the weights to {dtype}, {q.size(left)} in all",
            f"{_simulated(remedy)} {_UNMEASURED}",
        )
    return (
        f"Quantise the weights that memory bandwidth bounds to {dtype}",
        f"At best, these operations take less time in proportion to their bytes; at worst, half of that. {_UNMEASURED}",
    )


_UNMEASURED = "How good its answers are then, and how fast other kernels compute, is not predicted."


def _ubatch(remedy: Remedy) -> tuple[str, str]:
    n, tokens = (q.count(remedy.numbers[name]) for name in ("n_passes", "n_tokens"))
    basis = "At best, what memory bandwidth bounds takes as long as in one of the passes; at worst, as long as in all."
    if "factor" in remedy.numbers:
        basis = f"{_simulated(remedy)} Buffers for more tokens leave less memory for the model."
    return f"Compute the prompt in one pass of {tokens} tokens instead of {n} passes (`ubatch`)", basis


def _device_layers(remedy: Remedy) -> tuple[str, str]:
    numbers, device = remedy.numbers, q.printable(remedy.names["device"])
    layers, held, n_cpu_moe = (int(numbers[name]) for name in ("n_layers", "n_gpu_layers", "n_cpu_moe"))
    what = "all layers" if held > layers else "only the output" if held == 1 else f"{held - 1} of {layers} layers"
    first = layers + 1 - held  # what lies before it is the CPU's anyway
    but = f" without the experts of {q.counted(n_cpu_moe - first, 'layer')}" if n_cpu_moe > first else ""
    do = f"Place {what} on {device}{but}" if held else "Let the CPU compute all layers"
    ends = dict.fromkeys(q.size(numbers[name]) for name in ("device_low", "device_high") if name in numbers)
    least = "" if "device_high" in numbers else "at least "
    rests = (
        f"Rests on what each computes of the weights of a token: here the CPU {q.size(numbers['cpu'])}/s, {device} "
        f"{least}{' to '.join(ends)}/s."
    )
    guess = f" How long {device} takes for experts is not known from this run." if "unknown_experts" in numbers else ""
    return f"{do} (`{remedy.names['options']}`)", f"{rests}{guess}{_room(numbers, device)}"


def _room(numbers: Mapping[str, float], device: str) -> str:
    """What a device needs beyond what it has now, and whether that is known to fit."""
    more, free = numbers["more_bytes"], numbers.get("free_bytes")
    if more <= 0:
        return ""
    known = f"of which {q.size(free)} was free" if free is not None else "whether it has that was not recorded"
    return f" That takes {q.size(more)} more of the memory of {device}, {known}."


_WORDS = {
    "read-ahead": _read_ahead,
    "memory": _memory,
    "pin": _pin,
    "prefault": _prefault,
    "ubatch": _ubatch,
    "fewer-threads": _fewer,
    "more-threads": _more,
    "cpu-strict": _strict,
    "quantisation": _quantised,
    "device-layers": _device_layers,
}


def _disturbed(phase: Phase) -> bool:
    """Whether other programs had the processors for much of the time."""
    return phase.by_others >= DISTURBED and phase.n_threads <= phase.n_processors


def caution(phase: Phase) -> str:
    """What is said above predictions of a run that other programs disturbed: they hold for such a machine."""
    if not _disturbed(phase):
        return ""
    return (
        f"Waiting for a processor that others had takes {q.percent(phase.by_others)} of the time, so what is predicted "
        "holds for a machine as busy as this one: run it again without other programs first."
    )


def floor(context: Context, phase: Phase) -> str:
    """How long the weights of a token take at memory bandwidth; empty where caches may hold much of them."""
    machine, touched = context.machine(phase.name), measures.value("weight_bytes_per_token", context).value
    if phase.name != "generate" or phase.parts["elsewhere_ns"]:
        return ""
    if not machine.memory_rate or touched is None or machine.cache_bytes is None or touched < 2 * machine.cache_bytes:
        return ""
    least, now = 1e9 * touched / machine.memory_rate, phase.parts["computing_ns"] / phase.n_said
    return (
        f"With these weights, memory bandwidth sets a floor: the {q.size(touched)} of a token take {q.duration(least)} "
        f"at {q.size(machine.memory_rate)}/s. Computing takes {q.duration(now)} of a token now."
    )


def _untimed(context: Context) -> str:
    """Why nothing is predicted for what a device computes."""
    several = " and " in context.others
    if len(context.of_devices):
        return f"how fast {'they' if several else 'it'} could be is not known"
    if context.facts.settings.get("device_times") == "ops":
        return context.facts.trace.device_ops_refused or "none of its operations was recorded with a time"
    times = f"{'their' if several else 'its'} single operations have no times"
    if context.others.startswith("RPC"):
        return f"{times} (`--server` takes them from the server’s own trace)"
    what = "kernels, where CUPTI is installed" if context.others.startswith("CUDA") else "those of a Vulkan device"
    return f"{times} (`--device-times ops` records {what})"


def stop(context: Context, phase: Phase | None, causes: list[Cause]) -> str:
    """What is said where no remedy is offered: that none is needed, or why none can be predicted."""
    if (phase is None or not causes) and len(context.of_devices) and context.tables["spans"].empty:
        return "What would help is not known: only what devices computed was recorded."
    if phase is None or not causes:
        return "What would help is not known: when threads worked and waited was not recorded."
    others = phase.parts["elsewhere_ns"] / phase.whole_ns
    if others >= MOSTLY and phase.name == device_speed.PHASE and device_speed.of(context) is not None:
        return f"No other placement of layers on {context.others} and the CPU is expected to make tokens faster."
    if others >= MOSTLY:
        computes = "compute" if " and " in context.others else "computes"
        return f"Nothing is predicted for what {context.others} {computes}: {_untimed(context)}."
    if _disturbed(phase):
        return (
            f"Waiting for a processor that others had takes {q.percent(phase.by_others)} of the time, so that nothing "
            "is predicted: run it again without other programs."
        )
    waiting = [cause for cause in causes if cause.key in WAITING]
    share = sum(cause.share for cause in waiting)
    if share >= LEAST:
        missing = "" if context.run.has_requests else ", as requests of the device were not recorded (`disk = true`)"
        return f"How much of the waiting, {q.percent(share)} of the time, would go is not predicted{missing}."
    if not context.run.has_faults and context.of_kind(context.measured, causes[0].phase)["read_bytes"].any():
        return "Page faults were not recorded, so whether passes wait for the disk is not known: set `faults = true`."
    return STOP[causes[0].phase]
