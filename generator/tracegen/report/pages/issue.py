"""A run as a few lines of Markdown, as people paste them into issues: `tracegen show RUN --issue`.

The lines say what the first page says: answer, findings, speeds, verdict. They name no host, no user and no path, and
quote no prompt, if the run is in its public form.
"""

import re
from collections.abc import Mapping

from tracegen.analysis import weights
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.contract.experiment import SETTINGS
from tracegen.contract.ggml_types import FILE_TYPES
from tracegen.contract.model import Check
from tracegen.report.findings import found
from tracegen.report.pages.collector import Collector
from tracegen.report.pages.key_figures import key_figures
from tracegen.report.words import control_sentences
from tracegen.report.words import markdown as md
from tracegen.storing import resources

PATH = "data/issue.md"  # in a bundle
MOST_CHECKS = 6
_COMMIT = re.compile(r"\bcommit = ([0-9a-f]{7,40})\b")
_PACKAGE = re.compile(r"\d+\.\d+\.\d+")


def issue_text(context: Collector) -> str:
    """The answer of a run with its findings, what ran on what, its speeds as llama-bench prints them, the verdict."""
    blocks = [
        _answer(context),
        "\n".join(f"- {md.prose(finding.text)}" for finding in found.following(context.findings)),
        "\n".join(filter(None, (_ran(context), _settings(context)))),
        _speeds(context),
        _verdict(context),
        _last(context),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _answer(context: Collector) -> str:
    """The finding that answers, with the care that its times need; empty for a run without findings."""
    if not context.findings:
        return ""
    answer = context.findings[0]
    care = found.care(context, answer)
    return f"**{md.prose(answer.text)}**" + (f" {md.prose(care)}" if care else "")


def _ran(context: Collector) -> str:
    """What ran on what: the model file, the processor, and the build of llama.cpp."""
    models = [context.fact("model", "file"), *(other.get("file") for other in context.fact("more_models") or [])]
    cpu = context.fact("host", "cpu")
    ran = [
        *(md.code(re.split(r"[/\\]", str(file))[-1]) if file else "model not recorded" for file in models[:3]),
        "random weights" if context.flag("model", "random_weights") else "",
        md.prose(str(cpu), 80) if cpu else "CPU not recorded",
        _build(context),
    ]
    return "; ".join(filter(None, ran))


def _file_type(context: Collector) -> str:
    """The quantisation that the model file names, as `Q4_K_M`; empty when it names none."""
    number = context.fact("model", "metadata", "general.file_type")
    return FILE_TYPES.get(number, "") if isinstance(number, int) else ""


def _kind(context: Collector) -> str:
    """The model as llama-bench names it: architecture, size label and quantisation."""
    quantisation = _file_type(context) or weights.main_type(context.tables["tensors"])
    words = (context.fact("model", "architecture"), context.fact("model", "metadata", "general.size_label"))
    return md.prose(" ".join(str(word) for word in (*words, quantisation) if word), 60)


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
    values = [(of.name or key, context.fact("settings", key)) for key, of in SETTINGS.items() if of.reads]
    said = [f"{name} {q.yes_no(value)}" for name, value in values if isinstance(value, bool)]
    cache = context.fact("settings", "page_cache")
    said += [f"page cache before the run: {md.prose(str(cache), 20)}"] if cache else []
    return ", ".join(said)


def _speeds(context: Collector) -> str:
    """The speeds in the form of llama-bench, and how they were counted."""
    s = context.summary
    if context.embeddings:
        return "The passes give embeddings: speeds of prompt and generation do not apply."
    figures = {figure.key: figure for figure in key_figures(context)}
    refused = bool(context.refusal(needs.RATES))
    tests = [
        (test if refused else f"{test}{n or ''}", figures[f"tokens_per_second_{phase}"])
        for test, phase, n, n_passes in (
            ("pp", "prompt", s.prompt_tokens, s.n_prompt_passes),
            ("tg", "generate", s.n_generate_passes, s.n_generate_passes),
        )
        if n_passes
    ]
    if not tests:
        return "No prompt and no token was evaluated in a measured pass: there are no speeds."
    size = s.file_bytes or context.fact("model", "size_bytes")
    backends = sorted(str(name) for name in context.tables["ops"]["backend"].dropna().unique())
    threads = _threads(context)
    what = {
        "model": _kind(context),
        "size": q.size(size) if size else "",
        "params": q.parameters(weights.n_elements(context.tables["tensors"]) or None),
        "backend": md.prose(", ".join(backends), 40),
        "threads": str(threads) if threads else "",
    }
    values = [text or q.UNKNOWN for text in what.values()]
    rows = [(*values, test, speed.text.removesuffix(" tokens/s")) for test, speed in tests]
    head = [(name, name not in ("model", "backend")) for name in (*what, "test", "t/s")]
    table = md.table(head, rows)
    if refused:
        return table
    cost = context.fact("trace", "overhead_share")
    cost = (
        f" (tracing cost, in the kind of pass where it is largest: {q.percent(cost)} of the undisturbed time)"
        if isinstance(cost, float)
        else ""
    )
    control = control_sentences.untraced(context.fact("control"), context.run.checks)
    notes = (f"{test[:2]}: {md.prose(speed.note)}." for test, speed in tests)
    return f"{table}\n\n" + " ".join(filter(None, (f"Speeds are those of a traced run{cost}.", control, *notes)))


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
