"""What all figures of a run share: its tables, its facts, and analyses that are found by name."""

from collections.abc import Sequence
from functools import cached_property

import pandas as pd

from tracegen.analysis import backends
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.passes import OUTSIDE
from tracegen.contract.details import in_words
from tracegen.contract.model import Check
from tracegen.contract.needs import LOST_IN, NOTED_ABOVE_TIMES, NOTED_IN_CAPTIONS, Need
from tracegen.contract.quantities import counted, printable
from tracegen.report.words import sentences

MOST_NAMED = 4  # backends, where all are named


class Context(Analyses):
    """The analyses of a run, and what its checks and facts say of them."""

    @property
    def private(self) -> bool:
        """Whether prompt and text are withheld."""
        return self.facts.private

    @property
    def care(self) -> list[Check]:
        """The checks of times that did not pass, and are noted above figures of times."""
        warned = {c.key: c for c in self.run.checks if c.state in ("warning", "failed")}
        return [warned[key] for key in NOTED_ABOVE_TIMES if key in warned]

    @property
    def time_advice(self) -> str:
        """What to do about times if a check of times did not pass; else empty."""
        return sentences.what_to_do(self.care)

    @property
    def gaps(self) -> str:
        """The note in captions of touched bytes if the rows or experts of some tensors are not known; else empty."""
        names = [printable(name) for name in self.unseen["source_name"].drop_duplicates()]
        if not names:
            return ""
        why = "withheld, because the experiment is private" if self.private else "not recorded"
        which = ", ".join(names[:4]) + (f" and {len(names) - 4} more tensors" if len(names) > 4 else "")
        return f"Which rows or experts of {which} were touched is {why}."

    @property
    def left_out(self) -> str:
        """How many loads and warm-up passes statistics leave out; empty without any."""
        kinds = self.tables["passes"]["kind"]
        return sentences.outside_statistics({kind: int((kinds == kind).sum()) for kind in OUTSIDE})

    @property
    def bounds(self) -> str:
        """What a table of touched bytes leaves out."""
        return f"{sentences.OUTSIDE} {self.gaps}".strip()

    @cached_property
    def padded(self) -> str:
        """The note beside bytes of the KV cache if the rows that masks let through were not recorded; else empty.

        They are missing in runs of tracegen before 0.2.0, and for attention on another backend.
        """
        rows = self.accessed
        masked = rows[(rows["op"] == "FLASH_ATTN_EXT").to_numpy(bool) & (rows["slot"] == "src3").to_numpy(bool)]
        recorded = self.tables["touches"]
        recorded = recorded[(recorded["slot"] == "src1").to_numpy(bool)][["pass_id", "node"]].drop_duplicates()
        if len(masked) == 0 or len(masked[["pass_id", "node"]].merge(recorded)) == len(masked):
            return ""
        return "Which rows of the KV cache the attention masks let through was not recorded: all reserved rows count."

    @cached_property
    def others(self) -> str:
        """Names of the backends whose operations have no times of threads; empty without any."""
        splits = self.tables["splits"]
        return _listed(splits.loc[~splits["by_op"], "backend"])

    @cached_property
    def untimed(self) -> str:
        """Those of them whose operations have no times at all: they wrote no stamps of their own."""
        splits, stamped = self.tables["splits"], self.tables["device_ops"]["device"].dropna()
        return _listed(splits.loc[~splits["by_op"] & ~splits["backend"].isin(stamped), "backend"])

    @property
    def copied(self) -> str:
        """What weights are that were copied out of the file: `copied`, or `on Vulkan0`."""
        return f"on {self.copies_in}" if self.copies_in else "copied"

    @cached_property
    def copies_in(self) -> str:
        """Where the copies of weights lie, if that is not the memory of the CPU: `Vulkan0`; else empty."""
        placements, buffers = self.tables["placements"], self.tables["buffers"]
        numbers = placements.loc[placements["memory"].eq("copied").to_numpy(bool), "buffer_id"].dropna().unique()
        holds = buffers["buffer_id"].isin(numbers).to_numpy(bool) & buffers["usage"].ne("compute").to_numpy(bool)
        pinned = buffers["name"].astype("object").fillna("").str.endswith("_Host").to_numpy(bool)  # the CPU's memory
        held = buffers.loc[holds & ~pinned, "backend"].dropna().unique()
        return "" if set(held) <= {"CPU"} else " and ".join(printable(name) for name in sorted(held))

    @cached_property
    def submitted(self) -> str:
        """Names of the backends of which only the hand-over of splits has times; empty without any."""
        splits = self.tables["splits"]
        return ", ".join(printable(name) for name in sorted(splits.loc[backends.submitted(splits), "backend"].unique()))

    @property
    def gap_times(self) -> bool:
        """Whether the times of operations are gaps between the begins that an imported trace holds."""
        return bool((self.tables["ops"]["time_basis"] == "gap to next").any())

    def refusal(self, needed: Sequence[Need]) -> str:
        """Why a figure that needs these is not shown: the checks that failed, or hooks that do not fit; or empty."""
        of = {key.value: need.why for need in needed for key in (*need.checks, *need.warned)}
        broken = self.broken(needed)
        how = {"failed": "failed", "warning": "warned"}
        refused = [f"Not drawn: the check “{c.title}” {how[c.state]} ({c.found}; limit {c.limit})." for c in broken]
        reasons = dict.fromkeys(of[c.key] for c in broken)
        lost = tuple(need.detail for need in needed if need.detail in self.facts.trace.lost)
        if lost:
            refused.append(f"Not recorded: {in_words(lost)}, because hooks do not fit this llama.cpp.")
        return " ".join([*refused, *(f"{why[:1].upper()}{why[1:]}." for why in reasons)])

    def broken(self, needed: Sequence[Need]) -> list[Check]:
        """The checks that make a figure false which needs these."""
        of = {("failed", key.value) for need in needed for key in (*need.checks, *need.warned)}
        of |= {("warning", key.value) for need in needed for key in need.warned}
        return [check for check in self.run.checks if (check.state, check.key) in of]

    def noted(self, needed: Sequence[Need]) -> str:
        """Sentences of a caption about checks that warned and details that are lost; empty when none concerns it."""
        of = {key for key, concerned in NOTED_IN_CAPTIONS.items() if any(need in needed for need in concerned)}
        warned = [c for c in self.run.checks if c.state == "warning" and c.key in of]
        lost = [of for of in self.facts.trace.lost if any(need in needed for need in LOST_IN.get(of, ()))]
        missing = f" Not recorded: {in_words(tuple(lost))}." if lost else ""
        return "".join(f" {c.title}: {c.found} (limit: {c.limit})." for c in warned) + missing


def _listed(names: pd.Series) -> str:
    """Each name once, in order: `RPC0, RPC1 and Vulkan0`; of many the first ones, by their numbers."""
    every = [printable(name) for name in sorted(names.unique(), key=lambda name: (len(name), name))] or [""]
    if len(every) > MOST_NAMED:
        every[MOST_NAMED - 1 :] = [counted(len(every) - MOST_NAMED + 1, "other", "others")]
    *first, last = every
    return f"{', '.join(first)} and {last}" if first else last
