"""A run as a few lines of Markdown, as people paste them into issues: `tracegen show RUN --issue`.

The lines say what the pages say, with the words and numbers of their tables and key figures. They name no host, no
user and no path, and quote no prompt, if the run is in its public form.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tracegen.analysis import weights
from tracegen.analysis.speed import Speed, mean_of
from tracegen.contract import quantities as q
from tracegen.contract.ggml_types import FILE_TYPES
from tracegen.contract.model import Check
from tracegen.report.figures import needs
from tracegen.report.pages import pasted_parts as parts
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.key_figures import key_figures
from tracegen.report.words import control_sentences
from tracegen.report.words import markdown as md
from tracegen.storing import resources

MOST_LINES = 40
MOST_CHECKS = 6
PARTS: Mapping[str, Callable[[Collector], list[str]]] = {
    "hot": parts.hot,
    "disk": parts.disk,
    "ops": parts.ops,
    "cache": parts.cache,
    "load": parts.load,
}
TITLES = {
    "hot": "what tokens touch",
    "disk": "requests and waits",
    "ops": "time by operation",
    "cache": "page cache and reads",
    "load": "loading and buffers",
}
_COMMIT = re.compile(r"\bcommit = ([0-9a-f]{7,40})\b")
_PACKAGE = re.compile(r"\d+\.\d+\.\d+")


def path_of(part: str) -> str:
    """The path in a bundle of the lines about a part."""
    return f"data/issue-{part}.md"


@dataclass(frozen=True)
class Paste:
    """An entry of the menu that copies the lines: a part, what it is called, the lines, and the path of their file."""

    part: str
    title: str
    text: str
    path: str


def paste(context: Collector) -> list[Paste]:
    """Keep the lines about each part as files of the report; and the menu of those parts that the run has."""
    every = [Paste(part, TITLES[part], pasted(context, part), path_of(part)) for part in PARTS]
    for entry in every:
        context.keep(entry.path, entry.text)
    return [entry for entry in every if any(PARTS[entry.part](context))]


def pasted(context: Collector, part: str, repeats: Sequence[Speed] = ()) -> str:
    """At most MOST_LINES lines about a run: model and machine, speeds, what `part` asks for, and the verdict.

    `repeats` are the speeds of several runs with the same settings, this one among them; then the speeds are means.
    """
    blocks = [
        "\n".join(filter(None, (_ran(context), _settings(context)))),
        _speeds(context, repeats),
        *PARTS[part](context),
        _verdict(context),
        _last(context),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _ran(context: Collector) -> str:
    """What ran on what: the model with its size and types, the processor, threads, and the build of llama.cpp."""
    file, kind = context.fact("model", "file"), context.fact("model", "architecture")
    size = context.summary.file_bytes or context.fact("model", "size_bytes")
    model = [
        md.code(re.split(r"[/\\]", str(file))[-1]) if file else "model not recorded",
        md.prose(str(kind), 40) if kind else "",
        q.size(size) if size else "",
        _types(context),
        "random weights" if context.flag("model", "random_weights") else "",
    ]
    more = [md.code(re.split(r"[/\\]", str(other.get("file")))[-1]) for other in context.fact("more_models") or []]
    cpu, threads = context.fact("host", "cpu"), _threads(context)
    machine = [
        md.prose(str(cpu), 80) if cpu else "CPU not recorded",
        q.counted(threads, "thread") if threads else "threads not recorded",
    ]
    with_more = f" (and {', '.join(more[:2])})" if more else ""
    return f"{', '.join(filter(None, model))}{with_more}; {', '.join(machine)}; {_build(context)}"


def _types(context: Collector) -> str:
    """The model's file type, and the types of its weights with their shares of the bytes: `Q4_K_M: Q4_K (80.1 %)`."""
    shares = weights.by_type(context.tables["tensors"])
    shown = [f"{md.prose(row['dtype'], 20)} ({q.percent(row['share'])})" for row in shares.head(3).to_dict("records")]
    named, more = _file_type(context), ["…"] if len(shares) > 3 else []
    return f"{named}{': ' if named and shown else ''}{', '.join([*shown, *more])}"


def _file_type(context: Collector) -> str:
    """The quantisation that the model file names, as `Q4_K_M`; empty when it names none."""
    number = context.fact("model", "metadata", "general.file_type")
    return FILE_TYPES.get(number, "") if isinstance(number, int) else ""


def _kind(context: Collector) -> str:
    """The model as llama-bench names it: architecture, size label and quantisation."""
    types = weights.by_type(context.tables["tensors"])["dtype"].tolist()
    label = context.fact("model", "metadata", "general.size_label")
    words = (context.fact("model", "architecture"), label, _file_type(context) or next(iter(types), ""))
    return md.prose(" ".join(str(word) for word in words if word), 60)


def _threads(context: Collector) -> int | None:
    """The threads that evaluate one token: as llama.cpp set them, or else as they were asked for."""
    known = context.tables["contexts"]["n_threads"].dropna()
    asked = context.fact("settings", "threads")
    return int(known.iloc[0]) if len(known) else asked if isinstance(asked, int) else None


def _build(context: Collector) -> str:
    """Which llama.cpp ran: `llama.cpp of llama-cpp-python 0.3.36 (ggml 0.25.3)`."""
    version, build = context.fact("llama_cpp", "version"), context.fact("llama_cpp", "build")
    facts = build if isinstance(build, Mapping) else {}
    commit = _COMMIT.search(f"commit = {facts.get('ggml.commit')}") or _COMMIT.search(str(facts.get("build.hooked")))
    known = [
        f"ggml {md.prose(str(facts['ggml.version']), 20)}" if facts.get("ggml.version") else "",
        f"commit {commit[1][:9]}" if commit else "",
    ]
    beside = ", ".join(filter(None, known))
    if version == "given":
        attached = context.fact("settings", "attach") is True
        named = "llama.cpp as the program has it" if attached else "llama.cpp, own build"
    elif version:
        package = "of llama-cpp-python " if _PACKAGE.fullmatch(str(version)) else ""
        named = f"llama.cpp {package}{md.prose(str(version), 40)}"
    else:
        named = "llama.cpp build not recorded"
    return f"{named} ({beside})" if beside else named


def _settings(context: Collector) -> str:
    """The settings that decide where weights are read from; empty when none was recorded."""
    named = {"mmap": "mmap", "prefault": "prefault", "repack": "repack", "warmup": "warm-up"}
    values = [(name, context.fact("settings", key)) for key, name in named.items()]
    said = [f"{name} {q.yes_no(value)}" for name, value in values if isinstance(value, bool)]
    cache = context.fact("settings", "page_cache")
    said += [f"page cache before the run: {md.prose(str(cache), 20)}"] if cache else []
    return ", ".join(said)


def _speeds(context: Collector, repeats: Sequence[Speed]) -> str:
    """The speeds in the form of llama-bench, and how they were counted."""
    s = context.summary
    refused = bool(context.refusal(needs.RATES))
    size = s.file_bytes or context.fact("model", "size_bytes")
    elements = weights.n_elements(context.tables["tensors"])
    backends = sorted(str(name) for name in context.tables["ops"]["backend"].dropna().unique())
    threads = _threads(context)
    what = (
        _kind(context) or q.UNKNOWN,
        q.size(size) if size else q.UNKNOWN,
        q.parameters(elements or None),
        md.prose(", ".join(backends), 40) or q.UNKNOWN,
        str(threads) if threads else q.UNKNOWN,
    )
    tests = [("pp", s.prompt_tokens, s.prompt_rate, [r.prompt_rate for r in repeats])] if s.n_prompt_passes else []
    generated = [r.generate_rate for r in repeats]
    tests += [("tg", s.n_generate_passes, s.generate_rate, generated)] if s.n_generate_passes else []
    rows = [
        (*what, test, "not shown") if refused else (*what, f"{test}{n or ''}", _rate(rate, several))
        for test, n, rate, several in tests
    ]
    if context.embeddings:
        return "The passes give embeddings: speeds of prompt and generation do not apply."
    if not rows:
        return "No prompt and no token was evaluated in a measured pass: there are no speeds."
    head = (
        ("model", False),
        ("size", True),
        ("params", True),
        ("backend", False),
        ("threads", True),
        ("test", True),
        ("t/s", True),
    )
    return md.table(head, rows) + ("" if refused else f"\n\n{_how_fast(context, len(repeats))}")


def _rate(rate: float | None, several: Sequence[float | None]) -> str:
    """A speed in tokens per second: `12.3`, or `12.3 ± 0.210` over several runs."""
    if found := mean_of(several):
        return " ± ".join(map(q.three, found))
    return q.UNKNOWN if rate is None else q.three(rate)


def _how_fast(context: Collector, n_runs: int) -> str:
    """How the speeds were counted, and what tracing cost."""
    s = context.summary
    notes = {figure.key: figure.note for figure in key_figures(context)}
    tested = {"pp": notes["tokens_per_second_prompt"], "tg": notes["tokens_per_second_generate"]}
    n_passes = {"pp": s.n_prompt_passes, "tg": s.n_generate_passes}
    said = [f"{test}: {md.prose(note)}." for test, note in tested.items() if n_passes[test]]
    cost = context.fact("trace", "overhead_share")
    cost = (
        f" (tracing cost, in the kind of pass where it is largest: {q.percent(cost)} of the undisturbed time)"
        if isinstance(cost, float)
        else ""
    )
    alone = [
        f"{test} {_rate(rate, ())}" for test, rate in (("pp", s.prompt_rate), ("tg", s.generate_rate)) if n_passes[test]
    ]
    series = f"Mean ± standard deviation of {n_runs} runs with these settings. This run alone: {', '.join(alone)} t/s."
    control = control_sentences.untraced(context.fact("control"), context.run.checks)
    compared = [control] if control else []
    return " ".join([f"Speeds are those of a traced run{cost}.", *compared, *([series] if n_runs > 1 else []), *said])


def _verdict(context: Collector) -> str:
    """The verdict, and the checks that warned or failed."""
    run = context.run
    said = [f"Verdict: **{run.verdict}**."]
    for state, word in (("failed", "Failed"), ("warning", "Warned")):
        checks = [c for c in run.checks if c.state == state]
        more = [f"{len(checks) - MOST_CHECKS} more"] if len(checks) > MOST_CHECKS else []
        said += [f"{word}: {'; '.join([*map(_check, checks[:MOST_CHECKS]), *more])}."] if checks else []
    said += ["Figures that depend on a failed check are not shown."] if run.verdict == "not usable" else []
    return " ".join(said)


def _check(check: Check) -> str:
    """A check that did not pass: `Tracing costs little of the passes' time (2.1 %; limit ≤ 1 %)`."""
    return f"{md.prose(check.title, 80)} ({md.code(check.found, 120)}; limit {md.code(check.limit, 60)})"


def _last(context: Collector) -> str:
    """What the lines are about, and the programs that recorded and wrote them."""
    run, version = context.run, resources.package_version()
    recorded = context.fact("versions", "tracegen")
    by = f", recorded by {md.prose(str(recorded), 20)}" if recorded and recorded != version else ""
    named = context.citable.citation if context.citable else f"{run.experiment}/{run.name}"
    kind = "" if context.citable else ", not published"
    return f"{md.code(named, 100)}{kind}; tracegen {version}{by}"
