"""Facts of a run as text: settings, machine and model."""

from collections.abc import Mapping
from typing import Any

from tracegen.contract import quantities as q
from tracegen.contract.text import printable, text_of
from tracegen.report.document.blocks import Fact, Group
from tracegen.report.figures.context import Context
from tracegen.report.figures.explorers import OPERATIONS
from tracegen.report.pages.token_words import words

MOST_WORDS = 4_000  # tokens that a page shows
RESTORED = "Restored from the recorded token ids."


def group_of(key: str, title: str, facts: object, note: str = "") -> Group:
    """A mapping of facts as a titled group; an empty or missing one has the note `Not recorded.`."""
    if not isinstance(facts, Mapping) or not facts:
        return Group(key, title, (), note or "Not recorded.")
    return Group(key, title, tuple(Fact(printable(k), text_of(v)) for k, v in facts.items()), note)


def generated_text(context: Context) -> dict[str, Any]:
    """Prompt and generated text, or the reason why they are withheld or were not recorded."""
    if context.private:
        return {"words": [], "reason": "The experiment is private: prompt and generated text are withheld."}
    prompt, generated = context.facts.text.prompt, context.facts.text.generated
    missing = context.facts.text.missing
    if prompt is None and generated is None:
        why = f": {q.printable(missing)}" if missing else ""
        return {"words": [], "reason": f"Prompt and generated text were not recorded{why}."}
    shown = {"prompt": q.printable(prompt or ""), "generated": q.printable(generated or "")}
    return {"words": [], **shown, "reason": "", "restored": _how_restored(context)}


def _how_restored(context: Context) -> str:
    """That prompt and text come from token ids, and what is missing; empty where the program's own text is known."""
    if not context.facts.text.restored:
        return ""
    missing = context.facts.text.missing
    return RESTORED + (f" Missing: {q.printable(missing)}." if missing else "")


def text_by_token(context: Context) -> dict[str, Any]:
    """The text as its tokens, `words`, where their text is known, else as `generated_text` has it.

    `prompt` is the prompt as it was given if the text of its tokens is not known, else empty: `words` begins with them.

    `left_out` says how many tokens there are if not all are listed; `linked`: the operations page shows their passes.
    """
    every = words(context)
    listed = [word for word in every if word.generated is not None]
    if not listed or any(word.text is None for word in listed) or context.facts.text.missing:
        return generated_text(context)  # where a part is missing, the tokens in a row may be of several texts
    prompt = [word for word in every if word.generated is None]
    plain = "" if prompt and all(word.text is not None for word in prompt) else context.facts.text.prompt
    listed = listed if plain else [*prompt, *listed]
    linked = not context.refusal(OPERATIONS.needs)
    cut = f"The first {q.count(MOST_WORDS)} of {q.count(len(listed))} tokens." if len(listed) > MOST_WORDS else ""
    shown = {"prompt": q.printable(plain or ""), "words": listed[:MOST_WORDS]}
    return {**shown, "linked": linked, "left_out": cut, "reason": "", "restored": _how_restored(context)}
