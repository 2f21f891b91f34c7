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

    Where that is not known, of all. Numbers: n_gpu_layers, n_cpu_moe, n_layers, more_bytes (negative: fewer),
    free_bytes, and the rates of `Mixed.rates`.
    """
    model = device_speed.of(of) if phase.name == PHASE else None
    if model is None:
        return
    memory = (of.facts.trace.device_memory or {}).get(model.device)
    speed = model.fastest(None if memory is None else model.held_bytes + memory.free_bytes)
    if speed is None:
        return
    numbers = {name: float(getattr(speed, name)) for name in ("n_gpu_layers", "n_cpu_moe", "more_bytes")}
    numbers |= {"n_layers": float(model.model.n_layers), **model.rates}
    if memory is not None:
        numbers["free_bytes"] = float(memory.free_bytes)
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
