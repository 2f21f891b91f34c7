"""A run as a few lines of Markdown, as people paste them into issues: `tracegen show RUN --issue`.

The lines say what the first page says: answer, findings, speeds, verdict. They name no host, no user and no path, and
quote no prompt, if the run is in its public form.
"""

import re
from collections.abc import Sequence

from tracegen.analysis import weights
from tracegen.contract import needs
from tracegen.contract import quantities as q
from tracegen.contract.experiment import SETTINGS
from tracegen.contract.model import Check, Version
from tracegen.report.document import markdown
from tracegen.report.document.blocks import Grid, Items, Line, Note, Words, joined
from tracegen.report.document.cells import Head
from tracegen.report.figures.context import Context
from tracegen.report.findings import found
from tracegen.report.findings.answer import Answer, answer
from tracegen.report.findings.finding import Finding
from tracegen.report.pages import ran
from tracegen.report.pages.key_figures import key_figures
from tracegen.report.words import control_sentences
from tracegen.storing import resources

PATH = "data/issue.md"  # in a bundle
MOST_CHECKS = 6
_COMMIT = re.compile(r"\bcommit = ([0-9a-f]{7,40})\b")
_PACKAGE = re.compile(r"\d+\.\d+\.\d+")


def issue_text(context: Context, findings: Sequence[Finding], citable: Version | None) -> str:
    """The answer of a run with its findings, what ran on what, its speeds as llama-bench prints them, the verdict.

    `findings`: the result of `found.findings`; `citable`: the version that the run becomes, None for a draft.
    """
    said = answer(context, findings)
    return markdown.rendered(
        (
            Note((_answer(said),)),
            *_help(said),
            Items(tuple((Words(finding.text),) for finding in found.following(findings, said.text if said else ""))),
            Note((_ran(context), _settings(context))),
            *_speeds(context),
            Note((_verdict(context),)),
            Note((_last(context, citable),)),
        )
    )


def _answer(said: Answer | None) -> Line:
    """The answer, with the care that its times need; empty for a run without findings."""
    return () if said is None else joined(((Words(said.text, "strong", 2000),), _plain(said.care)), " ")


def _help(said: Answer | None) -> tuple[Note | Items, ...]:
    """What would help, or that nothing would; nothing for a run without findings."""
    if said is None or not (said.advice or said.stop):
        return ()
    floor: tuple[Note, ...] = (Note(((Words(said.floor),),)),) if said.floor else ()
    if said.stop:
        return Note((("What would help: ", Words(said.stop)),)), *floor
    caution: Line = (" ", Words(said.caution)) if said.caution else ()
    return Note((("What would help:", *caution),)), Items(tuple((Words(of.text),) for of in said.advice)), *floor


def _plain(text: str, longest: int = 400) -> Line:
    return (Words(text, longest=longest),) if text else ()


def _ran(context: Context) -> Line:
    """What ran on what: the model file, the processor, and the build of llama.cpp."""
    models = [model.file for model in context.facts.models]
    cpu = context.facts.host.cpu
    files: list[Line] = [
        (Words(re.split(r"[/\\]", file)[-1], "code", 60),) if file else ("model not recorded",) for file in models[:3]
    ]
    random: Line = ("random weights",) if context.facts.model.random_weights else ()
    return joined((*files, random, _plain(cpu, 80) if cpu else ("CPU not recorded",), _build(context)))


def _build(context: Context) -> Line:
    """Which llama.cpp ran: `llama.cpp of llama-cpp-python 0.3.36 (ggml 0.25.3)`."""
    version, build = context.facts.llama_cpp.version, context.facts.llama_cpp.build or {}
    commit = _COMMIT.search(f"commit = {build.get('ggml.commit')}") or _COMMIT.search(str(build.get("build.hooked")))
    ggml = build.get("ggml.version")
    beside = joined(
        (
            ("ggml ", Words(str(ggml), longest=20)) if ggml else (),
            (f"commit {commit[1][:9]}",) if commit else (),
        ),
        ", ",
    )
    if version == "given":
        attached = context.facts.settings.get("attach") is True
        named: Line = ("llama.cpp as the program has it" if attached else "llama.cpp, own build",)
    elif version:
        package = "of llama-cpp-python " if _PACKAGE.fullmatch(str(version)) else ""
        named = (f"llama.cpp {package}", Words(str(version), longest=40))
    else:
        named = ("llama.cpp build not recorded",)
    return (*named, " (", *beside, ")") if beside else named


def _settings(context: Context) -> Line:
    """The settings that decide where weights are read from; empty when none was recorded."""
    values = [(of.name or key, context.facts.settings.get(key)) for key, of in SETTINGS.items() if of.reads]
    lines: list[Line] = [(f"{name} {q.yes_no(value)}",) for name, value in values if isinstance(value, bool)]
    cache = context.facts.settings.get("page_cache")
    return joined((*lines, ("page cache before the run: ", Words(str(cache), longest=20)) if cache else ()), ", ")


def _speeds(context: Context) -> tuple[Note | Grid, ...]:
    """The speeds in the form of llama-bench, and how they were counted."""
    s = context.summary
    if context.embeddings:
        return (Note((("The passes give embeddings: speeds of prompt and generation do not apply.",),)),)
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
        return (Note((("No prompt and no token was evaluated in a measured pass: there are no speeds.",),)),)
    size = s.file_bytes or context.facts.model.size_bytes
    backends = sorted(str(name) for name in context.tables["ops"]["backend"].dropna().unique())
    n_threads = ran.threads(context)
    what: dict[str, str | Words] = {
        "model": Words(ran.kind(context) or q.UNKNOWN, longest=60),
        "size": q.size(size) if size else q.UNKNOWN,
        "params": q.parameters(weights.n_elements(context.tables["tensors"]) or None) or q.UNKNOWN,
        "backend": Words(", ".join(backends) or q.UNKNOWN, longest=40),
        "threads": str(n_threads) if n_threads else q.UNKNOWN,
    }
    head = tuple(Head(name, number=name not in ("model", "backend")) for name in (*what, "test", "t/s"))
    rows = tuple((*what.values(), test, speed.text.removesuffix(" tokens/s")) for test, speed in tests)
    if refused:
        return (Grid(head, rows),)
    share = context.facts.trace.overhead_share
    cost = (
        ""
        if share is None
        else f" (tracing cost, in the kind of pass where it is largest: {q.percent(share)} of the undisturbed time)"
    )
    control = control_sentences.untraced(context.facts.control, context.run.checks)
    notes: list[Line] = [(f"{test[:2]}: ", Words(speed.note), ".") for test, speed in tests]
    return Grid(head, rows), Note(
        (joined(((f"Speeds are those of a traced run{cost}.",), (control,) if control else (), *notes), " "),)
    )


def _verdict(context: Context) -> Line:
    """The verdict, and the checks that warned or failed."""
    run = context.run
    lines: list[Line] = [("Verdict: ", Words(run.verdict, "strong"), ".")]
    for state, word in (("failed", "Failed"), ("warning", "Warned")):
        checks = [c for c in run.checks if c.state == state]
        more: Line = (f"{len(checks) - MOST_CHECKS} more",) if len(checks) > MOST_CHECKS else ()
        if checks:
            lines.append((f"{word}: ", *joined((*map(_check, checks[:MOST_CHECKS]), more)), "."))
    if run.verdict == "not usable":
        lines.append(("Figures that depend on a failed check are not shown.",))
    return joined(lines, " ")


def _check(check: Check) -> Line:
    """A check that did not pass: `Tracing costs little of the passes' time (2.1 %; limit ≤ 1 %)`."""
    found, limit = Words(check.found, "code", 120), Words(check.limit, "code", 60)
    return (Words(check.title, longest=80), " (", found, "; limit ", limit, ")")


def _last(context: Context, citable: Version | None) -> Line:
    """What the lines are about, and the programs that recorded and wrote them."""
    run, version = context.run, resources.package_version()
    recorded = (context.facts.versions or {}).get("tracegen")
    by: Line = (", recorded by ", Words(str(recorded), longest=20)) if recorded and recorded != version else ()
    named = citable.citation if citable else f"{run.experiment}/{run.name}"
    return (Words(named, "code", 100), f"{'' if citable else ', not published'}; tracegen {version}", *by)
