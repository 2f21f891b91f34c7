"""The runs that are recomputed: real ones of llama.cpp, each of another kind, as short as that kind allows."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tests import random_models
from tests.random_files import write_random_model
from tracegen.contract.experiment import Experiment
from tracegen.contract.model import Run
from tracegen.measure.demo.architecture import Architecture
from tracegen.measure.demo.gpt_oss import GPT_OSS_TYPES
from tracegen.measure.demo.models import write_demo_model
from tracegen.measure.runs.measure import measure
from tracegen.storing.progress import Progress

SHORT = "The memory of the disk"
LONG = "The page of the memory is read from the disk by the expert and the router counts the token in the layer"
# takes most of a context of 256 tokens, so that few generated ones fill it
FULL = " ".join(f"{number}" for number in range(80))

TIED = replace(
    random_models.LLAMA,
    outside=tuple(weight for weight in random_models.LLAMA.outside if weight.name != "output.weight"),
)


def demo(kind: str, path: Path, **shape: object) -> Path:
    """The first file of a demo model of two layers: all that follow would be alike."""
    return write_demo_model(kind, path, n_layers=2, **shape)[0]  # type: ignore[arg-type]


def random(architecture: Architecture, *types: object) -> Callable[[Path], Path]:
    """What writes a model of an architecture to a path."""
    return lambda path: write_random_model(architecture, path, *types)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Kind:
    """What writes the model, and the settings that make the run one of its kind."""

    write: Callable[[Path], Path]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def run(self, name: str, folder: Path, programs: Path) -> Run:
        """Write the model and run it once; the run's folder lies in `folder`."""
        model = self.write(folder / f"{name}.gguf")
        asked: dict[str, Any] = {"prompt": SHORT, "tokens": 5, "context": 256} | dict(self.settings)
        experiment = Experiment(name=name, question="Is it true?", model=str(model), **asked)
        return measure(experiment, folder, Progress(), str(programs))


def two_processors() -> tuple[int, ...]:
    """Two of the processors that this process may use, or the only one."""
    return tuple(sorted(os.sched_getaffinity(0))[:2])


KINDS: Mapping[str, Kind] = {
    "dense": Kind(partial(demo, "demo")),
    "mixture": Kind(partial(demo, "moe"), dict(tokens=9)),
    "several ubatches": Kind(partial(demo, "demo"), dict(prompt=LONG, ubatch=8, flash_attention="on")),
    "no flash attention": Kind(partial(demo, "demo"), dict(prompt=LONG, ubatch=8, context=512, flash_attention="off")),
    "quantised cache": Kind(random(random_models.LLAMA), dict(flags=("-ctk", "q8_0", "-ctv", "q8_0"))),
    "context shift": Kind(partial(demo, "demo"), dict(prompt=FULL, ubatch=128, tokens=40, flags=("--context-shift",))),
    "tied": Kind(random(TIED, "Q4_K")),
    "tied, as stored": Kind(random(random_models.QWEN3), dict(repack=False)),
    "biased router": Kind(random(random_models.GLM4_MOE), dict(tokens=9)),
    "one thread": Kind(random(random_models.DEEPSEEK2, "Q8_0"), dict(threads=1)),
    "four threads on two processors": Kind(
        partial(demo, "moe", dtype="Q4_K", n_experts_used=3, split=True),
        dict(prompt=LONG, ubatch=8, threads=4, processors=two_processors(), flash_attention="off"),
    ),
    "sinks and a sliding window": Kind(
        random(random_models.GPT_OSS, "Q8_0", GPT_OSS_TYPES), dict(tokens=9, prompt=LONG)
    ),
}
