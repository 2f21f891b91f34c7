"""Values for run, version, check and verdict. No input or output."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

CheckState = Literal["passed", "warning", "failed", "not checked"]
Verdict = Literal["complete", "complete with warnings", "not usable"]

# named here: the modules that fetch and write them load slowly
TRAINED_MODELS = ("smollm2",)  # fetched once through pip
DEMO_MODELS = ("demo", "moe", "tinyllama")  # written with random weights
NAMED_MODELS = (*TRAINED_MODELS, *DEMO_MODELS)  # what a setting may name instead of a path
WRITTEN_MODELS = (*NAMED_MODELS, "gpt-oss")  # what `tracegen model` writes; a setting names the latter by its path
DEMO_DTYPES = ("F16", "Q4_0", "Q8_0", "Q4_K")


@dataclass(frozen=True)
class Repetition:
    """The place of a run in a series: run `number` of `of`. `first_run` is the name of the first run, None in itself.

    The first run gets its own name when it is stored.
    """

    number: int
    of: int
    first_run: str | None = None


def cell_name(factors: Mapping[str, str]) -> str:
    """The name of a cell of a matrix: `prefault=true, repack=false`; empty without factors."""
    return ", ".join(f"{factor}={value}" for factor, value in factors.items())


@dataclass(frozen=True)
class Slot:
    """The place of a run in a matrix: the values of its factors, its round, and its number of `of` runs in their order.

    `matrix` names the matrix: all its runs have the same name, also those of rounds and values that were added.
    `cell`: a hash of the cell's settings and of the seed; `cells`, `repeat`: how many cells the matrix had when the
    order was drawn, and how many runs each. A run that was stored before a matrix could grow has none of the three.
    """

    matrix: str
    factors: Mapping[str, str]
    round: int
    number: int
    of: int
    cell: str = ""
    cells: int = 0
    repeat: int = 0


@dataclass(frozen=True)
class Check:
    """The result of one check: its finding, its limit, and in `detail` what follows."""

    key: str
    title: str
    state: CheckState
    found: str
    limit: str
    detail: str = ""


def verdict_of(checks: tuple[Check, ...]) -> Verdict:
    """The verdict that follows from the checks."""
    states = {check.state for check in checks}
    if "failed" in states:
        return "not usable"
    return "complete with warnings" if "warning" in states else "complete"


@dataclass(frozen=True)
class Run:
    """One execution, or one imported trace, as `run.json` describes it.

    `facts` holds the groups that `runs.facts` makes (settings, command, text, llama_cpp, model, host, trace,
    versions, source, …), `stages`, and for a run of a series `repetition`.
    """

    experiment: str
    number: int
    created: str
    checks: tuple[Check, ...]
    facts: Mapping[str, Any]
    folder: Path | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """`run-003`: the run's address below its experiment."""
        return f"run-{self.number:03d}"

    @property
    def verdict(self) -> Verdict:
        """The verdict that follows from the checks."""
        return verdict_of(self.checks)

    @property
    def has_faults(self) -> bool:
        """Whether the page faults of the run were recorded."""
        return self._recorded("faults")

    @property
    def has_requests(self) -> bool:
        """Whether the requests of the model's devices were recorded."""
        return self._recorded("requests")

    def _recorded(self, what: str) -> bool:
        trace = self.facts.get("trace")
        return isinstance(trace, Mapping) and trace.get(f"{what}_recorded") is True

    @property
    def has_spans(self) -> bool:
        """Whether the trace can hold what threads did, and when passes ended; an imported one may not."""
        return bool((self.facts.get("imported") or {}).get("spans") is not False)

    @property
    def has_experts(self) -> bool:
        """Whether the metadata of one of the run's models says that it has experts, and a trace may hold their use."""
        if (self.facts.get("imported") or {}).get("routing") is False:
            return False
        models = [self.facts.get("model"), *(self.facts.get("more_models") or ())]
        return any(isinstance(model, Mapping) and bool(model.get("n_experts")) for model in models)


@dataclass(frozen=True)
class Version:
    """A version that `tracegen publish` froze; cited as `NAME@vN`."""

    experiment: str
    number: int
    created: str
    message: str
    runs: tuple[int, ...]
    verdict: Verdict
    title: str
    status: Literal["current", "superseded", "withdrawn"] = "current"
    folder: Path | None = field(default=None, compare=False)
    author: str = ""
    url: str = ""
    licence: str = ""

    @property
    def name(self) -> str:
        """`v3`: the version's address below its experiment."""
        return f"v{self.number}"

    @property
    def citation(self) -> str:
        """`demo@v3`: how the version is cited."""
        return f"{self.experiment}@{self.name}"
