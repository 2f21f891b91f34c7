"""Remedies: the simulation reads what the run read, predictions are intervals in the right direction, none is idle."""

from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd
import pytest

from tests.builders import a_run, with_off_cpu
from tests.builders.runs import with_facts
from tests.report.rendered import CASES
from tracegen.analysis.analyses import Analyses
from tracegen.analysis.causes.cause import phase_of
from tracegen.analysis.causes.found import causes
from tracegen.analysis.remedies import disk, prompt, threads, weights
from tracegen.analysis.remedies.found import remedies
from tracegen.analysis.remedies.reading import CALMER, FASTER, MOST_OFF, Reading, reading
from tracegen.analysis.remedies.remedy import LEAST, narrowed
from tracegen.contract.facts import Conditions
from tracegen.contract.ggml_types import BLOCKS
from tracegen.reading.notebook.loaded import load_version
from tracegen.report.findings.computing import for_processor
from tracegen.report.findings.remedies import caution

VERSIONS = Path(__file__).parents[2] / "experiments"


@pytest.fixture(scope="module")
def short() -> Analyses:
    """A model of 93.8 MiB that ran in 107.5 MiB of memory; 77.7 MiB of it were left for its pages."""
    loaded = load_version(VERSIONS / "does-not-fit/versions/1")
    return Analyses(loaded.measured, loaded.tables)


@pytest.fixture(scope="module")
def model(short: Analyses) -> Reading:
    time = phase_of(short, "generate")
    assert time is not None
    found = reading(short, time)
    assert found is not None
    return found


def test_the_simulation_of_a_run_reads_nearly_what_the_run_read(short: Analyses, model: Reading) -> None:
    requested = short.tables["requests"]
    generate = short.of_kind(requested.dropna(subset=["pass_id"]), "generate")
    assert model.read == pytest.approx(float(generate["file_bytes"].sum()), rel=0.01)
    assert 1 / MOST_OFF <= model.factor <= MOST_OFF
    assert model.simulated(model.room, model.ahead) * model.factor == pytest.approx(model.read)


def test_more_memory_reads_less_and_enough_reads_nothing(model: Reading) -> None:
    sizes = [model.simulated(round(model.room * of), model.ahead) for of in (0.5, 1, 1.1, 1.2, 1.3)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == 0
    assert model.simulated(model.wanted, model.ahead) == 0
    low, high = model.phase_ns(0.0, model.ahead)
    assert low < high < model.phase.whole_ns / 2


def test_the_memory_that_is_advised_was_enough_when_it_was_tried(short: Analyses) -> None:
    """Six pairs of runs with 0.105 and 0.121 GiB on the machine of the version: 13.9 to 22.0 times as fast."""
    (memory,) = [of for of in remedies(short, "generate") if of.key == "memory"]
    (settings,) = memory.settings
    assert 0.118 <= settings["memory_limit_gb"] <= 0.13  # type: ignore[operator]
    low, high = memory.gain
    assert low < 15.8 < high and high / low <= 2.001


def test_what_is_pinned_leaves_an_eighth_of_the_memory_and_reads_less(short: Analyses, model: Reading) -> None:
    """By kinds or by layers, whichever reads less; the memory that stays is for windows of the read-ahead too."""
    (pin,) = [of for of in remedies(short, "generate") if of.key == "pin"]
    tensors = short.tables["tensors"]
    names = tensors["name"].astype(str)
    kept = tensors[[any(fnmatchcase(name, pattern) for pattern in pin.settings[0]["pin"]) for name in names]]  # type: ignore[attr-defined]
    size = int(kept["size_bytes"].sum())
    assert size == pin.numbers["pinned_bytes"] and len(kept) == pin.numbers["n_tensors"]
    assert 0 < size <= model.room - max(model.room // 8, 2 * 2 * model.ahead)
    places = [(int(t.file), int(t.offset), int(t.size_bytes)) for t in kept.itertuples()]
    read = model.simulated(model.room - size, model.ahead, places)
    assert read < model.simulated(model.room, model.ahead)
    assert (pin.low_ns * model.phase.n_passes, pin.high_ns * model.phase.n_passes) == pytest.approx(
        narrowed(*model.phase_ns(read, model.ahead))
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("phase", ["generate", "prompt"])
def test_remedies_of_any_run_promise_an_interval(case: str, phase: str) -> None:
    for remedy in remedies(Analyses(a_run(), CASES[case]), phase):
        assert 0 < remedy.low_ns <= remedy.high_ns and remedy.likely >= 1 + LEAST
        assert remedy.gain[0] <= remedy.gain[1]


@pytest.mark.parametrize(("n_processors", "key"), [(1, "fewer-threads"), (2, None), (4, "more-threads")])
def test_threads_are_as_many_as_processors(short: Analyses, n_processors: int, key: str | None) -> None:
    """The run has two threads; what they compute takes as much of the time of all threads with more or fewer."""
    of = Analyses(with_facts(short.run, host={"cores": n_processors}), short.tables)
    time = phase_of(of, "generate")
    assert time is not None
    found = list(threads.remedies(of, time, causes(of, "generate")))
    assert [remedy.key for remedy in found] == ([key] if key else [])
    for remedy in found:
        n, parts = time.n_passes, time.parts
        delayed = short.of_kind(short.measured, "generate")["run_delay_ns"].sum() / 2 / time.whole_ns
        shared = parts["computing_ns"] * 2 / n_processors * (1 - delayed if n_processors < 2 else 1)
        left = time.whole_ns - parts["computing_ns"] - parts["barrier_ns"] + shared
        assert remedy.settings == ({"threads": n_processors},)
        assert remedy.low_ns * n == pytest.approx(min(left, time.whole_ns))
        assert remedy.high_ns * n == pytest.approx(min(2 * left, time.whole_ns))


def test_threads_too_many_wait_for_a_processor(short: Analyses) -> None:
    """What they wait goes with them, and tokens take next to the fast end."""
    tables = with_off_cpu(short.tables)
    of = Analyses(with_facts(short.run, host={"cores": 1}), tables)
    time = phase_of(of, "generate")
    assert time is not None and time.is_apart and time.parts["processor_ns"] > 0
    assert time.delayed_share == pytest.approx(time.parts["processor_ns"] / time.whole_ns)
    (remedy,) = threads.remedies(of, time, causes(of, "generate"))
    parts = time.parts
    low = time.whole_ns - parts["barrier_ns"] - parts["processor_ns"] + parts["computing_ns"]
    assert remedy.low_ns * time.n_passes == pytest.approx(min(low, time.whole_ns) / FASTER)
    assert remedy.high_ns <= 2.001 * remedy.low_ns


def test_threads_that_share_a_processor_get_one_each() -> None:
    """Each time without a processor ends where one of the other thread starts; not where each has one already."""
    loaded = load_version(VERSIONS / "fits/versions/1")
    known = with_off_cpu(loaded.tables)
    away = known["off_cpu"]
    other = away.assign(
        thread=1 - away["thread"], begin_ns=away["begin_ns"] + away["duration_ns"], duration_ns=1, slept=True
    )
    tables = {**known, "off_cpu": pd.concat([away, other], ignore_index=True)}
    short = Analyses(loaded.measured, tables)
    of = Analyses(with_facts(short.run, host={"cores": 2}), tables)
    time = phase_of(of, "generate")
    assert time is not None and time.parts["processor_ns"] > LEAST * time.whole_ns
    assert time.shared_ns == pytest.approx(time.parts["processor_ns"]) and time.by_others < 1e-6
    (remedy,) = threads.remedies(of, time, causes(of, "generate"))
    assert remedy.key == "cpu-strict" and remedy.settings == ({"cpu_strict": True},)
    assert remedy.low_ns * time.n_passes == pytest.approx((time.whole_ns - time.shared_ns) / FASTER)
    assert "on one processor, although there are 2 for 2 threads" in for_processor(time, 0.5)
    strict = with_facts(of.run, settings={"cpu_strict": True})
    assert not list(threads.remedies(Analyses(strict, tables), time, causes(of, "generate")))
    one = phase_of(Analyses(with_facts(short.run, host={"cores": 1}), tables), "generate")
    assert one is not None and not one.shared_ns and "2 threads share 1 processor" in for_processor(one, 0.5)


def test_an_interval_is_at_most_a_factor_of_two_wide() -> None:
    assert narrowed(10.0, 20.0) == (10.0, 20.0) and narrowed(10.0, 12.0) == (10.0, 12.0)
    low, high = narrowed(10.0, 80.0)
    assert high / low == pytest.approx(2) and low * high == pytest.approx(800)
    assert narrowed(10.0, 80.0, fast=True) == (10.0, 20.0) and narrowed(10.0, 12.0, fast=True) == (10.0, 12.0)


def test_a_cold_model_that_fits_is_read_at_load(short: Analyses) -> None:
    """Not where memory is limited, pages were evicted, or the model is read at load already."""
    time = phase_of(short, "generate")
    assert time is not None
    first = {"first-reads": time.cause("first-reads", time.waiting_ns)}
    free = replace(short.run, facts=replace(short.run.facts, conditions=Conditions.absent()))
    (remedy,) = disk._prefault(Analyses(free, short.tables), time, first)
    left = time.whole_ns - time.waiting_ns - time.parts["paging_ns"]
    assert remedy.settings == ({"prefault": True},)
    calm = time.parts["computing_ns"] * CALMER * time.waiting_ns / time.whole_ns
    fast = (left - time.parts["barrier_ns"] - calm) / FASTER
    ends = fast, min(2 * fast, left + time.parts["paging_ns"] / 2)
    assert (remedy.low_ns * time.n_passes, remedy.high_ns * time.n_passes) == pytest.approx(ends)
    assert remedy.numbers["file_bytes"] == 98_362_432
    assert not list(disk._prefault(short, time, first)), "memory is limited"
    evicted = {**first, "evicted": time.cause("evicted", 1.0)}
    assert not list(disk._prefault(Analyses(free, short.tables), time, evicted))
    read_at_load = with_facts(free, settings={"prefault": True})
    assert not list(disk._prefault(Analyses(read_at_load, short.tables), time, first))


def test_fewer_bytes_gain_only_where_memory_bandwidth_bounds(short: Analyses) -> None:
    time = phase_of(short, "generate")
    assert time is not None
    whole = time.whole_ns
    bound = time.cause("memory-bandwidth", whole / 2, names={"op": "MUL_MAT", "dtype": "Q8_0"})
    (remedy,) = weights.remedies(short, time, [bound])
    bits = {name: size * 8 / n for name, (n, size) in BLOCKS.items()}
    saved = whole / 2 * (1 - bits["Q4_K"] / bits["Q8_0"])
    assert remedy.low_ns * time.n_passes == pytest.approx(whole - saved)
    assert remedy.high_ns * time.n_passes == pytest.approx(whole - saved / 2)
    for cause in (replace(bound, key="kernel"), replace(bound, names={"op": "MUL_MAT", "dtype": "Q4_K"})):
        assert not list(weights.remedies(short, time, [cause]))


@pytest.mark.parametrize(
    ("delayed", "n_threads", "said"), [(0.3, 1, True), (0.3, 2, True), (0.1, 2, False), (0.3, 4, False)]
)
def test_predictions_of_a_disturbed_run_have_a_caution(
    short: Analyses, delayed: float, n_threads: int, said: bool
) -> None:
    """Not where the run's own threads are too many for its processors."""
    time = phase_of(short, "generate")
    assert time is not None
    text = caution(replace(time, delayed_share=delayed, n_threads=n_threads, n_processors=2))
    assert bool(text) == said and ("30.0 %" in text.replace("\u202f", " ")) == said


def test_a_prompt_of_several_passes_is_read_once_in_one(short: Analyses) -> None:
    """As if the generated tokens had been a prompt of so many passes: joined, they touch each page once."""
    passes = short.tables["passes"]
    tokens = (passes["kind"] == "generate").to_numpy(bool)
    ubatch = passes["ubatch"].mask(tokens, passes["pass_id"])
    kind = passes["kind"].mask(passes["kind"] == "prompt", "warmup").mask(tokens, "prompt")
    several = passes.assign(kind=kind, call=passes["call"].mask(tokens, 1), ubatch=ubatch)
    of = Analyses(short.run, {**short.tables, "passes": several})
    time = phase_of(of, "prompt")
    assert time is not None and time.n_passes == tokens.sum() > 1 and time.n_said == 1
    (remedy,) = prompt.remedies(of, time, causes(of, "prompt"))
    n = int(several.loc[tokens, "n_tokens"].sum())
    assert remedy.settings == ({"ubatch": n},) and remedy.numbers["n_passes"] == tokens.sum()
    assert remedy.now_ns == time.whole_ns and remedy.gain[1] > 2
    model = reading(of, time)
    assert model is not None
    joined = prompt._joined(of, model)
    (first,) = [pages for number, pages in joined.passes if number in model.of_phase and pages]
    touched = {page for begin, end in first for page in range(begin, end)}
    assert len(touched) * model.unit == pytest.approx(model.touched, rel=0.01)
    assert joined.simulated(model.room, model.ahead) < model.simulated(model.room, model.ahead) / 3
    assert not list(prompt.remedies(short, time, [])), "its prompt is one pass"
    attached = {**of.tables, "contexts": of.tables["contexts"].iloc[:0]}
    assert list(prompt.remedies(Analyses(short.run, attached), time, causes(of, "prompt"))), "ubatch is not known"


def test_a_smaller_type_is_one_that_rows_can_have_and_as_more_memory(short: Analyses, model: Reading) -> None:
    """Rows of 576 weights are no blocks of 256. Of a tied embedding the output keeps Q8_0: too little would shrink."""
    assert "quantisation" not in {of.key for of in remedies(short, "generate")}
    stored = short.tables["tensors"]
    tensors = stored.assign(name=stored["name"].astype(str).replace("token_embd.weight", "blk.0.ffn_gate.weight"))
    untied = Analyses(short.run, {**short.tables, "tensors": tensors})
    (remedy,) = [of for of in remedies(untied, "generate") if of.key == "quantisation"]
    assert remedy.names == {"dtype": "Q4_0"} and not remedy.settings
    bits = {name: size * 8 / n for name, (n, size) in BLOCKS.items()}
    kept = sum(
        t.size_bytes * (min(1, 4.5 / bits[t.dtype]) if t.ne1 and t.ne1 > 1 else 1)
        for t in tensors.astype({"ne1": "float64"}).fillna({"ne1": 1}).itertuples()
    )
    header = short.tables["files"]["size_bytes"].sum() - tensors["size_bytes"].sum()
    assert remedy.numbers["left_bytes"] == pytest.approx(kept + header, rel=1e-3)
    assert remedy.numbers["left_bytes"] < model.room and remedy.gain[0] > 5
    small = Analyses(short.run, {**short.tables, "tensors": tensors.assign(dtype="Q4_0")})
    assert "quantisation" not in {of.key for of in remedies(small, "generate")}
