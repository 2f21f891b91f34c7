"""The page of the method: where the numbers come from, and how to repeat the run."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from tracegen.contract import quantities as q
from tracegen.contract.records import encode
from tracegen.contract.text import text_of
from tracegen.report.document.assets import Assets
from tracegen.report.document.blocks import Fact, Group
from tracegen.report.figures.context import Context
from tracegen.report.pages.facts import generated_text, group_of
from tracegen.report.words import control_sentences as say
from tracegen.storing import resources
from tracegen.storing.native import read_releases

SETTINGS = "What was asked for; llama.cpp may round it: see llama.cpp’s contexts."
LLAMA_CPP = (
    "Version, build flags, timings and counters as llama.cpp reports them. Without a warm-up, its load time includes "
    "the prompt."
)
CONDITIONS = {"page_cache": "Page cache of the model’s files", "storage": "Disk", "kernel": "Kernel"}
# Groups that stand only where the run has such facts: key, title, name of the facts, note.
OF_SERIES = (
    ("repetition", "Repetition", "repetition", "Which run of a series this is."),
    ("slot", "Place in the matrix", "slot", "The cell of this run, and when it was its turn."),
)
OF_MEMORY = (
    (
        "mlock",
        "Memory locked beside the program",
        "mlock",
        "No program could use it while this one ran.",
    ),
    (
        "pinned",
        "Tensors kept in memory",
        "pinned",
        "Read and locked before the program began, by another process; they count within a limit to memory.",
    ),
    (
        "memory-limit",
        "Limit to the program’s memory",
        "memory_limit",
        "Counted are its own memory and those pages of files that it touched first; "
        "those of the trace are made outside.",
    ),
)


def method(context: Context, assets: Assets) -> dict[str, Any]:
    """Everything the template of the page prints beside its tables."""
    facts = encode(context.facts)
    conditions = facts.get("conditions", {})
    return {
        "command": _command(context),
        "groups": [
            *_imported(context),
            group_of("settings", "Settings", facts.get("settings"), SETTINGS),
            *_when_asked(facts, OF_SERIES),
            _contexts(context),
            _model(context),
            group_of("host", "Host", _sized(facts.get("host"))),
            *(group_of(key, title, _sized(conditions.get(key))) for key, title in CONDITIONS.items()),
            *_when_asked(conditions, OF_MEMORY),
            *_control(context),
            group_of("llama-cpp", "llama.cpp", _llama_cpp(facts.get("llama_cpp")), LLAMA_CPP),
            _trace(context),
            _environment(context),
            group_of("versions", "Versions", facts.get("versions")),
            group_of("source", "Source of the experiment", facts.get("source")),
            _stages(context),
        ],
        "metadata": group_of("metadata", "Model metadata", context.facts.model.metadata),
        "text": generated_text(context),
    }


def _command(context: Context) -> str:
    """The command line, quoted for a shell; that of a private run has lost its arguments before."""
    return shlex.join(map(q.printable, context.facts.command))


def _sized(facts: Any) -> Any:
    """The facts with sizes, shares and whole numbers as text; a size keeps its exact number."""
    if not isinstance(facts, dict):
        return facts
    texts = {}
    for name, value in facts.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and (name.endswith("_bytes") or name == "bytes"):
            texts[name] = f"{q.size(value)} ({q.count(value)} bytes)"
        elif number and name.endswith("share"):
            texts[name] = q.percent(value)
        elif number and isinstance(value, int):
            texts[name] = q.count(value)
        else:
            texts[name] = value
    return texts


def _when_asked(facts: Mapping[str, Any], wanted: Iterable[tuple[str, str, str, str]]) -> list[Group]:
    """The groups whose facts the run has; `wanted`: key, title, name among `facts`, note."""
    groups = [(key, title, facts.get(name), note) for key, title, name, note in wanted]
    return [group_of(key, title, _sized(of), note) for key, title, of, note in groups if of]


def _control(context: Context) -> list[Group]:
    """What is known of the program from outside, traced and untraced."""
    control = context.facts.control
    if not control:
        return []
    trace = context.facts.trace.bytes
    beside = "" if trace is None else f"; its trace has {q.size(trace)}"
    facts = {"traced": f"{say.execution(control.traced)}{beside}"}
    facts |= {f"untraced {n}": say.execution(of) for n, of in enumerate(control.untraced, 1)}
    if control.without_limit:
        facts["untraced, without the limit"] = say.execution(control.without_limit)
    note = "The same program under the same conditions. Tokens and times are llama.cpp’s counters."
    title = "Traced and untraced" if control.untraced else "Traced; untraced it did not run"
    return [group_of("control", title, facts, note)]


def _imported(context: Context) -> list[Group]:
    """Of what an imported run was made; nothing for a run that was measured here."""
    imported = context.facts.imported
    if imported is None:
        return []
    files = {
        f"file {number}: {file.name}": f"{q.count(file.size_bytes)} bytes, SHA-256 of what is kept "
        f"{file.sha256 or 'not recorded'}"
        for number, file in enumerate(imported.files or (), 1)
    }
    facts = encode(imported)
    asked = {key: facts.get(key) for key in ("format", "op_table", "n_records", "partial_records", "graphs_from")}
    left = {f"left out {number}": why for number, why in enumerate(imported.left_out or (), 1)}
    known = {key: value for key, value in asked.items() if value not in (None, [], 0)}
    note = (
        "Another tool recorded the trace. Passes, kinds and tokens are inferred (kind_basis), and the time of an "
        "operation is what time_basis says; the verdict says what is missing. The files are kept in the run."
    )
    return [group_of("imported", "Import", {**known, **files, **left}, note)]


def _model(context: Context) -> Group:
    facts = {k: v for k, v in encode(context.facts.model).items() if k != "metadata"}
    note = (
        "The weights are random: text, chosen experts and the times that depend on them say nothing about a trained "
        "model."
        if context.facts.model.random_weights
        else ""
    )
    more = context.facts.more_models
    for number, model in enumerate(more, 2):
        facts |= {f"model {number}: {key}": value for key, value in encode(model).items() if key != "metadata"}
    return group_of("model", "Models" if more else "Model", _sized(facts), note)


def _contexts(context: Context) -> Group:
    """The sizes of each context, as llama.cpp set them."""
    rows = context.tables["contexts"].to_dict("records")
    facts = tuple(
        Fact(name if len(rows) == 1 else f"{name} of context {row['context']}", value)
        for row in rows
        for name, value in (
            ("context size", _tokens_of(row["n_ctx"])),
            ("logical batch", _tokens_of(row["n_batch"])),
            ("ubatch", _tokens_of(row["n_ubatch"])),
            ("K cache", text_of(row["type_k"] if q.known(row["type_k"]) else None)),
            ("V cache", text_of(row["type_v"] if q.known(row["type_v"]) else None)),
            ("threads for one token", q.count(row["n_threads"])),
        )
    )
    return Group("contexts", "llama.cpp’s contexts", facts, "What llama.cpp used." if facts else "Not recorded.")


def _tokens_of(count: Any) -> str:
    return q.counted(int(count), "token") if q.known(count) else q.UNKNOWN


def _llama_cpp(facts: Any) -> Any:
    """The facts of llama.cpp; of a pinned release its source instead of a git commit, which it has not."""
    known = facts if isinstance(facts, dict) else {}
    release = next((r for r in read_releases(resources.folder("native")) if r.version == known.get("version")), None)
    if release is None:
        return facts
    build = known.get("build")
    texts = {
        name: str(value).replace(f", commit = {q.UNKNOWN}, changed = {q.UNKNOWN}", "")
        for name, value in (build.items() if isinstance(build, dict) else ())
        if (name, value) != ("ggml.commit", "unknown")
    }
    source = {
        "release": f"{release.package} {release.version}",
        "source": f"{release.source} in its source distribution on PyPI",
        "SHA-256 of the source distribution": release.sha256,
    }
    others = {name: value for name, value in known.items() if name not in ("version", "build")}
    return source | ({"build": texts or q.UNKNOWN} if build else {}) | others


def _trace(context: Context) -> Group:
    facts = {k: v for k, v in encode(context.facts.trace).items() if not k.startswith("environment")}
    return group_of(
        "trace",
        "Trace and its cost",
        _sized(facts),
        "Overhead share: events, hooks and copies inside passes, as a share of the time without waits for processors "
        "of the median pass, in the kind of pass where it is largest. Beside it and not in it: what the tracer does "
        "between passes (its share of a pass and the time before it), what it takes to begin the trace, mostly to "
        "measure the cost of one event, and what it takes to end it, which is not measured. Speeds are counted from "
        "passes, so that these three are in none.",
    )


def _environment(context: Context) -> Group:
    """The variables of llama.cpp and its libraries, and what is withheld of them."""
    unnamed = context.facts.trace.environment_unnamed
    note = "Variables of llama.cpp and its libraries. Values are shown where they are known to be harmless."
    if unnamed:
        note += f" Not named: {q.counted(unnamed, 'variable')} with a name like that of a secret."
    return group_of("environment", "Environment of the traced process", context.facts.trace.environment, note)


def _stages(context: Context) -> Group:
    stages = context.facts.stages
    if not stages:
        return Group("stages", "Stages", (), "Not recorded.")
    return Group("stages", "Stages", tuple(Fact(q.printable(s.name), f"{text_of(s.seconds)} s") for s in stages))
