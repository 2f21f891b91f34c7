"""Other layers on a device: as many as its free memory takes, fewer, or none."""

from collections.abc import Iterator, Sequence

from tracegen.analysis import device_speed
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import Phase
from tracegen.analysis.device_speed import PHASE, Speed
from tracegen.analysis.remedies.remedy import Remedy, remedy

# Options of llama.cpp that say what lies on a device: with a value, and without.
_WITH = ("-ngl", "--gpu-layers", "--n-gpu-layers", "-ncmoe", "--n-cpu-moe", "-ot", "--override-tensor")
_PLACING = {**dict.fromkeys(_WITH, 1), "-cmoe": 0, "--cpu-moe": 0}


def remedies(of: Analyses, phase: Phase) -> Iterator[Remedy]:
    """The `-ngl` and `--n-cpu-moe` that are predicted to be fastest, of those that fit into what the device has free.

    Where that is not known, of what all of its memory takes. None where a token may take longer. Numbers: n_gpu_layers,
    n_cpu_moe, n_layers, more_bytes (negative: fewer), free_bytes, unknown_experts (1: the device had none, and gets
    some), and the rates of `Mixed.rates`.
    """
    model = device_speed.of(of) if phase.name == PHASE else None
    if model is None:
        return
    memory, room = (of.facts.trace.device_memory or {}).get(model.device), None
    free = None if memory is None or memory.free_bytes == memory.total_bytes else memory.free_bytes
    if memory is not None:  # a driver that says that all is free, where something lies, does not know
        room = memory.total_bytes if free is None else min(model.held_bytes + free, memory.total_bytes)
    known, guess = model.fastest(room), model.with_experts(room)
    speed = next((of for of in (known, guess) if of and of.high_ns <= model.model.token_ns), None)
    if speed is None:
        return
    numbers = {name: float(getattr(speed, name)) for name in ("n_gpu_layers", "n_cpu_moe", "more_bytes")}
    numbers |= {"n_layers": float(model.model.n_layers), **model.rates}
    if free is not None:
        numbers["free_bytes"] = float(free)
    if speed is guess:
        numbers["unknown_experts"] = 1.0
    ends = (speed.low_ns * phase.n_passes, speed.high_ns * phase.n_passes)
    names = {"device": model.backend, "options": speed.options}
    yield remedy(phase, "device-layers", ends, _settings(of, speed), numbers, names)


def _settings(of: Analyses, speed: Speed) -> tuple[dict[str, object], ...]:
    """The flags of the experiment with these options instead of those that it has; none without an experiment."""
    flags = of.facts.settings.get("flags")
    if not isinstance(flags, list | tuple) or not flags:
        return ()
    return ({"flags": [*speed.options.split(), *without(flags)]},)


def without(flags: Sequence[object]) -> list[str]:
    """Flags of llama.cpp without those that say what lies on a device."""
    kept, left = list[str](), 0
    for word in map(str, flags):
        if left:
            left -= 1
        elif (name := word.partition("=")[0]) in _PLACING:
            left = _PLACING[name] if name == word else 0
        else:
            kept.append(word)
    return kept
