"""What ran, in words: the model, the machine, the settings, and what llama.cpp did."""

import re

from tracegen.analysis import backends, weights
from tracegen.contract import quantities as q
from tracegen.contract.ggml_types import FILE_TYPES
from tracegen.report.figures.context import Context
from tracegen.report.words import sentences

ATTACHED = (
    " The tracer was attached, without hooks: the work buffer, the types of the KV cache and the sampler’s choices are "
    "not recorded, and a warm-up is known only by what followed it."
)

LONGEST = 60  # characters of a name in a line


def setup(context: Context) -> str:
    """Model, size, threads, processor and memory limit in a line: what is recorded of them."""
    model, s, settings = context.facts.model, context.summary, context.facts.settings
    size, n, limit = s.file_bytes or model.size_bytes, threads(context), settings.get("memory_limit_gb")
    named = model.name or (re.split(r"[/\\\\]", model.file)[-1] if model.file else "")
    quantisation = _file_type(context) or weights.main_type(context.tables["tensors"])
    parts = (
        " ".join(filter(None, (_short(named), quantisation))),
        q.size(size) if size else "",
        q.counted(n, "thread") if n else "",
        _short(context.facts.host.cpu or ""),
        f"{q.size(limit * (1 << 30))} of memory allowed" if isinstance(limit, int | float) else "",
    )
    return ", ".join(filter(None, parts))


def _short(name: str) -> str:
    """A name as it stands in a line: what is longer is cut."""
    text = q.printable(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _file_type(context: Context) -> str:
    """The quantisation that the model file names, as `Q4_K_M`; empty when it names none."""
    number = (context.facts.model.metadata or {}).get("general.file_type")
    return FILE_TYPES.get(number, "") if isinstance(number, int) else ""


def kind(context: Context) -> str:
    """The model as llama-bench names it: architecture, size label and quantisation."""
    quantisation = _file_type(context) or weights.main_type(context.tables["tensors"])
    model = context.facts.model
    words = (model.architecture, (model.metadata or {}).get("general.size_label"))
    return " ".join(str(word) for word in (*words, quantisation) if word)


def threads(context: Context) -> int | None:
    """The threads that evaluate one token: as llama.cpp set them, or else as the settings have them."""
    set_ = context.tables["contexts"]["n_threads"].dropna()
    wanted = context.facts.settings.get("threads")
    return int(set_.iloc[0]) if len(set_) else wanted if isinstance(wanted, int) else None


def what_ran(context: Context) -> str:
    """What llama.cpp did in this run, and what statistics leave out."""
    s = context.summary
    model = context.facts.model.name or context.facts.model.file
    more = len(context.facts.more_models)
    beside = f" and {q.counted(more, 'more model')}" if more else ""
    first = f"llama.cpp ran “{q.printable(model)}”{_shape(context)}{beside}." if model else "llama.cpp ran a model."
    if context.facts.imported and context.facts.imported.format:
        first = sentences.imported(q.printable(model) if model else "")
    elif not model and context.tables["contexts"].empty:
        first = "A program ran graphs of ggml without llama.cpp; what they compute is not recorded."
    second = " " + sentences.read_and_wrote(
        s.prompt_tokens, s.n_prompt_passes, s.generated_tokens, s.n_generate_passes, s.n_other_passes
    )
    if reused := sentences.reused_prefix(context.prompt_tokens, s.n_other_passes):
        second += f" {reused}."
    skipped = context.facts.trace.skipped_passes
    if context.facts.stopped:
        second += " The program was interrupted after its trace was closed."
    elif skipped:
        second += (
            f" Only a window of the run was recorded: {q.counted(skipped, 'pass')} outside it left out. Tokens are "
            "counted from the start of the window."
        )
    return (
        f"{first}{second}{_tied(context)}{_other_backends(context)}{ATTACHED if context.facts.trace.attached else ''}"
    )


def _tied(context: Context) -> str:
    """That the output is the matrix of the embedding, or not; empty where that is not recorded."""
    names = set(context.tables["tensors"]["name"].astype("object"))
    if not any(name.startswith("token_embd.") for name in names):
        return ""
    if any(name.startswith("output.") for name in names):
        return " Its output has a matrix of its own."
    return " Its output is tied: token_embd.weight is also the matrix of the output."


def _other_backends(context: Context) -> str:
    """The operations that ran on other backends than the CPU and have no times of their own; empty without any."""
    ops, splits = context.tables["ops"], context.tables["splits"]
    by_split = ops["time_basis"].eq("split")
    if not by_split.any():
        return ""
    splits = splits[~splits["backend"].isin(context.tables["device_ops"]["device"].dropna())]
    handed = backends.submitted(splits)
    of = sentences.of_other_backends
    ran = f" {q.counted(int(by_split.sum()), 'operation')} of all passes ran on {context.others}"
    if not context.untimed:
        return f"{ran}, by whose own record they are timed. Times of layers and components leave them out."
    timed, submitted = splits[~splits["by_op"].to_numpy(bool) & ~handed], splits[handed]
    busy_ns = float(backends.busy_ns(timed, context.tables["device_ops"][:0])["most"].sum())
    handed_ns = float((submitted["end_ns"] - submitted["begin_ns"]).sum())
    tracer_waits = context.facts.settings.get("device_times") in (None, "splits") or timed["waiting_ns"].isna().all()
    waits = timed["proof"].isin(["synchronise", "reply"]).any()
    waited = "" if not waits else "the tracer" if tracer_waits else "llama.cpp itself"
    return f"{ran}." + of(len(timed), busy_ns, len(submitted), handed_ns, waited)


def _shape(context: Context) -> str:
    """The model's architecture, layers and experts as an apposition; empty if nothing is known."""
    kind, layers = context.facts.model.architecture, context.facts.model.n_layers
    experts, used = context.facts.model.n_experts, context.facts.model.n_experts_used
    parts = [q.counted(layers, "layer")] if isinstance(layers, int) else []
    if isinstance(experts, int):
        parts.append(q.counted(experts, "expert") + (f", {used} of them per token" if isinstance(used, int) else ""))
    named = f", a model of the {q.printable(kind)} architecture" if kind else ", a model" if parts else ""
    return f"{named}{' with ' if parts else ''}{' and '.join(parts)}"
