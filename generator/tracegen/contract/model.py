"""Values for run, version, check and verdict. No input or output."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tracegen.contract.facts import Facts, Slot

CheckState = Literal["passed", "warning", "failed", "not checked"]
Verdict = Literal["complete", "complete with warnings", "not usable"]

# named here: the modules that fetch and write them load slowly
TRAINED_MODELS = ("smollm2",)  # fetched once through pip
DEMO_MODELS = ("demo", "moe", "tinyllama")  # written with random weights
NAMED_MODELS = (*TRAINED_MODELS, *DEMO_MODELS)  # what a setting may name instead of a path
WRITTEN_MODELS = (*NAMED_MODELS, "gpt-oss")  # what `tracegen model` writes; a setting names the latter by its path
DEMO_DTYPES = ("F16", "Q4_0", "Q8_0", "Q4_K")


def cell_name(factors: Mapping[str, str]) -> str:
    """The name of a cell of a matrix: `prefault=true, repack=false`; empty without factors."""
    return ", ".join(f"{factor}={value}" for factor, value in factors.items())


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
    """One execution, or one imported trace, as `run.json` describes it."""

    experiment: str
    number: int
    created: str
    checks: tuple[Check, ...]
    facts: Facts
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
    def slot(self) -> Slot:
        """The place of a run of a matrix; any other run has none."""
        assert self.facts.slot is not None
        return self.facts.slot

    @property
    def has_faults(self) -> bool:
        """Whether the page faults of the run were recorded."""
        return self.facts.trace.faults_recorded is True

    @property
    def has_requests(self) -> bool:
        """Whether the requests of the model's devices were recorded."""
        return self.facts.trace.requests_recorded is True

    @property
    def has_spans(self) -> bool:
        """Whether the trace can hold what threads did, and when passes ended; an imported one may not."""
        return self.facts.imported is None or self.facts.imported.spans is not False

    @property
    def has_experts(self) -> bool:
        """Whether the metadata of one of the run's models says that it has experts, and a trace may hold their use."""
        if self.facts.imported is not None and self.facts.imported.routing is False:
            return False
        return any(model.n_experts for model in self.facts.models)


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
