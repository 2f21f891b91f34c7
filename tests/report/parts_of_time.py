"""The same fact in other words: numbers in sentences that name a part of the time, a tensor or bytes that were read.

A clause names a fact by words that no sentence about it does without, such as `wait` and `disk`. Its number has to be
one of those that the attribution of the run gives for this fact: of the phase that the sentence names, over all its
passes, those that wait, those that do not, and all but the one that waits longest. Waiting for the disk is that of
threads with page faults and of those behind them, wherever a clause does not tell them apart.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import pandas as pd

from tests.report.places import OUTSIDE, Report, Shown, numbers, sentences, texts
from tracegen.analysis import attribution, bandwidth, requests
from tracegen.contract.components import GROUP_OF
from tracegen.report.figures.shared_disk import CONCERNED

PAGE = 4096  # bytes
PHASES = {"prompt": re.compile(r"\bprompt"), "generate": re.compile(r"\btoken|\bgenerat")}
_OF_TIME = re.compile(r"\b(?:the|their|its|this) time\b|(?<!its )thread time\b")
_CLAUSE = re.compile(r"[,;:()]\s|\s[(]")
_READ = re.compile(r"\bread\b")
_UNREAL = re.compile(r"\b(?:would|predicted|ahead|simulat\w+|untraced|load\w*)\b", re.IGNORECASE)
# The first of these whose words are all in a clause is the fact that it names.
NAMED: Mapping[str, tuple[str, ...]] = {
    "processor": ("processor",),
    "paging": ("page fault",),
    "behind": ("wait", "disk", "thread"),
    "disk": ("wait", "disk"),
    "barrier": ("thread", "wait"),
    "barriers": ("barrier",),
    "outside": ("outside",),
    "computing": ("comput",),
}
PARTS: Mapping[str, tuple[str, ...]] = {
    "paging": ("paging_ns",),
    "behind": ("disk_ns", "behind_ns"),
    "disk": ("disk_ns", "behind_ns"),
    "barrier": ("barrier_ns", "behind_ns"),
    "barriers": ("barrier_ns", "behind_ns"),
    "outside": ("outside_ns",),
    "computing": ("computing_ns",),
}


@dataclass(frozen=True)
class Times:
    """The attribution of a run, as a notebook has it."""

    report: Report
    judged: dict[str, list[tuple[str, Shown, bool]]] = field(default_factory=dict)  # by sentence

    @cached_property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables, in which page faults that were not recorded count as computing."""
        return attribution.without_unknown(dict(self.report.tables))

    @cached_property
    def kinds(self) -> pd.Series:
        """The kind of each pass."""
        return self.tables["passes"].set_index("pass_id")["kind"].astype("object")

    @cached_property
    def rows(self) -> pd.DataFrame:
        """What each part of the time was for, as wall time."""
        rows = attribution.attribution(self.tables).merge(self.split[["pass_id", "n_threads"]], on="pass_id")
        return rows.assign(ns=rows["thread_ns"] / rows["n_threads"])

    @cached_property
    def split(self) -> pd.DataFrame:
        """The parts of the time of each pass."""
        return attribution.by_pass(self.tables)

    def populations(self, phases: Iterable[str]) -> Iterator[pd.DataFrame]:
        """The passes of each phase and of all, those that wait, those that do not, and all but the longest wait."""
        kinds = self.split["pass_id"].map(self.kinds)
        for rows in (*(self.split[(kinds == phase).to_numpy(bool)] for phase in phases), self.split):
            cost = rows["disk_ns"] + rows["behind_ns"]
            waits = (cost >= CONCERNED * rows["duration_ns"]).to_numpy(bool)
            for some in (rows, rows[waits], rows[~waits]):
                if len(some):
                    yield some
                    yield some[some.index != cost[some.index].idxmax()]

    def shares(self, fact: str, phases: Iterable[str], clause: str) -> Iterator[float]:
        """The shares of time that a clause about this fact may state."""
        for passes in self.populations(phases):
            whole = float(passes["duration_ns"].sum())
            if not whole:
                continue
            for of in [list(PARTS["disk"])] if fact == "disk" else _some(PARTS.get(fact, ())):
                yield float(passes[of].sum().sum()) / whole
            if fact == "computing":
                yield from (ns / whole for ns in self._computed(passes, clause))
            if fact == "processor":
                measured = self.tables["passes"][self.tables["passes"]["pass_id"].isin(passes["pass_id"])]
                n_threads = int(passes["n_threads"].max())
                delayed = bandwidth.delayed_ns(measured, n_threads)
                yield from () if delayed is None else (delayed / whole,)
            if fact.startswith("barrier"):
                spans = self.tables["spans"]
                spans = spans[spans["pass_id"].isin(passes["pass_id"])]
                waited = float(spans["barrier_ns"].sum() + spans["wait_ns"].sum())
                yield waited / float((passes["duration_ns"] * passes["n_threads"]).sum())

    def _computed(self, passes: pd.DataFrame, clause: str) -> Iterator[float]:
        """The time that operations compute which a clause names, by kind and part of the model."""
        rows = self.rows[self.rows["pass_id"].isin(passes["pass_id"]) & (self.rows["part"] == "computing_ns")]
        rows = rows.assign(group=rows["component"].map(GROUP_OF))
        for by in (["op"], ["group"], ["op", "group"]):
            for names, ns in rows.groupby(by)["ns"].sum().items():
                if all(str(name) in clause for name in (names if isinstance(names, tuple) else (names,))):
                    yield float(ns)

    def waits(self, phases: Iterable[str]) -> Iterator[float]:
        """Times of waiting for the disk: sums, means, of single passes, and what a pass takes with it and without."""
        for passes in self.populations(phases):
            yield from passes["duration_ns"].astype(float).quantile([0.0, 0.5, 1.0])
            for of in (["disk_ns", "behind_ns"], ["disk_ns", "behind_ns", "paging_ns"]):
                time = passes[of].sum(axis=1)
                yield from (float(time.sum()), float(time.mean()), *map(float, time))
                yield from (float((passes["duration_ns"] - time).mean()), float(passes["duration_ns"].mean()))

    @cached_property
    def tensors(self) -> Mapping[str, list[float]]:
        """The shares of waiting that are for each tensor, by its name."""
        about = self.tables["tensors"].set_index("tensor")["name"]
        found: dict[str, list[float]] = {}
        for row in self.report.rows("data/disk-tensors.csv") if "data/disk-tensors.csv" in self.report.files else ():
            found.setdefault(row["name"], []).extend(float(row[name]) for name in ("share", "op_share") if row[name])
        for passes in self.populations(PHASES):
            rows = self.rows[self.rows["pass_id"].isin(passes["pass_id"])]
            for of in _some(("disk_ns", "behind_ns", "paging_ns")):
                waited = rows[rows["part"].isin(of)]
                whole = float(waited["thread_ns"].sum())
                for tensor, ns in waited.groupby("tensor")["thread_ns"].sum().items() if whole else ():
                    found.setdefault(str(about[tensor]), []).append(float(ns) / whole)
        return found

    @cached_property
    def reads(self) -> list[float]:
        """Bytes that passes read, of each, of each kind and of all, beside all that measures say of bytes."""
        found, columns = self.measured("bytes"), [self.tables["passes"].set_index("pass_id")["read_bytes"]]
        if len(self.tables["requests"]):
            columns.append(requests.use_by_pass(self.tables, PAGE).set_index("pass_id")["page_bytes_read"])
        for read in columns:
            read = read[~read.index.map(self.kinds).isin(OUTSIDE)].dropna().astype(float)
            found += [*read, read.mean(), read.sum(), *read.groupby(self.kinds).sum()]
        return found

    def measured(self, unit: str) -> list[float]:
        """The values of all measures with this unit."""
        return [of["value"] for of in self.report.values.values() if of["unit"] == unit and of["value"] is not None]

    @cached_property
    def medians(self) -> list[float]:
        """Median times of tokens: of all, of those that wait, of the others; and all times that measures name."""
        every = (float(passes["duration_ns"].median()) for passes in self.populations(PHASES))
        return [*self.measured("ns"), *every]


def _some(parts: tuple[str, ...]) -> list[list[str]]:
    """Each part, and the parts together."""
    return [list(of) for n in range(1, len(parts) + 1) for of in combinations(parts, n)]


@dataclass(frozen=True)
class Named:
    """A number of a clause that names a fact, and whether it is one of the numbers of this fact."""

    place: str
    fact: str
    sentence: str
    shown: Shown
    right: bool


def named(report: Report, times: Times) -> Iterator[Named]:
    """The numbers in sentences that name a fact of the time, of a tensor or of what was read."""
    for place, _, text in texts(report):
        for sentence in sentences(text):
            if sentence not in times.judged:
                times.judged[sentence] = list(_of_sentence(times, sentence))
            yield from (Named(place, fact, sentence, shown, right) for fact, shown, right in times.judged[sentence])


def _of_sentence(times: Times, sentence: str) -> Iterator[tuple[str, Shown, bool]]:
    if not any(shown.unit for shown in numbers(sentence)):
        return
    phases = [phase for phase, words in PHASES.items() if words.search(sentence.lower())] or list(PHASES)
    for clause in _CLAUSE.split(sentence):
        found, lower = [shown for shown in numbers(clause) if shown.unit], clause.lower()
        fact = next((fact for fact, words in NAMED.items() if all(word in lower for word in words)), "")
        tensor = next((name for name in times.tensors if name in clause), "") if "wait" in sentence.lower() else ""
        for shown in found:
            if shown.unit == "share" and tensor:
                yield "tensor", shown, any(map(shown.stands_for, times.tensors[tensor]))
            elif shown.unit == "share" and fact and _OF_TIME.search(lower):
                yield fact, shown, any(map(shown.stands_for, times.shares(fact, phases, clause)))
            elif _UNREAL.search(sentence):
                continue
            elif shown.unit == "ns" and "median" in lower and PHASES["generate"].search(lower):
                yield "median", shown, any(map(shown.stands_for, times.medians))
            elif shown.unit == "ns" and fact == "disk":
                yield "time of waiting", shown, any(map(shown.stands_for, times.waits(phases)))
            elif (
                shown.unit == "bytes"
                and re.search(r"\bread\b", lower)
                and any(w.search(lower) for w in PHASES.values())
            ):
                yield "bytes read", shown, any(map(shown.stands_for, times.reads))


def wrong_parts(report: Report, times: Times) -> list[str]:
    """Sentences whose number is none of the fact that they name."""
    return [
        f"{of.place}: {of.shown.text} is no number of {of.fact!r}: {of.sentence!r}"
        for of in named(report, times)
        if not of.right
    ]
