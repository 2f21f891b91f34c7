"""Which prompts were computed again, and what would have kept them."""

from collections.abc import Iterator, Mapping

from tracegen.analysis import served
from tracegen.contract import quantities as q
from tracegen.report.document.amount import Amount
from tracegen.report.figures.context import Context
from tracegen.report.figures.served import PROMPTS, SEVERAL
from tracegen.report.findings.finding import Finding
from tracegen.report.findings.growth import is_llama_server

# Where the tokens lay -> the end of “For 3 of 12 prompts, …”, and what llama-server has against it.
WHY: Mapping[str, tuple[str, str]] = {
    served.SLOT: (
        "their own slot held these tokens, and they were not kept.",
        'Requests must not say `"cache_prompt": false`; where the model has sliding windows, `--swa-full` keeps them.',
    ),
    served.OTHER: (
        "another slot held these tokens.",
        "A request can name its slot (`id_slot`), and `--slot-prompt-similarity` decides which slot takes a prompt.",
    ),
    served.BEFORE: (
        "these tokens had lain in a slot that later prompts then took.",
        "More slots (`-np N`) or a larger prompt cache (`--cache-ram N`) keep them.",
    ),
    served.CHANGED: (
        "these tokens follow a change in the text, behind which nothing can be kept.",
        "What differs from request to request, as a date does, belongs at the end of a prompt.",
    ),
}
LEAST = 0.05  # of the time for prompts: less is not said
BUSY = "another slot held these tokens, which was busy then."


def findings(context: Context) -> Iterator[Finding]:
    """The prompts that were computed again; nothing where that takes little of their time."""
    if context.refusal(PROMPTS.needs) or not SEVERAL.holds(context):
        return
    table = context.prompts
    again = table[table["n_again"] > 0]
    spent, whole = int(again["again_ns"].sum()), int(context.measured["duration_ns"].sum())
    for_prompts = int(table["prompt_ns"].sum())
    if spent < LEAST * for_prompts or not spent or not whole:
        return
    largest = str(again.groupby("again_from")["again_ns"].sum().idxmax())
    of = again[again["again_from"].eq(largest).to_numpy(bool)]
    why, remedy = WHY[largest]
    if largest == served.OTHER:
        ends = (table["begin_ns"] + table["prompt_ns"] + table["generate_ns"]).set_axis(table["prompt"])
        busy = ends.reindex(of["again_prompt"]).to_numpy("int64") > of["begin_ns"].to_numpy("int64")
        why = BUSY if busy.all() else why
    if largest != served.CHANGED and not is_llama_server(context):
        remedy = ""
    time, all_prompts = Amount(spent, "ns"), Amount(for_prompts, "ns")
    text = (
        f"{time.text} of the {all_prompts.text} for prompts went into tokens that had been computed before. "
        f"For {q.count(len(of))} of {q.counted(len(table), 'prompt')}, {why}"
    )
    yield Finding(
        kind="memory",
        text=f"{text} {remedy}".rstrip(),
        amounts=(time, all_prompts),
        scope="measured passes",
        population=q.counted(len(table), "prompt"),
        effect=min(spent / whole, 1.0),
        part=PROMPTS,
    )
