"""The key figures of a run in words, in reading order."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracegen.contract import quantities as q


def in_words(figures: Mapping[str, Any]) -> dict[str, object]:
    """Label -> text of each key figure of `key_figures`; None where it was not recorded."""
    more = figures["more_models"]
    times = figures["time_by_op_ns"]
    reused = figures["prompt_tokens_reused"]
    measures = {f"{of['label']}{_average(of)}": of["text"].replace(q.THIN, " ") for of in figures["measures"].values()}
    return {
        "run": figures["run"],
        **({"answer": text} if (text := figures.get("answer")) else {}),
        **{f"would help{f' ({n})' if n > 1 else ''}": text for n, text in enumerate(figures.get("would_help", ()), 1)},
        **({"would help": text} if (text := figures.get("nothing_would")) else {}),
        **({"floor": text} if (text := figures.get("floor")) else {}),
        **({"wrote": _shortly(text)} if (text := figures.get("generated")) else {}),
        **(
            {"repetition": f"{of['number']} of {of['of']}; the first is {of['first_run']}"}
            if (of := figures.get("repetition"))
            else {}
        ),
        "model": _model(figures["model"]),
        **{f"model {number}": _model(model) for number, model in enumerate(more, 2)},
        "passes": ", ".join(f"{n} {kind}" for kind, n in figures["passes"].items()),
        **({"window": f"{n} passes outside it were not recorded"} if (n := figures["skipped_passes"]) else {}),
        **({"ended": "interrupted, after its trace was closed"} if figures["interrupted"] else {}),
        **measures,
        **({"prompt tokens reused from the KV cache": reused} if reused else {}),
        **{
            f"time in {op}, measured passes": f"{ns / 1e6:.3f} ms, {ns / sum(times.values()):.1%} of operations’ time"
            for op, ns in list(times.items())[:8]
            if ns
        },
        **({"locked beside it": _size(memory["locked_bytes"])} if (memory := figures.get("mlock")) else {}),
        **({"pinned": _size(pinned["locked_bytes"])} if (pinned := figures.get("pinned")) else {}),
        **({"memory limit": _limit(memory)} if (memory := figures.get("memory_limit")) else {}),
        **({"control": text} if (text := figures.get("untraced")) else {}),
        "tracing cost": _percent(figures["tracing_cost_share"]),
        "verdict": figures["verdict"],
        **{f"{c['state']}: {c['key']}": f"{c['found']} (limit: {c['limit']})" for c in figures["checks"]},
    }


def _average(measure: Mapping[str, Any]) -> str:
    """Which average a measure is, where its label does not say so."""
    return f", {word}" if (word := measure.get("average")) else ""


MOST_TEXT = 300  # characters


def _shortly(text: str) -> str:
    """The first characters of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_TEXT else f"{line[:MOST_TEXT]}…"


def _model(model: Mapping[str, Any]) -> str | None:
    """A model in words: `moe.gguf, llama, 26.3 MiB (random weights)`."""
    if model["file"] is None:
        return None
    weights = " (random weights)" if model["random_weights"] else ""
    architecture = model["architecture"] or "architecture not recorded"
    size = "size not recorded" if model["size_bytes"] is None else f"{model['size_bytes'] / 2**20:.1f} MiB"
    return f"{Path(model['file']).name}, {architecture}, {size}{weights}"


def _limit(limit: Mapping[str, Any]) -> str:
    """A memory limit in words: `4.000 GiB, peak 3.996 GiB, reached 17 times`."""
    peak, times = _size(limit["peak_bytes"]) or "not recorded", limit["times_reached"]
    reached = "not recorded how often it was reached" if times is None else f"reached {times} times"
    return f"{_size(limit['limit_bytes'])}, peak {peak}, {reached}"


def _size(size: int | None) -> str | None:
    """A size in words: `26.312 MiB`, `11.300 GiB`."""
    if size is None:
        return None
    return f"{size / 2**30:.3f} GiB" if size >= 1 << 30 else f"{size / 2**20:.3f} MiB"


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.2%}"
